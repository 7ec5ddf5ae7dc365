//! Generate content: a person and the model take turns; results are parts, as many as calls and in their order; calls of the turn that
//! runs bring back their signature.

use serde_json::Value;

use super::{Held, at, base64, list, only, perhaps, plain, says_something, text, tool};
use crate::model_server::speak::signature;

const FIELDS: &[&str] = &[
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
];
/// Documented as the signature of calls that another model made.
const ANOTHER_MODELS: &str = "skip_thought_signature_validator";
const KINDS: &[&str] = &["image/png", "image/jpeg", "image/webp"];

pub(super) fn rules(model: &str, body: &Value) -> Held {
    let contents = list(body, "contents")?;
    only(body, FIELDS)?;
    if model.is_empty() {
        return Err("the address names no model".to_owned());
    }
    if let Some(system) = body.get("systemInstruction") {
        only(system, &["parts", "role"])?;
        for part in list(system, "parts")? {
            says_something(text(part, "text"))?;
        }
    }
    let mut known = Vec::new();
    for group in perhaps(body, "tools")? {
        for (number, one) in list(group, "functionDeclarations")?.iter().enumerate() {
            at("functionDeclarations", number, declared(one, &mut known))?;
        }
    }
    // Signatures are asked for in the turn that runs: what came after a person's last words.
    let runs = contents.iter().rposition(|one| {
        let mut parts = one
            .get("parts")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        text(one, "role") == "user" && parts.any(|part| part.get("text").is_some())
    });
    let mut talk = Talk::default();
    for (number, one) in contents.iter().enumerate() {
        talk.signed = runs.is_none_or(|runs| number > runs);
        at("contents", number, talk.content(one))?;
    }
    if talk.last == "user" && talk.waiting.is_empty() {
        Ok(())
    } else {
        Err("the last content must be a user's, with every call's result".to_owned())
    }
}

fn declared(one: &Value, known: &mut Vec<String>) -> Held {
    only(
        one,
        &["name", "description", "parameters", "parametersJsonSchema"],
    )?;
    let schema = one
        .get("parametersJsonSchema")
        .or_else(|| one.get("parameters"));
    match schema {
        // No parameters at all are taken, an object without properties is not.
        None => tool(
            text(one, "name"),
            Some(&serde_json::json!({ "type": "object" })),
            known,
        ),
        Some(schema) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            if properties.is_none_or(serde_json::Map::is_empty) {
                return Err("a schema without properties".to_owned());
            }
            // Both spellings of the type are taken.
            let kind = text(schema, "type").to_ascii_lowercase();
            tool(
                text(one, "name"),
                Some(&serde_json::json!({ "type": kind })),
                known,
            )
        }
    }
}

/// A call: its name, and its id if it has one.
type Call = (String, Option<String>);

#[derive(Default)]
struct Talk {
    waiting: Vec<Call>,
    last: String,
    /// Whether calls must be signed here.
    signed: bool,
}

impl Talk {
    fn content(&mut self, content: &Value) -> Held {
        only(content, &["role", "parts"])?;
        let role = text(content, "role");
        match role {
            "user" | "model" if role == self.last => {
                return Err(format!("two contents of {role} in a row"));
            }
            "model" if self.last.is_empty() => {
                return Err("the first content must be a user's".to_owned());
            }
            "user" | "model" => {}
            _ => return Err(format!("the role '{role}' is unknown")),
        }
        role.clone_into(&mut self.last);
        let (mut calls, mut results): (Vec<Call>, Vec<Call>) = (Vec::new(), Vec::new());
        for part in list(content, "parts")? {
            only(
                part,
                &[
                    "text",
                    "thought",
                    "inlineData",
                    "functionCall",
                    "functionResponse",
                    "thoughtSignature",
                ],
            )?;
            match (role, part.get("functionCall"), part.get("functionResponse")) {
                ("model", Some(call), None) => {
                    called(part, call, self.signed && calls.is_empty())?;
                    calls.push(who(call));
                }
                ("user", None, Some(result)) => {
                    only(result, &["id", "name", "response"])?;
                    if !result.get("response").is_some_and(Value::is_object) {
                        return Err("'response' must be an object".to_owned());
                    }
                    results.push(who(result));
                }
                (_, None, None) => words_or_picture(role, part)?,
                _ => return Err(format!("a part that {role} can't say: {part}")),
            }
        }
        if role == "model" {
            self.waiting = calls;
            return Ok(());
        }
        let waited = std::mem::take(&mut self.waiting);
        if waited == results {
            Ok(())
        } else {
            Err(format!("the calls {waited:?} were answered by {results:?}"))
        }
    }
}

fn who(part: &Value) -> Call {
    let id = part.get("id").and_then(Value::as_str);
    (text(part, "name").to_owned(), id.map(str::to_owned))
}

fn called(part: &Value, call: &Value, signed: bool) -> Held {
    only(call, &["id", "name", "args"])?;
    plain(text(call, "name"), 64)?;
    let arguments = call.get("args").filter(|arguments| arguments.is_object());
    let arguments = arguments.ok_or("'args' must be an object")?;
    match text(part, "thoughtSignature") {
        "" if signed => Err("a call of this turn has no thoughtSignature".to_owned()),
        "" | ANOTHER_MODELS => Ok(()),
        other if other == signature(text(call, "name"), arguments) => Ok(()),
        _ => Err("a thoughtSignature is not as it was given".to_owned()),
    }
}

fn words_or_picture(role: &str, part: &Value) -> Held {
    match (part.get("text"), part.get("inlineData")) {
        (Some(words), None) => says_something(words.as_str().unwrap_or_default()),
        (None, Some(data)) if role == "user" => {
            only(data, &["mimeType", "data"])?;
            if !KINDS.contains(&text(data, "mimeType")) {
                return Err(format!(
                    "a picture of the kind '{}'",
                    text(data, "mimeType")
                ));
            }
            base64(text(data, "data"))
        }
        _ => Err(format!("a part that says nothing: {part}")),
    }
}
