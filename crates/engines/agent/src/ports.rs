//! What a turn needs from the rest of the house.

use std::sync::Arc;

use async_trait::async_trait;
use chat::{DownloadError, FileHandle};
use model::ModelPort;
use outbox::Outlet;
use redact::Redactor;
use sandbox::{BlobStore, BlobWriter, SandboxPort, SandboxSpec};
use session::{InboxStore, LastWords, SessionStore};
use waybill::{AccountId, Clock, Ids, Placement, ProfileId};

/// A profile, ready to work.
pub struct Tenant {
    /// Its model.
    pub model: Arc<dyn ModelPort>,
    /// Its sandbox driver.
    pub sandbox: Arc<dyn SandboxPort>,
    /// What its sandboxes are made of.
    pub spec: SandboxSpec,
    /// How they are shared out.
    pub placement: Placement,
    /// Its persona, or the built-in one.
    pub persona: String,
    /// Most model calls in one turn.
    pub steps: u32,
    /// Largest file in or out, in bytes.
    pub attachment_bytes: u64,
}

/// Every profile.
pub trait Tenants: Send + Sync {
    /// A profile; none if it is not configured. There is no fallback to another.
    fn tenant(&self, profile: &ProfileId) -> Option<Arc<Tenant>>;
}

/// Fetches people's files.
#[async_trait]
pub trait Files: Send + Sync {
    /// Fetches a file of an account, streaming it into `into`; over `limit` bytes it stops.
    ///
    /// # Errors
    /// [`DownloadError`], written for the person.
    async fn fetch(
        &self,
        account: &AccountId,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError>;
}

/// Everything a turn needs.
#[derive(Clone)]
pub struct Ports {
    /// What people wrote.
    pub inbox: Arc<dyn InboxStore>,
    /// What is said if the gateway dies.
    pub last_words: Arc<dyn LastWords>,
    /// Conversations.
    pub sessions: Arc<dyn SessionStore>,
    /// Profiles.
    pub tenants: Arc<dyn Tenants>,
    /// Artifacts.
    pub blobs: Arc<dyn BlobStore>,
    /// People's files.
    pub files: Arc<dyn Files>,
    /// The one door out.
    pub outlet: Arc<dyn Outlet>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// The secrets that the gateway knows: no model reads them and no person sees them. The default knows none.
    pub redactor: Arc<Redactor>,
}
