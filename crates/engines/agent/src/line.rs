//! The lines of turns: one turn at a time in a conversation, any number of conversations side by side.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use outbox::StoreError;
use sandbox::Logbook;
use session::{
    Admitted, Answered, Answering, Busy, Came, Fill, InboxId, InboxRow, LineStatus, Turn, TurnLine,
    TurnRecord,
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use waybill::{ProfileId, SandboxKey, SessionId, SessionKey, SessionScope, Timestamp};

use crate::asking::Questions;
use crate::fill::Fills;
use crate::knowledge::Frozen;
use crate::logbook::Commands;
use crate::processes::Processes;
use crate::route::Routes;
use crate::shell::Directories;
use crate::{Ports, insight};

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
}

pub(crate) type LineKey = (ProfileId, SessionKey);

/// What a line works on.
struct Running {
    stop: CancellationToken,
    begun: Begun,
}

/// Whether a turn is durable: before, nothing runs that a message could interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begun {
    Yes,
    NotYet,
}

#[derive(Default)]
struct Line {
    running: Option<Running>,
    waiting: VecDeque<Work>,
    /// The person stopped what was about to begin.
    stop_next: bool,
    /// Sessions that came into this line.
    sessions: Vec<SessionId>,
}

#[derive(Default)]
struct Lines {
    by_key: HashMap<LineKey, Line>,
    /// A conversation whose chat got another id stays in its line, and so with itself in order, while that line lasts.
    by_session: HashMap<SessionId, LineKey>,
}

impl Lines {
    /// The line of a conversation.
    fn key(&self, scope: &SessionScope) -> LineKey {
        let own = line_key(scope);
        if self.by_key.contains_key(&own) {
            return own;
        }
        self.by_session.get(&scope.id()).cloned().unwrap_or(own)
    }

    fn find(&mut self, scope: &SessionScope) -> Option<&mut Line> {
        let key = self.key(scope);
        self.by_key.get_mut(&key)
    }

    fn join(&mut self, scope: &SessionScope) -> &mut Line {
        let key = self.key(scope);
        let known = self.by_session.insert(scope.id(), key.clone()).is_some();
        let line = self.by_key.entry(key).or_default();
        if !known {
            line.sessions.push(scope.id());
        }
        line
    }

