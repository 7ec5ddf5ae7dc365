//! What a turn has read: labels, and addresses that stood there before the agent could have made them up.

use std::collections::{HashMap, HashSet};

use chat::{Inbound, Place};
use model::{Content, Message, ToolCall};
use policy::{Context, Labels, addresses, sent};

use crate::compact::is_notes;

/// What a tool's result brings into a turn.
pub(crate) fn brings(tool: &str) -> Labels {
    match tool {
        "web_fetch" | "web_search" => Labels::UNTRUSTED,
        "read_file" | "search_files" | "list_files" | "terminal" | "process" | "memory" => {
            Labels::PRIVATE
        }
        // What was said earlier may have held others' words.
        "search_sessions" => Labels::BOTH,
        "write_file" | "edit_file" | "send_file" | "send_message" | "todo" | "ask" | "skill" => {
            Labels::NONE
        }
        // It tells, too, how servers are that are away, in words that nobody has seen.
        crate::tools::outside::FIND => Labels::UNTRUSTED,
        crate::tools::outside::CALL => Labels::BOTH,
        // All of other programs' tools and none of ours have it in their names; also one that is gone since.
        other if other.contains("__") => Labels::BOTH,
        _ => Labels::NONE,
    }
}

/// What a message brings before anybody acts on it.
pub(crate) fn of_message(inbound: &Inbound) -> Labels {
    let several = matches!(inbound.place, Place::Group { .. });
    Labels {
        // In a group others write, too, and what they wrote is in the conversation.
        untrusted: several || inbound.forwarded_from.is_some(),
        private: false,
    }
}

/// What the transcript holds by now, as far as it tells by itself. It outlives turns and restarts.
pub(super) fn of_transcript(transcript: &[Message], context: Context) -> Labels {
    let mut labels = Labels::NONE;
    for (at, message) in transcript.iter().enumerate() {
        match message {
            Message::Tool { name, .. } => {
                labels = labels.with(brings(name));
            }
            Message::User { content } => {
                for text in texts(content) {
                    // A summary stands for what nobody can look through any more.
                    if is_notes(text) {
                        return Labels::BOTH;
                    }
                    let others = text.contains(crate::receive::FORWARDED)
                        || (text.contains(crate::receive::ATTACHED) && context != Context::Owner)
                        || quotes_news(text, transcript.get(..at).unwrap_or_default());
                    labels.untrusted |= others;
                }
            }
            Message::Assistant { .. } => {}
        }
    }
    labels
}

fn texts(content: &[Content]) -> impl Iterator<Item = &str> {
    content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    })
}

/// Whether a message quotes what was not said in this conversation before.
fn quotes_news(text: &str, before: &[Message]) -> bool {
    if !text.contains(crate::receive::QUOTED) {
        return false;
    }
    let mut quoted = text
        .lines()
        .filter_map(|line| line.strip_prefix("> "))
        .filter(|line| !line.trim().is_empty());
    quoted.any(|line| {
        !before.iter().any(|message| match message {
            Message::User { content } => texts(content).any(|text| text.contains(line)),
            // People quote what they see: without formatting marks, the words are the same.
            Message::Assistant { text, .. } => bare(text).contains(&bare(line)),
            Message::Tool { .. } => false,
        })
    })
}

fn bare(text: &str) -> String {
    text.chars().filter(|sign| sign.is_alphanumeric()).collect()
}

/// Addresses that a person wrote or that the web brought, and that the agent had not written before. What a command prints, or
/// another program says, the agent may have told it to.
pub(super) fn known(transcript: &[Message]) -> HashSet<String> {
    let mut made: HashSet<&str> = HashSet::new();
    let mut known: HashSet<&str> = HashSet::new();
    // By the call: what was read before can be read again, whatever it could carry out has been.
    let mut asked: HashMap<&str, &str> = HashMap::new();
    let calls: Vec<String> = transcript.iter().map(arguments).collect();
    for (message, call) in transcript.iter().zip(&calls) {
        match message {
            // Notes are a model's words.
            Message::User { content } => {
                let people = texts(content).filter(|text| !is_notes(text));
                known.extend(people.flat_map(addresses));
            }
            Message::Assistant { text, calls, .. } => {
                asked.extend(
                    calls
                        .iter()
                        .filter_map(|call| Some((call.id.as_str(), fetched(call)?))),
                );
                made.extend(addresses(text).filter(|address| !known.contains(address)));
                made.extend(addresses(call).filter(|address| !known.contains(address)));
            }
            Message::Tool {
                call,
                name,
                content,
                failed,
            } => {
                if !failed && name == "web_fetch" {
                    known.extend(asked.get(call.as_str()).copied());
                }
                if !failed && matches!(name.as_str(), "web_fetch" | "web_search") {
                    known.extend(addresses(content).filter(|address| !made.contains(address)));
                }
            }
        }
    }
    // What follows from a known one by leaving something out carries nothing more.
    let mut all = HashSet::new();
    for address in known {
        all.insert(sent(address).to_owned());
        if let Some((scheme, rest)) = address.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
            all.insert(format!("{scheme}://{host}"));
            all.insert(format!("{scheme}://{host}/"));
        }
    }
    all
}

/// The address that a call reads.
fn fetched(call: &ToolCall) -> Option<&str> {
    let arguments = call
        .arguments
        .as_ref()
        .ok()
        .filter(|_| call.name == "web_fetch")?;
    arguments.get("url")?.as_str().map(str::trim)
}

/// All that the calls of a message say, as text.
fn arguments(message: &Message) -> String {
    let Message::Assistant { calls, .. } = message else {
        return String::new();
    };
    let mut all = String::new();
    for call in calls {
        let mut out = Vec::new();
        match &call.arguments {
            Ok(arguments) => {
                super::sort::strings(&serde_json::Value::Object(arguments.clone()), &mut out)
            }
            Err(raw) => out.push(raw.clone()),
        }
        for text in out {
            all.push_str(&text);
            all.push('\n');
        }
    }
    all
}
