//! The channel itself, and its handle: a clone is cheap and speaks of the same thing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chat::{Descriptor, Grade, InboundSink, PhotoRule, Rates, Rendering, WhenUnknown};
use sandbox::BlobStore;
use session::{AnswerStore, KeyedRequest, Known};
use tokio::sync::{Mutex, mpsc, oneshot};
use waybill::{AccountId, Clock, Conversation, Ids, Limit};

use crate::request::{AskError, LONGEST_TEXT, Request, is_once};
use crate::rooms::{Place, Rooms, Waiter};
use crate::waiting::Waiting;

/// Most requests that wait to be taken.
const WAITING: usize = 1_024;
/// Longest wait for a request to become durable.
const PATIENCE: Duration = Duration::from_secs(15);
/// Most answers that are handed over at once: it costs no more than a look at the files.
const AT_ONCE: usize = 256;
/// How long a request is known by its key.
const KNOWN: Duration = Duration::from_secs(24 * 60 * 60);

/// How it is set up.
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
    /// What became of requests.
    pub answers: Arc<dyn AnswerStore>,
    /// Files at rest.
    pub blobs: Arc<dyn BlobStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids.
    pub ids: Arc<dyn Ids>,
}

/// A request on its way to the inbox.
pub(crate) struct Submission {
    request: Request,
    conversation: Conversation,
    waiter: Arc<Waiter>,
    answer: oneshot::Sender<Result<(), AskError>>,
}

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) ports: Ports,
    pub(crate) descriptor: Descriptor,
    pub(crate) rooms: Rooms,
    pub(crate) submissions: Mutex<mpsc::Receiver<Submission>>,
    submit: mpsc::Sender<Submission>,
}

/// The API as a channel.
#[derive(Clone)]
pub struct Api {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Api {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Api")
            .field("options", &self.inner.options)
            .finish_non_exhaustive()
    }
}

fn descriptor(options: &Options) -> Descriptor {
    Descriptor {
        kind: "api".to_owned(),
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
        voice: Vec::new(),
        previews: true,
        // A renewed sign would read like the beginning of another turn.
        typing_seconds: None,
        grade: Grade::Keyed { window: None },
        settle: Duration::ZERO,
        carrier: None,
        rates: Rates::unlimited(AT_ONCE),
        when_unknown: WhenUnknown::Repeat,
    }
}

impl Api {
    /// Sets it up; nothing is heard before [`chat::ChatAdapter::listen`] runs.
    #[must_use]
    pub fn new(options: Options, ports: Ports) -> Self {
        let (submit, submissions) = mpsc::channel(WAITING);
        Self {
            inner: Arc::new(Inner {
                descriptor: descriptor(&options),
                options,
                ports,
                rooms: Rooms::default(),
                submissions: Mutex::new(submissions),
                submit,
            }),
        }
    }

    /// The account under which it is one of the channels.
    #[must_use]
    pub fn account(&self) -> &AccountId {
        &self.inner.options.account
    }

    /// Takes a request; `Ok` means that it is durable. One that was asked before with the same key is not asked again: the
    /// place is one where its answer comes.
    ///
    /// # Errors
    /// [`AskError`], written for whoever wrote the program.
    pub async fn ask(&self, request: Request) -> Result<Waiting, AskError> {
        request.check()?;
        let mut id = format!("req_{}", self.inner.ports.ids.uuid().simple());
        let mut conversation = request.conversation(&id)?;
        let mut place = Place::InLine;
        if let Some(key) = request.key {
            let now = self.inner.ports.clock.now();
            let asked = KeyedRequest {
                client: request.client.clone(),
                key: key.key,
                asks: key.asks,
                request: id.clone(),
                conversation: conversation.clone(),
            };
            let known = self.inner.ports.answers.know(asked, now - KNOWN, now);
            match known
                .await
                .map_err(|error| AskError::NotStored(error.to_string()))?
            {
                Known::Fresh => {}
                Known::Otherwise => return Err(AskError::OtherRequest),
                Known::Before {
                    request: first,
                    conversation: there,
                } => {
                    (id, conversation, place) = (first, there, Place::Aside);
                }
            }
        }
        let waiter = Arc::new(Waiter::new(id, place));
        let signs = waiter.watch();
        let waiting = Waiting {
            inner: Arc::clone(&self.inner),
            waiter: Arc::clone(&waiter),
            conversation: conversation.clone(),
            signs,
            // Of a fresh one nothing is known that its taking would not say.
            asked: (place == Place::InLine).then_some(0),
            shown: None,
            runs: false,
        };
        let (answer, taken) = oneshot::channel();
        let submission = Submission {
            request,
            conversation,
            waiter,
            answer,
        };
        let deadline = tokio::time::Instant::now() + PATIENCE;
        match tokio::time::timeout_at(deadline, self.inner.submit.send(submission)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Err(AskError::NotListening),
        }
        match tokio::time::timeout_at(deadline, taken).await {
            Ok(Ok(Ok(()))) => Ok(waiting),
            Ok(Ok(Err(error))) => Err(error),
            Ok(Err(_)) | Err(_) => Err(AskError::Unknown),
        }
    }

    /// Makes a request durable. Also one that was asked before: its first taking may have been cut off, and the inbox passes
    /// over what it has.
    pub(crate) async fn take(&self, sink: &dyn InboundSink, submission: Submission) {
        let Submission {
            request,
            conversation,
            waiter,
            answer,
        } = submission;
        let _turn = if is_once(&conversation) {
            None
        } else {
            Some(self.inner.rooms.gate(&conversation).lock_owned().await)
        };
        if answer.is_closed() {
            // Whoever asked was told that it may not be taken, or went away before it was.
            return;
        }
        self.inner.rooms.enter(&conversation, Arc::clone(&waiter));
        let account = &self.inner.options.account;
        let at = self.inner.ports.clock.now();
        let event = request.event(account, &conversation, &waiter.request, at);
        let taken = match sink.accept(account, vec![event], None).await {
            Ok(_accepted) => Ok(()),
            Err(error) => Err(AskError::NotStored(error.to_string())),
        };
        if taken.is_err() {
            self.inner.rooms.forget(&conversation, &waiter);
        }
        if answer.send(taken).is_err() {
            // Its place is left: the owner of the place is gone already.
            self.inner.rooms.leave(&conversation, &waiter);
            tracing::debug!("a program went away before it heard that its request was taken");
        }
    }
}