    fn leave(&mut self, key: &LineKey) {
        if let Some(line) = self.by_key.remove(key) {
            for session in line.sessions {
                self.by_session.remove(&session);
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Board {
    lines: Mutex<Lines>,
    bell: Notify,
    /// Whether all that an earlier run left is in line.
    caught_up: watch::Sender<bool>,
    /// Held while something begins that may have ended an earlier run: if it does so again, nothing else is blamed.
    alone: tokio::sync::Mutex<()>,
    /// Events whose handling was counted and did not come to an end yet.
    counted: Mutex<BTreeSet<InboxId>>,
    /// What running turns have asked.
    questions: Questions,
    /// This installation's id, for the keys of messages.
    install: String,
    /// Which models rest.
    routes: Routes,
    /// The last call of each conversation.
    fills: Fills,
    /// What prompts say of memory and skills.
    frozen: Frozen,
    /// What outlives turns.
    processes: Processes,
    /// Where each conversation's shell is.
    directories: Directories,
    commands: Arc<Commands>,
}

impl Board {
    pub(crate) fn new(install: String) -> Self {
        Self {
            processes: Processes::new(install.clone()),
            install,
            ..Self::default()
        }
    }

    /// Background processes.
    pub(crate) fn processes(&self) -> &Processes {
        &self.processes
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counted(&self) -> MutexGuard<'_, BTreeSet<InboxId>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work at the end of its line.
    pub(crate) fn push(&self, work: Work) -> Turn {
        let busy = match &work {
            Work::Fresh(admitted) => admitted.busy,
            Work::Resumed(_) | Work::Retried(_) => Busy::Queue,
        };
        let mut lines = self.lines();
        let line = lines.join(work.session());
        let idle = line.running.is_none() && line.waiting.is_empty();
        if busy == Busy::Interrupt {
            match (&line.running, line.waiting.front()) {
                (Some(running), _) => match running.begun {
                    Begun::Yes => running.stop.cancel(),
                    Begun::NotYet => {}
                },
                // It ran when an earlier run was cut off.
                (None, Some(Work::Resumed(_) | Work::Retried(_))) => line.stop_next = true,
                (None, Some(Work::Fresh(_)) | None) => {}
            }
        }
        line.waiting.push_back(work);
        self.bell.notify_one();
        if idle { Turn::Next } else { Turn::Waits }
    }

    /// The next work of each idle line, at most `most`.
    pub(crate) fn ready(&self, most: usize) -> Vec<(LineKey, Work, CancellationToken)> {
        let mut lines = self.lines();
        let mut ready = Vec::new();
        for (key, line) in &mut lines.by_key {
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
                let begun = match work {
                    Work::Resumed(_) | Work::Retried(_) => Begun::Yes,
                    Work::Fresh(_) => Begun::NotYet,
                };
                line.running = Some(Running {
                    stop: stop.clone(),
                    begun,
                });
                ready.push((key.clone(), work, stop));
            }
        }
        ready
    }

    /// Returns when something was put in line since it was looked last.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Events whose handling was counted and did not come to an end; they are forgotten here.
    pub(crate) fn take_counted(&self) -> BTreeSet<InboxId> {
        std::mem::take(&mut *self.counted())
    }

    /// A line's work is done.
    pub(crate) fn ended(&self, key: &LineKey) {
        let mut lines = self.lines();
        if let Some(line) = lines.by_key.get_mut(key) {
            line.running = None;
            if line.waiting.is_empty() {
                lines.leave(key);
            }
        }
    }
}

/// A running turn's place in its line.
#[derive(Clone, Copy)]
pub(crate) struct Seat<'a> {
    board: &'a Board,
    key: &'a LineKey,
}

impl<'a> Seat<'a> {
    pub(crate) fn new(board: &'a Board, key: &'a LineKey) -> Self {
        Self { board, key }
    }

    /// Background processes.
    pub(crate) fn processes(&self) -> &'a Processes {
        &self.board.processes
    }

    /// What running turns have asked.
    pub(crate) fn questions(&self) -> &'a Questions {
        &self.board.questions
    }

    /// This installation's id, for the keys of messages.
    pub(crate) fn install(&self) -> &'a str {
        &self.board.install
    }

    /// Which models rest.
    pub(crate) fn routes(&self) -> &'a Routes {
        &self.board.routes
    }

    /// What prompts say of memory and skills.
    pub(crate) fn frozen(&self) -> &'a Frozen {
        &self.board.frozen
    }

    /// The last call of each conversation.
    pub(crate) fn fills(&self) -> &'a Fills {
        &self.board.fills
    }

    /// Where each conversation's shell is.
    pub(crate) fn commands(&self) -> &'a Commands {
        &self.board.commands
    }

    /// Where each conversation's commands start.
    pub(crate) fn directories(&self) -> &'a Directories {
        &self.board.directories
    }
}

impl Seat<'_> {
    /// Waits until whatever else may have ended an earlier run is not being begun, and keeps it from being so.
    pub(crate) async fn alone(&self) -> tokio::sync::MutexGuard<'_, ()> {
        let mut caught_up = self.board.caught_up.subscribe();
        // The board outlives its seats, so the sender is there.
        if caught_up.wait_for(|all| *all).await.is_err() {
            tracing::error!("nobody says any more whether all is in line");
        }
        self.board.alone.lock().await
    }

    /// The beginning of an event was counted: if a stop cuts it, the count is taken back.
    pub(crate) fn counted(&self, event: InboxId) {
        self.board.counted().insert(event);
    }

    /// The event's beginning came to its end, whichever.
    pub(crate) fn settled(&self, event: InboxId) {
        self.board.counted().remove(&event);
    }

    /// The turn is durable: from now on a message may interrupt it.
    pub(crate) fn begun(&self) {
        let mut lines = self.board.lines();
        let line = lines.by_key.get_mut(self.key);
        if let Some(running) = line.and_then(|line| line.running.as_mut()) {
            running.begun = Begun::Yes;
        }
    }

    /// The messages at the head of the line that join the running turn. Whoever drops them without [`Joining::joined`] gives
    /// them back.
    pub(crate) fn joining(&self, session: &SessionScope) -> Joining<'_> {
        let mut lines = self.board.lines();
        let mut messages = Vec::new();
        if let Some(line) = lines.by_key.get_mut(self.key) {
            while line
                .waiting
                .front()
                .is_some_and(|work| joins(work, session))
            {
                match line.waiting.pop_front() {
                    Some(Work::Fresh(admitted)) => messages.push(*admitted),
                    Some(other) => line.waiting.push_front(other),
                    None => break,
                }
            }
        }
        Joining {
            board: self.board,
            key: self.key,
            messages,
        }
    }
}

