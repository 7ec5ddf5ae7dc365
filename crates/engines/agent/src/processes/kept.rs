//! One background process.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redact::{Redactor, Stream};
use sandbox::{Ended, HeadAndTail, Running};
use tokio::sync::{mpsc, oneshot, watch};
use waybill::{Clock, SessionScope, Timestamp, TurnScope};

/// Kept output of a process, in bytes: its beginning and its end.
const LOG: usize = 256 << 10;
/// How long a process that does not read may hold up who writes to it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How a process came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// By itself, or by its sandbox.
    Ended(Ended),
    /// Nobody knows any more; why.
    Lost(String),
    /// Its conversation killed it.
    Killed,
    /// The gateway was stopped.
    Stopped,
    /// The gateway died. Only the next one can tell.
    Died,
}

/// The end of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Over {
    pub(crate) at: Timestamp,
    pub(crate) how: How,
}

/// What it should do.
pub(super) enum Order {
    Write {
        bytes: Vec<u8>,
        then: Then,
        done: oneshot::Sender<Result<(), String>>,
    },
    Kill(How),
}

/// What follows on what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// More may.
    Open,
    /// Nothing: its input ends.
    End,
}

/// What is left to do when a process is over.
pub(super) struct After {
    /// Nobody was there to hear of it.
    pub(super) untold: bool,
    /// It is still to be killed: the gateway stops, and its people are told meanwhile.
    pub(super) running: Option<Box<dyn Running>>,
}

/// A process that somebody stays with.
pub(crate) struct Kept {
    number: u64,
    command: String,
    scope: TurnScope,
    started: Timestamp,
    log: Mutex<HeadAndTail>,
    over: watch::Sender<Option<Over>>,
    orders: mpsc::Sender<Order>,
    /// Calls that wait for its end and will read of it.
    waiting: watch::Sender<usize>,
    /// One of them was told of it.
    heard: AtomicBool,
}

impl Kept {
    pub(super) fn new(
        number: u64,
        command: String,
        scope: TurnScope,
        started: Timestamp,
        orders: mpsc::Sender<Order>,
    ) -> Self {
        Self {
            number,
            command,
            scope,
            started,
            log: Mutex::new(HeadAndTail::new(LOG)),
            over: watch::Sender::new(None),
            orders,
            waiting: watch::Sender::new(0),
            heard: AtomicBool::new(false),
        }
    }

    /// As its conversation calls it: `p1`.
    pub(crate) fn id(&self) -> String {
        format!("p{}", self.number)
    }

    /// The command, without secrets.
    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    /// The turn that started it.
    pub(crate) fn scope(&self) -> &TurnScope {
        &self.scope
    }

    pub(crate) fn started(&self) -> Timestamp {
        self.started
    }

    /// Is it this conversation's? One that was begun anew, or whose chat got another id, is the same.
    pub(super) fn is_of(&self, session: &SessionScope) -> bool {
        let own = self.scope.session();
        own.profile() == session.profile()
            && (own.key() == session.key() || own.id() == session.id())
    }

    pub(crate) fn over(&self) -> Option<Over> {
        self.over.borrow().clone()
    }

    /// What it said by now, without secrets; and how many bytes are left out between the beginning and the end of it.
    pub(crate) fn log(&self) -> (String, String, u64) {
        let log = self.lock().clone();
        let (bytes, left_out) = log.into_parts();
        let (head, tail) = if left_out == 0 {
            (bytes.as_slice(), &[][..])
        } else {
            bytes.split_at((LOG / 2).min(bytes.len()))
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(head), text(tail), left_out)
    }

