//! Taps on a question's answers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chat::{Event, Inbound, InboundKind, Place, Sender, SenderId};
use serde_json::json;
use tokio::sync::oneshot;
use waybill::{AccountId, Anchor, ChatKey, Conversation, Timestamp};

use crate::OWNER;
use crate::said::{SayError, is_id};

/// How long a page waits to read what came of its tap.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest token, in bytes.
const LONGEST_TOKEN: usize = 64;

/// What a person tapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tapped {
    /// Where.
    pub conversation: Conversation,
    /// The id that the page gave the tap; the same one again means the same tap.
    pub id: String,
    /// The entry that shows the question.
    pub entry: i64,
    /// [`chat::Choice::token`] of the answer.
    pub token: String,
}

/// What came of a tap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapAnswer {
    /// For the person.
    pub says: String,
    /// Whether the question can't be answered any more.
    pub over: bool,
}

impl Tapped {
    pub(crate) fn check(&self) -> Result<(), SayError> {
        if !is_id(&self.id) {
            return Err(SayError::Id);
        }
        if self.token.is_empty() || self.token.len() > LONGEST_TOKEN {
            return Err(SayError::Empty);
        }
        Ok(())
    }

    /// Ids hold no '/', and a message's key has one of them after its conversation.
    pub(crate) fn key(&self) -> String {
        format!("{}//{}", self.conversation, self.id)
    }

    /// As the event that goes to the inbox.
    pub(crate) fn event(&self, account: &AccountId, at: Timestamp) -> Event {
        let key = self.key();
        let raw = json!({
            "conversation": self.conversation, "tap": self.id, "entry": self.entry, "token": self.token,
        });
        let inbound = Inbound {
            chat: ChatKey::new(account.clone(), self.conversation.clone()),
            anchor: Anchor::new(self.entry.to_string()),
            sender: Sender {
                id: SenderId::new(OWNER),
                name: None,
                bot: false,
            },
            place: Place::Direct,
            kind: InboundKind::Tap {
                token: self.token.clone(),
                id: key.clone(),
            },
            text: String::new(),
            files: Vec::new(),
            quoted: None,
            forwarded_from: None,
            preface: None,
            at,
        };
        Event {
            key,
            raw: raw.to_string(),
            parsed: Ok(Some(inbound)),
        }
    }
}

type Waiting = HashMap<String, oneshot::Sender<TapAnswer>>;

/// Pages that wait to read what came of a tap.
#[derive(Default)]
pub(crate) struct Taps(Mutex<Waiting>);

impl Taps {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn listen(&self, key: &str) -> Told<'_> {
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(key.to_owned(), sender);
        Told {
            taps: self,
            key: key.to_owned(),
            answer: Some(answer),
        }
    }

    pub(crate) fn told(&self, key: &str, answer: TapAnswer) {
        let waiting = self.waiting().remove(key);
        if waiting.is_some_and(|waiting| waiting.send(answer).is_err()) {
            tracing::debug!("a page went away before it heard what came of a tap");
        }
    }
}

/// A page's place among those that wait; dropped, it is free.
pub(crate) struct Told<'a> {
    taps: &'a Taps,
    key: String,
    answer: Option<oneshot::Receiver<TapAnswer>>,
}

impl Told<'_> {
    pub(crate) async fn wait(mut self) -> Option<TapAnswer> {
        let answer = self.answer.take()?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        let mut waiting = self.taps.waiting();
        // The same tap again may wait in its place by now.
        if waiting
            .get(&self.key)
            .is_some_and(oneshot::Sender::is_closed)
        {
            waiting.remove(&self.key);
        }
    }
}
