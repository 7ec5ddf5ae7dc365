//! What moves while a turn runs: kept in memory, told to whoever looks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::{Activity, Preview};
use serde::Serialize;
use session::Visible;
use tokio::sync::broadcast;
use waybill::Conversation;

use crate::said::blank;

/// Most news that a slow listener may lag behind; then it has to look anew.
const BACKLOG: usize = 256;
/// Most conversations that are kept although nobody looks and nothing runs.
const KEPT: usize = 256;
/// Most tool steps of a run; older ones go first.
const MOST_STEPS: usize = 100;
/// Most questions of a conversation that are known; older ones go first.
const MOST_QUESTIONS: usize = 64;
/// Most characters of a step's detail and of its result.
const DETAIL: usize = 500;
const RESULT: usize = 2_000;

/// News of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// Something became visible. `message` is the id that the page gave it, if a person said it here.
    Entry {
        /// What.
        entry: Box<Visible>,
        /// The page's id.
        message: Option<String>,
    },
    /// The answer so far, as markdown; replaces the one before.
    Preview(String),
    /// The answer so far goes away.
    Clear,
    /// The agent thinks or writes. `after` is the newest entry that was visible when it began.
    Busy {
        /// The newest entry then.
        after: i64,
    },
    /// A tool began or ended; replaces the step of the same id.
    Step(Step),
    /// The turn ended.
    Idle,
    /// A question was asked, or is over: all that are known, anew.
    Questions(Vec<Question>),
    /// The listener was too slow and missed something: it must subscribe again.
    Missed,
}

/// One use of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The command, the path.
    pub detail: String,
    /// The first lines of its result; `None` while it runs.
    pub result: Option<String>,
    /// Did it fail?
    pub failed: bool,
}

/// The running turn, or the last one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Run {
    /// The newest entry that was visible when it began.
    pub after: i64,
    /// Is it running?
    pub busy: bool,
    /// What the agent did, oldest first.
    pub steps: Vec<Step>,
}

/// A question of this run of the gateway. One that is not among them is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Its name, as in the entry that shows it.
    pub id: String,
    /// What became of it; `None` while it can be answered.
    pub outcome: Option<String>,
}

/// What a conversation looks like at one moment, besides its entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The answer so far, as markdown.
    pub preview: Option<String>,
    /// The running turn, or the last one.
    pub run: Run,
    /// Its questions, oldest first.
    pub questions: Vec<Question>,
}

/// A listener's end.
#[derive(Debug)]
pub struct Subscription {
    /// How it looked when the subscription began; all that changed later comes by [`Subscription::next`].
    pub snapshot: Snapshot,
    news: broadcast::Receiver<Live>,
    // Keeps the conversation's state from being forgotten while somebody looks.
    _channel: Arc<Channel>,
}

impl Subscription {
    /// The next news; after [`Live::Missed`] it is no use any more.
    pub async fn next(&mut self) -> Live {
        match self.news.recv().await {
            Ok(live) => live,
            Err(broadcast::error::RecvError::Lagged(_) | broadcast::error::RecvError::Closed) => {
                Live::Missed
            }
        }
    }
}

#[derive(Debug, Default)]
struct State {
    snapshot: Snapshot,
    newest: i64,
}

/// One conversation while it matters.
#[derive(Debug)]
pub(crate) struct Channel {
    /// Held by whoever adds an entry, so that a question comes before its answer and news come in the log's order.
    pub(crate) gate: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    news: broadcast::Sender<Live>,
}

