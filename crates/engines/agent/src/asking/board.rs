//! The open questions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chat::SenderId;
use policy::plain;
use session::{Answer, Answered, Answering, Lasting};
use tokio::sync::oneshot;
use waybill::{ChatKey, Timestamp};

use super::grants::Grants;

/// Questions that are over and still known by how they ended.
const REMEMBERED: usize = 256;
/// Signs of an id that people type: none that look like another.
const SIGNS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Their number.
const ID: u32 = 5;

/// What kind of question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// May it be done? Answers are once, in this conversation, no.
    Approval {
        /// Whether a yes for the conversation is offered.
        lasting: Vec<Lasting>,
    },
    /// The agent's own question, with the answers that it proposes.
    Ask {
        /// Their words.
        choices: Vec<String>,
    },
}

/// What was answered, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) by: SenderId,
    pub(crate) said: Said,
    /// The same in a few words, with their name.
    pub(super) outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Yes(Lasting),
    No(Option<String>),
    Words(String),
}

/// A question that waits.
struct Open {
    chat: ChatKey,
    who: BTreeSet<SenderId>,
    kind: Kind,
    nonce: String,
    asked_at: Timestamp,
    until: Timestamp,
    answer: oneshot::Sender<Reply>,
}

#[derive(Default)]
struct Inner {
    /// By the id that people type, in order.
    open: BTreeMap<String, Open>,
    /// How those ended that are over, the latest last: by their number.
    over: VecDeque<(String, String)>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Questions {
    inner: Mutex<Inner>,
    grants: Grants,
}

/// What is asked.
pub(super) struct Opening {
    pub(super) chat: ChatKey,
    pub(super) who: BTreeSet<SenderId>,
    pub(super) kind: Kind,
    pub(super) asked_at: Timestamp,
    pub(super) until: Timestamp,
}

/// A question that was opened: what people type, what buttons hold, and where the answer comes.
pub(super) struct Opened {
    pub(super) id: String,
    pub(super) nonce: String,
    pub(super) answer: oneshot::Receiver<Reply>,
}

impl Questions {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What answers allow for a while.
    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    pub(super) fn open(&self, opening: Opening, number: u128) -> Opened {
        let Opening {
            chat,
            who,
            kind,
            asked_at,
            until,
        } = opening;
        let (sender, answer) = oneshot::channel();
        let nonce = format!("{number:032x}");
        let mut inner = self.inner();
        let mut seed = number;
        let id = loop {
            let id = typed(seed);
            if !inner.open.contains_key(&id) {
                break id;
            }
            seed = seed.wrapping_add(1);
        };
        let open = Open {
            chat,
            who,
            kind,
            nonce: nonce.clone(),
            asked_at,
            until,
            answer: sender,
        };
        inner.open.insert(id.clone(), open);
        Opened { id, nonce, answer }
    }

    /// It is over; `false` if it was before.
    pub(super) fn close(&self, id: &str, nonce: &str, how: &str) -> bool {
        let mut inner = self.inner();
        let is = inner.open.get(id).is_some_and(|open| open.nonce == nonce);
        if is {
            inner.open.remove(id);
        }
        inner.remember(nonce, how);
        is
    }

