//! Who may open the dashboard.

use async_trait::async_trait;
use outbox::StoreError;
use waybill::Timestamp;

/// BLAKE3 of a token. Tokens themselves are never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Of a token's text.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(*blake3::hash(token.as_bytes()).as_bytes())
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Login links and browser sessions at rest, by hash.
#[async_trait]
pub trait AccessStore: Send + Sync {
    /// Adds a one-time login link.
    async fn add_login(&self, token: TokenHash, expires_at: Timestamp) -> Result<(), StoreError>;

    /// Uses a login link up and opens a session, in one transaction. `false`: unknown, used, or too old.
    async fn log_in(
        &self,
        token: TokenHash,
        session: TokenHash,
        session_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Whether a browser session is open.
    async fn is_open(&self, session: TokenHash, now: Timestamp) -> Result<bool, StoreError>;

    /// Closes a browser session.
    async fn log_out(&self, session: TokenHash) -> Result<(), StoreError>;
}
