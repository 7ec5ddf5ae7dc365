//! The lines of turns: one turn at a time in a conversation, any number of conversations side by side.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat::Inbound;
use futures_util::FutureExt;
use outbox::StoreError;
use session::{Admitted, LineStatus, Turn, TurnLine, TurnRecord};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use waybill::{ProfileId, SessionKey, SessionScope};

use crate::Ports;
use crate::turn;

/// How the agent works.
#[derive(Debug, Clone)]
pub struct Options {
    /// This installation's id, for the keys of messages.
    pub install: String,
    /// Most turns at once.
    pub turns: usize,
    /// How long running turns may go on when the gateway stops.
    pub grace: Duration,
}

/// What a turn begins with.
#[derive(Debug)]
pub(crate) enum Work {
    /// A message.
    Fresh(Box<Admitted>),
    /// A turn that a stop or a crash cut off.
    Resumed(Box<TurnRecord>),
    /// A turn that the store did not let go on.
    Retried(Box<TurnRecord>),
}

impl Work {
    /// Whose it is.
    pub(crate) fn session(&self) -> &SessionScope {
        match self {
            Self::Fresh(admitted) => &admitted.scope,
            Self::Resumed(record) | Self::Retried(record) => record.scope.session(),
        }
    }

    /// What the person wrote.
    pub(crate) fn inbound(&self) -> Option<&Inbound> {
        match self {
            Self::Fresh(admitted) => Some(&admitted.inbound),
            Self::Resumed(record) | Self::Retried(record) => record.inbound.as_ref(),
        }
    }
}

/// First wait before a turn that the store did not take is tried again; doubled each time.
const REST: Duration = Duration::from_secs(1);
/// Longest wait.
const LONGEST_REST: Duration = Duration::from_secs(30);

type LineKey = (ProfileId, SessionKey);

#[derive(Default)]
struct Line {
    running: Option<CancellationToken>,
    waiting: VecDeque<Work>,
    /// The person stopped what was about to begin.
    stop_next: bool,
}

#[derive(Default)]
struct Board {
    lines: Mutex<HashMap<LineKey, Line>>,
    bell: Notify,
}

impl Board {
    fn lines(&self) -> MutexGuard<'_, HashMap<LineKey, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, key: LineKey, work: Work) -> Turn {
        let mut lines = self.lines();
        let line = lines.entry(key).or_default();
        let idle = line.running.is_none() && line.waiting.is_empty();
        line.waiting.push_back(work);
        self.bell.notify_one();
        if idle { Turn::Next } else { Turn::Waits }
    }

    /// The next work of each idle line, at most `most`.
    fn ready(&self, most: usize) -> Vec<(LineKey, Work, CancellationToken)> {
        let mut lines = self.lines();
        let mut ready = Vec::new();
        for (key, line) in lines.iter_mut() {
            if ready.len() == most {
                break;
            }
            if line.running.is_none()
                && let Some(work) = line.waiting.pop_front()
            {
                let stop = CancellationToken::new();
                if std::mem::take(&mut line.stop_next) {
                    stop.cancel();
                }
                line.running = Some(stop.clone());
                ready.push((key.clone(), work, stop));
            }
        }
        ready
    }

    fn ended(&self, key: &LineKey) {
        let mut lines = self.lines();
        if let Some(line) = lines.get_mut(key) {
            line.running = None;
            if line.waiting.is_empty() {
                lines.remove(key);
            }
        }
    }
}

/// The service.
pub struct Agent {
    options: Options,
    ports: Ports,
    board: Arc<Board>,
}

/// The lines as others see them; cheap to clone.
#[derive(Clone)]
pub struct AgentHandle {
    board: Arc<Board>,
}

fn line_key(scope: &SessionScope) -> LineKey {
    (scope.profile().clone(), scope.key().clone())
}

impl TurnLine for AgentHandle {
    fn enqueue(&self, admitted: Admitted) -> Turn {
        let key = line_key(&admitted.scope);
        self.board.push(key, Work::Fresh(Box::new(admitted)))
    }

    fn stop(&self, scope: &SessionScope) -> bool {
        let mut lines = self.board.lines();
        let Some(line) = lines.get_mut(&line_key(scope)) else {
            return false;
        };
        match &line.running {
            Some(running) => running.cancel(),
            None if line.waiting.is_empty() => return false,
            None => line.stop_next = true,
        }
        true
    }

    fn status(&self, scope: &SessionScope) -> LineStatus {
        let lines = self.board.lines();
        lines.get(&line_key(scope)).map_or(
            LineStatus {
                running: false,
                waiting: 0,
            },
            |line| LineStatus {
                running: line.running.is_some(),
                waiting: line.waiting.len(),
            },
        )
    }
}

impl Agent {
    /// Builds the service.
    #[must_use]
    pub fn new(options: Options, ports: Ports) -> Self {
        Self {
            options,
            ports,
            board: Arc::default(),
        }
    }

    /// The lines as others see them.
    #[must_use]
    pub fn handle(&self) -> AgentHandle {
        AgentHandle {
            board: Arc::clone(&self.board),
        }
    }

    /// Puts turns that were cut off at the head of their lines. Comes before intake takes up what waits behind them.
    ///
    /// # Errors
    /// [`StoreError`] if they can't be read.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let cut_off = self.ports.sessions.running_turns().await?;
        let count = cut_off.len();
        for record in cut_off {
            let key = line_key(record.scope.session());
            self.board.push(key, Work::Resumed(Box::new(record)));
        }
        Ok(count)
    }

    /// Runs turns until it is told to stop; then running ones get their grace, and what is cut off goes on at the next start.
    pub async fn run(self, stop: CancellationToken) {
        let mut turns: JoinSet<LineKey> = JoinSet::new();
        loop {
            let free = self.options.turns.saturating_sub(turns.len());
            for (key, work, cancel) in self.board.ready(free) {
                let ports = self.ports.clone();
                let install = self.options.install.clone();
                turns.spawn(async move {
                    let whole = AssertUnwindSafe(to_the_end(&ports, &install, work, &cancel));
                    if whole.catch_unwind().await.is_err() {
                        tracing::error!(
                            "a turn panicked outside its own guard; it goes on at the next start"
                        );
                    }
                    key
                });
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = turns.join_next() => self.ended(ended),
                () = self.board.bell.notified() => {}
            }
        }
        let grace = tokio::time::timeout(self.options.grace, async {
            while let Some(ended) = turns.join_next().await {
                self.ended(ended);
            }
        });
        if grace.await.is_err() {
            tracing::warn!(
                turns = turns.len(),
                "turns were cut off; they go on at the next start"
            );
            turns.shutdown().await;
        }
    }

    fn ended(&self, ended: Result<LineKey, tokio::task::JoinError>) {
        match ended {
            Ok(key) => self.board.ended(&key),
            // Panics are caught inside; this is the runtime being shut down.
            Err(error) => tracing::error!(%error, "a turn's task ended badly"),
        }
    }
}

/// Runs a turn, again after a rest for as long as the store does not take it.
async fn to_the_end(ports: &Ports, install: &str, work: Work, stop: &CancellationToken) {
    let mut rest = REST;
    let mut next = turn::run(ports, install, work, stop).await;
    while let Some(again) = next {
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(LONGEST_REST);
        next = turn::run(ports, install, again, stop).await;
    }
}
