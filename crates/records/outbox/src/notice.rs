//! The sentences of the gateway itself about what did not arrive.

use chat::Op;
use waybill::ChatKey;

/// The line about a file that could not be attached (`INTERFACE.md`: one line in the chat).
#[must_use]
pub fn not_attached(name: &str, reason: &str) -> String {
    format!("⚠ {name} was not attached: {reason}")
}

/// The line about a part that was given up: what, and why.
#[must_use]
pub fn undelivered(op: &Op, reason: &str) -> String {
    match op {
        Op::File { artifact, .. } => {
            format!("⚠ {} could not be delivered: {reason}", artifact.name)
        }
        Op::Text(body) => {
            let mut start: String = body.text().chars().take(60).collect();
            if start.len() < body.text().len() {
                start.push('…');
            }
            format!(
                "⚠ A message could not be delivered: {reason}. It began: “{}”",
                start.replace('\n', " ")
            )
        }
    }
}

/// The same, for the owner who reads it elsewhere.
#[must_use]
pub fn undelivered_to(chat: &ChatKey, op: &Op, reason: &str) -> String {
    format!("{} (to {chat})", undelivered(op, reason))
}

/// The line about a chat that is gone, for the owner who reads it elsewhere: the part that met it did not die alone.
#[must_use]
pub fn chat_gone(chat: &ChatKey, op: &Op, reason: &str) -> String {
    format!(
        "{} (to {chat}; this and everything else that waits for that chat was given up)",
        undelivered(op, reason)
    )
}
