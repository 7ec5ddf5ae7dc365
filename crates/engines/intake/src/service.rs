//! The intake's loop, and the sink that channels put events into.

use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use chat::{Accepted, Event, Fault, Inbound, InboundSink, SinkError};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use outbox::{HealthSink, Outlet, StoreError};
use policy::Verdict;
use session::{
    Admission, Admitted, InboxId, InboxRow, InboxState, InboxStore, NewEvent, SessionStore, Turn,
    TurnLine,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, ChatKey, Clock, Ids, ProfileId, ProfileScope, SessionId, SessionKey, SessionScope,
};

use crate::Directory;
use crate::commands::Commands;
use crate::later::{Later, Setback, Step, chat_of};

/// How intake works.
#[derive(Clone)]
pub struct Options {
    /// This installation's id, for the keys of the gateway's own answers.
    pub install: String,
    /// How accounts fare.
    pub health: HealthSink,
}

/// The service.
pub struct Intake {
    inbox: Arc<dyn InboxStore>,
    sessions: Arc<dyn SessionStore>,
    directory: Arc<dyn Directory>,
    line: Arc<dyn TurnLine>,
    outlet: Arc<dyn Outlet>,
    commands: Commands,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    fresh: mpsc::UnboundedReceiver<InboxRow>,
    handle: IntakeHandle,
}

/// Where channels put what they hear; cheap to clone.
#[derive(Clone)]
pub struct IntakeHandle {
    inbox: Arc<dyn InboxStore>,
    clock: Arc<dyn Clock>,
    health: HealthSink,
    fresh: mpsc::UnboundedSender<InboxRow>,
}

#[async_trait]
impl InboundSink for IntakeHandle {
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<Event>,
        cursor: Option<String>,
    ) -> Result<Accepted, SinkError> {
        let events = events
            .into_iter()
            .map(|event| NewEvent {
                key: event.key,
                raw: event.raw,
                parsed: event.parsed,
            })
            .collect();
        let stored = self
            .inbox
            .accept(account, events, cursor, self.clock.now())
            .await;
        let (rows, accepted) = stored.map_err(|error| SinkError(error.to_string()))?;
        for row in rows {
            if self.fresh.send(row).is_err() {
                // Stored and undecided: the next start takes it up.
                tracing::warn!(%account, "an event was stored while the gateway stops; it waits for the next start");
            }
        }
        Ok(accepted)
    }

    async fn cursor(&self, account: &AccountId) -> Result<Option<String>, SinkError> {
        self.inbox
            .cursor(account)
            .await
            .map_err(|error| SinkError(error.to_string()))
    }

    fn health(&self, account: &AccountId, state: Result<(), Fault>) {
        (self.health)(account, state);
    }
}

/// A decision on its way into the store.
type Writing<'a> = BoxFuture<'a, Result<(), Setback>>;

/// A run's work in progress.
struct Desk<'a> {
    intake: &'a Intake,
    /// Decisions on their way into the store: the next event is looked at meanwhile.
    writing: FuturesUnordered<Writing<'a>>,
    later: Later,
}

