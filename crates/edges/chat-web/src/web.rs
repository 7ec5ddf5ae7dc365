//! The channel itself, and its handle: a clone is cheap and speaks of the same thing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chat::{Descriptor, Grade, InboundSink, PhotoRule, Rates, Rendering, WhenUnknown};
use sandbox::BlobStore;
use session::{NewVisible, VisibleAuthor, VisibleContent, VisibleLog};
use tokio::sync::{Mutex, mpsc, oneshot};
use waybill::{AccountId, Clock, Conversation, Limit};

use crate::live::{Channel, Channels, Subscription};
use crate::said::{Heard, LONGEST_TEXT, Said, SayError};
use crate::taps::{TapAnswer, Tapped, Taps};

/// The sender's id: whoever is logged in is the owner.
pub const OWNER: &str = "owner";

/// Most messages that wait to be taken.
const WAITING: usize = 32;
/// Longest wait for a message to become durable.
const PATIENCE: Duration = Duration::from_secs(15);

/// Most answers that are stored at once: more would wait for the same disk.
const AT_ONCE: usize = 64;

/// How the web chat is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its account.
    pub account: AccountId,
    /// Largest file, in bytes, in both directions.
    pub attachment_bytes: u64,
}

/// What it needs.
#[derive(Clone)]
pub struct Ports {
    /// What is visible, at rest.
    pub visible: Arc<dyn VisibleLog>,
    /// Files at rest.
    pub blobs: Arc<dyn BlobStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What a person did.
pub(crate) enum Done {
    Said(Said),
    Tapped(Tapped),
}

pub(crate) struct Submission {
    done: Done,
    answer: oneshot::Sender<Result<Heard, SayError>>,
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) ports: Ports,
    pub(crate) descriptor: Descriptor,
    pub(crate) channels: Channels,
    pub(crate) submissions: Mutex<mpsc::Receiver<Submission>>,
    submit: mpsc::Sender<Submission>,
    pub(crate) taps: Taps,
}

/// The web chat.
#[derive(Clone)]
pub struct Web {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Web {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Web")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

fn descriptor(options: &Options) -> Descriptor {
    Descriptor {
        kind: "web".to_owned(),
        rendering: Rendering::Markdown,
        text: Limit::Chars(LONGEST_TEXT),
        caption: Some(Limit::Chars(LONGEST_TEXT)),
        file_out: options.attachment_bytes,
        file_in: options.attachment_bytes,
        photo: Some(PhotoRule {
            bytes: options.attachment_bytes,
            types: ["image/png", "image/jpeg", "image/gif", "image/webp"]
                .map(str::to_owned)
                .to_vec(),
        }),
        voice: ["audio/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a"]
            .map(str::to_owned)
            .to_vec(),
        previews: true,
        typing_seconds: Some(5),
        grade: Grade::Keyed { window: None },
        settle: Duration::ZERO,
        carrier: None,
        rates: Rates::unlimited(AT_ONCE),
        when_unknown: WhenUnknown::Repeat,
    }
}

impl Web {
    /// Sets it up; nothing is heard before [`chat::ChatAdapter::listen`] runs.
    #[must_use]
    pub fn new(options: Options, ports: Ports) -> Self {
        let (submit, submissions) = mpsc::channel(WAITING);
        Self {
            inner: Arc::new(Inner {
                descriptor: descriptor(&options),
                options,
                ports,
                channels: Channels::default(),
                submissions: Mutex::new(submissions),
                submit,
                taps: Taps::default(),
            }),
        }
    }

    /// Takes what a person says. `Ok` means: durable, and visible. The conversation must exist.
    ///
    /// # Errors
    /// [`SayError`], written for the person. Saying it again with the same id is always safe.
    pub async fn say(&self, said: Said) -> Result<Heard, SayError> {
        said.check()?;
        self.submit(Done::Said(said)).await
    }

    /// Takes a tap on a question's answer. `Ok` means: durable; with what came of it, if that was known in a few seconds.
    ///
    /// # Errors
    /// [`SayError`], written for the person. Tapping again with the same id is always safe.
    pub async fn tap(&self, tapped: Tapped) -> Result<Option<TapAnswer>, SayError> {
        tapped.check()?;
        let told = self.inner.taps.listen(&tapped.key());
        self.submit(Done::Tapped(tapped)).await?;
        Ok(told.wait().await)
    }

    async fn submit(&self, done: Done) -> Result<Heard, SayError> {
        let (answer, heard) = oneshot::channel();
        let deadline = tokio::time::Instant::now() + PATIENCE;
        match tokio::time::timeout_at(
            deadline,
            self.inner.submit.send(Submission { done, answer }),
        )
        .await
        {
            Ok(Ok(())) => {}
            Ok(Err(_closed)) => return Err(SayError::NotListening),
            Err(_late) => return Err(SayError::NotListening),
        }
        match tokio::time::timeout_at(deadline, heard).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_dropped)) => Err(SayError::Unknown),
            Err(_late) => Err(SayError::Unknown),
        }
    }

    /// Looks at a conversation from now on.
    #[must_use]
    pub fn subscribe(&self, conversation: &Conversation) -> Subscription {
        self.inner.channels.of(conversation).subscribe()
    }

    pub(crate) async fn take(&self, sink: &dyn InboundSink, submission: Submission) {
        let Submission { done, answer } = submission;
        let result = match done {
            Done::Said(said) => {
                let channel = self.inner.channels.of(&said.conversation);
                let _turn = channel.gate.lock().await;
                self.keep(sink, &channel, said).await
            }
            Done::Tapped(tapped) => {
                let account = &self.inner.options.account;
                let event = tapped.event(account, self.inner.ports.clock.now());
                let stored = sink.accept(account, vec![event], None).await;
                stored
                    .map(|_accepted| Heard {
                        entry: chat::Receipt::new(tapped.entry.to_string()),
                    })
                    .map_err(|error| SayError::NotStored(error.to_string()))
            }
        };
        if answer.send(result).is_err() {
            tracing::debug!("a page went away before it heard that its message was taken");
        }
    }

    async fn keep(
        &self,
        sink: &dyn InboundSink,
        channel: &Channel,
        said: Said,
    ) -> Result<Heard, SayError> {
        let account = &self.inner.options.account;
        let at = self.inner.ports.clock.now();
        sink.accept(account, vec![said.event(account, at)], None)
            .await
            .map_err(|error| SayError::NotStored(error.to_string()))?;
        let entry = NewVisible {
            conversation: said.conversation.clone(),
            author: VisibleAuthor::Person,
            key: said.visible_key(),
            content: VisibleContent::Said {
                text: said.text,
                files: said.files,
            },
            at,
        };
        // If this fails the message is durable but not yet visible; the page says so and sends it again, which mends it.
        match self.inner.ports.visible.add(entry).await {
            Ok(Ok(visible)) => {
                let heard = Heard {
                    entry: chat::Receipt::new(visible.id.to_string()),
                };
                channel.entry(visible, Some(said.message));
                Ok(heard)
            }
            Ok(Err(entry)) => Ok(Heard { entry }),
            Err(error) => Err(SayError::NotStored(error.to_string())),
        }
    }
}
