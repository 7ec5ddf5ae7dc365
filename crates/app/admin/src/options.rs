//! What the listener is made of.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chat_api::Api;
use chat_web::Web;
use outbox::{OutboxStore, Tally};
use policy::budget::Limits;
use policy::{AccessStore, KeyStore};
use sandbox::{BlobStore, Keeper, Logbook};
use serde::Serialize;
use session::{AnswerStore, Ledger, Total, VisibleLog};
use waybill::{AccountId, Clock, Ids, ProfileId, Timestamp};

use crate::servers::ToolServers;

/// A profile that a conversation can be held with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileCard {
    /// Its name.
    pub id: ProfileId,
    /// A line on what it is for; may be empty.
    pub description: String,
}

/// How a profile stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileStatus {
    /// Its name.
    pub id: ProfileId,
    /// Its model, for the owner's eyes.
    pub model: String,
    /// Which walls its sandbox has, in a sentence; empty until that was looked at.
    pub walls: String,
}

/// How a channel's account stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelStatus {
    /// The account.
    pub name: String,
    /// The kind of channel.
    pub kind: String,
    /// Does it work?
    pub ok: bool,
    /// A sentence, for the owner's eyes.
    pub text: String,
}

/// How the gateway stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Does it take messages?
    pub ready: bool,
    /// Each profile.
    pub profiles: Vec<ProfileStatus>,
    /// The sandbox, in a few words.
    pub sandbox: String,
    /// Each account.
    pub channels: Vec<ChannelStatus>,
}

/// Whether an account works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountHealth {
    /// Which.
    pub account: AccountId,
    /// Its last sign was a good one; false before the first.
    pub up: bool,
}

/// What was kept long enough and went, since the start; and the captured files that the last look left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetGo {
    /// Rows that were changed or deleted, by the name of the chore.
    pub rows: Vec<(&'static str, u64)>,
    /// Captured files that were removed.
    pub removed: u64,
    /// Their bytes.
    pub freed: u64,
    /// Captured files that stay.
    pub kept: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Tells how the gateway stands. Must answer at once.
pub trait StatusPort: Send + Sync {
    /// Now.
    fn status(&self) -> Status;

    /// Each configured account, also those that could not be built.
    fn accounts(&self) -> Vec<AccountHealth>;

    /// What of the gateway itself is in trouble, in a few words for anybody who asks; nothing if all is well.
    fn degraded(&self) -> Option<String> {
        None
    }

    /// Why no file can be taken now, for the person; nothing if files are taken.
    fn no_files(&self) -> Option<String> {
        None
    }

    /// What went.
    fn let_go(&self) -> LetGo {
        LetGo::default()
    }
}

/// How a profile's money stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// Whose.
    pub profile: ProfileId,
    /// What it may spend.
    pub limits: Limits,
    /// What it spent today (UTC), running turns included.
    pub day: Total,
    /// What it spent this month (UTC), running turns included.
    pub month: Total,
    /// What it spent since the start, by model.
    pub routes: Vec<(String, Total)>,
}

/// Tells what is spent. Must answer at once.
pub trait MoneyPort: Send + Sync {
    /// Of every profile, by name.
    fn money(&self) -> Vec<Money>;
}

/// Tells what was put aside.
#[async_trait]
pub trait InboxPort: Send + Sync {
    /// How many events were ever put aside as poisoned.
    ///
    /// # Errors
    /// The store failed.
    async fn poisoned(&self) -> Result<u64, session::StoreError>;
}

/// What `/v1` needs.
#[derive(Clone)]
pub struct Programs {
    /// The API as a channel.
    pub api: Api,
    /// Who may ask.
    pub keys: Arc<dyn KeyStore>,
    /// What became of requests.
    pub answers: Arc<dyn AnswerStore>,
}

/// What [`crate::serve`] needs.
#[derive(Clone)]
pub struct Options {
    /// What programs ask.
    pub v1: Programs,
    /// The web chat.
    pub web: Web,
    /// What is visible in it.
    pub visible: Arc<dyn VisibleLog>,
    /// Login links and browser sessions.
    pub access: Arc<dyn AccessStore>,
    /// Files.
    pub blobs: Arc<dyn BlobStore>,
    /// Every parcel.
    pub outbox: Arc<dyn OutboxStore>,
    /// What was put aside of what came in.
    pub inbox: Arc<dyn InboxPort>,
    /// How attempts ended.
    pub tally: Arc<dyn Tally>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// How the gateway stands.
    pub status: Arc<dyn StatusPort>,
    /// The profiles that can be talked to; the first is offered first.
    pub profiles: Vec<ProfileCard>,
    /// When the process started.
    pub started_at: Timestamp,
    /// Largest upload, in bytes.
    pub attachment_bytes: u64,
    /// Who looks after sandboxes, one for each kind.
    pub keepers: Vec<Arc<dyn Keeper>>,
    /// Who looks after servers of tools.
    pub servers: Arc<dyn ToolServers>,
    /// What is spent, and what may be.
    pub money: Arc<dyn MoneyPort>,
    /// What was spent, by day.
    pub ledger: Arc<dyn Ledger>,
    /// The last commands of each sandbox.
    pub logbook: Arc<dyn Logbook>,
    /// Names that a trusted proxy serves us under, as they stand in `Host`. Loopback names need no mention.
    pub hosts: Vec<String>,
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("profiles", &self.profiles)
            .field("attachment_bytes", &self.attachment_bytes)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
