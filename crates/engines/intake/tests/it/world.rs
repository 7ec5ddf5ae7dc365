//! A house around intake: a store that can fail, a line that writes down, one account.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Descriptor, Event, Grade, Inbound, InboundKind, InboundSink as _, Op,
    Place, Preview, Rates, Rendering, Sender, SenderId, WhenUnknown,
};
use intake::{Directory, Intake, IntakeHandle, Options};
use outbox::{Claimed, NewMessage, Outlet, StoreError};
use policy::Rules;
use session::{
    Admission, Admitted, Amended, Answered, Answering, Busy, Entry, Heard, InboxId, InboxRow,
    InboxState, InboxStore, LineStatus, MOST_TAKES, NewEvent, Promised, PutAside, SessionStore,
    Take, TakenIn, Turn, TurnCommit, TurnLine, TurnRecord, TurnStart,
};
use testkit::clock::{CountingIds, ManualClock};
use tidings_intake as intake;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, Anchor, ChatKey, Conversation, Limit, ProfileId, ProfileScope, SessionId,
    SessionKey, SessionScope, Timestamp, TurnId, TurnScope,
};

use crate::parcels::Shelf;

pub(crate) const OWNER: &str = "1";
pub(crate) const FRIEND: &str = "2";

#[derive(Default)]
struct Book {
    rows: Vec<InboxRow>,
    /// What happened, in order.
    happened: Vec<String>,
    /// How often each thing fails, from now on.
    failures: HashMap<String, usize>,
    /// What builds on a row that can't be read.
    damaged: Vec<String>,
    /// When each thing was asked for.
    asked: Vec<(String, Instant)>,
    running: bool,
    /// What a message does while a turn runs.
    busy: Busy,
    /// What becomes of an answer.
    answered: Option<Answered>,
    /// What was left is in line.
    caught_up: bool,
    /// How often each thing panics, from now on.
    panics: HashMap<String, usize>,
    /// Owners have no place to read notices.
    homeless: bool,
    /// What owners were told.
    notices: Vec<String>,
    told: Vec<InboxId>,
    /// Where chats went.
    moves: Vec<(ChatKey, ChatKey)>,
    /// The gateway's own answers.
    answers: Vec<String>,
    shelf: Shelf,
}

/// The house. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct House(Arc<Mutex<Book>>);

pub(crate) fn failed() -> StoreError {
    StoreError::Failed("the test says no".into())
}

pub(crate) fn unreadable() -> StoreError {
    StoreError::Unreadable {
        row: "row 5".to_owned(),
        reason: "no JSON".to_owned(),
    }
}

pub(crate) fn account() -> AccountId {
    AccountId::parse("bot").unwrap()
}

pub(crate) fn row(id: i64, account: &str, inbound: Inbound, state: InboxState) -> InboxRow {
    InboxRow {
        id: InboxId(id),
        account: AccountId::parse(account).unwrap(),
        inbound: Some(inbound),
        state,
        session: None,
        version: 0,
        taken: 1,
        at: Timestamp::UNIX_EPOCH,
    }
}

pub(crate) fn said(conversation: &str, sender: &str, text: &str) -> Inbound {
    Inbound {
        chat: ChatKey::new(account(), Conversation::new(conversation).unwrap()),
        anchor: Anchor::new("7"),
        sender: Sender {
            id: SenderId::new(sender),
            name: None,
            bot: false,
        },
        place: Place::Direct,
        kind: InboundKind::Message,
        text: text.to_owned(),
        files: Vec::new(),
        quoted: None,
        forwarded_from: None,
        preface: None,
        at: Timestamp::UNIX_EPOCH,
    }
}