impl Desk<'_> {
    /// Decides on a row, unless its chat waits; the decision is on its way into the store when this returns.
    async fn take_up(&mut self, row: InboxRow) {
        let Some(chat) = chat_of(&row).cloned() else {
            return;
        };
        if self.later.holds(&chat) {
            return self.later.behind(chat, row);
        }
        match self.intake.decide(&row).await {
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
                step: Step::Decide(Box::new(row)),
                error,
            }),
        }
    }

    fn written(&mut self, written: Result<(), Setback>) {
        if let Err(setback) = written {
            self.later.keep(setback);
        }
    }

    /// Tries the step that is due, to its end: the chat's next one may build on it.
    async fn try_again(&mut self) {
        let Some((chat, step)) = self.later.take() else {
            return;
        };
        let (id, decided) = match step {
            Step::WriteDown(id, admission) => (id, Ok(Some(admission))),
            Step::Decide(row) => {
                let decided = self.intake.decide(&row).await;
                let id = row.id;
                (id, decided.map_err(|error| (Step::Decide(row), error)))
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
    async fn clear(mut self) {
        while let Some(written) = self.writing.next().await {
            self.written(written);
        }
        match self.later.len() {
            0 => {}
            left => tracing::warn!(left, "events wait for the next start"),
        }
    }
}

/// What a store must be for intake.
pub(crate) type Stored<T> = Result<T, StoreError>;

impl Intake {
    /// Builds the service.
    #[must_use]
    #[expect(
        clippy::too_many_arguments,
        reason = "one port each; composition names them once"
    )]
    pub fn new(
        options: Options,
        inbox: Arc<dyn InboxStore>,
        sessions: Arc<dyn SessionStore>,
        directory: Arc<dyn Directory>,
        line: Arc<dyn TurnLine>,
        outlet: Arc<dyn Outlet>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let (sender, fresh) = mpsc::unbounded_channel();
        let handle = IntakeHandle {
            inbox: Arc::clone(&inbox),
            clock: Arc::clone(&clock),
            health: options.health,
            fresh: sender,
        };
        let commands = Commands {
            install: options.install,
        };
        Self {
            inbox,
            sessions,
            directory,
            line,
            outlet,
            commands,
            clock,
            ids,
            fresh,
            handle,
        }
    }

    /// Where channels put what they hear.
    #[must_use]
    pub fn handle(&self) -> IntakeHandle {
        self.handle.clone()
    }

    /// Takes up what an earlier run left undecided or waiting, then decides on events until it is told to stop. What the
    /// store does not do now is tried again, in the order of each chat; what is left at the stop waits for the next start.
    ///
    /// # Errors
    /// [`StoreError`] if what was left can't be read.
    pub async fn run(mut self, stop: CancellationToken) -> Stored<()> {
        let mut fresh = std::mem::replace(&mut self.fresh, mpsc::unbounded_channel().1);
        let mut desk = Desk {
            intake: &self,
            writing: FuturesUnordered::new(),
            later: Later::default(),
        };
        let mut taken = None;
        for row in self.inbox.open_rows().await? {
            taken = Some(row.id);
            desk.take_up(row).await;
        }
        loop {
            let due = desk.later.next_due();
            let until_due = tokio::time::sleep_until(due.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(written) = desk.writing.next(), if !desk.writing.is_empty() => desk.written(written),
                () = until_due, if due.is_some() => desk.try_again().await,
                row = fresh.recv() => match row {
                    // Accepted while the open rows were read: it was among them.
                    Some(row) if taken.is_some_and(|last| row.id <= last) => {}
                    Some(row) => desk.take_up(row).await,
                    None => break,
                },
            }
        }
        desk.clear().await;
        Ok(())
    }

    /// Decides on a row. What is to be written down is returned; nothing if that is somebody else's, or nobody's.
    async fn decide(&self, row: &InboxRow) -> Stored<Option<Admission>> {
        let Some(inbound) = &row.inbound else {
            return Ok(None);
        };
        let Some(rules) = self.directory.rules(&row.account) else {
            tracing::warn!(account = %row.account, inbox = row.id.0, "the account is not configured; its event waits for a start with it");
            return Ok(None);
        };
        if let (InboxState::Admitted, Some(scope)) = (&row.state, &row.session) {
            self.line.enqueue(Admitted {
                id: row.id,
                inbound: inbound.clone(),
                scope: scope.clone(),
            });
            return Ok(None);
        }
        let route = self.directory.route(&inbound.chat).await?;
        let profile = match policy::admit(rules, route.as_ref(), inbound) {
            Verdict::Admit(profile) => profile,
            Verdict::Ignore(reason) => {
                tracing::info!(
                    account = %row.account, sender = inbound.sender.id.as_str(), chat = %inbound.chat, reason, "ignored"
                );
                return Ok(Some(Admission::Ignore { reason }));
            }
        };
        let scope = self.session(profile, inbound).await?;
        if let Some(command) = policy::find(&inbound.text) {
            let messages = self.obey(command.command, &scope, inbound, row.id).await?;
            return Ok(Some(Admission::Tell { messages }));
        }
        let admitted = Admitted {
            id: row.id,
            inbound: inbound.clone(),
            scope: scope.clone(),
        };
        match self.line.enqueue(admitted) {
            Turn::Next => Ok(None),
            Turn::Waits => Ok(Some(Admission::Admit(scope))),
        }
    }

    /// Writes a decision down.
    async fn write_down(
        &self,
        chat: ChatKey,
        id: InboxId,
        admission: Admission,
    ) -> Result<(), Setback> {
        let now = self.clock.now();
        match self.inbox.admit(id, admission.clone(), now).await {
            Ok(claimed) => {
                self.outlet.carry(claimed);
                Ok(())
            }
            Err(error) => Err(Setback {
                chat,
                step: Step::WriteDown(id, admission),
                error,
            }),
        }
    }

    async fn session(&self, profile: ProfileId, inbound: &Inbound) -> Stored<SessionScope> {
        let scope = ProfileScope::enter(profile);
        let key = SessionKey::Chat(inbound.chat.clone());
        self.sessions
            .current(
                &scope,
                &key,
                SessionId::fresh(self.ids.as_ref()),
                self.clock.now(),
            )
            .await
    }

    async fn obey(
        &self,
        command: policy::Command,
        scope: &SessionScope,
        inbound: &Inbound,
        id: InboxId,
    ) -> Stored<Vec<outbox::NewMessage>> {
        let status = self.line.status(scope);
        let answer = match command {
            policy::Command::Help => Commands::help(),
            policy::Command::WhoAmI => Commands::who_am_i(inbound),
            policy::Command::Status => {
                Commands::status(scope, &self.directory.about(scope.profile()), status)
            }
            policy::Command::Stop if self.line.stop(scope) => return Ok(Vec::new()),
            policy::Command::Stop => "Nothing is running here.".to_owned(),
            policy::Command::New => {
                self.line.stop(scope);
                self.sessions
                    .reset(scope, SessionId::fresh(self.ids.as_ref()), self.clock.now())
                    .await?;
                "A new conversation begins; what was said before is forgotten here.".to_owned()
            }
        };
        Ok(self.commands.answer(
            self.outlet.as_ref(),
            scope,
            inbound,
            id,
            answer,
            self.clock.now(),
            self.ids.as_ref(),
        ))
    }
}
