//! A chat service that does what a test wrote into its script, and remembers what people saw.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Activity, ChatAdapter, Delivery, Descriptor, Done, DownloadError, Fault, FaultKind, FileHandle,
    Found, Grade, IdempotencyKey, Identity, InboundSink, ListenError, Op, Preview, Rates, Receipt,
    Rendering, Step, ThrottleScope, Way, WhenUnknown,
};
use sandbox::{BlobStore, BlobWriter};
use tokio::task::JoinSet;
use tokio::time::Instant;
use waybill::{AccountId, ChatKey, Limit};

use crate::post::Life;

/// How long the platform may still be at work on a call whose answer was lost.
pub(crate) const SETTLE: Duration = Duration::from_secs(30);

/// What happens to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Accepted,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// It never arrives, and nobody knows.
    Lost,
    /// It is done so much later, and nobody knows: not longer than [`SETTLE`].
    Late(Duration),
    Refused,
    TemporarilyRefused,
    Throttled(Duration, ThrottleScope),
    NotSent,
    ChatGone,
    Revoked,
    /// The process dies before a byte left.
    DiesBefore,
    /// The process dies when it is done.
    DiesAfter,
    /// Our own adapter crashes when it is done.
    Panics,
    /// No answer comes for so long; then it is done.
    Hangs(Duration),
}

/// A message as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) chat: String,
    /// Empty while it is a placeholder.
    pub(crate) text: String,
    pub(crate) marked: bool,
    pub(crate) at: Duration,
    key: IdempotencyKey,
    id: u64,
    gone: bool,
}

/// A call as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) chat: String,
    pub(crate) at: Duration,
}

#[derive(Default)]
struct State {
    script: VecDeque<Fate>,
    questions: VecDeque<Option<Fault>>,
    always: HashMap<String, Fate>,
    down: bool,
    shown: Vec<Shown>,
    calls: Vec<Call>,
    /// What it gets round to later, whatever becomes of us.
    late: JoinSet<()>,
    on_the_wire: usize,
    most_on_the_wire: usize,
}

/// The platform.
pub(crate) struct Platform {
    account: AccountId,
    descriptor: Descriptor,
    /// Whether it finds what it is asked for.
    honest: bool,
    began: Instant,
    state: Mutex<State>,
}

pub(crate) fn descriptor(grade: Grade) -> Descriptor {
    Descriptor {
        kind: "test".to_owned(),
        rendering: Rendering::Rich,
        text: Limit::Utf16(4_000),
        caption: None,
        file_out: 1_000,
        file_in: 1_000,
        photo: None,
        voice: Vec::new(),
        previews: false,
        typing_seconds: None,
        grade,
        settle: SETTLE,
        carrier: None,
        rates: Rates::unlimited(2),
        when_unknown: WhenUnknown::Repeat,
    }
}

fn text(op: &Op) -> String {
    match op {
        Op::Text(body) | Op::Question { body, .. } => body.text().to_owned(),
        Op::File { artifact, .. } => artifact.name.clone(),
    }
}

impl Platform {
    pub(crate) fn new(account: &str, descriptor: Descriptor) -> Arc<Self> {
        Self::with(account, descriptor, true)
    }

    pub(crate) fn with(account: &str, descriptor: Descriptor, honest: bool) -> Arc<Self> {
        Arc::new(Self {
            account: account.parse().unwrap(),
            descriptor,
            honest,
            began: Instant::now(),
            state: Mutex::default(),
        })
    }

    pub(crate) fn adapter(self: &Arc<Self>, life: Arc<Life>) -> Arc<dyn ChatAdapter> {
        Arc::new(Adapter {
            platform: Arc::clone(self),
            life,
        })
    }

    pub(crate) fn script(&self, fates: impl IntoIterator<Item = Fate>) {
        self.state().script.extend(fates);
    }

    /// What happens to questions, one after the other; then they are answered.
    pub(crate) fn questions(&self, answers: impl IntoIterator<Item = Option<Fault>>) {
        self.state().questions.extend(answers);
    }