impl House {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap()
    }

    /// `what`: `route CHAT`, `current CHAT`, `reset CHAT`, `admit`.
    pub(crate) fn fail(&self, what: &str, times: usize) {
        self.book().failures.insert(what.to_owned(), times);
    }

    /// `what` as in [`Self::fail`].
    pub(crate) fn damage(&self, what: &str) {
        self.book().damaged.push(what.to_owned());
    }

    /// `what` as in [`Self::fail`].
    pub(crate) fn panic_at(&self, what: &str, times: usize) {
        self.book().panics.insert(what.to_owned(), times);
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        self.book().notices.clone()
    }

    pub(crate) fn moves(&self) -> Vec<String> {
        let book = self.book();
        let moves = book.moves.iter();
        moves.map(|(from, to)| format!("{from} → {to}")).collect()
    }

    /// Whether owners have a place to read notices.
    pub(crate) fn give_home(&self, home: bool) {
        self.book().homeless = !home;
    }

    /// What becomes of an answer from now on.
    pub(crate) fn answer_with(&self, answered: Answered) {
        self.book().answered = Some(answered);
    }

    /// What a message does while a turn runs.
    pub(crate) fn set_busy(&self, busy: Busy) {
        self.book().busy = busy;
    }

    /// A turn runs in every conversation.
    pub(crate) fn keep_busy(&self) {
        self.book().running = true;
    }

    /// Left by an earlier run.
    pub(crate) fn left(&self, row: InboxRow) {
        self.book().rows.push(row);
    }

    pub(crate) fn answers(&self) -> Vec<String> {
        self.book().answers.clone()
    }

    pub(crate) fn shelf(&self) -> Shelf {
        self.book().shelf.clone()
    }

    pub(crate) fn happened(&self) -> Vec<String> {
        self.book().happened.clone()
    }

    /// Seconds from each time that something was asked for to the next.
    pub(crate) fn gaps(&self, what: &str) -> Vec<u64> {
        let book = self.book();
        let asked: Vec<Instant> = book
            .asked
            .iter()
            .filter(|(asked, _)| asked == what)
            .map(|(_, at)| *at)
            .collect();
        asked
            .windows(2)
            .map(|two| (two[1] - two[0]).as_secs())
            .collect()
    }

    pub(crate) fn state(&self, id: i64) -> InboxState {
        let book = self.book();
        let mut rows = book.rows.iter();
        let row = rows.find(|row| row.id.0 == id).unwrap();
        row.state.clone()
    }

    fn ask(&self, what: String) -> Result<(), StoreError> {
        let mut book = self.book();
        book.asked.push((what.clone(), Instant::now()));
        if let Some(times) = book.panics.get_mut(&what)
            && *times > 0
        {
            *times -= 1;
            drop(book);
            panic!("the test says {what}");
        }
        if book.damaged.contains(&what) {
            return Err(unreadable());
        }
        match book.failures.get_mut(&what) {
            Some(times) if *times > 0 => {
                *times -= 1;
                Err(failed())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn note(&self, what: String) {
        self.book().happened.push(what);
    }

    pub(crate) fn intake(&self) -> Intake {
        let this = || Arc::new(self.clone());
        Intake::new(
            Options {
                install: "test".to_owned(),
                health: Arc::new(|_, _| ()),
            },
            this(),
            this(),
            Arc::new(Routes(self.clone(), rules())),
            this(),
            Arc::new(self.shelf()),
            this(),
            Arc::new(ManualClock::default()),
            Arc::new(CountingIds::default()),
        )
    }

    /// Runs intake until the scenario is over.
    pub(crate) async fn while_open(&self, scenario: impl AsyncFnOnce(IntakeHandle)) {
        let intake = self.intake();
        self.book().caught_up = false;
        let handle = intake.handle();
        let scenario = async {
            self.until("what was left is in line", |house| house.book().caught_up)
                .await;
            scenario(handle).await;
        };
        tokio::select! {
            () = scenario => {}
            ended = intake.run(CancellationToken::new()) => panic!("{ended:?}"),
        }
    }

    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let wait = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let seen = tokio::time::timeout(Duration::from_secs(600), wait).await;
        assert!(
            seen.is_ok(),
            "not seen in time: {what}; {:?}",
            self.happened()
        );
    }
}

pub(crate) async fn say(handle: &IntakeHandle, key: &str, inbound: Inbound) {
    let event = Event {
        key: key.to_owned(),
        raw: String::new(),
        parsed: Ok(Some(inbound)),
    };
    handle.accept(&account(), vec![event], None).await.unwrap();
}

/// What a message of the gateway says.
fn words(message: &NewMessage) -> String {
    let words = message.parts.iter().filter_map(|part| match &part.op {
        Op::Text(body) | Op::Question { body, .. } => Some(body.text().to_owned()),
        Op::File { .. } => None,
    });
    words.collect()
}

fn rules() -> Rules {
    Rules {
        owner: [SenderId::new(OWNER)].into(),
        allow: [SenderId::new(FRIEND)].into(),
        groups: ["a".to_owned()].into(),
        ..Rules::default()
    }
}

struct Routes(House, Rules);

#[async_trait]
impl Directory for Routes {
    fn rules(&self, asked: &AccountId) -> Option<&Rules> {
        (*asked == account()).then_some(&self.1)
    }

    fn busy(&self, _account: &AccountId) -> Busy {
        self.0.book().busy
    }

    fn names(&self, chat: &ChatKey) -> bool {
        chat.conversation.as_str() == "a"
    }

    async fn home(
        &self,
        account: &AccountId,
        _chat: Option<&ChatKey>,
    ) -> Result<Option<(ProfileId, ChatKey)>, StoreError> {
        if self.0.book().homeless {
            return Ok(None);
        }
        let home = ChatKey::new(account.clone(), Conversation::new("home").unwrap());
        Ok(Some((ProfileId::parse("work").unwrap(), home)))
    }

    async fn route(
        &self,
        chat: &ChatKey,
        _former: &[ChatKey],
    ) -> Result<Option<ProfileId>, StoreError> {
        self.0
            .ask(format!("route {}", chat.conversation.as_str()))?;
        Ok(Some(ProfileId::parse("work").unwrap()))
    }

    fn about(&self, _profile: &ProfileId) -> String {
        String::new()
    }
}

#[async_trait]
impl InboxStore for House {
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<NewEvent>,
        _cursor: Option<String>,
        _now: Timestamp,
    ) -> Result<(Vec<InboxRow>, Accepted), StoreError> {
        let mut book = self.book();
        let mut fresh = Vec::new();
        for event in events {
            let id = book.rows.last().map_or(1, |row| row.id.0 + 1);
            match event.parsed {
                Ok(inbound) => {
                    let row = row(id, account.as_str(), inbound.unwrap(), InboxState::New);
                    book.rows.push(row.clone());
                    fresh.push(row);
                }
                Err(reason) => book.rows.push(InboxRow {
                    inbound: None,
                    ..row(
                        id,
                        account.as_str(),
                        said("a", OWNER, ""),
                        InboxState::Poisoned { reason },
                    )
                }),
            }
        }
        let accepted = Accepted {
            fresh: fresh.len(),
            repeated: 0,
        };
        Ok((fresh, accepted))
    }

    async fn cursor(&self, _account: &AccountId) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    async fn admit(
        &self,
        id: InboxId,
        admission: Admission,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        if !matches!(admission, Admission::PutAside { .. }) {
            self.ask("admit".to_owned())?;
        }
        let (state, word) = match admission {
            Admission::PutAside { reason } => {
                (InboxState::Poisoned { reason }, "put aside".to_owned())
            }
            Admission::Admit(_) => (InboxState::Admitted, "admitted".to_owned()),
            Admission::Ignore { reason } => (InboxState::Ignored { reason }, "ignored".to_owned()),
            Admission::Tell { messages } => {
                let answer = messages.iter().map(words).collect();
                self.book().answers.push(answer);
                (InboxState::Told, format!("told {}", messages.len()))
            }
        };
        self.note(format!("{word}: {}", id.0));
        let mut book = self.book();
        let row = book.rows.iter_mut().find(|row| row.id == id).unwrap();
        row.state = state;
        row.taken = row.taken.saturating_sub(1);
        Ok(Vec::new())
    }

    async fn take(&self, id: InboxId) -> Result<Take, StoreError> {
        let mut book = self.book();
        let row = book.rows.iter_mut().find(|row| row.id == id).unwrap();
        if row.taken >= MOST_TAKES {
            row.state = InboxState::Poisoned {
                reason: "often".to_owned(),
            };
            return Ok(Take::No);
        }
        row.taken += 1;
        Ok(Take::Go)
    }

    async fn release(&self, id: InboxId) -> Result<(), StoreError> {
        let mut book = self.book();
        let row = book.rows.iter_mut().find(|row| row.id == id).unwrap();
        row.taken -= 1;
        Ok(())
    }

    async fn amend(&self, edit: InboxId, inbound: &Inbound) -> Result<Amended, StoreError> {
        self.ask("amend".to_owned())?;
        let mut book = self.book();
        let old = |row: &&mut InboxRow| {
            row.id < edit
                && row
                    .inbound
                    .as_ref()
                    .is_some_and(|said| said.anchor == inbound.anchor)
        };
        let original = book.rows.iter_mut().find(old).unwrap();
        if original.state != InboxState::Admitted {
            return Ok(Amended::TooLate);
        }
        original.inbound.as_mut().unwrap().text = inbound.text.clone();
        let row = book.rows.iter_mut().find(|row| row.id == edit).unwrap();
        row.state = InboxState::Ignored {
            reason: "replaced".to_owned(),
        };
        Ok(Amended::Settled("replaced".to_owned()))
    }

    async fn poisoned(&self) -> Result<u64, StoreError> {
        Err(failed())
    }

    async fn untold(&self, _most: usize) -> Result<Vec<PutAside>, StoreError> {
        self.ask("untold".to_owned())?;
        let book = self.book();
        let rows = book.rows.iter().filter(|row| !book.told.contains(&row.id));
        Ok(rows
            .filter_map(|row| match &row.state {
                InboxState::Poisoned { reason } => Some(PutAside {
                    id: row.id,
                    account: row.account.clone(),
                    chat: None,
                    reason: reason.clone(),
                }),
                InboxState::New
                | InboxState::Ignored { .. }
                | InboxState::Told
                | InboxState::Admitted
                | InboxState::Running { .. }
                | InboxState::Done { .. } => None,
            })
            .collect())
    }

    async fn tell(
        &self,
        rows: Vec<InboxId>,
        notices: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.ask("tell".to_owned())?;
        let mut book = self.book();
        book.told.extend(rows);
        book.notices.extend(notices.iter().map(words));
        Ok(Vec::new())
    }

    async fn open_rows(&self) -> Result<Vec<InboxRow>, StoreError> {
        let open = |row: &&InboxRow| matches!(row.state, InboxState::New | InboxState::Admitted);
        Ok(self.book().rows.iter().filter(open).cloned().collect())
    }
}

