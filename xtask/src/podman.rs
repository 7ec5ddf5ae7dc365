//! The Docker driver's tests once more, with Podman in Docker's place: those in which the two differ.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::setup;

/// In these Podman once did something else than Docker, or the driver does something else for it. All others pass with it, too
/// (`DOCKER_HOST=unix:///run/podman/podman.sock cargo test -p tidings-sandbox-docker`), and take minutes.
const TESTS: [&str; 14] = [
    "a_command_cannot_gain_privileges",
    "a_file_of_the_workspace_is_captured_byte_for_byte",
    "an_attachment_lies_in_the_inbox_and_cannot_be_changed",
    "bytes_of_a_started_command_are_as_they_were",
    "keeping::what_stands_is_told_with_its_cost_and_what_runs_in_it",
    "killing_in_a_terminal_takes_all_it_started",
    "life::a_mount_of_a_folder_that_is_not_there_is_refused_and_leaves_nothing",
    "life::a_stopped_container_is_started_again_and_keeps_its_files",
    "life::the_container_is_walled_and_labelled_and_holds_no_secret",
    "loss::a_container_that_is_stopped_under_a_command_is_told_and_not_taken_for_its_end",
    "networks::with_podman_each_sandbox_is_alone_on_its_network",
    "running::a_command_that_speaks_before_it_reads_is_still_written_to",
    "volumes::files_lie_in_labelled_volumes_and_outlive_their_containers",
    "way_out::an_allow_list_is_served_on_the_containers_own_loopback_and_nowhere_else",
];

/// Longest that its service may take to answer.
const SERVICE: Duration = Duration::from_secs(20);

/// A service that was started here and ends with the tests.
struct Service {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Service {
    fn drop(&mut self) {
        let ended = self.child.kill().and_then(|()| self.child.wait());
        if let Err(error) = ended {
            eprintln!("xtask: Podman's end could not be waited for: {error}");
        }
    }
}

impl Service {
    fn host(&self) -> String {
        format!("unix://{}/podman.sock", self.folder.path().display())
    }

    fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let settings = folder.path().join("containers.conf");
        std::fs::write(&settings, settings_here())?;
        let log = File::create(folder.path().join("log"))?;
        let socket = format!("unix://{}/podman.sock", folder.path().display());
        let child = Command::new("podman")
            .args(["system", "service", "--time=0", &socket])
            .env("CONTAINERS_CONF", &settings)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("podman can't be started")?;
        let service = Self { child, folder };
        let deadline = Instant::now() + SERVICE;
        while Instant::now() < deadline {
            if service.docker(&["version"]).is_ok() {
                return Ok(service);
            }
            setup::pause();
        }
        let log = std::fs::read_to_string(service.folder.path().join("log"))?;
        bail!("its service did not answer: {}", last(&log))
    }

    fn docker(&self, arguments: &[&str]) -> anyhow::Result<()> {
        let said = Command::new("docker")
            .args(arguments)
            .env("DOCKER_HOST", self.host())
            .stdin(Stdio::null())
            .output()
            .context("docker can't be run")?;
        if said.status.success() {
            return Ok(());
        }
        bail!("{}", last(&String::from_utf8_lossy(&said.stderr)))
    }
}

fn last(text: &str) -> String {
    let line = text.lines().rfind(|line| !line.trim().is_empty());
    line.unwrap_or("it said nothing").trim().to_owned()
}

/// Most open files and processes of a container here. What a process may have is often less inside a container's first process than
/// outside, and asking for more is refused; the tests need far less.
const ENOUGH: u64 = 4_096;

/// What makes it run where there is no systemd, and where this user may not raise limits: it asks for higher ones by itself.
fn settings_here() -> String {
    let mut text = "[containers]\n".to_owned();
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let hard = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let given: Vec<String> = [("nofile", "Max open files"), ("nproc", "Max processes")]
        .into_iter()
        .filter_map(|(limit, name)| {
            let most = hard(name)?.min(ENOUGH);
            Some(format!("\"{limit}={most}:{most}\""))
        })
        .collect();
    text += &format!("default_ulimits = [{}]\n", given.join(", "));
    text += "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\n";
    // The other runtime knows control groups of version 2 alone.
    let version_2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    if !version_2 && setup::found("runc") {
        text += "runtime = \"runc\"\n";
    }
    text
}

/// Runs them, or says loudly why it does not.
pub(crate) fn test(root: &Path, nextest: bool) -> anyhow::Result<()> {
    let skipped = |why: &str| {
        println!("── SKIPPED: {} tests with Podman: {why}", TESTS.len());
        Ok(())
    };
    if !setup::found("podman") {
        return skipped("it is not installed; as root: apt-get install -y podman slirp4netns");
    }
    let service = match Service::start() {
        Ok(service) => service,
        Err(error) => return skipped(&format!("{error:#}")),
    };
    // Also brings the image, which Docker's tests have made.
    if let Err(error) = bring(&service)
        .and_then(|()| service.docker(&["run", "--rm", "--network=none", IMAGE, "true"]))
    {
        return skipped(&format!("it runs no container here: {error:#}"));
    }
    let began = Instant::now();
    println!("── with Podman: {} tests", TESTS.len());
    let mut cargo = Command::new("cargo");
    if nextest {
        cargo.args(["nextest", "run", "--locked", "--no-fail-fast"]);
        cargo.args(["--package", PACKAGE, "--test", "it", "--"]);
    } else {
        cargo.args(["test", "--locked", "--no-fail-fast"]);
        cargo.args(["--package", PACKAGE, "--test", "it", "--"]);
    }
    let status = cargo
        .args(["--exact"])
        .args(TESTS)
        .env("DOCKER_HOST", service.host())
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .context("cargo can't be run")?;
    if !status.success() {
        bail!("tests with Podman failed");
    }
    println!("── done after {} s", began.elapsed().as_secs());
    Ok(())
}

const PACKAGE: &str = "tidings-sandbox-docker";

/// What the tests' sandboxes are made of.
const IMAGE: &str = "tidings-test:1";

fn bring(service: &Service) -> anyhow::Result<()> {
    let archive = service.folder.path().join("image.tar");
    let archive = archive.to_string_lossy().into_owned();
    let saved = Command::new("docker")
        .args(["save", "--output", &archive, IMAGE])
        .output()
        .context("docker can't be run")?;
    if !saved.status.success() {
        bail!("{}", last(&String::from_utf8_lossy(&saved.stderr)));
    }
    service.docker(&["load", "--input", &archive])
}
