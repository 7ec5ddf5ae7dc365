//! What the listener is made of.

use std::fmt;
use std::sync::Arc;

use chat_web::Web;
use policy::AccessStore;
use sandbox::BlobStore;
use serde::Serialize;
use session::VisibleLog;
use waybill::{Clock, Ids, ProfileId};

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

/// Tells how the gateway stands. Must answer at once.
pub trait StatusPort: Send + Sync {
    /// Now.
    fn status(&self) -> Status;
}

/// What [`crate::serve`] needs.
#[derive(Clone)]
pub struct Options {
    /// The web chat.
    pub web: Web,
    /// What is visible in it.
    pub visible: Arc<dyn VisibleLog>,
    /// Login links and browser sessions.
    pub access: Arc<dyn AccessStore>,
    /// Files.
    pub blobs: Arc<dyn BlobStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// How the gateway stands.
    pub status: Arc<dyn StatusPort>,
    /// The profiles that can be talked to; the first is offered first.
    pub profiles: Vec<ProfileCard>,
    /// Largest upload, in bytes.
    pub attachment_bytes: u64,
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