    /// What happens to each call to a chat.
    pub(crate) fn always(&self, chat: &str, fate: Fate) {
        self.state().always.insert(chat.to_owned(), fate);
    }

    /// Whether no call gets through.
    pub(crate) fn is_down(&self, down: bool) {
        self.state().down = down;
    }

    /// What people see now, oldest first.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let state = self.state();
        let there = state.shown.iter().filter(|shown| !shown.gone);
        there.cloned().collect()
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    pub(crate) fn most_on_the_wire(&self) -> usize {
        self.state().most_on_the_wire
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// What the platform does with a call that reaches it.
    fn take(&self, call: &Taken) -> Result<Done, Fault> {
        let now = self.now();
        let mut state = self.state();
        let id = state.shown.len() as u64 + 1;
        if let (Grade::Keyed { window }, true) = (self.descriptor.grade, call.step.is_none()) {
            let known = state.shown.iter().find(|shown| {
                shown.key == call.key && window.is_none_or(|window| now < shown.at + window)
            });
            if let Some(known) = known {
                let receipt = Some(Receipt::new(known.id.to_string()));
                return Err(Fault::new(FaultKind::Duplicate { receipt }, "known"));
            }
        }
        let placeholder = call.way == Way::Carried && call.step.is_none();
        if let Some(step) = &call.step {
            let there = state
                .shown
                .iter_mut()
                .find(|shown| shown.id.to_string() == step.as_str() && !shown.gone);
            let Some(there) = there else {
                return Err(Fault::new(FaultKind::PermItem, "nothing to edit"));
            };
            if there.text == call.text {
                return Err(Fault::new(FaultKind::NoChange, "the same"));
            }
            there.text.clone_from(&call.text);
            there.marked = call.marked;
            there.at = now;
            return Ok(Done::All(Receipt::new(step.as_str())));
        }
        state.shown.push(Shown {
            chat: call.chat.clone(),
            text: if placeholder {
                String::new()
            } else {
                call.text.clone()
            },
            marked: call.marked,
            at: now,
            key: call.key,
            id,
            gone: false,
        });
        Ok(if placeholder {
            Done::Step(Step::new(id.to_string()))
        } else {
            Done::All(Receipt::new(id.to_string()))
        })
    }

    /// Whether a refusal would be a lie: it is there already, under this key or in this placeholder.
    fn has(&self, call: &Taken) -> bool {
        let state = self.state();
        let filled = call.step.as_ref().is_some_and(|step| {
            let mut shown = state.shown.iter();
            shown.any(|shown| shown.id.to_string() == step.as_str() && shown.text == call.text)
        });
        let keyed = matches!(self.descriptor.grade, Grade::Keyed { .. })
            && state.shown.iter().any(|shown| shown.key == call.key);
        filled || keyed
    }

    fn begin(&self, chat: &str) -> Fate {
        let now = self.now();
        let mut state = self.state();
        state.calls.push(Call {
            chat: chat.to_owned(),
            at: now,
        });
        if state.down {
            return Fate::NotSent;
        }
        if let Some(fate) = state.always.get(chat) {
            return fate.clone();
        }
        state.script.pop_front().unwrap_or(Fate::Accepted)
    }
}

struct Taken {
    chat: String,
    text: String,
    marked: bool,
    key: IdempotencyKey,
    way: Way,
    step: Option<Step>,
}

struct Adapter {
    platform: Arc<Platform>,
    life: Arc<Life>,
}

/// One call on the wire.
struct OnTheWire<'a>(&'a Platform);

impl<'a> OnTheWire<'a> {
    fn new(platform: &'a Platform) -> Self {
        let mut state = platform.state();
        state.on_the_wire += 1;
        state.most_on_the_wire = state.most_on_the_wire.max(state.on_the_wire);
        Self(platform)
    }
}

impl Drop for OnTheWire<'_> {
    fn drop(&mut self) {
        self.0.state().on_the_wire -= 1;
    }
}

