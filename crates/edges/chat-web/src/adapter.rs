//! The web chat as the rest of the house sees it.

use std::convert::Infallible;

use async_trait::async_trait;
use chat::{
    Activity, ChatAdapter, Delivery, Descriptor, Done, DownloadError, Fault, FaultKind, FileHandle,
    Identity, InboundSink, ListenError, Preview, Receipt,
};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use sandbox::{ArtifactId, BlobError, BlobStore, BlobWriter};
use session::{NewVisible, VisibleAuthor, VisibleContent};
use waybill::{AccountId, ChatKey};

use crate::said::blank;
use crate::taps::TapAnswer;
use crate::{OWNER, Web};

/// Most messages that are made durable at the same time.
const AT_ONCE: usize = 16;

#[async_trait]
impl ChatAdapter for Web {
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

    async fn deliver(&self, delivery: Delivery<'_>, blobs: &dyn BlobStore) -> Result<Done, Fault> {
        let conversation = &delivery.chat.conversation;
        if delivery.chat.account != *self.account() {
            let text = format!(
                "'{}' is another account than '{}'",
                delivery.chat.account,
                self.account()
            );
            return Err(Fault::new(FaultKind::PermItem, text));
        }
        let stored =
            |error: session::StoreError| Fault::new(FaultKind::TempReject, error.to_string());
        if self
            .inner
            .ports
            .visible
            .conversation(conversation)
            .await
            .map_err(stored)?
            .is_none()
        {
            let text = format!("the web chat has no conversation '{conversation}'");
            return Err(Fault::new(FaultKind::PermChat, text));
        }
        match delivery.op.artifact() {
            Some(artifact) => match blobs.open(&artifact.profile, &artifact.blob.hash).await {
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
            },
            None => {
                if let chat::Op::Text(body) | chat::Op::Question { body, .. } = delivery.op
                    && blank(body.text())
                {
                    return Err(Fault::new(
                        FaultKind::PermItem,
                        "a text of blanks shows nothing",
                    ));
                }
            }
        }
        let channel = self.inner.channels.of(conversation);
        let _turn = channel.gate.lock().await;
        let entry = NewVisible {
            conversation: conversation.clone(),
            author: VisibleAuthor::Agent,
            content: VisibleContent::Part {
                op: delivery.op.clone(),
                may_be_repeat: delivery.may_be_repeat,
            },
            key: delivery.key,
            at: self.inner.ports.clock.now(),
        };
        match self.inner.ports.visible.add(entry).await.map_err(stored)? {
            Ok(visible) => {
                let receipt = Receipt::new(visible.id.to_string());
                if let chat::Op::Question { question, .. } = delivery.op {
                    channel.question(question, None);
                }
                channel.entry(visible, None);
                Ok(Done::All(receipt))
            }
            Err(receipt) => {
                let kind = FaultKind::Duplicate {
                    receipt: Some(receipt),
                };
                Err(Fault::new(kind, "it is visible already"))
            }
        }
    }

    async fn preview(&self, chat: &ChatKey, preview: Preview) {
        self.inner.channels.of(&chat.conversation).preview(preview);
    }

    async fn activity(&self, chat: &ChatKey, activity: Activity) {
        let channel = self.inner.channels.of(&chat.conversation);
        match activity {
            Activity::Tapped { id, says, over } => {
                let over = over.is_some();
                self.inner.taps.told(&id, TapAnswer { says, over });
            }
            Activity::Answered { question, outcome } => channel.question(&question, Some(outcome)),
            shown @ (Activity::Typing
            | Activity::ToolBegan { .. }
            | Activity::ToolEnded { .. }
            | Activity::Idle) => channel.activity(shown),
        }
    }

    async fn fetch(
        &self,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        let id: ArtifactId = file.as_str().parse().map_err(DownloadError::Refused)?;
        let gone = |error: BlobError| DownloadError::Refused(error.to_string());
        let (size, mut bytes) = self
            .inner
            .ports
            .blobs
            .open(&id.profile, &id.hash)
            .await
            .map_err(gone)?;
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
            id: OWNER.to_owned(),
            name: "the web chat".to_owned(),
        })
    }
}
