//! What an adapter's test builds.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chat::ChatAdapter;
use waybill::{Anchor, ChatKey};

/// Whether the platform can do what a test asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// Done.
    Yes,
    /// This platform can't.
    No,
}

/// What goes wrong with the next send, or with the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The next send is refused: wait so long.
    Flood(Duration),
    /// The next send is done, and its answer is lost.
    LostAnswer,
    /// The login is revoked until [`Trouble::Restored`].
    Revoked,
    /// The login works again.
    Restored,
}

/// One of our messages as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its words, or those under its file.
    pub text: String,
    /// Its file's name and bytes.
    pub file: Option<(String, Bytes)>,
    /// The message that it answers.
    pub answers: Option<Anchor>,
}

/// A fake platform with one login, one chat that a person opened, and an adapter that speaks to it.
#[async_trait]
pub trait ChatWorld: Sized + Send + Sync {
    /// Builds it.
    async fn build() -> Self;
    /// An adapter as after a start. Each call makes a new one for the same login.
    fn adapter(&self) -> Arc<dyn ChatAdapter>;
    /// The chat.
    fn chat(&self) -> ChatKey;
    /// A thread inside a chat, if the platform has threads.
    fn thread(&self) -> Option<ChatKey>;
    /// What we have shown in a chat or a thread, oldest first.
    async fn visible(&self, chat: &ChatKey) -> Vec<Seen>;
    /// Makes trouble.
    fn trouble(&self, trouble: Trouble) -> Ability;
    /// From now on nobody listens at the platform's address.
    async fn close(&self) -> Ability;
    /// A person writes in the chat (or thread).
    async fn says(&self, chat: &ChatKey, text: &str) -> Anchor;
    /// A person sends a file in the chat.
    async fn sends(&self, name: &str, bytes: Bytes);
    /// An event comes that nobody can read.
    async fn poison(&self) -> Ability;
    /// How many events were not acknowledged yet.
    fn unacknowledged(&self) -> usize;
    /// What no careful client would have sent.
    fn violations(&self) -> Vec<String>;
}

/// Waits until something holds.
///
/// # Panics
/// After 20 seconds, with what was waited for.
pub async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(20), wait).await;
    assert!(seen.is_ok(), "not seen in time: {what}");
}