    fn lock(&self) -> MutexGuard<'_, HeadAndTail> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its end, at most so long. Whoever waits is told of it here, and not by a notice.
    pub(crate) async fn wait(&self, most: Duration) -> Option<Over> {
        let _waiter = Waiter::of(&self.waiting);
        let mut over = self.over.subscribe();
        let ended = tokio::time::timeout(most, over.wait_for(Option::is_some)).await;
        match ended {
            Ok(Ok(over)) => {
                self.heard.store(true, Ordering::SeqCst);
                over.clone()
            }
            Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Did anybody who waited hear of its end? Who waits when it comes may be gone before it is told.
    async fn was_heard(&self) -> bool {
        let mut waiting = self.waiting.subscribe();
        let none_left = waiting.wait_for(|count| *count == 0).await;
        none_left.is_ok() && self.heard.load(Ordering::SeqCst)
    }

    /// Gives it something to read.
    pub(crate) async fn write(&self, bytes: Vec<u8>, then: Then) -> Result<(), String> {
        let (done, told) = oneshot::channel();
        let gone = || "it has ended".to_owned();
        let order = Order::Write { bytes, then, done };
        let sent = tokio::time::timeout(PATIENCE, self.orders.send(order)).await;
        match sent {
            Ok(Ok(())) => told.await.unwrap_or_else(|_gone| Err(gone())),
            Ok(Err(_gone)) => Err(gone()),
            Err(_late) => Err(busy()),
        }
    }

    /// Kills it for its conversation, and returns when it is gone.
    pub(crate) async fn kill(&self) -> Option<Over> {
        let mut over = self.over.subscribe();
        if self.orders.send(Order::Kill(How::Killed)).await.is_err() {
            return self.over();
        }
        over.wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|over| over.clone())
    }

    /// Kills it because the gateway stops.
    pub(super) fn stop(&self) {
        if self.orders.try_send(Order::Kill(How::Stopped)).is_err() {
            tracing::debug!(
                process = self.id(),
                "it has ended, or is killed with the gateway"
            );
        }
    }

    /// Stays with it until its end. Says what is then left to do.
    pub(super) async fn tend(
        &self,
        mut running: Box<dyn Running>,
        mut orders: mpsc::Receiver<Order>,
        redactor: &Arc<Redactor>,
        clock: &dyn Clock,
    ) -> After {
        let mut clean = Stream::new(Arc::clone(redactor));
        let (how, running) = loop {
            tokio::select! {
                said = running.output() => match said {
                    Ok(Some(bytes)) => self.lock().push(&clean.feed(&bytes)),
                    Ok(None) => break match running.ended().await {
                        Ok(ended) => (How::Ended(ended), None),
                        Err(error) => (How::Lost(error.to_string()), None),
                    },
                    Err(error) => {
                        running.kill().await;
                        break (How::Lost(error.to_string()), None);
                    }
                },
                Some(order) = orders.recv() => match order {
                    Order::Write { bytes, then, done } => {
                        let written = write(running.as_mut(), &bytes, then).await;
                        if done.send(written).is_err() {
                            tracing::debug!(process = self.id(), "nobody waits for what was written");
                        }
                    }
                    Order::Kill(How::Stopped) => break (How::Stopped, Some(running)),
                    Order::Kill(how) => {
                        running.kill().await;
                        break (how, None);
                    }
                },
            }
        };
        orders.close();
        self.lock().push(&clean.finish());
        tracing::info!(process = self.id(), turn = %self.scope.turn(), sandbox = %self.scope.sandbox(), ?how, "a background process ended");
        let killed = how == How::Killed;
        self.over.send_replace(Some(Over {
            at: clock.now(),
            how,
        }));
        After {
            untold: !killed && !self.was_heard().await,
            running,
        }
    }
}

async fn write(running: &mut dyn Running, bytes: &[u8], then: Then) -> Result<(), String> {
    if !bytes.is_empty() {
        match tokio::time::timeout(PATIENCE, running.write(bytes)).await {
            Ok(written) => written.map_err(|error| error.to_string())?,
            Err(_late) => return Err(busy()),
        }
    }
    if then == Then::End {
        running.end_input().await;
    }
    Ok(())
}

fn busy() -> String {
    "it does not read now, so not all of this may have reached it".to_owned()
}

/// Counts a call that waits, for as long as it does.
struct Waiter<'a>(&'a watch::Sender<usize>);

impl<'a> Waiter<'a> {
    fn of(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use bytes::Bytes;
    use futures_util::FutureExt;
    use sandbox::{Exit, SandboxError, Window};
    use testkit::clock::{CountingIds, ManualClock};
    use waybill::{
        ChatKey, Conversation, Origin, Placement, ProfileId, ProfileScope, SessionId, SessionKey,
        TaskId, TurnId,
    };

    use super::*;

    /// It ends at once, or never, not even when it is killed.
    struct Fake {
        ends: bool,
    }

    #[async_trait]
    impl Running for Fake {
        async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
            if !self.ends {
                std::future::pending::<()>().await;
            }
            Ok(None)
        }

        async fn write(&mut self, _: &[u8]) -> Result<(), SandboxError> {
            Ok(())
        }

        async fn end_input(&mut self) {}

        async fn resize(&mut self, _: Window) {}

        async fn ended(self: Box<Self>) -> Result<Ended, SandboxError> {
            Ok(Ended {
                exit: Exit::Code(0),
                note: None,
            })
        }

        async fn kill(self: Box<Self>) {
            std::future::pending().await
        }
    }

    fn kept() -> (Kept, mpsc::Receiver<Order>) {
        let (clock, ids) = (ManualClock::default(), CountingIds::default());
        let profile = ProfileScope::enter(ProfileId::parse("p").unwrap());
        let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new("a").unwrap());
        let session = profile.session(SessionKey::Chat(chat), SessionId::fresh(&ids));
        let scope = session.begin_turn(
            TurnId::fresh(&ids),
            TaskId::fresh(&ids),
            Origin::Operator,
            Placement::PerProfile,
        );
        let (orders_in, orders) = mpsc::channel(1);
        let kept = Kept::new(1, "true".to_owned(), scope, clock.now(), orders_in);
        (kept, orders)
    }

    #[tokio::test]
    async fn who_waited_but_went_before_it_was_told_is_sent_the_notice() {
        let (redactor, clock) = (Arc::default(), ManualClock::default());
        for stays in [true, false] {
            let (kept, orders) = kept();
            let mut waiting = Box::pin(kept.wait(Duration::from_secs(600)));
            assert!(waiting.as_mut().now_or_never().is_none());
            let mut tending =
                Box::pin(kept.tend(Box::new(Fake { ends: true }), orders, &redactor, &clock));
            let early = tending.as_mut().now_or_never();
            assert!(early.is_none(), "nobody knows yet whether it is heard");
            if stays {
                assert!(waiting.await.is_some());
            } else {
                drop(waiting);
            }
            assert_eq!(tending.await.untold, !stays);
        }
    }

    #[tokio::test]
    async fn a_stop_is_told_before_what_does_not_want_to_die_is_dead() {
        let (redactor, clock) = (Arc::default(), ManualClock::default());
        let (kept, orders) = kept();
        kept.stop();
        let running = Box::new(Fake { ends: false });
        let tending = kept.tend(running, orders, &redactor, &clock);
        let after = tending.now_or_never().unwrap();
        assert!(after.untold && after.running.is_some());
        assert_eq!(kept.over().unwrap().how, How::Stopped);
    }
}
