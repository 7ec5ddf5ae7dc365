//! Where the bytes of a stage go: kept by head and tail, collected, or into the blob store.

use async_trait::async_trait;
use sandbox::{BlobError, BlobStore, BlobWriter, HeadAndTail};
use waybill::ProfileId;

/// Takes bytes as they come.
#[async_trait]
pub(crate) trait Sink: Send {
    async fn take(&mut self, bytes: &[u8]);
}

#[async_trait]
impl Sink for HeadAndTail {
    async fn take(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// Keeps everything up to a bound that the other side keeps as well.
pub(crate) struct Collected {
    pub(crate) bytes: Vec<u8>,
    pub(crate) most: usize,
}

impl Collected {
    /// For work that gives nothing.
    pub(crate) fn nothing() -> Self {
        Self {
            bytes: Vec::new(),
            most: 0,
        }
    }
}

#[async_trait]
impl Sink for Collected {
    async fn take(&mut self, bytes: &[u8]) {
        let room = self.most - self.bytes.len();
        let (kept, _) = bytes.split_at(room.min(bytes.len()));
        self.bytes.extend_from_slice(kept);
    }
}

/// Into the profile's blob store, from the first byte on.
pub(crate) struct Stored<'a> {
    blobs: &'a dyn BlobStore,
    profile: &'a ProfileId,
    writer: Option<Box<dyn BlobWriter>>,
    pub(crate) taken: u64,
    trouble: Option<BlobError>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(blobs: &'a dyn BlobStore, profile: &'a ProfileId) -> Self {
        Self {
            blobs,
            profile,
            writer: None,
            taken: 0,
            trouble: None,
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        let mut writer = match self.writer.take() {
            Some(writer) => writer,
            None => self.blobs.create(self.profile).await?,
        };
        writer.write(bytes).await?;
        self.writer = Some(writer);
        Ok(())
    }

    /// The finished writer, also for a file without bytes.
    pub(crate) async fn finish(self) -> Result<Box<dyn BlobWriter>, BlobError> {
        match (self.trouble, self.writer) {
            (Some(trouble), _) => Err(trouble),
            (None, Some(writer)) => Ok(writer),
            (None, None) => self.blobs.create(self.profile).await,
        }
    }
}

#[async_trait]
impl Sink for Stored<'_> {
    async fn take(&mut self, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        if self.trouble.is_none()
            && let Err(trouble) = self.write(bytes).await
        {
            self.writer = None;
            self.trouble = Some(trouble);
        }
    }
}
