//! What is compared. Fields that a ledger does not have are left empty: each rule says what it needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything about a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Evidence {
    /// The product's rows: the objects of `tidings outbox list --json`.
    pub product: Vec<Row>,
    /// What the platform saw.
    pub fake: Fake,
    /// What was asked.
    pub driver: Driver,
}

/// A message of the product.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// `msg_…`
    pub id: String,
    /// The login it goes out by.
    pub account: String,
    /// The chat.
    pub chat: String,
    /// The topic.
    pub thread: Option<String>,
    /// `reply`, `notice`, …
    pub kind: String,
    /// What made it, such as `turn:…`.
    pub source: Option<String>,
    /// Its place in its lane, where the whole message has one.
    pub seq: Option<i64>,
    /// When it was stored.
    pub created_at: String,
    /// When it is too old.
    pub expires_at: Option<String>,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a message.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Its place in the message, from 1.
    pub n: i64,
    /// Its place in its lane.
    #[serde(alias = "place")]
    pub seq: Option<i64>,
    /// Where it stands.
    pub state: String,
    /// The platform's id for it.
    pub receipt: Option<String>,
    /// When it came to its last state, where the ledger says so.
    pub ended_at: Option<String>,
    /// How it was given up, where the ledger says so.
    pub death: Option<Death>,
    /// Tries to put it on the wire.
    pub attempts: Vec<Try>,
}

/// A part's end without delivery.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Death {
    /// When.
    pub at: Option<String>,
    /// The notice that tells of it.
    pub notice: Option<String>,
}

/// One attempt.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Try {
    /// The how-manieth.
    pub n: i64,
    /// Recorded before the first byte.
    pub started_at: String,
    /// When its end was recorded.
    pub ended_at: Option<String>,
    /// How it ended.
    pub outcome: Option<String>,
}

/// The platform's ledger.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Fake {
    /// Calls in the order in which they arrived.
    pub calls: Vec<Call>,
    /// What people see at the end.
    pub visible: Vec<Visible>,
}

/// A call that arrived.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// When its first byte arrived, in milliseconds since 1970.
    pub at: i64,
    /// When the last byte of its answer was handed to the wire; none if it got none.
    pub answered_at: Option<i64>,
    /// The bot's id.
    pub bot: i64,
    /// The method.
    pub method: String,
    /// The chat; 0 if the call has none.
    pub chat: i64,
    /// The topic.
    pub thread: Option<i64>,
    /// Words, or the words under a file.
    pub text: String,
    /// The file.
    pub file: Option<File>,
    /// Whether it did what it asked for.
    pub done: bool,
    /// The words of a refusal.
    pub refusal: Option<String>,
    /// The message that it made or changed.
    pub message: Option<i64>,
    /// The status that was sent; none if the connection broke.
    pub status: Option<u16>,
    /// Seconds that the answer asked for.
    pub retry_after: Option<u64>,
    /// Whom the wait is for: `chat` or `bot`.
    pub scope: Option<String>,
}

impl Call {
    /// Whether it makes a message that people see.
    #[must_use]
    pub fn makes(&self) -> bool {
        self.method.starts_with("send") && self.method != "sendChatAction"
    }

    /// Whether what it asked for is there: it was done, or had been before.
    #[must_use]
    pub fn fulfilled(&self) -> bool {
        let same = |words: &String| words.contains("message is not modified");
        self.done || self.refusal.as_ref().is_some_and(same)
    }

    /// Whether it shows something: it makes or changes a message.
    #[must_use]
    pub fn shows(&self) -> bool {
        self.makes() || self.method.starts_with("edit")
    }
}

/// A file on the platform.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct File {
    /// Its name.
    pub name: String,
    /// A hash of its bytes.
    pub hash: String,
    /// The first of its bytes, as text.
    pub head: String,
}

/// A message that people see.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Visible {
    /// The bot that wrote it.
    pub bot: i64,
    /// Where.
    pub chat: i64,
    /// Its id there.
    pub message: i64,
    /// Words, or the words under a file.
    pub text: String,
    /// The file.
    pub file: Option<File>,
}

/// What the driver did and expects.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Driver {
    /// The product's accounts and the ids of their bots. Accounts that are not here are no part of the platform.
    pub accounts: BTreeMap<String, i64>,
    /// Accounts whose platform refuses repeats.
    pub keyed: Vec<String>,
    /// What was written in.
    pub inbound: Vec<Inbound>,
    /// What a repeat begins with.
    pub mark: String,
    /// What stands in a chat until the content comes.
    pub placeholders: Vec<String>,
    /// Beginnings of texts that say nothing of anybody.
    pub anonymous: Vec<String>,
}

/// A message that was written in.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Inbound {
    /// Stands in each text and each file that answers it, and nowhere else: a word of letters and digits.
    pub token: String,
    /// To whom.
    pub account: String,
    /// Where.
    pub chat: i64,
    /// Words that must be seen there, in texts, under files or at the beginning of files.
    pub markers: Vec<String>,
    /// Whether a notice with its token will do instead: the platform was told to refuse.
    pub may_die: bool,
}
