//! Known secrets are taken out of what the model reads and of what it says, before either is kept or shown.

use chat::Inbound;
use model::{Content, Message, Replay, Reply, ToolCall};
use redact::Redactor;
use serde_json::{Map, Value};

use crate::attach::Refused;

/// A message without secrets.
pub(crate) fn message(redactor: &Redactor, message: Message) -> Message {
    if redactor.is_empty() {
        return message;
    }
    match message {
        Message::User { content } => Message::User {
            content: content
                .into_iter()
                .map(|content| match content {
                    Content::Text { text } => Content::Text {
                        text: own(redactor, text),
                    },
                    image @ Content::Image { .. } => image,
                })
                .collect(),
        },
        Message::Assistant {
            text,
            calls,
            replay,
        } => Message::Assistant {
            text: own(redactor, text),
            calls: calls.into_iter().map(|one| call(redactor, one)).collect(),
            replay: clean(redactor, replay),
        },
        Message::Tool {
            call,
            name,
            content,
            failed,
        } => Message::Tool {
            call,
            name,
            content: own(redactor, content),
            failed,
        },
    }
}

/// What a program says was said before, without secrets.
pub(crate) fn before(redactor: &Redactor, inbound: &Inbound) -> Vec<Message> {
    let said = inbound.history().unwrap_or_default().iter();
    said.map(|one| message(redactor, one.clone())).collect()
}

/// A reply without secrets. A call that held one is not run afterwards; see [`marked`].
pub(crate) fn reply(redactor: &Redactor, reply: Reply) -> Reply {
    if redactor.is_empty() {
        return reply;
    }
    Reply {
        text: own(redactor, reply.text),
        reasoning: own(redactor, reply.reasoning),
        calls: reply
            .calls
            .into_iter()
            .map(|one| call(redactor, one))
            .collect(),
        replay: clean(redactor, reply.replay),
        ..reply
    }
}

/// A signature holds for the whole text alone, so what holds a secret is left out rather than changed.
fn clean(redactor: &Redactor, replay: Option<Replay>) -> Option<Replay> {
    replay.filter(|replay| {
        let mut blocks = replay.blocks.iter();
        blocks.all(|block| value(redactor, block.data.clone()) == block.data)
    })
}

/// A failure without secrets: names of files may hold some.
pub(crate) fn refused(redactor: &Redactor, refused: Refused) -> Refused {
    Refused {
        name: own(redactor, refused.name),
        reason: own(redactor, refused.reason),
        hint: refused.hint.map(|hint| own(redactor, hint)),
    }
}

/// A text without secrets.
pub(crate) fn own(redactor: &Redactor, text: String) -> String {
    match redactor.redact(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(clean) => clean,
    }
}

/// The name of a secret whose mark stands in a call.
pub(crate) fn marked<'a>(
    redactor: &'a Redactor,
    arguments: &Map<String, Value>,
) -> Option<&'a str> {
    let mut fields = arguments.iter();
    fields.find_map(|(name, one)| redactor.marked(name).or_else(|| marked_in(redactor, one)))
}

fn marked_in<'a>(redactor: &'a Redactor, value: &Value) -> Option<&'a str> {
    match value {
        Value::String(text) => redactor.marked(text),
        Value::Array(values) => values.iter().find_map(|one| marked_in(redactor, one)),
        Value::Object(fields) => marked(redactor, fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn call(redactor: &Redactor, call: ToolCall) -> ToolCall {
    ToolCall {
        name: own(redactor, call.name),
        arguments: match call.arguments {
            Ok(arguments) => Ok(arguments
                .into_iter()
                .map(|(name, argument)| (own(redactor, name), value(redactor, argument)))
                .collect()),
            Err(raw) => Err(own(redactor, raw)),
        },
        ..call
    }
}

fn value(redactor: &Redactor, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(own(redactor, text)),
        Value::Array(values) => Value::Array(
            values
                .into_iter()
                .map(|one| self::value(redactor, one))
                .collect(),
        ),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, one)| (own(redactor, name), self::value(redactor, one)))
                .collect(),
        ),
        value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
    }
}

#[cfg(test)]
mod tests {
    use model::{ReplayBlock, StopReason};
    use serde_json::json;
    use waybill::Secret;

    use super::*;

    #[test]
    fn signed_reasoning_that_holds_a_secret_is_left_out_whole() {
        let secret = Secret::new("very \"secret\" key".to_owned());
        let redactor = Redactor::new([("KEY", secret)]).unwrap();
        let kept = |thought: &str| {
            let block = ReplayBlock {
                call: None,
                data: json!({ "type": "thinking", "thinking": thought, "signature": "s" }),
            };
            let said = Reply {
                text: String::new(),
                reasoning: String::new(),
                calls: Vec::new(),
                stop: StopReason::ToolUse,
                usage: None,
                replay: Some(Replay {
                    route: "acme/m-1".to_owned(),
                    blocks: vec![block],
                }),
            };
            reply(&redactor, said).replay.is_some()
        };
        assert!(kept("hm"));
        assert!(!kept("it is very \"secret\" key"));
    }
}
