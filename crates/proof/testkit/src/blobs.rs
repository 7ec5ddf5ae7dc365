//! Artifacts in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash};
use waybill::ProfileId;

type Shelf = Arc<Mutex<HashMap<(ProfileId, ContentHash), Bytes>>>;

/// A blob store that lives as long as the test. The type comes from the name's ending alone.
#[derive(Debug, Clone, Default)]
pub struct MemoryBlobs(Shelf);

impl MemoryBlobs {
    /// Stores bytes at once.
    pub fn put(&self, profile: &ProfileId, name: &str, bytes: impl Into<Bytes>) -> Blob {
        let bytes = bytes.into();
        let blob = described(name, &bytes);
        self.shelf().insert((profile.clone(), blob.hash), bytes);
        blob
    }

    /// The bytes of an artifact of this profile.
    #[must_use]
    pub fn get(&self, profile: &ProfileId, hash: &ContentHash) -> Option<Bytes> {
        self.shelf().get(&(profile.clone(), *hash)).cloned()
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, HashMap<(ProfileId, ContentHash), Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn described(name: &str, bytes: &[u8]) -> Blob {
    let mime = match name.rsplit('.').next() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("txt" | "md") => "text/plain",
        Some("ogg") => "audio/ogg",
        Some("pdf") => "application/pdf",
        _ => "application/octet-stream",
    };
    Blob {
        hash: ContentHash::new(*blake3::hash(bytes).as_bytes()),
        size: bytes.len() as u64,
        mime: mime.to_owned(),
    }
}

struct Writer {
    store: MemoryBlobs,
    profile: ProfileId,
    bytes: Vec<u8>,
}

#[async_trait]
impl BlobWriter for Writer {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    async fn finish(self: Box<Self>, name: &str) -> Result<Blob, BlobError> {
        Ok(self.store.put(&self.profile, name, self.bytes))
    }
}

struct Reader(Bytes);

#[async_trait]
impl BlobReader for Reader {
    async fn next(&mut self) -> Result<Option<Bytes>, BlobError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let piece = self.0.len().min(64 << 10);
        Ok(Some(self.0.split_to(piece)))
    }
}

#[async_trait]
impl BlobStore for MemoryBlobs {
    async fn create(&self, profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(Writer {
            store: self.clone(),
            profile: profile.clone(),
            bytes: Vec::new(),
        }))
    }

    async fn open(
        &self,
        profile: &ProfileId,
        hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        let bytes = self.get(profile, hash).ok_or(BlobError::Missing)?;
        Ok((bytes.len() as u64, Box::new(Reader(bytes))))
    }
}
