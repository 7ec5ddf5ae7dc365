//! The chores, step by step.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

use crate::{podman, setup};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

fn cargo(arguments: &[&str]) -> anyhow::Result<()> {
    let began = Instant::now();
    println!("── cargo {}", arguments.join(" "));
    let status = Command::new("cargo")
        .args(arguments)
        .current_dir(root())
        .stdin(Stdio::null())
        .status()
        .context("cargo can't be run")?;
    println!(
        "── {} after {} s",
        if status.success() { "done" } else { "failed" },
        began.elapsed().as_secs()
    );
    if status.success() {
        Ok(())
    } else {
        bail!("cargo {} failed", arguments.join(" "))
    }
}

fn has_nextest() -> bool {
    Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Everything that must hold.
pub(crate) fn test(filter: Option<&str>) -> anyhow::Result<()> {
    let _engine = setup::machine()?;
    if filter.is_none() {
        cargo(&["fmt", "--all", "--check"])?;
        cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ])?;
    }
    let nextest = has_nextest();
    let mut tests = if nextest {
        vec![
            "nextest",
            "run",
            "--workspace",
            "--locked",
            "--no-fail-fast",
        ]
    } else {
        vec![
            "test",
            "--workspace",
            "--locked",
            "--no-fail-fast",
            "--lib",
            "--bins",
            "--tests",
        ]
    };
    tests.extend(filter);
    if filter.is_none() {
        cargo(&["test", "--workspace", "--locked", "--doc"])?;
    }
    cargo(&tests)?;
    if filter.is_none() {
        podman::test(&root(), nextest)?;
    }
    Ok(())
}

/// Measures the release binary.
pub(crate) fn bench(quick: bool) -> anyhow::Result<()> {
    cargo(&["build", "--release", "--locked", "--package", "tidings-cli"])?;
    cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "tidings-store-sqlite",
        "--example",
        "cycle",
    ])?;
    let mut arguments = vec![
        "run",
        "--release",
        "--locked",
        "--package",
        "tidings-bench",
        "--",
    ];
    if quick {
        arguments.push("--quick");
    }
    cargo(&arguments)
}

/// The long form of the proofs of which `test` runs the short one. Debug builds: a release holds no failpoints.
pub(crate) fn crash(messages: u64, cuts: u64, seed: Option<u64>) -> anyhow::Result<()> {
    cargo(&["build", "--locked", "--package", "tidings-cli"])?;
    let (messages, cuts) = (messages.to_string(), cuts.to_string());
    let seed = seed.map(|seed| seed.to_string());
    let mut matrix = vec!["run", "--locked", "--package", "tidings-crash", "--"];
    matrix.extend(["--messages", &messages]);
    if let Some(seed) = &seed {
        matrix.extend(["--seed", seed]);
    }
    cargo(&matrix)?;
    let mut power = vec!["run", "--locked", "--package", "tidings-powerloss", "--"];
    power.extend(["long", cuts.as_str()]);
    power.extend(seed.as_deref());
    cargo(&power)
}

/// Writes what documents take from the code.
pub(crate) fn schema() -> anyhow::Result<()> {
    let schema = root().join("docs/tidings.schema.json");
    std::fs::write(&schema, format!("{:#}\n", settings::schema()))
        .with_context(|| format!("{} can't be written", schema.display()))?;
    let page = root().join("docs/configuration.md");
    let text = std::fs::read_to_string(&page)
        .with_context(|| format!("{} can't be read", page.display()))?;
    let (begin, end) = ("<!-- keys: begin -->\n", "\n<!-- keys: end -->");
    let (before, rest) = text
        .split_once(begin)
        .context("docs/configuration.md has no mark where the keys begin")?;
    let (_, after) = rest
        .split_once(end)
        .context("docs/configuration.md has no mark where the keys end")?;
    let fresh = format!("{before}{begin}{}{end}{after}", settings::reference());
    std::fs::write(&page, fresh).with_context(|| format!("{} can't be written", page.display()))
}
