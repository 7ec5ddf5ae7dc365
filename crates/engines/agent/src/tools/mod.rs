//! The tools that a model may call. One table makes the schemas; one choke point runs every call.

mod files;
mod lines;
mod process;
mod progress;
mod search;
mod send;
mod terminal;

pub(crate) use progress::plain;

use model::{Message, ToolCall, ToolSpec};
use sandbox::SandboxPath;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use waybill::{ChatKey, TurnScope};

use crate::attach::Gathered;
use crate::line::Seat;
use crate::processes::MOST_RUNNING;
use crate::{Ports, Tenant, redaction};

/// Most characters of a result that the model reads.
const RESULT: usize = 32_000;

/// The tools, sorted by name so that the prompt stays the same to the byte.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    let tool = |name: &str, description: &str, properties: Value, required: &[&str]| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    };
    let text = |about: &str| json!({ "type": "string", "description": about });
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    let number = |about: &str| json!({ "type": "integer", "minimum": 1, "description": about });
    vec![
        tool(
            "edit_file",
            "Replace a text in a file. `old` must stand in it exactly once.",
            json!({ "path": text("the file"), "old": text("text to replace"), "new": text("text to put there") }),
            &["path", "old", "new"],
        ),
        tool(
            "list_files",
            "List a folder (default /workspace).",
            json!({ "path": text("the folder"), "depth": number("levels, default 1, at most 5") }),
            &[],
        ),
        tool(
            "process",
            "What runs in the background.",
            json!({
                "action": { "type": "string", "enum": ["list", "log", "wait", "write", "kill"] },
                "id": text("like p1"),
                "offset": number("log: first line"),
                "lines": number("log: how many, default the last 50"),
                "seconds": number("wait: at most so long, default 30"),
                "text": text("write: what it reads"),
                "enter": flag("write: end the line"),
                "eof": flag("write: end its input"),
            }),
            &["action"],
        ),
        tool(
            "read_file",
            "Read a text file, by lines.",
            json!({
                "path": text("the file"),
                "offset": number("first line, from 1"),
                "limit": number("lines to read, default 400"),
            }),
            &["path"],
        ),
        tool(
            "search_files",
            "Search text files for a regular expression, or files by name.",
            json!({
                "pattern": text("extended regular expression; for names a glob or part of a name"),
                "path": text("where, default /workspace"),
                "glob": text("only files like *.py"),
                "mode": { "type": "string", "enum": ["content", "names"] },
            }),
            &["pattern"],
        ),
        tool(
            "send_file",
            "Send a file of the sandbox to the person, with your answer; a folder goes as a zip.",
            json!({
                "path": text("the file or folder"),
                "caption": text("words under it"),
                "as": { "type": "string", "enum": ["auto", "photo", "document", "voice"] },
            }),
            &["path"],
        ),
        tool(
            "terminal",
            &format!(
                "Run a shell command in the sandbox; output and exit code come back. The folder of the last one holds. What runs \
                 long goes to the background, {MOST_RUNNING} at a time; `process` looks after it."
            ),
            json!({
                "command": text("for sh -c"),
                "timeout_seconds": number("give up after this long"),
                "stdin": text("what it reads"),
                "background": flag("return at once with an id"),
                "pty": flag("in a terminal, for interactive programs"),
            }),
            &["command"],
        ),
        tool(
            "write_file",
            "Write a whole file; folders on the way are made.",
            json!({ "path": text("the file"), "content": text("all of it") }),
            &["path", "content"],
        ),
    ]
}

/// A line for the person about a call: the command, the path.
pub(crate) fn detail(call: &ToolCall) -> String {
    let arguments = call.arguments.as_ref().ok();
    let main = arguments.and_then(|arguments| {
        ["command", "pattern", "path", "id"]
            .into_iter()
            .find_map(|name| arguments.get(name))
    });
    let text = main.and_then(Value::as_str).unwrap_or_default();
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}

/// What a call came to.
pub(crate) struct Done {
    pub(crate) text: String,
    pub(crate) failed: bool,
}

impl Done {
    fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failed: false,
        }
    }

    fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failed: true,
        }
    }

    /// The result as the model reads it.
    pub(crate) fn message(&self, call: &ToolCall) -> Message {
        Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            content: bounded(&self.text),
            failed: self.failed,
        }
    }
}

/// Head and tail of a result that is too long.
fn bounded(text: &str) -> String {
    let count = text.chars().count();
    if count <= RESULT {
        return text.to_owned();
    }
    let half = RESULT / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!(
        "{head}\n[… {} characters left out …]\n{tail}",
        count - RESULT
    )
}

/// Where a call is run: with the turn's own scope, sandbox and gathered files.
pub(crate) struct Bench<'a> {
    pub(crate) ports: &'a Ports,
    pub(crate) tenant: &'a Tenant,
    pub(crate) scope: &'a TurnScope,
    pub(crate) seat: Seat<'a>,
    pub(crate) chat: Option<&'a ChatKey>,
    pub(crate) gathered: &'a mut Gathered,
    pub(crate) step: u32,
}

impl Bench<'_> {
    /// The one choke point of every tool call. What it comes to is free of known secrets.
    pub(crate) async fn run(&mut self, call: &ToolCall) -> Done {
        let done = match self.withheld(call) {
            Some(why) => Done::failed(why),
            None => self.work(call).await,
        };
        Done {
            text: redaction::own(&self.ports.redactor, done.text),
            ..done
        }
    }

    /// Why a call is not run: it held a secret, and what is left of it holds the mark that stands in its place.
    fn withheld(&self, call: &ToolCall) -> Option<String> {
        let arguments = call.arguments.as_ref().ok()?;
        let name = redaction::marked(&self.ports.redactor, arguments)?;
        let instead = if self.tenant.spec.secret_env.contains_key(name) {
            format!("use the variable ${name} instead, which commands have")
        } else {
            "commands don't have it, and it can't be written down".to_owned()
        };
        Some(format!(
            "nothing was run: the call held the value of the secret {name}, or the mark that stands in its place; {instead}"
        ))
    }

    async fn work(&mut self, call: &ToolCall) -> Done {
        let arguments = match &call.arguments {
            Ok(arguments) => arguments,
            Err(raw) => {
                let start: String = raw.chars().take(200).collect();
                return Done::failed(format!(
                    "the arguments are no JSON object, so nothing was run: {start}"
                ));
            }
        };
        let done = match call.name.as_str() {
            "terminal" => self.terminal(call, arguments).await,
            "process" => self.process(arguments).await,
            "search_files" => self.search_files(arguments).await,
            "read_file" => self.read_file(arguments).await,
            "write_file" => self.write_file(arguments).await,
            "edit_file" => self.edit_file(arguments).await,
            "list_files" => self.list_files(arguments).await,
            "send_file" => self.send_file(arguments).await,
            unknown => {
                let known: Vec<String> = specs().into_iter().map(|spec| spec.name).collect();
                Err(format!(
                    "there is no tool '{unknown}'; there are {}",
                    known.join(", ")
                ))
            }
        };
        match done {
            Ok(text) => Done::ok(text),
            Err(text) => Done::failed(text),
        }
    }
}

fn path(text: &str) -> Result<SandboxPath, String> {
    SandboxPath::parse(text).map_err(|error| error.to_string())
}

/// Reads a tool's arguments; the error is for the model.
fn read<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.clone()))
        .map_err(|error| format!("wrong arguments: {error}"))
}
