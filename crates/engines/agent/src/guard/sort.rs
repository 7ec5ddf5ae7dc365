//! What a call is, by its tool and its arguments.

use std::collections::HashSet;

use policy::{Action, Reach, Seen, addresses, sent};
use sandbox::Network;
use serde_json::{Map, Value};
use tool::Effect;
use waybill::ChatKey;

use crate::Tenant;
use crate::tools::outside as theirs;

/// Sorts a call. `known` gives the addresses that stood in the conversation; it is asked for only where that matters.
pub(super) fn sort(
    tenant: &Tenant,
    own: Option<&ChatKey>,
    known: &dyn Fn() -> HashSet<String>,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Action {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    match tool {
        "read_file" | "write_file" | "edit_file" | "list_files" | "search_files" | "send_file"
        | "todo" | "ask" | "search_sessions" | "skill" => Action::Inside,
        "terminal" => run(tenant),
        "process" => match text("action") {
            // What a program reads can be a command.
            "write" => run(tenant),
            _ => Action::Inside,
        },
        "web_fetch" => {
            let address = text("url").trim().to_owned();
            let seen = seen(known, std::iter::once(address.as_str()));
            Action::Fetch { address, seen }
        }
        "web_search" => Action::Search,
        "send_message" => {
            let to = text("to").trim().to_owned();
            // Without one it lists where it could send; one's own chat is answered.
            if to.is_empty() || own.is_some_and(|own| to.parse().as_ref() == Ok(own)) {
                Action::Inside
            } else {
                Action::Send { to }
            }
        }
        "memory" => match text("action") {
            "read" | "search" | "list" => Action::Inside,
            // Whatever else there is, writes.
            _ => Action::Remember,
        },
        theirs::FIND => Action::Inside,
        theirs::CALL => match theirs::inner(arguments) {
            Some((name, inner)) => {
                outside(tenant, known, name, &inner).unwrap_or_else(|| Action::Unknown {
                    tool: name.to_owned(),
                })
            }
            // It is not run: its arguments are none.
            None => Action::Inside,
        },
        other => outside(tenant, known, other, arguments).unwrap_or_else(|| Action::Unknown {
            tool: other.to_owned(),
        }),
    }
}

/// How far a command reaches.
fn run(tenant: &Tenant) -> Action {
    let spec = &tenant.spec;
    if !spec.driver.has_own_walls() {
        return Action::Run(Reach::NoWalls);
    }
    match spec.network {
        Network::Bridge => Action::Run(Reach::Network),
        Network::None if !spec.allow.is_empty() => Action::Run(Reach::Network),
        Network::None => Action::Inside,
    }
}

/// A tool of another program.
fn outside(
    tenant: &Tenant,
    known: &dyn Fn() -> HashSet<String>,
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<Action> {
    let tools = tenant.toolbox.as_ref()?.tools();
    let found = tools.into_iter().find(|tool| tool.spec.name == name)?;
    let tool = name.to_owned();
    Some(match found.effect {
        Effect::Changes => Action::Change { tool },
        Effect::ReadOnly => {
            let mut texts = Vec::new();
            strings(&Value::Object(arguments.clone()), &mut texts);
            let named = texts.iter().flat_map(|text| addresses(text));
            let seen = seen(known, named);
            Action::Read { tool, seen }
        }
    })
}

fn seen<'a>(known: &dyn Fn() -> HashSet<String>, addresses: impl Iterator<Item = &'a str>) -> Seen {
    let mut addresses = addresses.peekable();
    if addresses.peek().is_none() {
        return Seen::Before;
    }
    let known = known();
    if addresses.all(|address| known.contains(sent(address))) {
        Seen::Before
    } else {
        Seen::Never
    }
}

/// Every text in a value, keys too.
pub(super) fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => {
            for (key, field) in fields {
                out.push(key.clone());
                strings(field, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
