//! A container image made from the machine's own installed packages, since tests reach no registry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The image's name. The number rises when its contents change.
pub const TEST_IMAGE: &str = "tidings-test:1";

/// What tests run inside; their dependencies come along.
const PACKAGES: [&str; 12] = [
    "base-files",
    "bash",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "gzip",
    "libc-bin",
    "mawk",
    "sed",
    "tar",
    "util-linux",
];

/// Left out of the closure: needed to install packages, not to run their commands.
const NOT_NEEDED: [&str; 4] = ["debconf", "dpkg", "init-system-helpers", "perl-base"];

/// Makes sure that the Docker engine has [`TEST_IMAGE`], and gives its name. Takes seconds the first time; tests that
/// run side by side make it once.
///
/// # Errors
/// Says what to do when the engine, or the machine's package database, is not to be had.
pub fn ensure_test_image() -> anyhow::Result<String> {
    let lock = File::create(std::env::temp_dir().join("tidings-test-image.lock"))
        .context("the lock file of the test image could not be made")?;
    lock.lock()
        .context("the lock of the test image could not be taken")?;
    if !engine_has_it()? {
        make().context("the test image could not be made from installed packages")?;
    }
    Ok(TEST_IMAGE.to_owned())
}

fn engine_has_it() -> anyhow::Result<bool> {
    let asked = Command::new("docker")
        .args(["image", "inspect", "--format", "{{.Id}}", TEST_IMAGE])
        .output()
        .context("the command docker is not there: install Docker, or leave these tests out")?;
    if asked.status.success() {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    if said.to_lowercase().contains("no such image") {
        return Ok(false);
    }
    bail!(
        "the Docker engine does not answer, start it (`cargo xtask test` does): {}",
        said.trim()
    )
}

fn make() -> anyhow::Result<()> {
    let files = files(&closure()?)?;
    let stage = tempfile::tempdir()?;
    lay_out(stage.path())?;
    let mut list = tempfile::NamedTempFile::new()?;
    for file in &files {
        writeln!(list, "{file}")?;
    }
    let mut tar = Command::new("tar")
        .args([
            "--create",
            "--file=-",
            "--owner=0",
            "--group=0",
            "--no-recursion",
            "--verbatim-files-from",
        ])
        .arg("--directory=/")
        .arg(format!("--files-from={}", list.path().display()))
        .arg("--recursion")
        .arg(format!("--directory={}", stage.path().display()))
        .arg(".")
        .stdout(Stdio::piped())
        .spawn()
        .context("the command tar is not there")?;
    let archive = tar.stdout.take().context("tar has no output")?;
    let imported = Command::new("docker")
        .args(["import", "-", TEST_IMAGE])
        .stdin(archive)
        .output()?;
    let packed = tar.wait()?;
    if !imported.status.success() || !packed.success() {
        bail!(
            "docker import said: {}",
            String::from_utf8_lossy(&imported.stderr).trim()
        );
    }
    Ok(())
}

/// The wanted packages and all that they depend on, as far as it is installed.
fn closure() -> anyhow::Result<BTreeSet<String>> {
    let listed = Command::new("dpkg-query")
        .args([
            "--show",
            "--showformat=${Package}\\t${Pre-Depends}, ${Depends}\\n",
        ])
        .output()
        .context("dpkg-query is not there: the test image is made on Debian and its children")?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let needs: BTreeMap<&str, &str> = listed
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let mut wanted: Vec<&str> = PACKAGES.to_vec();
    let mut found = BTreeSet::new();
    while let Some(package) = wanted.pop() {
        let Some(depends) = needs.get(package) else {
            continue;
        };
        if !found.insert(package.to_owned()) {
            continue;
        }
        for choice in depends.split(',') {
            let installed = choice
                .split('|')
                .filter_map(|one| one.split([' ', '(', ':']).find(|word| !word.is_empty()))
                .find(|name| needs.contains_key(name));
            wanted.extend(installed.filter(|name| !NOT_NEEDED.contains(name)));
        }
    }
    Ok(found)
}

/// Their files, relative to `/`, with `/bin`, `/sbin` and `/lib*` merged into `/usr`; no documentation.
fn files(packages: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let listed = Command::new("dpkg-query")
        .arg("--listfiles")
        .args(packages)
        .output()?;
    let mut files = BTreeSet::new();
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some(path) = line.strip_prefix('/') else {
            continue;
        };
        let first = path.split('/').next().unwrap_or_default();
        let merged = match first {
            "bin" | "sbin" | "lib" | "lib32" | "lib64" | "libx32" => format!("usr/{path}"),
            "usr" => path.to_owned(),
            _ => continue,
        };
        if merged.starts_with("usr/share/") {
            continue;
        }
        let there = fs::symlink_metadata(Path::new("/").join(&merged));
        if there.is_ok_and(|found| !found.is_dir()) {
            files.insert(merged);
        }
    }
    Ok(files)
}

/// The folders, links and accounts that packages make when they are installed.
fn lay_out(stage: &Path) -> anyhow::Result<()> {
    for folder in [
        "dev",
        "etc",
        "home",
        "inbox",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "srv",
        "sys",
        "tmp",
        "usr/bin",
        "usr/lib",
        "usr/lib64",
        "usr/sbin",
        "var/lib",
        "var/log",
        "var/tmp",
        "workspace",
    ] {
        fs::create_dir_all(stage.join(folder))?;
    }
    for shared in ["tmp", "var/tmp"] {
        fs::set_permissions(stage.join(shared), fs::Permissions::from_mode(0o1777))?;
    }
    fs::set_permissions(stage, fs::Permissions::from_mode(0o755))?;
    for (link, target) in [
        ("bin", "usr/bin"),
        ("sbin", "usr/sbin"),
        ("lib", "usr/lib"),
        ("lib64", "usr/lib64"),
        ("var/run", "/run"),
        ("usr/bin/awk", "mawk"),
    ] {
        symlink(target, stage.join(link))?;
    }
    if !stage.join("usr/bin/sh").exists() && !Path::new("/usr/bin/sh").exists() {
        symlink("dash", stage.join("usr/bin/sh"))?;
    }
    fs::write(
        stage.join("etc/passwd"),
        "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    )?;
    fs::write(stage.join("etc/group"), "root:x:0:\nnogroup:x:65534:\n")?;
    fs::write(stage.join("etc/hostname"), "sandbox\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{closure, files};

    #[test]
    fn the_image_has_the_commands_that_the_suite_uses() {
        let files = files(&closure().unwrap()).unwrap();
        for command in [
            "bash", "cat", "stat", "readlink", "ls", "find", "mkdir", "head", "tail", "base64",
            "mawk", "setsid", "sleep", "kill", "mkfifo", "ln", "dd", "seq", "tr", "dash", "grep",
            "sed",
        ] {
            let at = format!("usr/bin/{command}");
            // `kill` is also a word of every shell.
            assert!(command == "kill" || files.contains(&at), "{at} is missing");
        }
        assert!(files.iter().any(|file| file.ends_with("/libc.so.6")));
    }
}
