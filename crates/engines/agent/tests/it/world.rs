//! A house around the agent: a store in memory that can be damaged, files that hang, a model that says one word.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Descriptor, DownloadError, FileHandle, FileKind, Grade, Inbound,
    InboundFile, InboundKind, Place, Preview, Rates, Rendering, Sender, SenderId, WhenUnknown,
};
use model::{
    Content, Delta, DeltaSink, Message, ModelError, ModelPort, Reply, Request, StopReason, ToolCall,
};
use outbox::{Claimed, NewMessage, Outlet};
use policy::{Approvals, Audit, Decided, Standing};
use redact::Redactor;
use sandbox::{BlobWriter, Driver, Limits, Mount, Network, SandboxPort, SandboxSpec};
use session::window::Compaction;
use session::{
    Admission, Admitted, Amended, Busy, Came, Entry, Heard, InboxId, InboxRow, InboxStore,
    LastWords, NewEvent, Promised, PutAside, SessionStore, Spent, StoreError, Take, TakenIn,
    TurnCommit, TurnLine as _, TurnRecord, TurnStart,
};
use testkit::blobs::MemoryBlobs;
use testkit::clock::{CountingIds, ManualClock};
use testkit::knowledge::{MemoryNotes, MemoryShelf};
use testkit::sandbox::{NoSandbox, PlainShell};
use tidings_agent::{
    Agent, AgentHandle, Files, Knowledge, Options, People, Ports, Purse, Tenant, Tenants,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use waybill::{
    AccountId, Anchor, ChatKey, Clock, Conversation, Limit, Placement, ProfileId, ProfileScope,
    Secret, SessionId, SessionKey, SessionScope, Timestamp, TurnId, TurnScope,
};

use crate::archive::Archive;
use crate::scripted::Scripted;
use crate::watched::{Asked, Watched};

#[derive(Default)]
pub(crate) struct Book {
    /// How often each event was taken.
    taken: BTreeMap<i64, u32>,
    /// Events whose rows can't be read.
    damaged: Vec<InboxId>,
    /// What became of events and turns, in order.
    happened: Vec<String>,
    transcript: Vec<Message>,
    downloads: usize,
    /// What the model says, in order; then it says one word.
    script: VecDeque<Reply>,
    /// All that was asked of the model.
    asked: Vec<String>,
    /// All that was stored for the outbox.
    sent: Vec<NewMessage>,
    /// What is said if the gateway dies.
    left: BTreeMap<String, NewMessage>,
    /// All that was shown meanwhile.
    shown: Vec<String>,
    /// All else that was stored.
    stored: Vec<String>,
    /// Notes, and for how many messages they stand.
    notes: Option<(usize, String)>,
    /// What the last turn took.
    spent: Vec<Spent>,
    /// What was decided on what leaves the sandbox.
    decided: Vec<String>,
}

/// The house. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct House {
    pub(crate) book: Arc<Mutex<Book>>,
    /// Rung to let a download end.
    pub(crate) let_go: Arc<Notify>,
    /// The sandbox; none: every call is refused.
    pub(crate) shell: Option<Arc<PlainShell>>,
    /// What was asked of it.
    pub(crate) asked: Arc<Mutex<Asked>>,
    /// A folder that it keeps from being sent.
    pub(crate) forbidden: Option<String>,
    /// What its commands are given as secret.
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// Seconds that a command may take.
    pub(crate) command_seconds: Option<u64>,
    /// Folders of the owner.
    pub(crate) mounts: Vec<Mount>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) blobs: MemoryBlobs,
    /// What it remembers.
    pub(crate) notes: MemoryNotes,
    /// Its skills.
    pub(crate) shelf: MemoryShelf,
    /// What was said earlier, and what is to be done.
    pub(crate) archive: Archive,
    /// What other programs offer.
    pub(crate) toolbox: Option<Arc<dyn tool::Toolbox>>,
    /// What is outside the sandbox, and what may go there.
    pub(crate) outside: Outside,
    /// Whom it asks, the first one first; none: itself.
    pub(crate) models: Vec<Arc<dyn ModelPort>>,
}

