//! What the store did not do yet, kept in the order of each chat.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use session::{Admission, Came, InboxId, InboxRow, StoreError};
use tokio::time::Instant;
use waybill::ChatKey;

/// After the first failure; doubled each time.
const FIRST: Duration = Duration::from_secs(1);
/// Longest wait between two tries.
const MOST: Duration = Duration::from_secs(30);

/// What is still to be done with an event.
pub(crate) enum Step {
    /// Everything.
    Decide(Box<InboxRow>, Came),
    /// It was decided on, and a command was obeyed: only that has to be written down.
    WriteDown(InboxId, Admission),
}

impl Step {
    fn id(&self) -> InboxId {
        match self {
            Self::Decide(row, _) => row.id,
            Self::WriteDown(id, _) => *id,
        }
    }
}

/// A step that the store did not do.
pub(crate) struct Setback {
    pub(crate) chat: ChatKey,
    pub(crate) step: Step,
    pub(crate) error: StoreError,
}

/// The chat that a row's order is kept in; none if there is nothing to decide on.
pub(crate) fn chat_of(row: &InboxRow) -> Option<&ChatKey> {
    row.inbound.as_ref().map(|inbound| &inbound.chat)
}

struct Waiting {
    steps: VecDeque<Step>,
    failures: u32,
    due: Instant,
}

impl Waiting {
    fn put_off(&mut self) -> Duration {
        let wait = FIRST.saturating_mul(2_u32.saturating_pow(self.failures.min(16)));
        let wait = wait.min(MOST);
        self.failures = self.failures.saturating_add(1);
        self.due = Instant::now() + wait;
        wait
    }
}

/// The steps of each chat. The first of a chat is tried again; the others wait behind it.
#[derive(Default)]
pub(crate) struct Later(HashMap<ChatKey, Waiting>);

impl Later {
    /// Whether what comes of this chat has to wait.
    pub(crate) fn holds(&self, chat: &ChatKey) -> bool {
        self.0.contains_key(chat)
    }

    /// How many steps wait.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(|waiting| waiting.steps.len()).sum()
    }

    /// Puts a row behind what its chat waits for.
    pub(crate) fn behind(&mut self, chat: ChatKey, row: InboxRow, came: Came) {
        let step = Step::Decide(Box::new(row), came);
        self.line(chat).steps.push_back(step);
    }

    /// Keeps a step that did not succeed, if time may help; else it waits for the next start.
    pub(crate) fn keep(&mut self, setback: Setback) {
        if let Some((chat, step)) = hopeful(setback) {
            let fresh = !self.holds(&chat);
            let line = self.line(chat);
            line.steps.push_back(step);
            if fresh {
                line.put_off();
            }
        }
    }

    /// When the next step is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.0.values().map(|waiting| waiting.due).min()
    }

    /// The step that is due. [`Self::tried`] has to follow.
    pub(crate) fn take(&mut self) -> Option<(ChatKey, Step)> {
        let now = Instant::now();
        let due = self.0.iter_mut().filter(|(_, waiting)| waiting.due <= now);
        let (chat, waiting) = due.min_by_key(|(_, waiting)| waiting.due)?;
        Some((chat.clone(), waiting.steps.pop_front()?))
    }

    /// How it went with the step of this chat that was taken.
    pub(crate) fn tried(&mut self, chat: &ChatKey, result: Result<(), Setback>) {
        let again = result.err().and_then(hopeful);
        let Some(waiting) = self.0.get_mut(chat) else {
            return;
        };
        match again {
            Some((_, step)) => {
                waiting.steps.push_front(step);
                waiting.put_off();
            }
            None => {
                waiting.failures = 0;
                waiting.due = Instant::now();
                if waiting.steps.is_empty() {
                    self.0.remove(chat);
                }
            }
        }
    }

    fn line(&mut self, chat: ChatKey) -> &mut Waiting {
        self.0.entry(chat).or_insert_with(|| Waiting {
            steps: VecDeque::new(),
            failures: 0,
            due: Instant::now(),
        })
    }
}

/// The step, if trying it again may help.
fn hopeful(setback: Setback) -> Option<(ChatKey, Step)> {
    let Setback { chat, step, error } = setback;
    let inbox = step.id().0;
    match error {
        StoreError::Full(_) | StoreError::Failed(_) => {
            tracing::error!(%error, inbox, %chat, "an event could not be dealt with; it is tried again soon");
            Some((chat, step))
        }
        StoreError::Unreadable { .. } | StoreError::Closed => {
            tracing::error!(%error, inbox, %chat, "an event could not be dealt with; it waits for the next start");
            None
        }
    }
}
