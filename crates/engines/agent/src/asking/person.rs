//! Asking a person, from the message to the answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chat::{Activity, Choice, SenderId};
use outbox::{Asked, Envelope, MessageKind, Outlet};
use session::Lasting;
use waybill::{ChatKey, MessageId, Timestamp, TurnScope, Waybill};

use super::board::{EXPIRED, Kind, OVER, Opening, Questions, Reply, token};
use crate::Ports;

/// Most characters of what a button says.
const LABEL: usize = 48;

/// What is asked, and whom.
pub(crate) struct Question {
    pub(crate) kind: Kind,
    /// Who may answer.
    pub(crate) who: BTreeSet<SenderId>,
    /// The words, as markdown, without how to answer.
    pub(crate) text: String,
    /// How long it waits.
    pub(crate) patience: Duration,
}

/// Why there is no answer. For the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// It could not be asked.
    NotAsked(String),
    /// Nobody answered in time.
    Expired,
}

/// A question that waits; dropped, it is over.
struct Waiting<'a> {
    questions: &'a Questions,
    outlet: Arc<dyn Outlet>,
    chat: ChatKey,
    id: String,
    nonce: String,
    /// What became of it, if not the end of its turn.
    ended: Option<(String, String)>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let (late, outcome) = self
            .ended
            .take()
            .unwrap_or_else(|| (OVER.to_owned(), "⏹ Over: the turn has ended".to_owned()));
        self.questions.close(&self.id, &self.nonce, &late);
        self.outlet.activity(
            &self.chat,
            Activity::Answered {
                question: self.nonce.clone(),
                outcome,
            },
        );
    }
}

/// Asks, and waits for the answer.
pub(crate) async fn ask(
    questions: &Questions,
    ports: &Ports,
    install: &str,
    scope: &TurnScope,
    question: Question,
) -> Result<Reply, Unanswered> {
    let not_asked = |why: &str| Unanswered::NotAsked(why.to_owned());
    let waybill =
        Waybill::reply(scope).map_err(|_nowhere| not_asked("there is no chat to ask in"))?;
    let chat = scope
        .session()
        .chat()
        .cloned()
        .ok_or_else(|| not_asked("there is no chat to ask in"))?;
    let descriptor = ports
        .outlet
        .descriptor(waybill.account())
        .ok_or_else(|| not_asked("the chat's account is not configured"))?;
    let now = ports.clock.now();
    let seconds = i64::try_from(question.patience.as_secs()).unwrap_or(i64::MAX);
    let until = now
        .checked_add(jiff::SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX);
    let opened = questions.open(
        Opening {
            chat: chat.clone(),
            who: question.who,
            kind: question.kind.clone(),
            asked_at: now,
            until,
        },
        ports.ids.uuid().as_u128(),
    );
    let mut waiting = Waiting {
        questions,
        outlet: Arc::clone(&ports.outlet),
        chat,
        id: opened.id.clone(),
        nonce: opened.nonce.clone(),
        ended: None,
    };
    let envelope = Envelope {
        id: MessageId::fresh(ports.ids.as_ref()),
        install,
        waybill: &waybill,
        kind: MessageKind::Reply,
        source: &format!("question:{}", opened.nonce),
        ordinal: 0,
        descriptor: &descriptor,
        now,
    };
    let asked = Asked {
        question: opened.nonce.clone(),
        text: ports
            .redactor
            .redact(&format!(
                "{}\n\n{}",
                question.text,
                how(&question.kind, &opened.id, question.patience, until)
            ))
            .into_owned(),
        choices: buttons(&question.kind, &opened.nonce),
        until,
    };
    let message =
        outbox::ask(envelope, asked).ok_or_else(|| not_asked("there is nothing to ask"))?;
    // Durable before anybody waits for it; a store that fails is no yes.
    let claimed = ports
        .inbox
        .tell(Vec::new(), vec![message], now)
        .await
        .map_err(|error| {
            Unanswered::NotAsked(format!("the question could not be stored: {error}"))
        })?;
    ports.outlet.carry(claimed);
    match tokio::time::timeout(question.patience, opened.answer).await {
        Ok(Ok(reply)) => {
            waiting.ended = Some((String::new(), reply.outcome.clone()));
            Ok(reply)
        }
        // The board lives as long as its turns.
        Ok(Err(_gone)) => Err(not_asked("the question was lost")),
        Err(_late) => {
            waiting.ended = Some((
                EXPIRED.to_owned(),
                "⌛ Expired: nobody answered in time".to_owned(),
            ));
            Err(Unanswered::Expired)
        }
    }
}

/// How and until when it can be answered.
fn how(kind: &Kind, id: &str, patience: Duration, until: Timestamp) -> String {
    let within = crate::processes::span(
        Timestamp::UNIX_EPOCH,
        Timestamp::from_second(i64::try_from(patience.as_secs()).unwrap_or(i64::MAX))
            .unwrap_or(Timestamp::MAX),
    );
    let clock = until.strftime("%H:%M UTC");
    match kind {
        Kind::Approval { .. } => format!(
            "Tap, or write `/approve {id}` or `/deny {id}`. Without an answer within {within} (until {clock}) it is not done."
        ),
        Kind::Ask { choices } if choices.is_empty() => {
            format!("Write your answer within {within} (until {clock}).")
        }
        Kind::Ask { .. } => format!(
            "Tap, or write a number or an answer of your own, within {within} (until {clock})."
        ),
    }
}

fn buttons(kind: &Kind, nonce: &str) -> Vec<Choice> {
    let labels: Vec<String> = match kind {
        Kind::Approval { lasting } => {
            let yes = lasting.iter().map(|lasting| match lasting {
                Lasting::Once => "✅ Allow once".to_owned(),
                Lasting::Conversation => "✅ Allow in this conversation".to_owned(),
            });
            yes.chain(["❌ Deny".to_owned()]).collect()
        }
        Kind::Ask { choices } => choices
            .iter()
            .map(|choice| policy::plain(choice, LABEL))
            .collect(),
    };
    labels
        .into_iter()
        .enumerate()
        .map(|(place, label)| Choice {
            token: token(nonce, place),
            label: label.chars().take(64).collect(),
        })
        .collect()
}
