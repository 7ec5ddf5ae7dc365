//! Our client as a program, for suites that judge clients: `probe URL`, or `probe -- COMMAND…` for a server that is a program.
//!
//! It connects as the gateway does, lists the tools, and calls every one of them with arguments that its schema allows. Standard output
//! has a line of JSON for each call. Exit code 0 when the server was reached and every call came back, 1 when not.
//!
//! `TIDINGS_MINDER` names the minder's executable; without it, the one that was built beside this example is taken.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mcp::{Address, Known, Limits, Options, Ports, Program, Reach, Seen, Servers};
use redact::Redactor;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tool::{ServerState, Toolbox as _};
use waybill::Secret;

/// How long the server may take to be ready.
const PATIENCE: Duration = Duration::from_secs(60);
/// A call with which a suite plays.
const CALL: Duration = Duration::from_secs(20);

/// Every server is seen for the first time.
struct Never;

#[async_trait]
impl Seen for Never {
    async fn load(&self, _server: &str) -> Result<Option<Known>, String> {
        Ok(None)
    }

    async fn store(&self, _server: &str, _known: &Known) -> Result<(), String> {
        Ok(())
    }

    async fn answered(&self, _server: &str) -> Option<String> {
        None
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(reach) = reach(&arguments) else {
        eprintln!("usage: probe URL | probe -- COMMAND…");
        return ExitCode::from(2);
    };
    match probe(reach).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn reach(arguments: &[String]) -> Option<Reach> {
    match arguments {
        [dashes, command @ ..] if dashes == "--" && !command.is_empty() => {
            Some(Reach::Program(Program {
                launcher: vec![minder()?.to_str()?.to_owned()],
                command: command.to_vec(),
                environment: ["PATH", "HOME", "LANG"]
                    .into_iter()
                    .filter_map(|name| Some((name.to_owned(), variable(name)?)))
                    .collect(),
                secrets: Vec::new(),
                folder: std::env::temp_dir(),
            }))
        }
        // A suite may put words of its own before the address.
        [.., url] => Some(Reach::Address(Address {
            url: Secret::new(url.clone()),
            headers: Vec::new(),
        })),
        [] => None,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program for suites, and no part of the gateway"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn minder() -> Option<PathBuf> {
    if let Some(told) = variable("TIDINGS_MINDER") {
        return Some(told.into());
    }
    let examples = std::env::current_exe().ok()?;
    Some(examples.parent()?.parent()?.join("tidings-mcp-minder"))
}

async fn probe(reach: Reach) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    let options = Options {
        name: "server".to_owned(),
        reach,
        only: None,
        limits: Limits {
            call: CALL,
            ..Limits::default()
        },
    };
    let ports = Ports {
        client: net::Client::new(net::Options::default()).map_err(|error| said(&error))?,
        seen: Arc::new(Never),
        redactor: Arc::new(Redactor::default()),
    };
    let servers = Servers::new(vec![options], &ports);
    let stop = CancellationToken::new();
    let called = async {
        let called = call_all(&servers).await;
        stop.cancel();
        called
    };
    let ((), called) = tokio::join!(servers.run(stop.clone()), called);
    // What was cancelled says goodbye.
    tokio::time::sleep(Duration::from_millis(300)).await;
    called
}

async fn call_all(servers: &Servers) -> Result<(), String> {
    let mut news = servers.news();
    let ready = async {
        loop {
            news.borrow_and_update();
            match servers.servers().first().map(|server| server.state.clone()) {
                Some(ServerState::Ready { .. }) => return Ok(()),
                Some(ServerState::Away { cause, .. }) => return Err(cause),
                _ => {}
            }
            if news.changed().await.is_err() {
                return Err("it is gone".to_owned());
            }
        }
    };
    tokio::time::timeout(PATIENCE, ready)
        .await
        .map_err(|error| error.to_string())??;
    let mut failed = Vec::new();
    for tool in servers.tools() {
        let name = &tool.spec.name;
        let arguments = example(&tool.spec.parameters);
        let told = match servers.call(name, &arguments).await {
            Ok(output) => json!({
                "tool": name, "failed": output.failed, "text": output.text.chars().take(500).collect::<String>(),
                "files": output.files.len(),
            }),
            Err(error) => {
                failed.push(name.clone());
                json!({ "tool": name, "error": error.to_string() })
            }
        };
        println!("{told}");
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "these calls came to nothing: {}",
        failed.join(", ")
    ))
}

/// Arguments that a schema allows.
fn example(schema: &Value) -> Map<String, Value> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Map::new();
    };
    let properties = properties.iter();
    properties
        .map(|(name, property)| (name.clone(), value(property)))
        .collect()
}

fn value(schema: &Value) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema.get("const")) {
        return given.clone();
    }
    if let Some(first) = schema.get("enum").and_then(|all| all.get(0)) {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer" | "number") => {
            json!(schema.get("minimum").and_then(Value::as_i64).unwrap_or(1))
        }
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => Value::Object(example(schema)),
        _ => json!("text"),
    }
}
