//! A house around the agent: a store in memory that can be damaged, files that hang, a model that says one word.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Descriptor, DownloadError, FileHandle, FileKind, Grade, Inbound,
    InboundFile, InboundKind, Place, Preview, Rates, Rendering, Sender, SenderId, WhenUnknown,
};
use model::{Delta, DeltaSink, Message, ModelError, ModelPort, Reply, Request, StopReason};
use outbox::{Claimed, NewMessage, Outlet};
use sandbox::{BlobWriter, Driver, Limits, Network, SandboxSpec};
use session::{
    Admission, Admitted, Amended, Busy, Came, Entry, Heard, InboxId, InboxRow, InboxStore,
    NewEvent, Promised, PutAside, SessionStore, StoreError, Take, TakenIn, TurnCommit, TurnRecord,
    TurnStart,
};
use testkit::blobs::MemoryBlobs;
use testkit::clock::{CountingIds, ManualClock};
use testkit::sandbox::NoSandbox;
use tidings_agent::{Files, Ports, Tenant, Tenants};
use tokio::sync::Notify;
use waybill::{
    AccountId, Anchor, ChatKey, Conversation, Limit, Placement, ProfileId, ProfileScope, SessionId,
    SessionKey, SessionScope, Timestamp, TurnId, TurnScope,
};

#[derive(Default)]
struct Book {
    /// How often each event was taken.
    taken: BTreeMap<i64, u32>,
    /// Events whose rows can't be read.
    damaged: Vec<InboxId>,
    /// What became of events and turns, in order.
    happened: Vec<String>,
    transcript: Vec<Message>,
    downloads: usize,
}

/// The house. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct House {
    book: Arc<Mutex<Book>>,
    /// Rung to let a download end.
    pub(crate) let_go: Arc<Notify>,
}

fn failed() -> StoreError {
    StoreError::Failed("the test does without".into())
}

pub(crate) fn scope() -> SessionScope {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new("a").unwrap());
    let profile = ProfileScope::enter(ProfileId::parse("p").unwrap());
    profile.session(
        SessionKey::Chat(chat),
        SessionId::fresh(&CountingIds::default()),
    )
}

pub(crate) fn message(id: i64, text: &str, busy: Busy) -> Admitted {
    let scope = scope();
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

    pub(crate) fn ports(&self) -> Ports {
        let this = || Arc::new(self.clone());
        Ports {
            inbox: this(),
            sessions: this(),
            tenants: this(),
            blobs: Arc::new(MemoryBlobs::default()),
            files: this(),
            outlet: this(),
            clock: Arc::new(ManualClock::default()),
            ids: Arc::new(CountingIds::default()),
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

impl Tenants for House {
    fn tenant(&self, _profile: &ProfileId) -> Option<Arc<Tenant>> {
        Some(Arc::new(Tenant {
            model: Arc::new(self.clone()),
            sandbox: Arc::new(NoSandbox),
            spec: SandboxSpec {
                driver: Driver::Process,
                image: String::new(),
                mounts: Vec::new(),
                env: BTreeMap::new(),
                secret_env: BTreeMap::new(),
                network: Network::None,
                limits: Limits::default(),
            },
            placement: Placement::PerProfile,
            persona: String::new(),
            steps: 5,
            attachment_bytes: 1 << 20,
        }))
    }
}

#[async_trait]
impl ModelPort for House {
    fn name(&self) -> &str {
        "one word"
    }

    async fn ask(&self, _: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        deltas(Delta::Text("yes".to_owned()));
        Ok(Reply {
            text: "yes".to_owned(),
            reasoning: String::new(),
            calls: Vec::new(),
            stop: StopReason::End,
            usage: None,
        })
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
        _notices: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
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
        _messages: Vec<Message>,
        _promised: &Promised,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        Err(failed())
    }

    async fn transcript(&self, _session: SessionId) -> Result<Vec<Entry>, StoreError> {
        Ok(Vec::new())
    }

    async fn commit_turn(&self, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError> {
        self.book().happened.push(commit.end.name().to_owned());
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

    fn activity(&self, _chat: &ChatKey, _activity: Activity) {}
}
