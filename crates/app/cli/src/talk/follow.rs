//! From a message to the end of its turn: everything that is shown, asked and delivered meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Conversation;
use super::door::Door;
use super::lines::Typed;
use super::screen::{Asked, Screen};
use super::stream::Stream;
use crate::exit::Failure;

/// How often it is looked how far the message is, besides when something moves.
const LOOK: Duration = Duration::from_secs(2);
/// Parts in these states change no more.
const FINAL: [&str; 5] = ["sent", "failed", "expired", "cancelled", "superseded"];

/// The button that refuses leave.
const DENY: &str = "❌ Deny";
/// What the agent hears where nobody can answer its question.
const NOBODY: &str = "Nobody is here to answer; decide by yourself.";

/// The person did not wait for the end.
pub(crate) const LEFT: &str = "left";

/// How a message's turn ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    /// As the interface names it: `answered`, `failed`, …; `refused` if there was no turn.
    pub(crate) end: String,
    /// Why it was not answered.
    pub(crate) reason: Option<String>,
}

/// Follows a message to its end. What is typed meanwhile answers a question, or is said.
pub(crate) async fn follow(
    door: &Door,
    conversation: &Conversation,
    message: &str,
    screen: &mut Screen,
    typed: &mut Typed,
) -> Result<Ending, Failure> {
    let mut stream = Stream::new(door, conversation);
    let mut interrupted = Interrupts::default();
    let mut look = Instant::now() + LOOK;
    let mut listening = true;
    let ending = loop {
        tokio::select! {
            event = stream.next() => {
                let event = event?;
                let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
                screen.event(door, &event.kind, &data).await?;
                if matches!(event.kind.as_str(), "idle" | "entry") {
                    look = Instant::now();
                }
            }
            () = tokio::time::sleep_until(look) => {
                look = Instant::now() + LOOK;
                if let Some(ending) = progress(door, conversation, message).await? {
                    break ending;
                }
            }
            line = typed.next(), if listening => match line {
                Some(line) => typed_meanwhile(door, conversation, screen, &line).await?,
                None => listening = false,
            },
            key = tokio::signal::ctrl_c() => {
                if key.is_err() || interrupted.again() {
                    return Ok(Ending { end: LEFT.to_owned(), reason: None });
                }
                screen.note("stopping; once more leaves")?;
                say(door, conversation, "/stop").await?;
            }
        }
        if let Some(asked) = screen.question_for_nobody() {
            deny(door, conversation, &asked).await?;
        }
    };
    // What was delivered stands in the log, whatever the stream showed of it.
    let path = format!(
        "/api/conversations/{}/messages?form=markdown",
        conversation.id
    );
    let log = door.get(&path).await?;
    let all = log["entries"].as_array().into_iter().flatten();
    let newer = |entry: &&Value| entry["id"].as_i64() > Some(conversation.newest);
    for entry in all.filter(newer) {
        screen.event(door, "entry", entry).await?;
    }
    Ok(ending)
}

/// How often the person wanted out.
#[derive(Default)]
struct Interrupts(u32);

impl Interrupts {
    fn again(&mut self) -> bool {
        self.0 += 1;
        self.0 > 1
    }
}

/// The ending, once all of the answer is where it belongs or was given up.
async fn progress(
    door: &Door,
    conversation: &Conversation,
    message: &str,
) -> Result<Option<Ending>, Failure> {
    let path = format!("/api/conversations/{}/messages/{message}", conversation.id);
    let progress = door.get(&path).await?;
    let reason = progress["reason"].as_str().map(str::to_owned);
    let end = match progress["state"].as_str() {
        Some("refused") => "refused",
        Some("ended") => {
            let parts = progress["parts"].as_array();
            let open = parts.into_iter().flatten().any(|state| {
                let state = state.as_str().unwrap_or_default();
                !FINAL.contains(&state)
            });
            if open {
                return Ok(None);
            }
            progress["end"].as_str().unwrap_or("ended")
        }
        Some(_) | None => return Ok(None),
    };
    Ok(Some(Ending {
        end: end.to_owned(),
        reason,
    }))
}

async fn typed_meanwhile(
    door: &Door,
    conversation: &Conversation,
    screen: &mut Screen,
    line: &str,
) -> Result<(), Failure> {
    match screen.chosen(line) {
        Some((entry, token)) => tap(door, conversation, screen, entry, &token).await,
        None if line.trim().is_empty() => Ok(()),
        None => say(door, conversation, line).await,
    }
}

async fn tap(
    door: &Door,
    conversation: &Conversation,
    screen: &mut Screen,
    entry: i64,
    token: &str,
) -> Result<(), Failure> {
    let path = format!("/api/conversations/{}/taps", conversation.id);
    let body = json!({ "id": door.fresh_id(), "entry": entry, "token": token });
    let answer = door.post(&path, &body).await?;
    match answer["says"].as_str() {
        Some(says) => screen.note(says),
        None => Ok(()),
    }
}

/// Nobody is there to answer: leave is refused, and a question of the agent's own gets words that choose nothing.
async fn deny(door: &Door, conversation: &Conversation, asked: &Asked) -> Result<(), Failure> {
    let path = format!("/api/conversations/{}/taps", conversation.id);
    let last = asked.choices.last();
    let Some((_, token)) = last.filter(|(label, _)| label == DENY) else {
        return say(door, conversation, NOBODY).await;
    };
    let body = json!({ "id": door.fresh_id(), "entry": asked.entry, "token": token });
    door.post(&path, &body).await?;
    Ok(())
}

async fn say(door: &Door, conversation: &Conversation, text: &str) -> Result<(), Failure> {
    let path = format!("/api/conversations/{}/messages", conversation.id);
    let body = json!({ "id": door.fresh_id(), "text": text, "files": [] });
    door.post(&path, &body).await?;
    Ok(())
}
