//! How an attempt ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use waybill::ChatKey;

/// The platform's id for what an attempt made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Receipt(String);

impl Receipt {
    /// Takes the platform's id as it is. An empty one means: accepted, and no id was given.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The platform's id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How much of the account has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleScope {
    /// Only this part.
    Part,
    /// Everything to this chat.
    Lane,
    /// Everything of this login.
    Account,
}

/// Why an attempt did not end in a receipt. Closed; `../docs/outbox.md` has the action for each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// No byte of the request left: name resolution, connection, TLS.
    NotSent,
    /// The platform said wait.
    Throttled {
        /// For how long.
        after: Duration,
        /// What has to wait.
        scope: ThrottleScope,
    },
    /// The platform says that it did not act, and may later.
    TempReject,
    /// This content is refused.
    PermItem,
    /// The chat is gone, or closed to us.
    PermChat,
    /// The login is revoked. Nothing is failed; rows wait.
    PermAccount,
    /// The chat lives elsewhere now.
    Moved {
        /// There.
        to: ChatKey,
    },
    /// The platform has it already.
    Duplicate {
        /// As this, if it says so.
        receipt: Option<Receipt>,
    },
    /// An edit that changes nothing: as good as done.
    NoChange,
    /// Bytes left, and no definite answer came.
    Unknown,
}

impl FaultKind {
    /// The kind's name in listings and in the store.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotSent => "not_sent",
            Self::Throttled { .. } => "throttled",
            Self::TempReject => "temp_reject",
            Self::PermItem => "perm_item",
            Self::PermChat => "perm_chat",
            Self::PermAccount => "perm_account",
            Self::Moved { .. } => "moved",
            Self::Duplicate { .. } => "duplicate",
            Self::NoChange => "no_change",
            Self::Unknown => "unknown",
        }
    }
}

/// A fault, with the platform's own words. Holds no secret: adapters strip tokens before they make one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What to do about it follows from this alone.
    pub kind: FaultKind,
    /// The platform's status or code, if it gave one.
    pub code: Option<String>,
    /// What happened, for the owner.
    pub text: String,
}

impl Fault {
    /// A fault with the words for the owner.
    #[must_use]
    pub fn new(kind: FaultKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            code: None,
            text: text.into(),
        }
    }

    /// With the platform's status or code.
    #[must_use]
    pub fn with_code(mut self, code: impl ToString) -> Self {
        self.code = Some(code.to_string());
        self
    }
}
