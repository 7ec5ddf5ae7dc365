//! Commands that go on when their turn has ended: who may see them, how many there may be, and who hears of their end.
//!
//! A conversation sees its own and no others, though it may share a sandbox with them. They end with the gateway.

mod kept;
mod notice;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sandbox::{Running, SandboxKey};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use waybill::{SessionScope, Timestamp, TurnScope};

use crate::Ports;

pub(crate) use kept::{How, Kept, Over, Then};
pub(crate) use notice::span;

/// Background processes that may run in one sandbox at a time.
pub(crate) const MOST_RUNNING: usize = 8;
/// Ended ones that are remembered, of one sandbox.
const MOST_ENDED: usize = 16;
/// Ended ones that are remembered in all: each holds a log.
const MOST_ENDED_IN_ALL: usize = 256;
/// How long an ended one is remembered, in seconds.
const REMEMBERED: i64 = 3600;
/// How long a stop waits until all are gone and their ends are written down. Clearly less than the gateway gives the agent.
const FAREWELL: Duration = Duration::from_secs(8);
/// Orders that wait for a process that is busy.
const ORDERS: usize = 8;

/// What is asked for when there is no such process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// Not of this conversation, or not any more.
    #[error("there is no background process {0}; action list says which there are")]
    Unknown(String),
    /// As many as there may be.
    #[error(
        "{MOST_RUNNING} background processes run in this sandbox already, and more are not started; end one first"
    )]
    TooMany,
    /// The gateway stops.
    #[error("the gateway is being stopped, so nothing is started any more")]
    Closed,
}

#[derive(Default)]
struct Board {
    last: u64,
    kept: Vec<Arc<Kept>>,
    closed: bool,
}

/// All background processes of this gateway.
#[derive(Default)]
pub(crate) struct Processes {
    install: String,
    board: Mutex<Board>,
    tasks: Mutex<JoinSet<()>>,
}

impl Processes {
    pub(crate) fn new(install: String) -> Self {
        Self {
            install,
            ..Self::default()
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// May another be started in this sandbox?
    pub(crate) fn has_room(&self, sandbox: &SandboxKey) -> Result<(), Error> {
        self.board().has_room(sandbox)
    }

    /// Takes over a process that was started. If there is no room for it any more it is dropped, and so killed. When it returns, its
    /// person will hear of its end even if the gateway dies.
    pub(crate) async fn keep(
        &self,
        ports: &Ports,
        scope: &TurnScope,
        command: &str,
        running: Box<dyn Running>,
    ) -> Result<Arc<Kept>, Error> {
        let (orders_in, orders_out) = mpsc::channel(ORDERS);
        let now = ports.clock.now();
        let kept = {
            let mut board = self.board();
            board.forget(now);
            board.has_room(scope.sandbox())?;
            board.last += 1;
            let kept = Arc::new(Kept::new(
                board.last,
                ports.redactor.redact(command).into_owned(),
                scope.clone(),
                now,
                orders_in,
            ));
            board.kept.push(Arc::clone(&kept));
            kept
        };
        let left = notice::leave(ports, &self.install, &kept).await;
        let (ports, install, tended) = (ports.clone(), self.install.clone(), Arc::clone(&kept));
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let after = tended
                .tend(running, orders_out, &ports.redactor, ports.clock.as_ref())
                .await;
            // What is killed may take its time to die, and a stop has none.
            let killing = async {
                if let Some(running) = after.running {
                    running.kill().await;
                }
            };
            let telling = async {
                if after.untold {
                    notice::tell(&ports, &install, &tended).await;
                }
            };
            tokio::join!(killing, telling);
            notice::take_back(&ports, left).await;
        });
        Ok(kept)
    }

    /// Those of a conversation, oldest first.
    pub(crate) fn of(&self, session: &SessionScope, now: Timestamp) -> Vec<Arc<Kept>> {
        let mut board = self.board();
        board.forget(now);
        let own = board.kept.iter().filter(|kept| kept.is_of(session));
        own.cloned().collect()
    }

    /// One of a conversation.
    pub(crate) fn find(
        &self,
        session: &SessionScope,
        id: &str,
        now: Timestamp,
    ) -> Result<Arc<Kept>, Error> {
        self.of(session, now)
            .into_iter()
            .find(|kept| kept.id() == id)
            .ok_or_else(|| Error::Unknown(id.chars().take(40).collect()))
    }

    /// Those that run, of everybody: for the owner.
    pub(crate) fn running(&self) -> Vec<Arc<Kept>> {
        let board = self.board();
        let running = board.kept.iter().filter(|kept| kept.over().is_none());
        running.cloned().collect()
    }

    /// The gateway stops: kills all that run, and lets their people know.
    pub(crate) async fn close(&self) {
        self.board().closed = true;
        for kept in self.running() {
            kept.stop();
        }
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        if tokio::time::timeout(FAREWELL, tasks.join_all())
            .await
            .is_err()
        {
            tracing::warn!("background processes were killed without a word to their people");
        }
    }
}

impl Board {
    fn has_room(&self, sandbox: &SandboxKey) -> Result<(), Error> {
        if self.closed {
            return Err(Error::Closed);
        }
        let running = self
            .kept
            .iter()
            .filter(|kept| kept.scope().sandbox() == sandbox && kept.over().is_none());
        if running.count() >= MOST_RUNNING {
            return Err(Error::TooMany);
        }
        Ok(())
    }

    /// Forgets what ended long ago, and what is too many.
    fn forget(&mut self, now: Timestamp) {
        let mut all = 0;
        let mut by_sandbox: std::collections::HashMap<SandboxKey, usize> =
            std::collections::HashMap::new();
        // The newest are kept.
        let mut kept: Vec<Arc<Kept>> = std::mem::take(&mut self.kept)
            .into_iter()
            .rev()
            .filter(|kept| {
                let Some(over) = kept.over() else {
                    return true;
                };
                let own = by_sandbox
                    .entry(kept.scope().sandbox().clone())
                    .or_default();
                *own += 1;
                all += 1;
                let fresh = now.as_second().saturating_sub(over.at.as_second()) < REMEMBERED;
                fresh && *own <= MOST_ENDED && all <= MOST_ENDED_IN_ALL
            })
            .collect();
        kept.reverse();
        self.kept = kept;
    }
}
