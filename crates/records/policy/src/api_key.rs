//! Who may ask by the API: keys, each with the one profile that answers it.

use async_trait::async_trait;
use outbox::StoreError;
use waybill::{ClientId, ProfileId, Timestamp};

use crate::TokenHash;

/// A key as its owner sees it. The key itself is known to whoever was given it, and to nobody else.
///
/// A key is 256 random bits, so its plain BLAKE3 is enough at rest: a slow hash defends what people think up, and nobody can
/// go through 2^256. Looking the hash up tells nothing in its timing, since a guess can't be steered towards a stored hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Its name: the program that holds it.
    pub name: ClientId,
    /// The profile that answers. It belongs to the name for ever, so that no conversation changes its profile.
    pub profile: ProfileId,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used, to the minute; `None`: never.
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked; `None`: it holds.
    pub revoked_at: Option<Timestamp>,
}

/// What became of a wish for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddedKey {
    /// It holds.
    Added,
    /// A key of this name holds already.
    Taken,
    /// The name was one of another profile's.
    OtherProfile(ProfileId),
}

/// Keys at rest, by hash.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Adds a key. The name of a revoked one can be used again, for the same profile.
    async fn add_key(
        &self,
        key: TokenHash,
        name: ClientId,
        profile: ProfileId,
        now: Timestamp,
    ) -> Result<AddedKey, StoreError>;

    /// The key with this hash, if it holds.
    async fn find_key(&self, key: TokenHash) -> Result<Option<ApiKey>, StoreError>;

    /// The key of this name, revoked or not.
    async fn key_named(&self, name: &ClientId) -> Result<Option<ApiKey>, StoreError>;

    /// All keys, by name.
    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError>;

    /// Notes that a key was used.
    async fn use_key(&self, name: &ClientId, now: Timestamp) -> Result<(), StoreError>;

    /// Revokes a key. `false`: no key of this name holds.
    async fn revoke_key(&self, name: &ClientId, now: Timestamp) -> Result<bool, StoreError>;
}
