//! What a request asks, read from its body: pure.

use std::collections::HashMap;

use model::{Content as Said, Message, ToolCall};
use serde_json::Value;

use crate::v1::Refusal;
use crate::v1::content::{self, Content, Enclosed};
use crate::v1::fields::{Fields, wrong};

/// Most messages of one request.
const MESSAGES: usize = 2_000;
/// Most characters of instructions; about 25,000 tokens.
const INSTRUCTIONS: usize = 100_000;
/// Most bytes of text in all; more than any window holds.
const TEXT: usize = 4 << 20;

/// How the answer is to be streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Word by word.
    Words,
    /// The same, and what it cost in the end.
    WordsAndUsage,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) model: String,
    pub(crate) stream: Option<Stream>,
    /// System and developer messages.
    pub(crate) instructions: String,
    /// What was said before the last message.
    pub(crate) said: Vec<Message>,
    /// The last message.
    pub(crate) text: String,
    /// Files, of all messages of people, in order.
    pub(crate) enclosed: Vec<Enclosed>,
    /// How many of them are the last message's.
    own: usize,
}

impl Wanted {
    /// Reads it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| Refusal::malformed(format!("the request is no JSON: {error}")))?;
        let mut fields = Fields::of(value, "")?;
        let model = fields
            .string("model")?
            .ok_or_else(|| fields.missing("model"))?;
        let stream = stream(&mut fields)?;
        refuse(&mut fields)?;
        tuned(&mut fields)?;
        let messages = fields
            .array("messages")?
            .ok_or_else(|| fields.missing("messages"))?;
        if messages.is_empty() {
            return Err(Refusal::field("messages", "'messages' is empty"));
        }
        if messages.len() > MESSAGES {
            let text = format!("a request takes at most {MESSAGES} messages");
            return Err(Refusal::field("messages", text));
        }
        let mut wanted = Self {
            model,
            stream,
            instructions: String::new(),
            said: Vec::with_capacity(messages.len()),
            text: String::new(),
            enclosed: Vec::new(),
            own: 0,
        };
        wanted.hear(messages)?;
        Ok(wanted)
    }

    /// Leaves out what was said before.
    pub(crate) fn keep_the_last_alone(&mut self) {
        self.said.clear();
        let before = self.enclosed.len().saturating_sub(self.own);
        self.enclosed.drain(..before);
    }

    fn hear(&mut self, messages: Vec<Value>) -> Result<(), Refusal> {
        let last = messages.len() - 1;
        let mut called = HashMap::new();
        let mut bytes = 0_usize;
        for (number, message) in messages.into_iter().enumerate() {
            let place = format!("messages[{number}]");
            let mut message = Fields::of(message, &place)?;
            let role = message
                .string("role")?
                .ok_or_else(|| message.missing("role"))?;
            if number == last && role != "user" {
                let text = "the last message must be the user's: it is what is answered";
                return Err(Refusal::field(message.name("role"), text));
            }
            let content = content::read(
                message.take("content"),
                &message.name("content"),
                &mut self.enclosed,
                chat_api::MOST_FILES,
            )?;
            bytes = bytes.saturating_add(content.text.len());
            if bytes > TEXT {
                return Err(Refusal::too_large(
                    "the messages hold more than 4 MB of text",
                ));
            }
            if content.files > 0 && role != "user" {
                let text = "pictures and files come with the user's messages alone";
                return Err(Refusal::field(message.name("content"), text));
            }
            match role.as_str() {
                "system" | "developer" => self.instruct(&content.text)?,
                "user" if number == last => {
                    self.own = content.files;
                    self.text = content.text;
                }
                "user" => self.said.push(user(&content, self.enclosed.iter())),
                "assistant" => {
                    let said = assistant(&mut message, content.text, &mut called)?;
                    self.said.push(said);
                }
                "tool" => {
                    let call = message
                        .string("tool_call_id")?
                        .ok_or_else(|| message.missing("tool_call_id"))?;
                    self.said.push(Message::Tool {
                        name: called
                            .get(&call)
                            .cloned()
                            .unwrap_or_else(|| "tool".to_owned()),
                        call,
                        content: content.text,
                        failed: false,
                    });
                }
                other => {
                    let text = format!(
                        "the role '{other}' is not known: 'system', 'developer', 'user', 'assistant' and 'tool' are"
                    );
                    return Err(Refusal::field(message.name("role"), text));
                }
            }
        }
        Ok(())
    }

    fn instruct(&mut self, text: &str) -> Result<(), Refusal> {
        if !self.instructions.is_empty() {
            self.instructions.push_str("\n\n");
        }
        self.instructions.push_str(text);
        if self.instructions.chars().count() > INSTRUCTIONS {
            return Err(Refusal::too_large(format!(
                "the system messages are longer than {INSTRUCTIONS} characters"
            )));
        }
        Ok(())
    }
}

