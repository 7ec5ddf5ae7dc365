//! The sentences of the gateway itself about what did not arrive.

use chat::Op;

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