    /// Takes an answer to the question that it is for.
    pub(crate) fn answer(&self, answering: Answering) -> Answered {
        let Answering {
            chat,
            sender,
            at,
            answer,
        } = answering;
        let mut inner = self.inner();
        let found = match &answer {
            Answer::Tap { token } => inner.tapped(&chat, token),
            Answer::Approve { id, .. } | Answer::Deny { id, .. } => {
                inner.named(&chat, &sender.id, id.as_deref())
            }
            Answer::Words(_) => inner
                .asked(&chat, &sender.id, at)
                .map_err(|()| Answered::Nothing),
        };
        let id = match found {
            Ok(id) => id,
            Err(answered) => return answered,
        };
        let Some(open) = inner.open.get(&id) else {
            return Answered::Nothing;
        };
        if !open.who.contains(&sender.id) {
            return Answered::Refused(
                "This question is not for you: only who asked for it, or the owner, can answer it."
                    .to_owned(),
            );
        }
        if at > open.until {
            return Answered::Over(EXPIRED.to_owned());
        }
        let Some(said) = open.said(answer) else {
            return Answered::Over("This is no answer to the question.".to_owned());
        };
        let sentence = outcome(&said, sender.name.as_deref().unwrap_or(sender.id.as_str()));
        let Some(open) = inner.open.remove(&id) else {
            return Answered::Nothing;
        };
        inner.remember(
            &open.nonce,
            &format!("This question was answered already: {sentence}"),
        );
        let reply = Reply {
            by: sender.id,
            said,
            outcome: sentence.clone(),
        };
        match open.answer.send(reply) {
            Ok(()) => Answered::Taken(sentence),
            // The turn ended this moment.
            Err(_gone) => Answered::Over(OVER.to_owned()),
        }
    }
}

/// What a late answer reads.
pub(super) const EXPIRED: &str = "This question has expired: nobody answered in time, so nothing was done. Ask again if it is still wanted.";
/// What an answer to something long gone reads.
pub(super) const OVER: &str = "This question is over: its turn has ended or the gateway was restarted. Nothing was done by this answer.";

/// What became of a question, in a few words.
fn outcome(said: &Said, name: &str) -> String {
    let name = plain(name, 40);
    match said {
        Said::Yes(Lasting::Once) => format!("✅ Allowed once by {name}"),
        Said::Yes(Lasting::Conversation) => format!("✅ Allowed in this conversation by {name}"),
        Said::No(_) => format!("❌ Denied by {name}"),
        Said::Words(words) => format!("✔ {}", plain(words, 40)),
    }
}

impl Open {
    /// What an answer means here; `None` if nothing.
    fn said(&self, answer: Answer) -> Option<Said> {
        match (&self.kind, answer) {
            (Kind::Approval { lasting }, Answer::Tap { token }) => {
                let at = place(&token)?;
                match lasting.get(at) {
                    Some(lasting) => Some(Said::Yes(*lasting)),
                    None if at == lasting.len() => Some(Said::No(None)),
                    None => None,
                }
            }
            (Kind::Approval { lasting: offered }, Answer::Approve { lasting, .. }) => {
                // What is not offered for the conversation is said yes to once.
                let lasting = if offered.contains(&lasting) {
                    lasting
                } else {
                    Lasting::Once
                };
                Some(Said::Yes(lasting))
            }
            (Kind::Approval { .. }, Answer::Deny { reason, .. }) => Some(Said::No(reason)),
            (Kind::Ask { choices }, Answer::Tap { token }) => {
                choices.get(place(&token)?).cloned().map(Said::Words)
            }
            (Kind::Ask { choices }, Answer::Words(words)) => {
                Some(Said::Words(meant(choices, words)))
            }
            (Kind::Approval { .. }, Answer::Words(_))
            | (Kind::Ask { .. }, Answer::Approve { .. } | Answer::Deny { .. }) => None,
        }
    }
}

/// The choice that words name by its number or its own words; else the words.
fn meant(choices: &[String], words: String) -> String {
    let plain = words.trim().trim_end_matches(['.', ')']);
    let by_number = plain
        .parse::<usize>()
        .ok()
        .and_then(|number| choices.get(number.checked_sub(1)?));
    let by_words = || {
        choices
            .iter()
            .find(|choice| choice.to_lowercase() == plain.to_lowercase())
    };
    by_number.or_else(by_words).cloned().unwrap_or(words)
}

/// A token is the question's number, a dot, and the answer's place.
fn place(token: &str) -> Option<usize> {
    token.split_once('.')?.1.parse().ok()
}

pub(super) fn token(nonce: &str, place: usize) -> String {
    format!("{nonce}.{place}")
}

/// The id that people type.
fn typed(mut seed: u128) -> String {
    let mut id = String::new();
    for _ in 0..ID {
        let at = usize::try_from(seed % 32).unwrap_or_default();
        id.push(SIGNS.get(at).copied().map_or('2', char::from));
        seed /= 32;
    }
    id
}

impl Inner {
    fn remember(&mut self, nonce: &str, how: &str) {
        if self.over.iter().any(|(known, _)| known == nonce) {
            return;
        }
        if self.over.len() >= REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back((nonce.to_owned(), how.to_owned()));
    }

    fn tapped(&self, chat: &ChatKey, token: &str) -> Result<String, Answered> {
        let nonce = token.split_once('.').map_or(token, |(nonce, _)| nonce);
        let found = self
            .open
            .iter()
            .find(|(_, open)| open.nonce == nonce && open.chat == *chat);
        if let Some((id, _)) = found {
            return Ok(id.clone());
        }
        let how = self.over.iter().find(|(known, _)| known == nonce);
        Err(Answered::Over(
            how.map_or_else(|| OVER.to_owned(), |(_, how)| how.clone()),
        ))
    }

    /// The approval of a chat that an id names; without one, the only one that the sender can give.
    fn named(
        &self,
        chat: &ChatKey,
        sender: &SenderId,
        id: Option<&str>,
    ) -> Result<String, Answered> {
        let approval = |open: &Open| matches!(open.kind, Kind::Approval { .. });
        let mut here = self
            .open
            .iter()
            .filter(|(_, open)| open.chat == *chat && approval(open));
        if let Some(id) = id {
            return here
                .find(|(known, _)| known.eq_ignore_ascii_case(id))
                .map(|(id, _)| id.clone())
                .ok_or_else(|| {
                    let id = plain(id, 20);
                    Answered::Over(format!(
                        "No question `{id}` is open here: it was answered, or it is over."
                    ))
                });
        }
        let here: Vec<(&String, &Open)> = here.collect();
        let theirs: Vec<&String> = here
            .iter()
            .filter(|(_, open)| open.who.contains(sender))
            .map(|(id, _)| *id)
            .collect();
        match (theirs.as_slice(), here.first()) {
            ([only], _) => Ok((*only).clone()),
            // It says by itself that it is not theirs.
            ([], Some((id, _))) => Ok((*id).clone()),
            ([], None) => Err(Answered::Over(
                "Nothing waits for an approval here.".to_owned(),
            )),
            (several, _) => {
                let ids: Vec<String> = several.iter().map(|id| format!("`{id}`")).collect();
                Err(Answered::Refused(format!(
                    "Several questions are open here: {}. Say which.",
                    ids.join(", ")
                )))
            }
        }
    }

    /// The oldest question of a chat that a plain message can answer: one that was there before the message.
    fn asked(&self, chat: &ChatKey, sender: &SenderId, at: Timestamp) -> Result<String, ()> {
        self.open
            .iter()
            .filter(|(_, open)| matches!(open.kind, Kind::Ask { .. }) && open.chat == *chat)
            .filter(|(_, open)| open.who.contains(sender) && open.asked_at <= at)
            .min_by_key(|(_, open)| open.asked_at)
            .map(|(id, _)| id.clone())
            .ok_or(())
    }
}
