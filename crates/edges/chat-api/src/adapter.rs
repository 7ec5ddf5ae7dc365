//! The API as the rest of the house sees it.

use std::convert::Infallible;

use async_trait::async_trait;
use chat::{
    Activity, ChatAdapter, Delivery, Descriptor, Done, DownloadError, Fault, FaultKind, FileHandle,
    Identity, InboundSink, ListenError, Op, Preview, Receipt,
};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sandbox::{ArtifactId, BlobError, BlobStore, BlobWriter};
use waybill::{AccountId, ChatKey};

use crate::{Api, HOLDER};

/// Most requests that are made durable at the same time: they share their commits.
const AT_ONCE: usize = 256;

#[async_trait]
impl ChatAdapter for Api {
    fn descriptor(&self) -> &Descriptor {
        &self.inner.descriptor
    }

    fn account(&self) -> &AccountId {
        &self.inner.options.account
    }

    async fn listen(&self, sink: &dyn InboundSink) -> Result<Infallible, ListenError> {
        let mut submissions = self.inner.submissions.lock().await;
        sink.health(self.account(), Ok(()));
        let mut taking = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(()) = taking.next(), if !taking.is_empty() => {}
                submission = submissions.recv(), if taking.len() < AT_ONCE => match submission {
                    Some(submission) => taking.push(self.take(sink, submission)),
                    None => return Err(ListenError::Closed),
                },
            }
        }
    }

    /// Hands a part to whoever waits for it. If nobody does any more, it is there for whoever asks again: the outbox keeps it.
    async fn deliver(&self, delivery: Delivery<'_>, blobs: &dyn BlobStore) -> Result<Done, Fault> {
        if delivery.chat.account != *self.account() {
            let text = format!(
                "'{}' is another account than '{}'",
                delivery.chat.account,
                self.account()
            );
            return Err(Fault::new(FaultKind::PermItem, text));
        }
        match delivery.op {
            Op::Question { .. } => {
                let text =
                    "a program can't be asked for a decision: its request has no way to answer";
                return Err(Fault::new(FaultKind::PermItem, text));
            }
            Op::Text(body) if body.text().trim().is_empty() => {
                return Err(Fault::new(
                    FaultKind::PermItem,
                    "a text of blanks shows nothing",
                ));
            }
            Op::Text(_) | Op::File { .. } => {}
        }
        if let Some(artifact) = delivery.op.artifact() {
            match blobs.open(&artifact.profile, &artifact.blob.hash).await {
                Ok(_there) => {}
                Err(BlobError::Missing) => {
                    let text = format!(
                        "the bytes of {} are not in the store any more",
                        artifact.name
                    );
                    return Err(Fault::new(FaultKind::PermItem, text));
                }
                Err(error @ (BlobError::Full(_) | BlobError::Io(_))) => {
                    return Err(Fault::new(FaultKind::TempReject, error.to_string()));
                }
            }
        }
        let conversation = &delivery.chat.conversation;
        self.inner
            .rooms
            .hand_over(conversation, delivery.anchor, delivery.key);
        Ok(Done::All(Receipt::new(delivery.key.to_string())))
    }

    async fn preview(&self, chat: &ChatKey, preview: Preview) {
        self.inner.rooms.preview(&chat.conversation, preview);
    }

    async fn activity(&self, chat: &ChatKey, activity: Activity) {
        self.inner.rooms.activity(&chat.conversation, &activity);
    }

    async fn fetch(
        &self,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        let id: ArtifactId = file.as_str().parse().map_err(DownloadError::Refused)?;
        let gone = |error: BlobError| DownloadError::Refused(error.to_string());
        let blobs = &self.inner.ports.blobs;
        let (size, mut bytes) = blobs.open(&id.profile, &id.hash).await.map_err(gone)?;
        if size > limit {
            return Err(DownloadError::TooLarge { limit });
        }
        let mut copied = 0_u64;
        while let Some(piece) = bytes.next().await.map_err(gone)? {
            copied = copied.saturating_add(piece.len() as u64);
            if copied > limit {
                return Err(DownloadError::TooLarge { limit });
            }
            into.write(&piece).await.map_err(DownloadError::Store)?;
        }
        Ok(())
    }

    async fn identify(&self) -> Result<Identity, Fault> {
        Ok(Identity {
            id: HOLDER.to_owned(),
            name: "the API".to_owned(),
        })
    }
}
