//! The intake's loop, and the sink that channels put events into.

use std::sync::Arc;

use async_trait::async_trait;
use chat::{Accepted, Event, Fault, Inbound, InboundKind, InboundSink, Place, SinkError};
use outbox::{HealthSink, OutboxStore, Outlet, StoreError};
use policy::Verdict;
use session::{
    Admission, Admitted, Amended, Answered, Answering, Came, InboxId, InboxRow, InboxState,
    InboxStore, NewEvent, SessionStore, Take, Turn, TurnLine,
};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, ChatKey, Clock, Ids, ProfileId, ProfileScope, SessionId, SessionKey, SessionScope,
};

use crate::commands::Commands;
use crate::desk::Desk;
use crate::later::{Setback, Step};
use crate::notices::{BETWEEN, LOOK};
use crate::parcels::Here;
use crate::{Directory, answers};

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
    pub(crate) inbox: Arc<dyn InboxStore>,
    sessions: Arc<dyn SessionStore>,
    pub(crate) directory: Arc<dyn Directory>,
    line: Arc<dyn TurnLine>,
    outbox: Arc<dyn OutboxStore>,
    pub(crate) outlet: Arc<dyn Outlet>,
    pub(crate) commands: Commands,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
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
    /// Rung when an event was put aside.
    aside: Arc<Notify>,
}

