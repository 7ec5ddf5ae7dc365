//! The tools that a model may call. One table makes the schemas; one choke point runs every call.

mod ask;
mod done;
mod files;
mod jump;
mod lines;
mod memory;
mod message;
pub(crate) mod outside;
mod process;
mod progress;
mod search;
mod send;
mod sessions;
mod skills;
mod table;
mod terminal;
mod todo;
mod untrusted;
mod web;

pub(crate) use done::Done;
pub(crate) use progress::plain;
pub(crate) use table::detail;
pub use table::specs;
pub(crate) use todo::shown as plan;

use model::{Message, ToolCall};
use sandbox::SandboxPath;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use waybill::{ChatKey, TurnScope};

use crate::attach::Gathered;
use crate::line::Seat;
use crate::{Ports, Tenant, guard, redaction};

/// Where a call is run: with the turn's own scope, sandbox and gathered files.
pub(crate) struct Bench<'a> {
    /// Characters of a result that the model reads.
    pub(crate) room: usize,
    pub(crate) ports: &'a Ports,
    pub(crate) tenant: &'a Tenant,
    pub(crate) scope: &'a TurnScope,
    pub(crate) seat: Seat<'a>,
    pub(crate) chat: Option<&'a ChatKey>,
    /// All that was said by now, this call included.
    pub(crate) transcript: &'a [Message],
    pub(crate) gathered: &'a mut Gathered,
    pub(crate) step: u32,
}

impl Bench<'_> {
    /// The one choke point of every tool call: held back, asked for, or run. What it comes to is free of known secrets.
    pub(crate) async fn run(&mut self, call: &ToolCall) -> Done {
        let done = match self.withheld(call) {
            Some(why) => Done::failed(why),
            None => match self.permit(call).await {
                Ok(()) => {
                    let done = self.work(call).await;
                    let labels = &mut self.gathered.0.labels;
                    *labels = labels.with(guard::brings(&call.name));
                    done
                }
                Err(why) => Done::failed(why),
            },
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
            "ask" => self.ask(arguments).await,
            "terminal" => self.terminal(call, arguments).await,
            "process" => self.process(arguments).await,
            "search_files" => self.search_files(arguments).await,
            "read_file" => self.read_file(arguments).await,
            "write_file" => self.write_file(arguments).await,
            "edit_file" => self.edit_file(arguments).await,
            "list_files" => self.list_files(arguments).await,
            "send_file" => self.send_file(arguments).await,
            "memory" => self.memory(arguments).await,
            "search_sessions" => self.search_sessions(arguments).await,
            "send_message" => self.send_message(arguments).await,
            "skill" => self.skill(arguments).await,
            "todo" => self.todo(arguments).await,
            "web_fetch" => self.web_fetch(arguments).await,
            "web_search" => self.web_search(arguments).await,
            outside::FIND => self.find_tools(arguments),
            outside::CALL => self.call_tool(arguments).await,
            theirs if outside::is_one(self.tenant, theirs) => self.outside(theirs, arguments).await,
            unknown => {
                let known: Vec<String> = specs(self.tenant)
                    .into_iter()
                    .map(|spec| spec.name)
                    .collect();
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
