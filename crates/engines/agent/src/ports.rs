//! What a turn needs from the rest of the house.

use std::sync::Arc;

use async_trait::async_trait;
use chat::{DownloadError, FileHandle, SenderId};
use memory::NoteStore;
use model::ModelPort;
use outbox::Outlet;
use policy::{Approvals, Audit, Standing};
use redact::Redactor;
use sandbox::{BlobStore, BlobWriter, SandboxPort, SandboxSpec};
use session::{Contact, InboxStore, LastWords, PlanStore, Recall, SessionStore, StoreError};
use skills::Shelf;
use tool::{Toolbox, Web};
use waybill::{AccountId, Clock, Ids, Placement, ProfileId};

use crate::Purse;

/// A profile, ready to work.
pub struct Tenant {
    /// Its model.
    pub model: Arc<dyn ModelPort>,
    /// Whom to ask when that one fails, in order.
    pub fallback: Vec<Arc<dyn ModelPort>>,
    /// The web, if it may be read.
    pub web: Option<Arc<dyn Web>>,
    /// What other programs offer.
    pub toolbox: Option<Arc<dyn Toolbox>>,
    /// What it remembers and what it can read up; none: neither.
    pub knowledge: Option<Knowledge>,
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
    /// What may leave its sandbox.
    pub approvals: Approvals,
    /// How long a question to a person waits, in seconds.
    pub ask_seconds: u64,
}

/// What a profile remembers, and what it can read up.
#[derive(Clone)]
pub struct Knowledge {
    /// What it remembers.
    pub notes: Arc<dyn NoteStore>,
    /// Its skills.
    pub skills: Arc<dyn Shelf>,
}

/// Chats to which a profile may send.
#[async_trait]
pub trait Contacts: Send + Sync {
    /// Chats in which people talk with the profile, by a route that holds, the latest first. Bounded.
    ///
    /// # Errors
    /// [`StoreError`] if they can't be read.
    async fn of(&self, profile: &ProfileId) -> Result<Vec<Contact>, StoreError>;
}

/// Every profile.
pub trait Tenants: Send + Sync {
    /// A profile; none if it is not configured. There is no fallback to another.
    fn tenant(&self, profile: &ProfileId) -> Option<Arc<Tenant>>;
}

/// Who people are to an account.
pub trait People: Send + Sync {
    /// What somebody is, by their id.
    fn standing(&self, account: &AccountId, sender: &SenderId) -> Standing;

    /// Its owners; none for an account that is not configured.
    fn owners(&self, account: &AccountId) -> Vec<SenderId>;
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
    /// Earlier conversations.
    pub recall: Arc<dyn Recall>,
    /// What agents have to do.
    pub plans: Arc<dyn PlanStore>,
    /// Chats to which a profile may send.
    pub contacts: Arc<dyn Contacts>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
    /// Who people are.
    pub people: Arc<dyn People>,
    /// Where decisions on what leaves the sandbox are written down.
    pub audit: Arc<dyn Audit>,
    /// What is spent, and what may be.
    pub purse: Arc<Purse>,
    /// The secrets that the gateway knows: no model reads them and no person sees them. The default knows none.
    pub redactor: Arc<Redactor>,
}