#[async_trait]
impl SessionStore for House {
    async fn current(
        &self,
        scope: &ProfileScope,
        key: &SessionKey,
        fresh: SessionId,
        _now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        if let SessionKey::Chat(chat) = key {
            self.ask(format!("current {}", chat.conversation.as_str()))?;
        }
        Ok(scope.session(key.clone(), fresh))
    }

    async fn reset(
        &self,
        scope: &SessionScope,
        fresh: SessionId,
        _now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        self.ask("reset".to_owned())?;
        self.note("reset".to_owned());
        Ok(scope.profile_scope().session(scope.key().clone(), fresh))
    }

    async fn begin_turn(&self, _start: TurnStart) -> Result<TakenIn, StoreError> {
        Err(failed())
    }

    async fn take_in(
        &self,
        _scope: &TurnScope,
        _events: Vec<Heard>,
        _messages: Vec<model::Message>,
        _promised: &Promised,
        _now: Timestamp,
    ) -> Result<TakenIn, StoreError> {
        Err(failed())
    }

    async fn move_chat(
        &self,
        from: &ChatKey,
        to: &ChatKey,
        notices: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        let mut book = self.book();
        book.moves.push((from.clone(), to.clone()));
        book.notices.extend(notices.iter().map(words));
        Ok(Vec::new())
    }

