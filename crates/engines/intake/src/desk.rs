//! A run's work in progress: what is decided, what is on its way into the store, what has to be tried again.

use std::panic::AssertUnwindSafe;
use std::task::Poll;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use session::{Admission, Came, InboxRow, InboxState, StoreError, Take};
use tokio::time::Instant;

use crate::later::{Later, Setback, Step, chat_of};
use crate::service::{Intake, Stored};

/// A decision on its way into the store.
type Writing<'a> = BoxFuture<'a, Result<(), Setback>>;

pub(crate) struct Desk<'a> {
    intake: &'a Intake,
    /// Decisions on their way into the store: the next event is looked at meanwhile.
    writing: FuturesUnordered<Writing<'a>>,
    later: Later,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(intake: &'a Intake) -> Self {
        Self {
            intake,
            writing: FuturesUnordered::new(),
            later: Later::default(),
        }
    }

    /// When something has to be tried again.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.later.next_due()
    }

    /// Whether decisions are on their way into the store.
    pub(crate) fn is_writing(&self) -> bool {
        !self.writing.is_empty()
    }

    /// The next decision has reached the store, or has not.
    pub(crate) async fn next_written(&mut self) {
        if let Some(written) = self.writing.next().await {
            self.written(written);
        }
    }

    /// Decides on a row, unless its chat waits; the decision is on its way into the store when this returns.
    pub(crate) async fn take_up(&mut self, row: InboxRow) {
        let Some(chat) = chat_of(&row).cloned() else {
            return;
        };
        if self.later.holds(&chat) {
            return self.later.behind(chat, row, Came::Now);
        }
        match self.intake.judge(&row, Came::Now).await {
            Ok(None) => {}
            Ok(Some(admission)) => {
                let mut writing: Writing<'_> =
                    Box::pin(self.intake.write_down(chat, row.id, admission));
                match futures_util::poll!(&mut writing) {
                    Poll::Ready(written) => self.written(written),
                    Poll::Pending => self.writing.push(writing),
                }
            }
            Err(error) => self.later.keep(Setback {
                chat,
                step: Step::Decide(Box::new(row), Came::Now),
                error,
            }),
        }
    }

    /// Decides on a row that an earlier run left, to the end before the next one: it may be what ended that run, and then the
    /// count says so, of this row alone.
    pub(crate) async fn take_up_left(&mut self, row: InboxRow) {
        let came = Came::Before { taken: row.taken };
        let Some(chat) = chat_of(&row).cloned() else {
            return;
        };
        if self.later.holds(&chat) {
            return self.later.behind(chat, row, came);
        }
        let risky = row.state == InboxState::New && self.intake.knows(&row.account);
        let counted = if risky {
            self.intake.take(row.id).await
        } else {
            Ok(Take::Go)
        };
        let decided = match counted {
            Ok(Take::Go) => self.intake.judge(&row, came).await,
            Ok(Take::No) => return,
            Err(error) => Err(error),
        };
        let id = row.id;
        let result = match decided {
            Ok(None) => Ok(()),
            Ok(Some(admission)) => self.intake.write_down(chat, id, admission).await,
            Err(error) => {
                if risky {
                    self.intake.release(id).await;
                }
                Err(Setback {
                    chat,
                    step: Step::Decide(Box::new(row), came),
                    error,
                })
            }
        };
        self.written(result);
    }

    fn written(&mut self, written: Result<(), Setback>) {
        if let Err(setback) = written {
            self.later.keep(setback);
        }
    }

    /// Tries the step that is due, to its end: the chat's next one may build on it.
    pub(crate) async fn try_again(&mut self) {
        let Some((chat, step)) = self.later.take() else {
            return;
        };
        let (id, decided) = match step {
            Step::WriteDown(id, admission) => (id, Ok(Some(admission))),
            Step::Decide(row, came) => {
                let decided = self.intake.judge(&row, came).await;
                let id = row.id;
                (
                    id,
                    decided.map_err(|error| (Step::Decide(row, came), error)),
                )
            }
        };
        let result = match decided {
            Ok(None) => Ok(()),
            Ok(Some(admission)) => self.intake.write_down(chat.clone(), id, admission).await,
            Err((step, error)) => Err(Setback {
                chat: chat.clone(),
                step,
                error,
            }),
        };
        self.later.tried(&chat, result);
    }

    /// Waits for what is on its way; the rest stays for the next start.
    pub(crate) async fn clear(mut self) {
        while let Some(written) = self.writing.next().await {
            self.written(written);
        }
        match self.later.len() {
            0 => {}
            left => tracing::warn!(left, "events wait for the next start"),
        }
    }
}

impl Intake {
    /// Decides; a panic is counted like a crash, and in the end the event is put aside.
    async fn judge(&self, row: &InboxRow, came: Came) -> Stored<Option<Admission>> {
        loop {
            let decided = AssertUnwindSafe(self.decide(row, came)).catch_unwind();
            match decided.await {
                // Time does not heal it.
                Ok(Err(error @ StoreError::Unreadable { .. })) => {
                    let reason = error.to_string();
                    return Ok(Some(Admission::PutAside { reason }));
                }
                Ok(decided) => return decided,
                Err(_panic) => {}
            }
            tracing::error!(inbox = row.id.0, account = %row.account, "an event made the gateway panic");
            if self.take(row.id).await? == Take::No {
                return Ok(None);
            }
        }
    }
}