/// What may have ended an earlier run begins alone, in a turn of its own.
fn joins(work: &Work, session: &SessionScope) -> bool {
    match work {
        Work::Fresh(admitted) => {
            let harmless = match admitted.came {
                Came::Now | Came::Before { taken: 0 } => true,
                Came::Before { .. } => false,
            };
            admitted.busy == Busy::Steer && admitted.scope.id() == session.id() && harmless
        }
        Work::Resumed(_) | Work::Retried(_) => false,
    }
}

/// Messages on their way from the line into the running turn.
pub(crate) struct Joining<'a> {
    board: &'a Board,
    key: &'a LineKey,
    pub(crate) messages: Vec<Admitted>,
}

impl Joining<'_> {
    /// They are the turn's.
    pub(crate) fn joined(mut self) {
        self.messages.clear();
    }

    /// They are not, and these of them wait, as their rows are now.
    pub(crate) fn changed(mut self, rows: Vec<InboxRow>) {
        let before = std::mem::take(&mut self.messages);
        let mut rows: HashMap<_, _> = rows.into_iter().map(|row| (row.id, row)).collect();
        self.messages = before
            .into_iter()
            .filter_map(|message| {
                let row = rows.remove(&message.id)?;
                Some(message.reread(row))
            })
            .collect();
    }
}

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        let mut lines = self.board.lines();
        if let Some(line) = lines.by_key.get_mut(self.key) {
            for message in self.messages.drain(..).rev() {
                line.waiting.push_front(Work::Fresh(Box::new(message)));
            }
        }
    }
}

/// The lines as others see them; cheap to clone.
#[derive(Clone)]
pub struct AgentHandle {
    board: Arc<Board>,
    ports: Ports,
}

impl AgentHandle {
    pub(crate) fn new(board: Arc<Board>, ports: Ports) -> Self {
        Self { board, ports }
    }

    /// The last commands of each sandbox: for the owner.
    #[must_use]
    pub fn logbook(&self) -> Arc<dyn Logbook> {
        Arc::clone(&self.board.commands) as Arc<dyn Logbook>
    }

    /// Background processes that run now, of every conversation: for the owner.
    #[must_use]
    pub fn background(&self) -> Vec<Background> {
        let running = self.board.processes.running();
        running
            .iter()
            .map(|kept| Background {
                id: kept.id(),
                sandbox: kept.scope().sandbox().clone(),
                session: kept.scope().session().clone(),
                command: kept.command().to_owned(),
                started: kept.started(),
            })
            .collect()
    }
}

/// A background process that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// As its conversation calls it: `p1`.
    pub id: String,
    /// Where it runs.
    pub sandbox: SandboxKey,
    /// Whose it is.
    pub session: SessionScope,
    /// Its command, without known secrets.
    pub command: String,
    /// When it was started.
    pub started: Timestamp,
}

fn line_key(scope: &SessionScope) -> LineKey {
    (scope.profile().clone(), scope.key().clone())
}

#[async_trait]
impl TurnLine for AgentHandle {
    fn enqueue(&self, admitted: Admitted) -> Turn {
        self.board.push(Work::Fresh(Box::new(admitted)))
    }

    fn stop(&self, scope: &SessionScope) -> bool {
        let mut lines = self.board.lines();
        let Some(line) = lines.find(scope) else {
            return false;
        };
        match &line.running {
            Some(running) => running.stop.cancel(),
            None if line.waiting.is_empty() => return false,
            None => line.stop_next = true,
        }
        true
    }

    fn status(&self, scope: &SessionScope) -> LineStatus {
        let mut lines = self.board.lines();
        lines.find(scope).map_or(
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

    fn answer(&self, answering: Answering) -> Answered {
        self.board.questions.answer(answering)
    }

    fn caught_up(&self) {
        self.board.caught_up.send_replace(true);
    }

    async fn fill(&self, scope: &SessionScope) -> Result<Option<Fill>, StoreError> {
        insight::fill(&self.ports, &self.board.routes, &self.board.fills, scope).await
    }
}

#[cfg(test)]
mod tests;
