//! What comes next: a call, or words. Decided by the last message and by what the tools have answered since.

use model::{Content, Message, Request};
use serde_json::{Map, Value, json};

use crate::intent::{Attached, Back, Intent, intent};
use crate::{chart, words};

/// One answer: words, and maybe a tool to call.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) call: Option<(&'static str, Map<String, Value>)>,
}

impl Step {
    fn say(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            call: None,
        }
    }

    fn call(text: &str, name: &'static str, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        Self {
            text: text.to_owned(),
            call: Some((name, arguments)),
        }
    }
}

struct Result<'a> {
    content: &'a str,
    failed: bool,
}

pub(crate) fn next(request: &Request) -> Step {
    let (asked, results) = since_last_message(&request.messages);
    let step = decide(&intent(&asked), &results);
    match step.call {
        Some((name, _)) if !request.tools.iter().any(|tool| tool.name == name) => Step::say(
            format!("For that I'd need the tool `{name}`, and it isn't switched on here."),
        ),
        Some(_) | None => step,
    }
}

fn decide(intent: &Intent, results: &[Result<'_>]) -> Step {
    match intent {
        Intent::Hello => Step::say(words::HELLO),
        Intent::Chart(numbers) => draw(numbers, results),
        Intent::Run(command) => one_call(
            results,
            (
                "",
                "terminal",
                json!({ "command": command, "timeout_seconds": 60 }),
            ),
            |result| {
                format!(
                    "{}\n\n{}",
                    words::after_run(result.failed),
                    words::block(result.content)
                )
            },
        ),
        Intent::List => one_call(results, ("", "list_files", json!({})), |result| {
            format!(
                "Here is what lies in the workspace:\n\n{}",
                words::block(result.content)
            )
        }),
        Intent::Write { path, content } => {
            let arguments = json!({ "path": path, "content": content });
            one_call(results, ("", "write_file", arguments), |_| {
                format!("Written to `{path}`. Say `list files` to see it.")
            })
        }
        Intent::Send(path) => send(results, path, "Here it is."),
        Intent::File {
            attached,
            back: Back::Yes,
        } => send(results, &attached.path, "And back to you, byte for byte."),
        Intent::File {
            attached,
            back: Back::No,
        } if attached.is_text() => one_call(
            results,
            (
                "",
                "read_file",
                json!({ "path": attached.path, "limit": 20 }),
            ),
            |result| {
                format!(
                    "{} It begins:\n\n{}",
                    about(attached),
                    words::block(words::first_lines(result.content))
                )
            },
        ),
        Intent::File {
            attached,
            back: Back::No,
        } => Step::say(format!(
            "{} I'm a script and can't look inside; a real model could. Say `send it back` with it, and you get it back.",
            about(attached)
        )),
    }
}

fn one_call(
    results: &[Result<'_>],
    (text, name, arguments): (&str, &'static str, Value),
    tell: impl FnOnce(&Result<'_>) -> String,
) -> Step {
    match results.last() {
        None => Step::call(text, name, arguments),
        Some(result) if result.failed && name != "terminal" => Step::say(format!(
            "That did not work. `{name}` says:\n\n{}",
            words::block(result.content)
        )),
        Some(result) => Step::say(tell(result)),
    }
}

fn send(results: &[Result<'_>], path: &str, done: &str) -> Step {
    one_call(results, ("", "send_file", json!({ "path": path })), |_| {
        done.to_owned()
    })
}

fn draw(numbers: &[f64], results: &[Result<'_>]) -> Step {
    let script = chart::script(numbers);
    match results {
        [] => Step::call(
            words::before_chart(numbers),
            "terminal",
            json!({ "command": script.command, "timeout_seconds": 60 }),
        ),
        [drawn] if !drawn.failed && drawn.content.contains(chart::DONE) => Step::call(
            "",
            "send_file",
            json!({ "path": chart::PATH, "caption": script.caption, "as": "photo" }),
        ),
        [drawn] => Step::say(format!(
            "The chart could not be drawn. The terminal says:\n\n{}",
            words::block(drawn.content)
        )),
        [_, sent, ..] if sent.failed => Step::say(format!(
            "The chart is drawn, but it could not be sent. `send_file` says:\n\n{}",
            words::block(sent.content)
        )),
        [_, _, ..] => Step::say(words::AFTER_CHART),
    }
}

fn about(attached: &Attached) -> String {
    let details: Vec<&str> = [attached.size.as_str(), attached.mime.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let details = if details.is_empty() {
        String::new()
    } else {
        format!(" ({})", details.join(", "))
    };
    format!("I got your file **{}**{details}.", attached.name())
}

/// The words of the last message of a person, and the results that came after it.
fn since_last_message(messages: &[Message]) -> (String, Vec<Result<'_>>) {
    let mut results = Vec::new();
    for message in messages.iter().rev() {
        match message {
            Message::Tool {
                content, failed, ..
            } => results.push(Result {
                content,
                failed: *failed,
            }),
            Message::Assistant { .. } => {}
            Message::User { content } => {
                results.reverse();
                let texts: Vec<&str> = content
                    .iter()
                    .filter_map(|part| match part {
                        Content::Text { text } => Some(text.as_str()),
                        Content::Image { .. } => None,
                    })
                    .collect();
                return (texts.join("\n"), results);
            }
        }
    }
    (String::new(), results)
}
