//! The web, as text.

use async_trait::async_trait;

use crate::{File, ToolError};

/// What stands at an address. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Where it was found, after redirects.
    pub address: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// `text/html`, `text/plain`, `application/json` …, without parameters.
    pub mime: String,
    /// What a reader sees of it, as markdown for pages; the whole text, which the agent cuts to its own budget.
    pub text: String,
    /// Whether the answer was longer than what is read of one, and `text` stops there.
    pub cut: bool,
}

/// What stands at an address, as it is. Untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// Where it was found, after redirects.
    pub address: String,
    /// All of it, whole.
    pub file: File,
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub address: String,
    /// Some words of it.
    pub snippet: String,
}

/// The web, behind guards: no address of this machine or of a private network is ever asked, by name or after a redirect.
#[async_trait]
pub trait Web: Send + Sync {
    /// Reads a page.
    ///
    /// # Errors
    /// [`ToolError`].
    async fn fetch(&self, address: &str) -> Result<Page, ToolError>;

    /// Fetches what stands at an address as it is, at most `limit` bytes; what is longer is refused.
    ///
    /// # Errors
    /// [`ToolError`].
    async fn download(&self, address: &str, limit: u64) -> Result<Download, ToolError>;

    /// Whether there is something to search with.
    fn searches(&self) -> bool;

    /// Searches; at most `most` hits, the best first.
    ///
    /// # Errors
    /// [`ToolError`]; also where [`Self::searches`] is false.
    async fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, ToolError>;
}
