//! The service: runs what the lines have ready, each turn guarded, until it is told to stop.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use outbox::StoreError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::line::{AgentHandle, Board, LineKey, Seat, Work};
use crate::{Ports, turn};

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

/// First wait before a turn that the store did not take is tried again; doubled each time.
const REST: Duration = Duration::from_secs(1);
/// Longest wait.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// The service.
pub struct Agent {
    options: Options,
    ports: Ports,
    board: Arc<Board>,
}

impl Agent {
    /// Builds the service.
    #[must_use]
    pub fn new(options: Options, ports: Ports) -> Self {
        let board = Arc::new(Board::new(options.install.clone()));
        Self {
            options,
            ports,
            board,
        }
    }

    /// The lines as others see them.
    #[must_use]
    pub fn handle(&self) -> AgentHandle {
        AgentHandle::new(Arc::clone(&self.board), self.ports.clone())
    }

    /// Puts turns that were cut off at the head of their lines. Comes before intake takes up what waits behind them.
    ///
    /// # Errors
    /// [`StoreError`] if they can't be read.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let said = self.ports.last_words.speak(self.ports.clock.now()).await?;
        self.ports.outlet.carry(said);
        let cut_off = self.ports.sessions.running_turns().await?;
        let count = cut_off.len();
        for record in cut_off {
            self.board.push(Work::Resumed(Box::new(record)));
        }
        Ok(count)
    }

    /// Runs turns until it is told to stop; then running ones get their grace, and what is cut off goes on at the next start.
    /// Background processes are ended last, and their people are told.
    pub async fn run(self, stop: CancellationToken) {
        let mut turns: JoinSet<LineKey> = JoinSet::new();
        loop {
            let free = self.options.turns.saturating_sub(turns.len());
            for (key, work, cancel) in self.board.ready(free) {
                let ports = self.ports.clone();
                let install = self.options.install.clone();
                let board = Arc::clone(&self.board);
                turns.spawn(async move {
                    let seat = Seat::new(&board, &key);
                    guarded(&ports, &install, seat, work, &cancel).await;
                    key
                });
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = turns.join_next() => self.ended(ended),
                () = self.board.rung() => {}
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
        // First, since the farewell below may be cut short.
        self.take_back_counts().await;
        self.board.processes().close().await;
    }

    /// A stop is no failure of the events that it cut.
    async fn take_back_counts(&self) {
        for event in self.board.take_counted() {
            if let Err(error) = self.ports.inbox.release(event).await {
                tracing::warn!(%error, inbox = event.0, "an event that the stop cut stays counted as one that was not handled to its end");
            }
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

/// Runs a turn to its end; one that panics outside its own guard ends in a sentence, too.
async fn guarded(
    ports: &Ports,
    install: &str,
    seat: Seat<'_>,
    work: Work,
    stop: &CancellationToken,
) {
    let session = work.session().clone();
    let whole = AssertUnwindSafe(to_the_end(ports, install, seat, work, stop));
    if whole.catch_unwind().await.is_ok() {
        return;
    }
    tracing::error!("a turn panicked outside its own guard");
    let ending = AssertUnwindSafe(turn::abandon(ports, install, &session));
    match ending.catch_unwind().await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::error!(%error, "its end could not be stored; it goes on at the next start");
        }
        Err(_panic) => {
            tracing::error!("its end panicked, too; it goes on at the next start");
        }
    }
}

/// Runs a turn, again after a rest for as long as the store does not take it.
async fn to_the_end(
    ports: &Ports,
    install: &str,
    seat: Seat<'_>,
    work: Work,
    stop: &CancellationToken,
) {
    let mut rest = REST;
    let mut next = turn::run(ports, install, seat, work, stop).await;
    while let Some(again) = next {
        tokio::time::sleep(rest).await;
        rest = (rest * 2).min(LONGEST_REST);
        next = turn::run(ports, install, seat, again, stop).await;
    }
}
