//! Every protocol of models that `api` knows, from the real binary to a strict server.

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::model_server::{ModelServer, Turn, Wire};

use crate::world::{Home, PATIENCE, tidings};

/// A home whose model speaks one protocol.
struct Line {
    wire: Wire,
    model: ModelServer,
    home: Home,
}

impl Line {
    async fn new(wire: Wire) -> Self {
        let model = ModelServer::start().await.unwrap();
        let home = Home::new();
        home.write_config(&format!(
            "[defaults]\nmodel = \"fake/m-1.5\"\nsandbox = {{ driver = \"process\" }}\n\
             [providers.fake]\napi = \"{}\"\nbase_url = \"{}\"\n",
            wire.api(),
            model.base_url()
        ));
        Self { wire, model, home }
    }

    async fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = tidings();
        command
            .arg("chat")
            .args(arguments)
            .arg("--home")
            .arg(self.home.path());
        tokio::time::timeout(PATIENCE, command.output())
            .await
            .expect("the chat ended")
            .unwrap()
    }

    /// Asks, and returns what was said.
    async fn said(&self, arguments: &[&str]) -> String {
        let output = self.ask(arguments).await;
        assert!(
            output.status.success(),
            "{output:?}\nviolations: {:?}",
            self.model.violations()
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that was asked was asked in this protocol, for this model, and as the services want it.
    fn clean(&self, requests: usize) {
        assert_eq!(self.model.violations(), Vec::<String>::new());
        assert!(self.model.unscripted().is_empty());
        assert_eq!(self.model.turns_left(), 0);
        let asked = self.model.requests();
        assert_eq!(asked.len(), requests);
        for one in asked {
            assert_eq!((one.wire, one.model.as_str()), (self.wire, "m-1.5"));
        }
    }
}

fn run(command: &str) -> Value {
    json!({ "command": command })
}

/// A thought, words, calls at once; their results; the answer; and a second question that brings all of it back.
async fn talks(wire: Wire) {
    let line = Line::new(wire).await;
    line.model.push(
        Turn::empty()
            .then_reasoning("They want ")
            .then_reasoning("a sum.")
            .then_text("I'll ")
            .then_text("look.")
            .then_tool("terminal", run("echo heron-$((40+2))"))
            .then_tool("terminal", run("echo otter-$((50+3))"))
            .usage(321, 45),
    );
    line.model
        .push(Turn::deltas(["It is ", "forty-two, ", "żółw 🦦."]));
    assert_eq!(
        line.said(&["-m", "how many herons?"]).await,
        "It is forty-two, żółw 🦦.\n"
    );
    let asked = line.model.requests();
    assert!(asked[0].last_text("user").contains("how many herons?"));
    assert!(!asked[0].last_text("system").is_empty());
    let back = asked[1].body.to_string();
    assert!(back.contains("heron-42"), "{back}");
    assert!(asked[1].last_text("tool").contains("otter-53"), "{back}");
    assert!(
        asked[1].last_text("assistant").contains("I'll look."),
        "{back}"
    );
    // What these services want back with a call; the server says whether it is as it was.
    let wants_back = matches!(wire, Wire::Responses | Wire::Messages | Wire::Gemini);
    assert_eq!(back.contains("c2VhbGVk"), wants_back, "{back}");

    line.model
        .push(Turn::tool("terminal", run("echo swan-$((60+4))")));
    line.model.push(Turn::text("Sixty-four."));
    assert_eq!(
        line.said(&["-c", "-m", "and swans?"]).await,
        "Sixty-four.\n"
    );
    let last = line.model.requests().last().unwrap().clone();
    assert!(last.last_text("tool").contains("swan-64"));
    let history = last.body.to_string();
    for part in [
        "how many herons?",
        "heron-42",
        "otter-53",
        "It is forty-two",
        "and swans?",
    ] {
        assert!(history.contains(part), "{part} is missing: {history}");
    }
    line.clean(4);
}

/// A connection that breaks in the midst of an answer, a server that is busy, an answer that was cut: each ends in words.
async fn stumbles(wire: Wire) {
    let line = Line::new(wire).await;
    line.model.push(
        Turn::text("It begi")
            .then_pause(Duration::from_millis(20))
            .cut(),
    );
    line.model.push(Turn::status(503, "{}", &[]));
    line.model.push(Turn::text("It began again."));
    assert_eq!(line.said(&["-m", "go"]).await, "It began again.\n");
    // A call of which only a part came is never run.
    line.model
        .push(Turn::tool("terminal", run("touch ran")).without_finish());
    line.model.push(Turn::text("Whole this time."));
    assert_eq!(line.said(&["-m", "go"]).await, "Whole this time.\n");
    let retried = line.model.requests().last().unwrap().clone();
    assert!(!retried.body.to_string().contains("touch ran"));
    line.model
        .push(Turn::text("refused").finish("content_filter"));
    let refused = line.ask(&["-m", "go"]).await;
    let said = String::from_utf8(refused.stdout).unwrap();
    assert!(said.contains("refused"), "{said}");
    let key = wire_error(wire);
    line.model.push(Turn::status(401, &key, &[]));
    let failed = line.ask(&["-m", "go"]).await;
    let said = String::from_utf8(failed.stdout).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(
        said.contains("fake refused the key: HTTP 401: bad key"),
        "{said}"
    );
    line.clean(7);
}

/// How each service says that a key is wrong.
fn wire_error(wire: Wire) -> String {
    match wire {
        Wire::Chat | Wire::Responses => json!({ "error": { "message": "bad key", "code": "invalid_api_key" } }),
        Wire::Messages => json!({ "type": "error", "error": { "type": "authentication_error", "message": "bad key" } }),
        Wire::Ollama => json!({ "error": "bad key" }),
        Wire::Gemini => json!({ "error": { "code": 401, "message": "bad key", "status": "UNAUTHENTICATED" } }),
    }
    .to_string()
}

#[tokio::test]
async fn chat_completions_carry_a_conversation_with_tools() {
    talks(Wire::Chat).await;
}

#[tokio::test]
async fn responses_carry_a_conversation_with_tools() {
    talks(Wire::Responses).await;
}

#[tokio::test]
async fn messages_carry_a_conversation_with_tools() {
    talks(Wire::Messages).await;
}

#[tokio::test]
async fn ollamas_chat_carries_a_conversation_with_tools() {
    talks(Wire::Ollama).await;
}

#[tokio::test]
async fn gemini_carries_a_conversation_with_tools() {
    talks(Wire::Gemini).await;
}

#[tokio::test]
async fn what_breaks_on_chat_completions_is_asked_again_or_said() {
    stumbles(Wire::Chat).await;
}

#[tokio::test]
async fn what_breaks_on_responses_is_asked_again_or_said() {
    stumbles(Wire::Responses).await;
}

#[tokio::test]
async fn what_breaks_on_messages_is_asked_again_or_said() {
    stumbles(Wire::Messages).await;
}

#[tokio::test]
async fn what_breaks_on_ollamas_chat_is_asked_again_or_said() {
    stumbles(Wire::Ollama).await;
}

#[tokio::test]
async fn what_breaks_on_gemini_is_asked_again_or_said() {
    stumbles(Wire::Gemini).await;
}

#[test]
fn no_protocol_of_the_configuration_is_forgotten() {
    let schema = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/tidings.schema.json"
    );
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let known = apis(&schema).expect("the schema lists protocols");
    let tested: Vec<&str> = Wire::ALL.iter().map(|wire| wire.api()).collect();
    assert_eq!(known.len(), tested.len(), "{known:?}");
    assert!(
        known.iter().all(|api| tested.contains(&api.as_str())),
        "{known:?}"
    );
}

/// The choices of the key `api`, wherever it stands.
fn apis(schema: &Value) -> Option<Vec<String>> {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(all) => return all.iter().find_map(apis),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    if let Some(choices) = fields
        .get("api")
        .and_then(|api| api.get("enum")?.as_array())
    {
        return Some(
            choices
                .iter()
                .map(|one| one.as_str().unwrap().to_owned())
                .collect(),
        );
    }
    fields.values().find_map(apis)
}