    async fn former(&self, chat: &ChatKey) -> Result<Vec<ChatKey>, StoreError> {
        let book = self.book();
        let moves = book.moves.iter().filter(|(_, to)| to == chat);
        Ok(moves.map(|(from, _)| from.clone()).collect())
    }

    async fn append(
        &self,
        _scope: &TurnScope,
        _messages: Vec<model::Message>,
        _promised: &Promised,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Err(failed())
    }

    async fn compact(
        &self,
        _scope: &TurnScope,
        _compaction: session::window::Compaction,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Err(failed())
    }

    async fn transcript(&self, _session: SessionId) -> Result<Vec<Entry>, StoreError> {
        Err(failed())
    }

    async fn commit_turn(&self, _commit: TurnCommit) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
    }

    async fn running_turns(&self) -> Result<Vec<TurnRecord>, StoreError> {
        Err(failed())
    }

    async fn count_resume(&self, _turn: TurnId) -> Result<u32, StoreError> {
        Err(failed())
    }
}

#[async_trait]
impl TurnLine for House {
    async fn fill(&self, _scope: &SessionScope) -> Result<Option<session::Fill>, StoreError> {
        Err(failed())
    }

    fn enqueue(&self, admitted: Admitted) -> Turn {
        self.note(format!("line: {}", admitted.inbound.text));
        if self.book().running {
            Turn::Waits
        } else {
            Turn::Next
        }
    }

    fn stop(&self, _scope: &SessionScope) -> bool {
        self.note("stop".to_owned());
        self.book().running
    }

    fn answer(&self, answering: Answering) -> Answered {
        let Some(answered) = self.book().answered.clone() else {
            return Answered::Nothing;
        };
        let (who, what) = (answering.sender.id, answering.answer);
        self.note(format!("answer of {}: {what:?}", who.as_str()));
        answered
    }

    fn caught_up(&self) {
        self.book().caught_up = true;
    }

    fn status(&self, _scope: &SessionScope) -> LineStatus {
        LineStatus {
            running: self.book().running,
            waiting: 0,
        }
    }
}

impl Outlet for House {
    fn descriptor(&self, _account: &AccountId) -> Option<Descriptor> {
        Some(Descriptor {
            kind: "test".to_owned(),
            rendering: Rendering::Markdown,
            text: Limit::Utf16(4096),
            caption: None,
            file_out: 0,
            file_in: 0,
            photo: None,
            voice: Vec::new(),
            previews: false,
            typing_seconds: None,
            grade: Grade::Nothing,
            settle: Duration::ZERO,
            carrier: None,
            rates: Rates::unlimited(1),
            when_unknown: WhenUnknown::Repeat,
        })
    }

    fn carry(&self, _claimed: Vec<Claimed>) {}

    fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    fn activity(&self, _chat: &ChatKey, activity: Activity) {
        self.note(format!("{activity:?}"));
    }
}