fn stream(fields: &mut Fields) -> Result<Option<Stream>, Refusal> {
    let wanted = fields.bool("stream")?.unwrap_or(false);
    let usage = match fields.object("stream_options")? {
        Some(mut options) => options.bool("include_usage")?.unwrap_or(false),
        None => false,
    };
    Ok(match (wanted, usage) {
        (false, _) => None,
        (true, false) => Some(Stream::Words),
        (true, true) => Some(Stream::WordsAndUsage),
    })
}

/// What can't be honoured, unless it is asked for in a form that asks for nothing.
fn refuse(fields: &mut Fields) -> Result<(), Refusal> {
    if fields.whole("n")?.is_some_and(|n| n != 1) {
        return Err(Refusal::unsupported("n", "a turn has one answer"));
    }
    for field in ["tools", "functions"] {
        if fields.array(field)?.is_some_and(|tools| !tools.is_empty()) {
            let why = "the agent works with its own tools; a profile's configuration adds others";
            return Err(Refusal::unsupported(field, why));
        }
    }
    for field in ["tool_choice", "function_call"] {
        match fields.take(field) {
            None => {}
            Some(Value::String(choice)) if choice == "auto" || choice == "none" => {}
            Some(_) => return Err(Refusal::unsupported(field, "the agent chooses its tools")),
        }
    }
    if let Some(mut format) = fields.object("response_format")?
        && format.string("type")?.is_some_and(|kind| kind != "text")
    {
        let why = "an answer is markdown; say in a message which form it should have";
        return Err(Refusal::unsupported("response_format", why));
    }
    match fields.take("stop") {
        None => {}
        Some(Value::Array(stops)) if stops.is_empty() => {}
        Some(Value::String(_) | Value::Array(_)) => {
            return Err(Refusal::unsupported(
                "stop",
                "an answer may hold any words and ends by itself",
            ));
        }
        Some(other) => return Err(wrong("stop", "a string or an array", &other)),
    }
    if fields.bool("logprobs")?.unwrap_or(false) {
        return Err(Refusal::unsupported(
            "logprobs",
            "a turn is several calls of a model",
        ));
    }
    if let Some(Value::Object(bias)) = fields.take("logit_bias")
        && !bias.is_empty()
    {
        return Err(Refusal::unsupported(
            "logit_bias",
            "the model is the profile's",
        ));
    }
    if let Some(wanted) = fields.array("modalities")?
        && wanted.iter().any(|one| one != "text")
    {
        return Err(Refusal::unsupported(
            "modalities",
            "an answer is text, with files beside it",
        ));
    }
    for field in ["audio", "prediction", "web_search_options"] {
        if fields.take(field).is_some() {
            return Err(Refusal::unsupported(field, "the agent has no such thing"));
        }
    }
    Ok(())
}

/// What tunes a model: many programs always send it, the profile decides it. Only nonsense is refused.
fn tuned(fields: &mut Fields) -> Result<(), Refusal> {
    for field in [
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
    ] {
        fields.number(field)?;
    }
    for field in [
        "max_tokens",
        "max_completion_tokens",
        "seed",
        "top_logprobs",
    ] {
        fields.whole(field)?;
    }
    for field in ["user", "reasoning_effort", "service_tier", "verbosity"] {
        fields.string(field)?;
    }
    for field in ["store", "parallel_tool_calls"] {
        fields.bool(field)?;
    }
    fields.object("metadata")?;
    Ok(())
}

fn user<'a>(content: &Content, all: impl DoubleEndedIterator<Item = &'a Enclosed>) -> Message {
    let mut text = content.text.clone();
    // The bytes come with the newest message; here stands which they are.
    let own: Vec<&Enclosed> = all.rev().take(content.files).collect();
    for file in own.into_iter().rev() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[with {}]", file.name));
    }
    Message::User {
        content: vec![Said::Text { text }],
    }
}

fn assistant(
    message: &mut Fields,
    text: String,
    called: &mut HashMap<String, String>,
) -> Result<Message, Refusal> {
    let mut calls = Vec::new();
    let asked = message.array("tool_calls")?.unwrap_or_default();
    let place = message.name("tool_calls");
    for (number, call) in asked.into_iter().enumerate() {
        let mut call = Fields::of(call, &format!("{place}[{number}]"))?;
        let id = call.string("id")?.ok_or_else(|| call.missing("id"))?;
        let mut function = call
            .object("function")?
            .ok_or_else(|| call.missing("function"))?;
        let name = function
            .string("name")?
            .ok_or_else(|| function.missing("name"))?;
        let arguments = function.string("arguments")?.unwrap_or_default();
        called.insert(id.clone(), name.clone());
        calls.push(ToolCall {
            id,
            name,
            arguments: serde_json::from_str(&arguments).map_err(|_no_object| arguments),
        });
    }
    Ok(Message::Assistant {
        text,
        calls,
        replay: None,
    })
}

#[cfg(test)]
mod tests;
