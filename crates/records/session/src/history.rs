//! The transcript, and what of it goes to a model.

use std::collections::HashSet;

use model::{Content, Message};
use serde::{Deserialize, Serialize};
use waybill::{Timestamp, TurnId};

/// One message of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The turn that wrote it.
    pub turn: TurnId,
    /// What was said.
    pub message: Message,
    /// When.
    pub at: Timestamp,
}

/// What a call without a result is answered with: the gateway stopped before the result was stored.
const CUT_OFF: &str = "interrupted: the gateway stopped before this call's result was stored. It may or may not have run; \
                       check before you repeat it";

/// Makes a transcript valid for any model: every call has exactly one result right after it, results without a call are
/// left out, and the first message is a person's.
#[must_use]
pub fn wire_messages(transcript: &[Message]) -> Vec<Message> {
    let mut wire: Vec<Message> = Vec::with_capacity(transcript.len());
    let mut messages = transcript.iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::User { .. } => push_user(&mut wire, message),
            Message::Tool { .. } => {}
            Message::Assistant { text, calls, .. } => {
                if wire.is_empty() || (text.is_empty() && calls.is_empty()) {
                    continue;
                }
                wire.push(message.clone());
                let mut open: Vec<(&str, &str)> = calls
                    .iter()
                    .map(|call| (call.id.as_str(), call.name.as_str()))
                    .collect();
                let mut answered = HashSet::new();
                while let Some(Message::Tool { call, .. }) = messages.peek() {
                    let known = open.iter().any(|(id, _)| id == call);
                    if let Some(result) = messages.next()
                        && known
                        && answered.insert(call.clone())
                    {
                        wire.push(result.clone());
                    }
                }
                open.retain(|(id, _)| !answered.contains(*id));
                wire.extend(open.into_iter().map(|(id, name)| Message::Tool {
                    call: id.to_owned(),
                    name: name.to_owned(),
                    content: CUT_OFF.to_owned(),
                    failed: true,
                }));
            }
        }
    }
    wire
}

/// Two messages of people in a row become one: some models refuse them otherwise.
fn push_user(wire: &mut Vec<Message>, message: &Message) {
    if let (Some(Message::User { content: last }), Message::User { content }) =
        (wire.last_mut(), message)
    {
        last.push(Content::Text {
            text: "\n".to_owned(),
        });
        last.extend(content.iter().cloned());
    } else {
        wire.push(message.clone());
    }
}

#[cfg(test)]
mod tests {
    use model::ToolCall;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User {
            content: vec![Content::Text {
                text: text.to_owned(),
            }],
        }
    }

    fn calls(ids: &[&str]) -> Message {
        let calls = ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).to_owned(),
                name: "terminal".to_owned(),
                arguments: Ok(serde_json::Map::new()),
            })
            .collect();
        Message::Assistant {
            text: String::new(),
            calls,
            replay: None,
        }
    }

    fn result(id: &str) -> Message {
        Message::Tool {
            call: id.to_owned(),
            name: "terminal".to_owned(),
            content: "done".to_owned(),
            failed: false,
        }
    }

    #[test]
    fn a_conversation_cut_off_between_call_and_result_goes_on() {
        let wire = wire_messages(&[
            user("hi"),
            calls(&["c1", "c2"]),
            result("c1"),
            user("still there?"),
        ]);
        assert_eq!(wire.len(), 5);
        assert!(matches!(&wire[2], Message::Tool { call, failed: false, .. } if call == "c1"));
        assert!(matches!(&wire[3], Message::Tool { call, failed: true, .. } if call == "c2"));
        assert!(matches!(&wire[4], Message::User { .. }));
    }

    #[test]
    fn results_without_a_call_and_doubled_results_are_left_out() {
        let wire = wire_messages(&[
            result("c0"),
            user("hi"),
            result("c9"),
            calls(&["c1"]),
            result("c1"),
            result("c1"),
            result("c7"),
        ]);
        assert_eq!(wire.len(), 3);
    }

    #[test]
    fn two_messages_in_a_row_are_one_and_an_empty_answer_is_none() {
        let wire = wire_messages(&[
            Message::Assistant {
                text: "?".to_owned(),
                calls: Vec::new(),
                replay: None,
            },
            user("a"),
            Message::Assistant {
                text: String::new(),
                calls: Vec::new(),
                replay: None,
            },
            user("b"),
        ]);
        assert_eq!(wire.len(), 1);
        assert!(matches!(&wire[0], Message::User { content } if content.len() == 3));
    }
}