/// What is outside the sandbox, and what may go there.
#[derive(Clone, Default)]
pub(crate) struct Outside {
    pub(crate) web: Option<Arc<dyn tool::Web>>,
    pub(crate) network: Network,
    pub(crate) approvals: Approvals,
    pub(crate) ask_seconds: Option<u64>,
}

/// A reply that calls a tool.
pub(crate) fn calls(tool: &str, arguments: serde_json::Value) -> Reply {
    let serde_json::Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    Reply {
        calls: vec![ToolCall {
            id: format!("call-{tool}"),
            name: tool.to_owned(),
            arguments: Ok(arguments),
        }],
        stop: StopReason::ToolUse,
        ..says("")
    }
}

/// A reply in words.
pub(crate) fn says(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        stop: StopReason::End,
        usage: None,
        replay: None,
    }
}

fn failed() -> StoreError {
    StoreError::Failed("the test does without".into())
}

pub(crate) fn scope() -> SessionScope {
    in_chat("a")
}

/// The conversation of a chat.
pub(crate) fn in_chat(chat: &str) -> SessionScope {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new(chat).unwrap());
    let profile = ProfileScope::enter(ProfileId::parse("p").unwrap());
    let ids = CountingIds::default();
    let fresh = std::iter::repeat_with(|| SessionId::fresh(&ids));
    // Chats with names of other lengths have other conversations.
    let id = fresh.take(chat.conversation.as_str().len()).last().unwrap();
    profile.session(SessionKey::Chat(chat), id)
}

pub(crate) fn message(id: i64, text: &str, busy: Busy) -> Admitted {
    message_in(scope(), id, text, busy)
}

