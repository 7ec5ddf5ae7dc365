//! The table of tools: what the model reads of each.

use model::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::Tenant;
use crate::processes::MOST_RUNNING;

/// The tools, sorted by name so that the prompt stays the same to the byte.
#[must_use]
pub fn specs(tenant: &Tenant) -> Vec<ToolSpec> {
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
    let mut tools = vec![
        tool(
            "ask",
            "Ask the person and wait for the answer. Only for what you can't find out or decide yourself.",
            json!({
                "question": text("one question"),
                "choices": { "type": "array", "items": { "type": "string" }, "description": "at most 8 short answers, shown as buttons" },
            }),
            &["question"],
        ),
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
            "search_sessions",
            "Search earlier conversations.",
            json!({
                "query": text("words; quoted ones stand together"),
                "around": number("instead: read around the message with this #number"),
                "limit": number("how many"),
            }),
            &[],
        ),
        tool(
            "send_message",
            "Send a message to another chat of this profile; it goes out when the turn ends. Without `to`: lists the chats.",
            json!({ "to": text("the chat, as listed"), "text": text("the words"), "file": text("a file to send with it") }),
            &[],
        ),
        tool(
            "todo",
            "Your plan for longer work; the person sees it. Replaces the whole plan; without items shows it.",
            json!({ "items": { "type": "array", "items": {
                "type": "object",
                "properties": { "text": { "type": "string" }, "state": { "type": "string", "enum": ["open", "doing", "done"] } },
                "required": ["text"],
            } } }),
            &[],
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
    ];
    if let Some(web) = &tenant.web {
        tools.push(tool(
            "web_fetch",
            "Read a page of the web, or save what is there.",
            json!({
                "url": text("its address"),
                "offset": number("read on from this character"),
                "save_to": text("path in the sandbox, for files"),
            }),
            &["url"],
        ));
        if web.searches() {
            let words = json!({ "query": text("what to look for") });
            tools.push(tool("web_search", "Search the web.", words, &["query"]));
        }
    }
    if tenant.knowledge.is_some() {
        tools.push(tool(
            "memory",
            "What you remember beyond this conversation: facts and wishes that later ones need, in short entries. `of`: the profile, or \
             the person who asks.",
            json!({
                "action": { "type": "string", "enum": ["list", "change", "search"] },
                "of": { "type": "string", "enum": ["profile", "person"] },
                "changes": { "type": "array", "description": "change, all or none: text adds, id with text replaces, id removes", "items": {
                    "type": "object", "properties": { "id": { "type": "string" }, "text": { "type": "string" } },
                } },
                "query": text("search: words of what was replaced or removed"),
            }),
            &["action"],
        ));
        tools.push(tool(
            "skill",
            "Read a skill, or a file of it. Without a name: lists all.",
            json!({ "name": text("the skill"), "file": text("a file below it") }),
            &[],
        ));
    }
    tools.extend(super::outside::specs(tenant));
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

/// A line for the person about a call: the command, the path.
pub(crate) fn detail(call: &ToolCall) -> String {
    let arguments = call.arguments.as_ref().ok();
    if call.name == "todo" {
        return arguments.and_then(super::todo::detail).unwrap_or_default();
    }
    let main = arguments.and_then(|arguments| {
        [
            "command", "pattern", "path", "url", "query", "id", "to", "name", "action",
        ]
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