impl Channel {
    fn new() -> Self {
        Self {
            gate: tokio::sync::Mutex::new(()),
            state: Mutex::default(),
            news: broadcast::Sender::new(BACKLOG),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells under the lock, so that news and snapshots never disagree.
    fn tell(&self, change: impl FnOnce(&mut State) -> Option<Live>) {
        let mut state = self.state();
        if let Some(live) = change(&mut state)
            && self.news.send(live).is_err()
        {
            tracing::trace!("nobody looks");
        }
    }

    pub(crate) fn subscribe(self: Arc<Self>) -> Subscription {
        let (snapshot, news) = {
            let state = self.state();
            (state.snapshot.clone(), self.news.subscribe())
        };
        Subscription {
            snapshot,
            news,
            _channel: self,
        }
    }

    pub(crate) fn entry(&self, entry: Visible, message: Option<String>) {
        self.tell(|state| {
            state.newest = state.newest.max(entry.id);
            Some(Live::Entry {
                entry: Box::new(entry),
                message,
            })
        });
    }

    /// A question is shown; or, with an outcome, is over. The first outcome stays.
    pub(crate) fn question(&self, id: &str, outcome: Option<String>) {
        self.tell(|state| {
            let questions = &mut state.snapshot.questions;
            match questions.iter_mut().find(|known| known.id == id) {
                Some(known) if known.outcome.is_none() && outcome.is_some() => {
                    known.outcome = outcome;
                }
                Some(_) => return None,
                None => {
                    if questions.len() >= MOST_QUESTIONS {
                        questions.remove(0);
                    }
                    let id = id.to_owned();
                    questions.push(Question { id, outcome });
                }
            }
            Some(Live::Questions(questions.clone()))
        });
    }

    pub(crate) fn preview(&self, preview: Preview) {
        self.tell(|state| match preview {
            Preview::Text(text) if !blank(&text) => {
                state.snapshot.preview = Some(text.clone());
                Some(Live::Preview(text))
            }
            Preview::Text(_) | Preview::Clear => {
                state.snapshot.preview.take().map(|_gone| Live::Clear)
            }
        });
    }

    pub(crate) fn activity(&self, activity: Activity) {
        self.tell(|state| {
            let after = state.newest;
            let run = &mut state.snapshot.run;
            match activity {
                Activity::Typing if run.busy => None,
                Activity::Typing => {
                    *run = Run {
                        after,
                        busy: true,
                        steps: Vec::new(),
                    };
                    Some(Live::Busy { after })
                }
                Activity::ToolBegan { id, tool, detail } => {
                    if !run.busy {
                        *run = Run {
                            after,
                            busy: true,
                            steps: Vec::new(),
                        };
                    }
                    let known = run.steps.iter_mut().rev().find(|step| step.id == id);
                    if let Some(step) = known {
                        step.detail = clip(&detail, DETAIL);
                        return Some(Live::Step(step.clone()));
                    }
                    if run.steps.len() >= MOST_STEPS {
                        run.steps.remove(0);
                    }
                    let step = Step {
                        id,
                        tool,
                        detail: clip(&detail, DETAIL),
                        result: None,
                        failed: false,
                    };
                    run.steps.push(step.clone());
                    Some(Live::Step(step))
                }
                Activity::ToolEnded { id, result, failed } => {
                    let step = run.steps.iter_mut().rev().find(|step| step.id == id)?;
                    step.result = Some(clip(&result, RESULT));
                    step.failed = failed;
                    Some(Live::Step(step.clone()))
                }
                Activity::Idle => {
                    run.busy = false;
                    Some(Live::Idle)
                }
                // Whoever tapped waits for it elsewhere.
                Activity::Tapped { .. } | Activity::Answered { .. } => None,
            }
        });
    }

    fn matters(&self) -> bool {
        let state = self.state();
        let open = |question: &Question| question.outcome.is_none();
        state.snapshot.run.busy
            || state.snapshot.preview.is_some()
            || state.snapshot.questions.iter().any(open)
    }
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The conversations that matter now.
#[derive(Debug, Default)]
pub(crate) struct Channels(Mutex<HashMap<Conversation, Arc<Channel>>>);

impl Channels {
    pub(crate) fn of(&self, conversation: &Conversation) -> Arc<Channel> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = known.get(conversation) {
            return Arc::clone(channel);
        }
        if known.len() >= KEPT {
            known.retain(|_, channel| Arc::strong_count(channel) > 1 || channel.matters());
        }
        let channel = Arc::new(Channel::new());
        known.insert(conversation.clone(), Arc::clone(&channel));
        channel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began(id: usize) -> Activity {
        Activity::ToolBegan {
            id: id.to_string(),
            tool: "shell".into(),
            detail: "ls".into(),
        }
    }

    #[tokio::test]
    async fn who_comes_late_sees_the_answer_so_far_and_the_steps() {
        let channel = Arc::new(Channel::new());
        channel.activity(Activity::Typing);
        channel.activity(began(1));
        channel.activity(Activity::ToolEnded {
            id: "1".into(),
            result: "a.txt".into(),
            failed: false,
        });
        channel.preview(Preview::Text("Hel".into()));
        let mut late = Arc::clone(&channel).subscribe();
        assert_eq!(late.snapshot.preview.as_deref(), Some("Hel"));
        assert_eq!(late.snapshot.run.steps.len(), 1);
        assert_eq!(late.snapshot.run.steps[0].result.as_deref(), Some("a.txt"));
        channel.preview(Preview::Text("Hello".into()));
        channel.preview(Preview::Clear);
        channel.activity(Activity::Idle);
        assert_eq!(late.next().await, Live::Preview("Hello".into()));
        assert_eq!(late.next().await, Live::Clear);
        assert_eq!(late.next().await, Live::Idle);
    }

    #[test]
    fn a_command_that_goes_on_is_one_step_with_its_newest_line() {
        let channel = Arc::new(Channel::new());
        channel.activity(began(1));
        channel.activity(Activity::ToolBegan {
            id: "1".into(),
            tool: "shell".into(),
            detail: "ls\n50 %".into(),
        });
        let steps = channel.subscribe().snapshot.run.steps;
        assert_eq!((steps.len(), steps[0].detail.as_str()), (1, "ls\n50 %"));
    }

    #[test]
    fn a_question_has_one_outcome_whatever_comes_first() {
        let channel = Arc::new(Channel::new());
        channel.question("a", None);
        channel.question("a", Some("yes".into()));
        channel.question("a", Some("over".into()));
        // Answered by a command before its message was shown.
        channel.question("b", Some("no".into()));
        channel.question("b", None);
        let known = channel.subscribe().snapshot.questions;
        let outcomes: Vec<Option<&str>> = known.iter().map(|one| one.outcome.as_deref()).collect();
        assert_eq!(outcomes, [Some("yes"), Some("no")]);
    }

    #[test]
    fn a_blank_answer_shows_no_bubble() {
        let channel = Arc::new(Channel::new());
        channel.preview(Preview::Text(" \u{200b}".into()));
        assert_eq!(channel.subscribe().snapshot.preview, None);
    }

    #[test]
    fn a_run_of_a_thousand_steps_keeps_the_last_hundred() {
        let channel = Arc::new(Channel::new());
        for id in 0..1000 {
            channel.activity(began(id));
        }
        let run = channel.subscribe().snapshot.run;
        assert_eq!(run.steps.len(), MOST_STEPS);
        assert_eq!(run.steps.last().map(|step| step.id.as_str()), Some("999"));
    }

    #[test]
    fn a_long_result_is_cut_between_characters() {
        assert_eq!(clip("äöü", 2), "äö…");
        assert_eq!(clip("äöü", 3), "äöü");
    }

    #[test]
    fn conversations_that_nobody_looks_at_are_forgotten() {
        let channels = Channels::default();
        let name = |number: usize| Conversation::new(number.to_string()).unwrap();
        let watched = channels.of(&name(0)).subscribe();
        channels.of(&name(1)).activity(Activity::Typing);
        for number in 2..2_000 {
            channels.of(&name(number));
        }
        let known = channels.0.lock().unwrap();
        assert!(known.len() <= KEPT + 2, "{}", known.len());
        assert!(known.contains_key(&name(0)) && known.contains_key(&name(1)));
        drop(watched);
    }

    #[tokio::test]
    async fn a_listener_that_sleeps_too_long_is_told_to_look_anew() {
        let channel = Arc::new(Channel::new());
        let mut sleeper = Arc::clone(&channel).subscribe();
        for number in 0..=BACKLOG * 2 {
            channel.preview(Preview::Text(number.to_string()));
        }
        assert_eq!(sleeper.next().await, Live::Missed);
    }
}