pub(crate) fn message_in(scope: SessionScope, id: i64, text: &str, busy: Busy) -> Admitted {
    Admitted {
        id: InboxId(id),
        version: 0,
        inbound: Inbound {
            chat: scope.chat().unwrap().clone(),
            anchor: Anchor::new(id.to_string()),
            sender: Sender {
                id: SenderId::new("1"),
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
        },
        scope,
        busy,
        came: Came::Now,
    }
}

pub(crate) fn with_a_file(message: Admitted) -> Admitted {
    let mut message = message;
    message.inbound.files.push(InboundFile {
        handle: FileHandle::new("f"),
        kind: FileKind::Document,
        name: Some("f.txt".to_owned()),
        mime: None,
        size: None,
    });
    message
}

impl House {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap()
    }

    pub(crate) fn damage(&self, id: i64) {
        self.book().damaged.push(InboxId(id));
    }

    pub(crate) fn taken(&self, id: i64) -> u32 {
        self.book().taken.get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn happened(&self) -> Vec<String> {
        self.book().happened.clone()
    }

    pub(crate) fn downloads(&self) -> usize {
        self.book().downloads
    }

    /// What the model read last.
    pub(crate) fn read(&self) -> String {
        format!("{:?}", self.book().transcript)
    }

    /// A house with a shell.
    pub(crate) fn with_a_shell() -> Self {
        Self {
            shell: Some(Arc::new(PlainShell::new().unwrap())),
            ..Self::default()
        }
    }

    /// A house with these models instead of its own.
    pub(crate) fn asking(models: &[&Arc<Scripted>]) -> Self {
        let models = models
            .iter()
            .map(|model| Arc::clone(model) as Arc<dyn ModelPort>);
        Self {
            models: models.collect(),
            ..Self::default()
        }
    }

    /// A house with a shell and this model.
    pub(crate) fn with_a_shell_and(model: Arc<dyn ModelPort>) -> Self {
        Self {
            models: vec![model],
            ..Self::with_a_shell()
        }
    }

    /// What the model will say.
    pub(crate) fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        self.book().script.extend(replies);
    }

    /// What the last call came to, as the model read it.
    pub(crate) fn results(&self) -> Vec<String> {
        let book = self.book();
        let results = book.transcript.iter().filter_map(|message| match message {
            Message::Tool { content, .. } => Some(content.clone()),
            Message::User { .. } | Message::Assistant { .. } => None,
        });
        results.collect()
    }

    /// All that was asked of the model, as text.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.book().asked.clone()
    }

    /// What leaves for people.
    pub(crate) fn sent(&self) -> Vec<NewMessage> {
        self.book().sent.clone()
    }

    /// What was decided on what leaves the sandbox, in order.
    pub(crate) fn decided(&self) -> Vec<String> {
        self.book().decided.clone()
    }

    pub(crate) fn shown(&self) -> Vec<String> {
        self.book().shown.clone()
    }

    /// Everything that was asked, stored, shown and sent, as text.
    pub(crate) fn everything(&self) -> String {
        let book = self.book();
        format!(
            "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
            book.transcript, book.asked, book.sent, book.shown, book.stored, book.happened
        )
    }

    /// What would be said if the gateway died now.
    pub(crate) fn last_words(&self) -> Vec<String> {
        let book = self.book();
        let left = book.left.values();
        left.map(|message| format!("{:?}", message.parts)).collect()
    }

    pub(crate) fn ports(&self) -> Ports {
        let secrets = self
            .secrets
            .iter()
            .map(|(name, value)| (name, value.clone()));
        let this = || Arc::new(self.clone());
        Ports {
            inbox: this(),
            last_words: this(),
            sessions: this(),
            tenants: this(),
            blobs: Arc::new(self.blobs.clone()),
            files: this(),
            outlet: this(),
            recall: Arc::new(self.archive.clone()),
            plans: Arc::new(self.archive.clone()),
            contacts: Arc::new(self.archive.clone()),
            clock: Arc::clone(&self.clock) as Arc<dyn Clock>,
            ids: Arc::new(CountingIds::default()),
            people: this(),
            audit: this(),
            purse: Arc::new(Purse::new(
                HashMap::new(),
                Arc::clone(&self.clock) as Arc<dyn Clock>,
            )),
            redactor: Arc::new(Redactor::new(secrets).unwrap()),
        }
    }

    /// Runs an agent until the scenario is over and then stops it as a planned stop does.
    pub(crate) async fn run(&self, scenario: impl AsyncFnOnce(AgentHandle)) {
        let options = Options {
            install: "test".to_owned(),
            turns: 4,
            grace: Duration::from_secs(1),
        };
        let agent = Agent::new(options, self.ports());
        let (handle, stop) = (agent.handle(), CancellationToken::new());
        handle.caught_up();
        let scenario = async {
            scenario(handle).await;
            stop.cancel();
        };
        tokio::join!(agent.run(stop.clone()), scenario);
    }

    /// Lets the model say these replies in one turn of a conversation, and waits for the turn's end. What the tools came to.
    pub(crate) async fn turn(
        &self,
        handle: &AgentHandle,
        session: SessionScope,
        replies: impl IntoIterator<Item = Reply>,
    ) -> Vec<String> {
        self.script(replies);
        let (turns, known) = (self.ended(), self.results().len());
        let id = i64::try_from(turns).unwrap() + 1;
        handle.enqueue(message_in(session, id, "go", Busy::Queue));
        self.until("the turn has ended", |house| house.ended() > turns)
            .await;
        self.results().into_iter().skip(known).collect()
    }

    /// What the last turn took.
    pub(crate) fn spent(&self) -> Vec<Spent> {
        self.book().spent.clone()
    }

    /// Turns that ended.
    pub(crate) fn ended(&self) -> usize {
        let happened = self.happened();
        happened
            .iter()
            .filter(|what| !what.starts_with("begun"))
            .count()
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

/// 1 is the owner, 2 was allowed; on the account `api` programs speak.
impl People for House {
    fn standing(&self, account: &AccountId, sender: &SenderId) -> Standing {
        match (account.as_str(), sender.as_str()) {
            ("api", _) => Standing::Program,
            (_, "1") => Standing::Owner,
            (_, "2") => Standing::Allowed,
            (_, _) => Standing::Stranger,
        }
    }

    fn owners(&self, _account: &AccountId) -> Vec<SenderId> {
        vec![SenderId::new("1")]
    }
}

impl Audit for House {
    fn record(&self, decided: &Decided<'_>) {
        let what = decided.action.class();
        let what = what.as_ref().map_or("-", |class| class.as_str());
        let line = format!("{} {what}", decided.outcome.name());
        self.book().decided.push(line);
    }
}

impl Tenants for House {
    fn tenant(&self, _profile: &ProfileId) -> Option<Arc<Tenant>> {
        Some(Arc::new(Tenant {
            model: match self.models.first() {
                Some(model) => Arc::clone(model),
                None => Arc::new(self.clone()),
            },
            fallback: self.models.iter().skip(1).cloned().collect(),
            web: self.outside.web.clone(),
            toolbox: self.toolbox.clone(),
            knowledge: Some(Knowledge {
                notes: Arc::new(self.notes.clone()),
                skills: Arc::new(self.shelf.clone()),
            }),
            sandbox: match &self.shell {
                Some(shell) => Arc::new(Watched {
                    shell: Arc::clone(shell),
                    asked: Arc::clone(&self.asked),
                    forbidden: self.forbidden.clone(),
                }) as Arc<dyn SandboxPort>,
                None => Arc::new(NoSandbox),
            },
            spec: SandboxSpec {
                driver: Driver::Process,
                image: String::new(),
                mounts: self.mounts.clone(),
                env: BTreeMap::new(),
                secret_env: self.secrets.clone(),
                network: self.outside.network,
                allow: Vec::new(),
                remote: None,
                limits: Limits {
                    command_seconds: self.command_seconds.unwrap_or(60),
                    ..Limits::default()
                },
            },
            placement: Placement::PerProfile,
            persona: String::new(),
            steps: 30,
            attachment_bytes: 4 << 20,
            approvals: self.outside.approvals,
            ask_seconds: self.outside.ask_seconds.unwrap_or(600),
        }))
    }
}

#[async_trait]
impl ModelPort for House {
    fn name(&self) -> &str {
        "one word"
    }

    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let mut book = self.book();
        book.asked.push(format!("{request:?}"));
        let reply = book.script.pop_front().unwrap_or_else(|| says("yes"));
        drop(book);
        // In pieces, so that nothing depends on words that come whole.
        for sign in reply.text.chars() {
            deltas(Delta::Text(sign.to_string()));
        }
        Ok(reply)
    }
}

