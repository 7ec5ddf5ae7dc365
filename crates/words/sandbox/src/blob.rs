//! Bytes at rest, by hash, in a profile's own store.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use waybill::ProfileId;

/// BLAKE3 of the bytes; text form: 64 small hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Takes a finished hash.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for ContentHash {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(format!("'{text}' is not 64 small hexadecimal digits"));
        }
        blake3::Hash::from_hex(text)
            .map(|hash| Self(*hash.as_bytes()))
            .map_err(|_malformed| format!("'{text}' is not 64 small hexadecimal digits"))
    }
}

impl TryFrom<String> for ContentHash {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

/// Stored bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Blob {
    /// What they are.
    pub hash: ContentHash,
    /// How many.
    pub size: u64,
    /// Their type, sniffed from the bytes and refined by the name where the bytes don't say.
    pub mime: String,
}

/// Why bytes could not be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// No such bytes in this profile's store.
    #[error("no such artifact")]
    Missing,
    /// The disk is full.
    #[error("the disk is full")]
    Full(#[source] std::io::Error),
    /// The disk failed otherwise.
    #[error("the artifact store failed")]
    Io(#[source] std::io::Error),
}

/// Bytes on their way into the store. Dropped unfinished, they leave nothing behind.
#[async_trait]
pub trait BlobWriter: Send {
    /// Adds bytes.
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError>;
    /// Makes them durable (file, then folder). `name` helps where the bytes don't tell their type.
    async fn finish(self: Box<Self>, name: &str) -> Result<Blob, BlobError>;
}

/// Bytes on their way out, in pieces of bounded size.
#[async_trait]
pub trait BlobReader: Send {
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, BlobError>;
}

/// Artifacts at rest, one store per profile.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Begins to store.
    async fn create(&self, profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError>;
    /// Opens to read; the size in bytes comes with the reader.
    async fn open(
        &self,
        profile: &ProfileId,
        hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError>;
}
