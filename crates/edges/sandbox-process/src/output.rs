//! Where the bytes of a stage go: kept by head and tail, collected, or into the blob store.

use std::collections::VecDeque;

use async_trait::async_trait;
use sandbox::{BlobError, BlobStore, BlobWriter};
use waybill::ProfileId;

/// Takes bytes as they come.
#[async_trait]
pub(crate) trait Sink: Send {
    async fn take(&mut self, bytes: &[u8]);
}

/// Keeps the first and the last half of what may be kept.
pub(crate) struct HeadAndTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_most: usize,
    tail_most: usize,
    left_out: u64,
}

impl HeadAndTail {
    pub(crate) fn new(most: usize) -> Self {
        let head_most = most / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_most,
            tail_most: most - head_most,
            left_out: 0,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = self.head_most - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_most);
        self.left_out += surplus as u64;
        let from_tail = surplus.min(self.tail.len());
        self.tail.drain(..from_tail);
        let (_, kept) = rest.split_at(surplus - from_tail);
        self.tail.extend(kept);
    }

    /// The kept bytes, and how many were left out between head and tail.
    pub(crate) fn finish(self) -> (Vec<u8>, u64) {
        let mut bytes = self.head;
        bytes.extend(self.tail);
        (bytes, self.left_out)
    }
}

#[async_trait]
impl Sink for HeadAndTail {
    async fn take(&mut self, bytes: &[u8]) {
        self.add(bytes);
    }
}

/// Keeps everything up to a bound that the other side keeps as well.
pub(crate) struct Collected {
    pub(crate) bytes: Vec<u8>,
    pub(crate) most: usize,
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::HeadAndTail;

    proptest! {
        #[test]
        fn head_and_tail_are_the_same_however_the_bytes_come(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            most in 0usize..80,
            piece in 1usize..50,
        ) {
            let mut kept = HeadAndTail::new(most);
            for piece in bytes.chunks(piece) {
                kept.add(piece);
            }
            let (text, left_out) = kept.finish();
            if bytes.len() <= most {
                prop_assert_eq!(&text, &bytes);
                prop_assert_eq!(left_out, 0);
            } else {
                let head = most / 2;
                let tail = most - head;
                let mut expected = bytes[..head].to_vec();
                expected.extend_from_slice(&bytes[bytes.len() - tail..]);
                prop_assert_eq!(&text, &expected);
                prop_assert_eq!(left_out, (bytes.len() - most) as u64);
            }
        }
    }
}