#[async_trait]
impl Files for House {
    async fn fetch(
        &self,
        _account: &AccountId,
        _file: &FileHandle,
        _limit: u64,
        _into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        self.book().downloads += 1;
        self.let_go.notified().await;
        Ok(())
    }
}

#[async_trait]
impl InboxStore for House {
    async fn accept(
        &self,
        _account: &AccountId,
        _events: Vec<NewEvent>,
        _cursor: Option<String>,
        _now: Timestamp,
    ) -> Result<(Vec<InboxRow>, Accepted), StoreError> {
        Err(failed())
    }

    async fn cursor(&self, _account: &AccountId) -> Result<Option<String>, StoreError> {
        Err(failed())
    }

    async fn admit(
        &self,
        id: InboxId,
        admission: Admission,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        match admission {
            Admission::PutAside { reason } => {
                let what = format!("put aside {}: {reason}", id.0);
                self.book().happened.push(what);
                Ok(Vec::new())
            }
            Admission::Admit(_) | Admission::Ignore { .. } | Admission::Tell { .. } => {
                Err(failed())
            }
        }
    }

    async fn open_rows(&self) -> Result<Vec<InboxRow>, StoreError> {
        Err(failed())
    }

    async fn take(&self, id: InboxId) -> Result<Take, StoreError> {
        *self.book().taken.entry(id.0).or_default() += 1;
        Ok(Take::Go)
    }

    async fn release(&self, id: InboxId) -> Result<(), StoreError> {
        *self.book().taken.entry(id.0).or_default() -= 1;
        Ok(())
    }

    async fn amend(&self, _edit: InboxId, _inbound: &Inbound) -> Result<Amended, StoreError> {
        Err(failed())
    }

    async fn poisoned(&self) -> Result<u64, StoreError> {
        Err(failed())
    }

    async fn untold(&self, _most: usize) -> Result<Vec<PutAside>, StoreError> {
        Err(failed())
    }

    async fn tell(
        &self,
        _rows: Vec<InboxId>,
        notices: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.book().sent.extend(notices);
        Ok(Vec::new())
    }
}