fn unknown() -> Fault {
    Fault::new(FaultKind::Unknown, "the answer was lost")
}

#[async_trait]
impl ChatAdapter for Adapter {
    fn descriptor(&self) -> &Descriptor {
        &self.platform.descriptor
    }

    fn account(&self) -> &AccountId {
        &self.platform.account
    }

    async fn listen(&self, _sink: &dyn InboundSink) -> Result<Infallible, ListenError> {
        Err(ListenError::Closed)
    }

    async fn deliver(&self, delivery: Delivery<'_>, _blobs: &dyn BlobStore) -> Result<Done, Fault> {
        self.life.while_alive().await;
        let platform = &self.platform;
        let _wire = OnTheWire::new(platform);
        let call = Taken {
            chat: delivery.chat.conversation.as_str().to_owned(),
            text: text(delivery.op),
            marked: delivery.may_be_repeat,
            key: delivery.key,
            way: delivery.way,
            step: delivery.step.cloned(),
        };
        let refuse = |kind: FaultKind| {
            if platform.has(&call) {
                return platform.take(&call);
            }
            Err(Fault::new(kind, "the script says so"))
        };
        match platform.begin(&call.chat) {
            Fate::Accepted => platform.take(&call),
            Fate::AnswerLost => {
                drop(platform.take(&call));
                Err(unknown())
            }
            Fate::Lost => Err(unknown()),
            Fate::Late(after) => {
                let later = Arc::clone(platform);
                platform.state().late.spawn(async move {
                    tokio::time::sleep(after).await;
                    drop(later.take(&call));
                });
                Err(unknown())
            }
            Fate::Refused => refuse(FaultKind::PermItem),
            Fate::TemporarilyRefused => refuse(FaultKind::TempReject),
            Fate::Throttled(after, scope) => {
                let kind = FaultKind::Throttled { after, scope };
                Err(Fault::new(kind, "wait"))
            }
            Fate::NotSent => Err(Fault::new(FaultKind::NotSent, "no connection")),
            Fate::ChatGone => refuse(FaultKind::PermChat),
            Fate::Revoked => Err(Fault::new(FaultKind::PermAccount, "revoked")),
            Fate::DiesBefore => {
                self.life.die().await;
                Err(unknown())
            }
            Fate::DiesAfter => {
                drop(platform.take(&call));
                self.life.die().await;
                Err(unknown())
            }
            Fate::Panics => {
                drop(platform.take(&call));
                panic!("the test wants a crash")
            }
            Fate::Hangs(time) => {
                tokio::time::sleep(time).await;
                platform.take(&call)
            }
        }
    }

    async fn find(&self, delivery: Delivery<'_>) -> Result<Found, Fault> {
        self.life.while_alive().await;
        if let Some(Some(fault)) = self.platform.state().questions.pop_front() {
            return Err(fault);
        }
        if !self.platform.honest {
            return Ok(Found::Unclear);
        }
        let wanted = text(delivery.op);
        let state = self.platform.state();
        let found = state
            .shown
            .iter()
            .find(|shown| shown.text == wanted && !shown.gone);
        Ok(match found {
            Some(shown) => Found::Present(Receipt::new(shown.id.to_string())),
            None => Found::Absent,
        })
    }

    async fn withdraw(&self, _chat: &ChatKey, step: &Step) {
        self.life.while_alive().await;
        let mut state = self.platform.state();
        for shown in &mut state.shown {
            shown.gone |= shown.id.to_string() == step.as_str();
        }
    }

    async fn preview(&self, _chat: &ChatKey, _preview: Preview) {}

    async fn activity(&self, _chat: &ChatKey, _activity: Activity) {}

    async fn fetch(
        &self,
        _file: &FileHandle,
        _limit: u64,
        _into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        Err(DownloadError::Refused("nothing to fetch".to_owned()))
    }

    async fn identify(&self) -> Result<Identity, Fault> {
        Err(Fault::new(FaultKind::NotSent, "nobody"))
    }
}
