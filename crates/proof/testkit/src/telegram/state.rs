//! What the platform remembers.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::check::Entity;
use super::files::Stored;
use super::ledger::Entry;
use super::rates::Rates;
use super::request::Call;
use super::script::{Rule, Trouble};
use super::taps::{Button, Tap};
use super::weather::Sky;

/// A file that people see in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleFile {
    /// `photo`, `document`, `voice`, `audio` or `video`.
    pub kind: String,
    /// The name it was uploaded under.
    pub name: String,
    /// The type it was uploaded under.
    pub mime: Option<String>,
    /// All bytes.
    pub bytes: Bytes,
    /// The words under it.
    pub caption: Option<String>,
}

/// A bot's message as people see it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// Its id in the chat.
    pub message_id: i64,
    /// The username of the bot that wrote it.
    pub author: String,
    /// The topic it stands in.
    pub thread: Option<i64>,
    /// The words; empty for a file.
    pub text: String,
    /// Formatting of the words, or of the caption.
    pub entities: Vec<Entity>,
    /// The file.
    pub file: Option<VisibleFile>,
    /// The message that it answers.
    pub reply_to: Option<i64>,
    /// Whether it was changed after it was sent.
    pub edited: bool,
    /// Whether it came without a sound.
    pub silent: bool,
    /// The buttons under it, in rows.
    pub buttons: Vec<Vec<Button>>,
}

pub(super) struct Bot {
    pub(super) id: i64,
    pub(super) username: String,
    pub(super) revoked: bool,
    pub(super) webhook: Option<String>,
    pub(super) queue: VecDeque<(i64, Value)>,
    /// The last ones that were confirmed.
    pub(super) past: VecDeque<Value>,
    pub(super) next_update: i64,
    /// The newest poll's number; an older one that still waits was pushed out.
    pub(super) poll: u64,
    pub(super) allowed: Option<BTreeSet<String>>,
    next_message: i64,
}

impl Bot {
    pub(super) fn user(&self) -> Value {
        json!({"id": self.id, "is_bot": true, "first_name": self.username, "username": self.username})
    }
}

/// People's chats with a bot are the bot's own; groups are everybody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RoomKey {
    bot: Option<i64>,
    pub(super) chat: i64,
}

impl RoomKey {
    pub(super) fn new(bot: i64, chat: i64) -> Self {
        Self {
            bot: (chat > 0).then_some(bot),
            chat,
        }
    }
}

#[derive(Default)]
pub(super) struct Room {
    pub(super) title: String,
    pub(super) topics: BTreeSet<i64>,
    pub(super) messages: BTreeMap<i64, Value>,
    pub(super) visible: Vec<Visible>,
    next_message: i64,
}

impl Room {
    pub(super) fn chat(&self, id: i64) -> Value {
        if id > 0 {
            json!({"id": id, "type": "private", "first_name": self.title})
        } else if id > -1_000_000_000_000 {
            json!({"id": id, "type": "group", "title": self.title})
        } else if self.topics.is_empty() {
            json!({"id": id, "type": "supergroup", "title": self.title})
        } else {
            json!({"id": id, "type": "supergroup", "title": self.title, "is_forum": true})
        }
    }
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) bots: HashMap<String, Bot>,
    pub(super) rooms: HashMap<RoomKey, Room>,
    pub(super) files: HashMap<String, Stored>,
    pub(super) rules: Vec<(Rule, Trouble)>,
    pub(super) calls: Vec<Call>,
    /// What became of each call, in the same order.
    pub(super) entries: Vec<Entry>,
    pub(super) rates: Rates,
    pub(super) sky: Option<Sky>,
    pub(super) violations: Vec<String>,
    pub(super) taps: Vec<Tap>,
    ticks: i64,
}

impl Inner {
    pub(super) fn add_bot(&mut self, token: &str, username: &str) -> i64 {
        let id = token
            .split(':')
            .next()
            .and_then(|digits| digits.parse().ok())
            .unwrap_or(1);
        self.bots.insert(
            token.to_owned(),
            Bot {
                id,
                username: username.to_owned(),
                revoked: false,
                webhook: None,
                queue: VecDeque::new(),
                past: VecDeque::new(),
                next_update: 100 + id % 1000 * 1000,
                poll: 0,
                allowed: None,
                next_message: 1,
            },
        );
        id
    }

    /// Seconds since 1970 of the fake's own clock: each look is a second later.
    pub(super) fn date(&mut self) -> i64 {
        self.ticks += 1;
        1_767_225_600 + self.ticks
    }

    /// The next message id: a bot counts through its private chats, a group by itself.
    pub(super) fn message_id(&mut self, token: &str, key: RoomKey) -> i64 {
        let counter = match (key.bot, self.bots.get_mut(token)) {
            (Some(_), Some(bot)) => &mut bot.next_message,
            (Some(_) | None, _) => &mut self.rooms.entry(key).or_default().next_message,
        };
        *counter = (*counter).max(1) + 1;
        *counter
    }

    /// Writes a call into the book; its number.
    pub(super) fn note(&mut self, call: &Call, at: i64) -> usize {
        self.calls.push(call.clone());
        self.entries.push(Entry {
            at,
            ..Entry::default()
        });
        self.entries.len() - 1
    }

    /// Changes what stands of a call.
    pub(super) fn amend(&mut self, number: usize, change: impl FnOnce(&mut Entry)) {
        self.entries.get_mut(number).map(change);
    }

    pub(super) fn keep(&mut self, kind: &str, name: &str, bytes: Bytes) -> String {
        let number = self.files.len() + 1;
        let id = format!("file-{kind}-{number}");
        let ending = match (kind, name.rsplit_once('.')) {
            ("voice", _) => "oga",
            ("photo", _) => "jpg",
            (_, Some((_, ending))) => ending,
            (_, None) => "bin",
        };
        let path = format!("{kind}s/file_{number}.{ending}");
        let size = bytes.len() as u64;
        self.files.insert(id.clone(), Stored { path, bytes, size });
        id
    }

    /// Puts an update in a bot's queue, unless it asked not to hear of such.
    pub(super) fn push(&mut self, token: &str, mut update: Value) -> i64 {
        let Some(bot) = self.bots.get_mut(token) else {
            self.violations
                .push("an update for an unknown bot".to_owned());
            return 0;
        };
        let id = bot.next_update;
        bot.next_update += 1;
        let kind = update
            .as_object()
            .and_then(|fields| fields.keys().find(|key| *key != "update_id").cloned())
            .unwrap_or_default();
        let heard = bot
            .allowed
            .as_ref()
            .is_none_or(|allowed| allowed.contains(&kind));
        if let Some(fields) = update.as_object_mut() {
            fields.insert("update_id".to_owned(), id.into());
        }
        if heard {
            bot.queue.push_back((id, update));
        }
        id
    }
}

pub(super) struct State {
    inner: Mutex<Inner>,
    /// What is done even though nobody waits for it any more.
    pub(super) late: Mutex<JoinSet<()>>,
    pub(super) down: AtomicBool,
    pub(super) changed: watch::Sender<u64>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::default(),
            late: Mutex::default(),
            down: AtomicBool::new(false),
            changed: watch::Sender::new(0),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something and wakes whoever waits.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_modify(|version| *version += 1);
        result
    }
}