#[async_trait]
impl LastWords for House {
    async fn leave(&self, message: NewMessage) -> Result<(), StoreError> {
        self.book().left.insert(message.source.clone(), message);
        Ok(())
    }

    async fn take_back(&self, source: &str) -> Result<(), StoreError> {
        self.book().left.remove(source);
        Ok(())
    }

    async fn speak(&self, _now: Timestamp) -> Result<Vec<Claimed>, StoreError> {
        let mut book = self.book();
        let left = std::mem::take(&mut book.left);
        book.sent.extend(left.into_values());
        Ok(Vec::new())
    }
}

#[async_trait]
impl SessionStore for House {
    async fn current(
        &self,
        _scope: &ProfileScope,
        _key: &SessionKey,
        _fresh: SessionId,
        _now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        Err(failed())
    }

    async fn reset(
        &self,
        _scope: &SessionScope,
        _fresh: SessionId,
        _now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        Err(failed())
    }

    async fn begin_turn(&self, start: TurnStart) -> Result<TakenIn, StoreError> {
        let mut book = self.book();
        if start
            .inbox
            .iter()
            .any(|heard| book.damaged.contains(&heard.id))
        {
            return Err(StoreError::Unreadable {
                row: "row 5".to_owned(),
                reason: "no JSON".to_owned(),
            });
        }
        for heard in &start.inbox {
            book.happened.push(format!("begun {}", heard.id.0));
        }
        book.transcript.push(start.message);
        Ok(TakenIn::Yes)
    }

    async fn take_in(
        &self,
        _scope: &TurnScope,
        _events: Vec<Heard>,
        _messages: Vec<Message>,
        _promised: &Promised,
        _now: Timestamp,
    ) -> Result<TakenIn, StoreError> {
        Err(failed())
    }

    async fn append(
        &self,
        _scope: &TurnScope,
        messages: Vec<Message>,
        promised: &Promised,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut book = self.book();
        book.transcript.extend(messages);
        book.stored.push(format!("{promised:?}"));
        Ok(())
    }

    async fn compact(
        &self,
        _scope: &TurnScope,
        compaction: Compaction,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut book = self.book();
        let through = book.transcript.len() - compaction.kept;
        book.notes = Some((through, compaction.summary));
        Ok(())
    }

    async fn transcript(&self, _session: SessionId) -> Result<Vec<Entry>, StoreError> {
        let book = self.book();
        let (through, notes) = match &book.notes {
            None => (0, None),
            Some((through, notes)) => (*through, Some(notes.clone())),
        };
        let notes = notes.map(|text| Message::User {
            content: vec![Content::Text { text }],
        });
        let latest = book.transcript.iter().skip(through).cloned();
        let turn = TurnId::fresh(&CountingIds::default());
        let entries = notes.into_iter().chain(latest).map(|message| Entry {
            turn,
            message,
            at: Timestamp::UNIX_EPOCH,
        });
        Ok(entries.collect())
    }

    async fn commit_turn(&self, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError> {
        let mut book = self.book();
        book.happened.push(commit.end.name().to_owned());
        book.transcript.extend(commit.transcript);
        book.sent.extend(commit.outgoing);
        book.spent = commit.spent;
        Ok(Vec::new())
    }

    async fn running_turns(&self) -> Result<Vec<TurnRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn count_resume(&self, _turn: TurnId) -> Result<u32, StoreError> {
        Err(failed())
    }

    async fn move_chat(
        &self,
        _from: &ChatKey,
        _to: &ChatKey,
        _notices: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
    }

    async fn former(&self, _chat: &ChatKey) -> Result<Vec<ChatKey>, StoreError> {
        Err(failed())
    }
}

impl Outlet for House {
    fn descriptor(&self, _account: &AccountId) -> Option<Descriptor> {
        Some(Descriptor {
            kind: "test".to_owned(),
            rendering: Rendering::Markdown,
            text: Limit::Utf16(4096),
            caption: None,
            file_out: 1 << 30,
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

    fn preview(&self, _chat: &ChatKey, preview: Preview) {
        self.book().shown.push(format!("{preview:?}"));
    }

    fn activity(&self, _chat: &ChatKey, activity: Activity) {
        self.book().shown.push(format!("{activity:?}"));
    }
}