#[async_trait]
impl InboundSink for IntakeHandle {
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<Event>,
        cursor: Option<String>,
    ) -> Result<Accepted, SinkError> {
        let odd = events.iter().any(|event| event.parsed.is_err());
        let events = events
            .into_iter()
            .map(|event| NewEvent {
                key: event.key,
                raw: event.raw,
                parsed: event.parsed,
            })
            .collect();
        failpoint::point("C0");
        let stored = self
            .inbox
            .accept(account, events, cursor, self.clock.now())
            .await;
        let (rows, accepted) = stored.map_err(|error| SinkError(error.to_string()))?;
        failpoint::point("C1");
        if odd {
            self.aside.notify_one();
        }
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
        outbox: Arc<dyn OutboxStore>,
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
            aside: Arc::default(),
        };
        let commands = Commands {
            install: options.install,
        };
        Self {
            inbox,
            sessions,
            directory,
            line,
            outbox,
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
        let mut desk = Desk::new(&self);
        let mut taken = None;
        for row in self.inbox.open_rows().await? {
            taken = Some(row.id);
            desk.take_up_left(row).await;
        }
        self.line.caught_up();
        let (mut tell_at, mut told_at) = (Instant::now(), None);
        loop {
            let due = desk.next_due();
            let until_due = tokio::time::sleep_until(due.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = desk.next_written(), if desk.is_writing() => {}
                () = until_due, if due.is_some() => desk.try_again().await,
                () = tokio::time::sleep_until(tell_at) => {
                    let told = self.tell_of_put_aside().await;
                    let now = Instant::now();
                    match told {
                        Ok(true) => told_at = Some(now),
                        Ok(false) => {}
                        Err(error) => tracing::error!(%error, "an owner could not be told of events that were put aside; it is tried again"),
                    }
                    tell_at = told_at.map_or(now, |at| at + BETWEEN).max(now + LOOK);
                }
                () = self.handle.aside.notified() => {
                    let next = told_at.map_or_else(Instant::now, |at: Instant| at + BETWEEN);
                    tell_at = tell_at.min(next);
                }
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

    /// Whether the account is configured.
    pub(crate) fn knows(&self, account: &AccountId) -> bool {
        self.directory.rules(account).is_some()
    }

    /// Counts that an event is handled once more.
    pub(crate) async fn take(&self, id: InboxId) -> Stored<Take> {
        let take = self.inbox.take(id).await?;
        if take == Take::No {
            self.handle.aside.notify_one();
        }
        Ok(take)
    }

    /// Takes the count back. Where the store does not do it, the event is one crash nearer to being put aside, no more.
    pub(crate) async fn release(&self, id: InboxId) {
        if let Err(error) = self.inbox.release(id).await {
            tracing::warn!(%error, inbox = id.0, "an event stays counted as one that was not handled to its end");
        }
    }

    /// Decides on a row. What is to be written down is returned; nothing if that is somebody else's, or nobody's.
    pub(crate) async fn decide(&self, row: &InboxRow, came: Came) -> Stored<Option<Admission>> {
        let Some(inbound) = &row.inbound else {
            return Ok(None);
        };
        let Some(rules) = self.directory.rules(&row.account) else {
            tracing::warn!(account = %row.account, inbox = row.id.0, "the account is not configured; its event waits for a start with it");
            return Ok(None);
        };
        let admitted = |scope: &SessionScope| Admitted {
            id: row.id,
            version: row.version,
            inbound: inbound.clone(),
            scope: scope.clone(),
            busy: self.directory.busy(&row.account),
            came,
        };
        if let (InboxState::Admitted, Some(scope)) = (&row.state, &row.session) {
            self.line.enqueue(admitted(scope));
            return Ok(None);
        }
        failpoint::point("I1");
        if let InboundKind::Moved { to } = &inbound.kind {
            return self.moved(&inbound.chat, to).await.map(Some);
        }
        if let InboundKind::Tap { token, id } = &inbound.kind {
            return Ok(Some(self.tapped(row, inbound, token, id)));
        }
        let former = match inbound.place {
            Place::Direct => Vec::new(),
            Place::Group { .. } => self.sessions.former(&inbound.chat).await?,
        };
        let route = self.directory.route(&inbound.chat, &former).await?;
        let profile = match policy::admit(rules, &former, route.as_ref(), inbound) {
            Verdict::Admit(profile) => profile,
            Verdict::Ignore(reason) => {
                tracing::info!(
                    account = %row.account, sender = inbound.sender.id.as_str(), chat = %inbound.chat, reason, "ignored"
                );
                return Ok(Some(Admission::Ignore { reason }));
            }
        };
        if inbound.kind == InboundKind::Edit
            && let Amended::Settled(reason) = self.inbox.amend(row.id, inbound).await?
        {
            tracing::info!(account = %row.account, chat = %inbound.chat, reason, "an edit");
            return Ok(None);
        }
        let scope = self.session(profile, inbound).await?;
        if let Some(command) = rules.command(&inbound.text) {
            let here = Here::new(&inbound.chat, former);
            let messages = self
                .obey(command, rules, &here, &scope, row, inbound, came)
                .await?;
            return Ok(Some(Admission::Tell { messages }));
        }
        if self.is_answer(row, inbound, self.directory.busy(&row.account), came) {
            return Ok(Some(Admission::Tell {
                messages: Vec::new(),
            }));
        }
        match (self.line.enqueue(admitted(&scope)), came) {
            (Turn::Next, Came::Now) => Ok(None),
            // The count of a row that was left is taken back with this.
            (Turn::Next, Came::Before { .. }) | (Turn::Waits, _) => {
                Ok(Some(Admission::Admit(scope)))
            }
        }
    }

    async fn moved(&self, from: &ChatKey, to: &ChatKey) -> Stored<Admission> {
        let notices = self.of_move(from, to).await?;
        let now = self.clock.now();
        let told = self.sessions.move_chat(from, to, notices, now).await?;
        tracing::info!(%from, %to, "a chat has another id");
        self.outlet.carry(told);
        Ok(Admission::Ignore {
            reason: format!("the platform says that the chat is {to} now"),
        })
    }

    /// Writes a decision down. Where what it builds on can't be read, the event is put aside instead.
    pub(crate) async fn write_down(
        &self,
        chat: ChatKey,
        id: InboxId,
        admission: Admission,
    ) -> Result<(), Setback> {
        let now = self.clock.now();
        let mut step = admission;
        loop {
            let aside = matches!(step, Admission::PutAside { .. });
            match self.inbox.admit(id, step.clone(), now).await {
                Ok(claimed) => {
                    self.outlet.carry(claimed);
                    if aside {
                        self.handle.aside.notify_one();
                    }
                    return Ok(());
                }
                Err(error @ StoreError::Unreadable { .. }) if !aside => {
                    step = Admission::PutAside {
                        reason: error.to_string(),
                    };
                }
                Err(error) => {
                    return Err(Setback {
                        chat,
                        step: Step::WriteDown(id, step),
                        error,
                    });
                }
            }
        }
    }

    async fn session(&self, profile: ProfileId, inbound: &Inbound) -> Stored<SessionScope> {
        let scope = ProfileScope::enter(profile);
        let key = SessionKey::Chat(inbound.chat.clone());
        if inbound.history().is_some() {
            // It comes whole and nobody goes on with it: there is nothing to find again.
            return Ok(scope.session(key, SessionId::fresh(self.ids.as_ref())));
        }
        self.sessions
            .current(
                &scope,
                &key,
                SessionId::fresh(self.ids.as_ref()),
                self.clock.now(),
            )
            .await
    }

    /// Gives an answer to the line.
    pub(crate) fn answers(&self, answering: Answering) -> Answered {
        self.line.answer(answering)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a command has this many sources, and each is a value"
    )]
    async fn obey(
        &self,
        spec: &policy::CommandSpec,
        rules: &policy::Rules,
        here: &Here,
        scope: &SessionScope,
        row: &InboxRow,
        inbound: &Inbound,
        came: Came,
    ) -> Stored<Vec<outbox::NewMessage>> {
        let status = self.line.status(scope);
        let (now, asked) = (self.clock.now(), policy::argument(&inbound.text));
        let answer = match spec.command {
            _ if !spec.allows(rules, inbound) => Commands::not_yours(spec),
            policy::Command::Outbox if asked.is_empty() => {
                here.list(self.outbox.as_ref(), now).await?
            }
            policy::Command::Outbox => here.show(self.outbox.as_ref(), asked, now).await?,
            policy::Command::Resend => here.resend(self.outbox.as_ref(), asked, now).await?,
            policy::Command::Approve => self.approve_or_deny(row, inbound, answers::approve, came),
            policy::Command::Deny => self.approve_or_deny(row, inbound, answers::deny, came),
            policy::Command::Help => Commands::help(&self.directory.skills(scope.profile()).await),
            policy::Command::WhoAmI => Commands::who_am_i(inbound),
            policy::Command::Status => {
                Commands::status(scope, &self.directory.about(scope.profile()), status)
            }
            policy::Command::Context => Commands::context(self.line.fill(scope).await?.as_ref()),
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
            row.id,
            answer,
            self.clock.now(),
            self.ids.as_ref(),
        ))
    }
}
