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
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, Clock, Ids, ProfileId, ProfileScope, SessionId, SessionKey, SessionScope,
};

use crate::Directory;
use crate::commands::Commands;

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

    /// Takes up what an earlier run left undecided or waiting, then decides on events until it is told to stop.
    ///
    /// # Errors
    /// [`StoreError`] if what was left can't be read. Later store errors leave the event for the next start.
    pub async fn run(mut self, stop: CancellationToken) -> Stored<()> {
        let mut fresh = std::mem::replace(&mut self.fresh, mpsc::unbounded_channel().1);
        // Decisions on their way into the store: the next event is looked at meanwhile.
        let mut writing = FuturesUnordered::new();
        let mut taken = None;
        for row in self.inbox.open_rows().await? {
            taken = Some(row.id);
            writing.extend(self.take_up(row).await);
        }
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(()) = writing.next(), if !writing.is_empty() => {}
                row = fresh.recv() => match row {
                    // Accepted while the open rows were read: it was among them.
                    Some(row) if taken.is_some_and(|last| row.id <= last) => {}
                    Some(row) => writing.extend(self.take_up(row).await),
                    None => break,
                },
            }
        }
        while writing.next().await.is_some() {}
        Ok(())
    }

    /// Decides on a row; the decision is on its way into the store when this returns.
    async fn take_up(&self, row: InboxRow) -> Option<BoxFuture<'_, ()>> {
        let id = row.id;
        match self.decide(row).await {
            Ok(writing) => writing,
            Err(error) => {
                tracing::error!(%error, inbox = id.0, "an event could not be decided on; it waits for the next start");
                None
            }
        }
    }

    async fn decide(&self, row: InboxRow) -> Stored<Option<BoxFuture<'_, ()>>> {
        let Some(inbound) = row.inbound else {
            return Ok(None);
        };
        if let (InboxState::Admitted, Some(scope)) = (&row.state, row.session) {
            self.line.enqueue(Admitted {
                id: row.id,
                inbound,
                scope,
            });
            return Ok(None);
        }
        let profile = match self.verdict(&row.account, &inbound).await {
            Verdict::Admit(profile) => profile,
            Verdict::Ignore(reason) => {
                tracing::info!(
                    account = %row.account, sender = inbound.sender.id.as_str(), chat = %inbound.chat, reason, "ignored"
                );
                return Ok(self.write_down(row.id, Admission::Ignore { reason }).await);
            }
        };
        let scope = self.session(profile, &inbound).await?;
        if let Some(command) = policy::find(&inbound.text) {
            let messages = self.obey(command.command, &scope, &inbound, row.id).await?;
            return Ok(self.write_down(row.id, Admission::Tell { messages }).await);
        }
        let admission = Admission::Admit(scope.clone());
        let id = row.id;
        match self.line.enqueue(Admitted { id, inbound, scope }) {
            Turn::Next => Ok(None),
            Turn::Waits => Ok(self.write_down(id, admission).await),
        }
    }

    /// Hands a decision to the store and does not wait for its end, which is the returned future.
    async fn write_down(&self, id: InboxId, admission: Admission) -> Option<BoxFuture<'_, ()>> {
        let now = self.clock.now();
        let mut writing: BoxFuture<'_, ()> = Box::pin(async move {
            match self.inbox.admit(id, admission, now).await {
                Ok(claimed) => self.outlet.carry(claimed),
                Err(error) => {
                    tracing::error!(%error, inbox = id.0, "a decision could not be stored; the event waits for the next start");
                }
            }
        });
        match futures_util::poll!(&mut writing) {
            Poll::Ready(()) => None,
            Poll::Pending => Some(writing),
        }
    }

    async fn verdict(&self, account: &AccountId, inbound: &Inbound) -> Verdict {
        match self.directory.rules(account) {
            Some(rules) => policy::admit(
                rules,
                self.directory.route(&inbound.chat).await.as_ref(),
                inbound,
            ),
            None => Verdict::Ignore("the account is not configured".to_owned()),
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
