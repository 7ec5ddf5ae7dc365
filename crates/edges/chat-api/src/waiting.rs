//! Waiting for an answer.

use std::sync::Arc;
use std::time::Duration;

use session::{Progress, StoreError, TurnAnswer};
use tokio::sync::watch;
use waybill::Conversation;

use crate::api::Inner;
use crate::rooms::{Sign, Waiter};

/// The store is asked at least so often: a sign may be missing.
const ASK: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Debug)]
pub enum News {
    /// The answer so far; replaces what was so far before, and may not be its beginning.
    SoFar(Arc<str>),
    /// The answer: each part was delivered, or is at its end.
    Answer(Box<TurnAnswer>),
}

/// Why there will be no answer.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// It was not let in, or was put aside.
    #[error("the request was not handled: {0}")]
    Refused(String),
    /// It can't be found out now.
    #[error("{0}")]
    Store(#[source] StoreError),
}

/// Somebody's place while an answer is made. Dropped, nobody waits any more; the turn goes on.
pub struct Waiting {
    pub(crate) inner: Arc<Inner>,
    pub(crate) waiter: Arc<Waiter>,
    pub(crate) conversation: Conversation,
    pub(crate) signs: watch::Receiver<Sign>,
    /// The last sign after which the store was asked; `None`: it has to be asked.
    pub(crate) asked: Option<u64>,
    /// The last words that were handed on.
    pub(crate) shown: Option<Arc<str>>,
    /// The store says that the request's own turn runs.
    pub(crate) runs: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.inner.rooms.leave(&self.conversation, &self.waiter);
    }
}

impl Waiting {
    /// The request's id.
    #[must_use]
    pub fn request(&self) -> &str {
        &self.waiter.request
    }

    /// What happens next. Can be dropped and asked again at any moment.
    ///
    /// # Errors
    /// [`WaitError`] if there will be no answer, or nobody can find out.
    pub async fn next(&mut self) -> Result<News, WaitError> {
        loop {
            let sign = self.signs.borrow_and_update().clone();
            if self.asked != Some(sign.stirred) {
                let found = self.look().await?;
                self.asked = Some(sign.stirred);
                if let Some(answer) = found {
                    return Ok(News::Answer(answer));
                }
            }
            let fresh = sign.words.filter(|words| {
                let shown = self.shown.as_ref();
                !shown.is_some_and(|shown| Arc::ptr_eq(shown, words))
            });
            if let Some(words) = fresh {
                // Whose it is is certain only once the request's own turn was begun.
                if !self.runs
                    && let Some(answer) = self.look().await?
                {
                    return Ok(News::Answer(answer));
                }
                if self.runs {
                    self.shown = Some(Arc::clone(&words));
                    return Ok(News::SoFar(words));
                }
            }
            self.waited().await;
        }
    }

    /// Waits for a sign, or until it is time to ask the store without one.
    async fn waited(&mut self) {
        match tokio::time::timeout(ASK, self.signs.changed()).await {
            Ok(Ok(())) => {}
            // The sender is in the waiter, which is ours.
            Ok(Err(_)) | Err(_) => self.asked = None,
        }
    }

    /// Asks the store; the answer, if it is complete.
    async fn look(&mut self) -> Result<Option<Box<TurnAnswer>>, WaitError> {
        let inner = &self.inner;
        let progress = inner
            .ports
            .answers
            .progress(&inner.options.account, &self.waiter.request)
            .await
            .map_err(WaitError::Store)?;
        match progress {
            None => Err(WaitError::Refused("it is kept no longer".to_owned())),
            Some(Progress::Refused { reason }) => Err(WaitError::Refused(reason)),
            Some(Progress::Waits) => Ok(None),
            Some(Progress::Runs { .. }) => {
                self.runs = true;
                Ok(None)
            }
            Some(Progress::Ended(answer)) => {
                let there = answer
                    .parts
                    .iter()
                    .all(|part| !part.state.blocks_lane() || self.waiter.has(&part.key));
                Ok(there.then_some(answer))
            }
        }
    }
}
