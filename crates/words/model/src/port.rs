//! What every model does.

use async_trait::async_trait;

use crate::{Facts, ModelError, Reply, Request};

/// A piece of a growing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Words for the person.
    Text(String),
    /// Reasoning, never shown as the answer.
    Reasoning(String),
    /// A tool call began.
    Tool(String),
}

/// Takes pieces as they come. It must not wait.
pub type DeltaSink<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A model. Dropping the returned future cancels the request.
#[async_trait]
pub trait ModelPort: Send + Sync {
    /// `PROVIDER/MODEL`, or `demo`.
    fn name(&self) -> &str;

    /// What is known of it; the default knows nothing.
    fn facts(&self) -> Facts {
        Facts::default()
    }

    /// Asks, and hands on pieces while they come.
    ///
    /// # Errors
    /// [`ModelError`]; a stream that ended without its end marker is one.
    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError>;
}
