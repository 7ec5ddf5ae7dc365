//! What sandboxes cost: a command in a warm one beside the engine's own `exec`, the first command in a new one, a file that is
//! copied out beside `cat`, and a large one that is read through beside `sed` and `tail`.

mod sshd;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sandbox::{
    BlobStore, Driver, Exec, Exit, Limits, Network, Placement, Remote, SandboxPath, SandboxPort,
    SandboxSpec,
};
use sandbox_docker::DockerSandbox;
use sandbox_folders::{Folders, HostPath};
use sandbox_process::ProcessSandbox;
use sandbox_ssh::SshSandbox;
use testkit::clock::{CountingIds, ManualClock};
use tokio::process::Command;
use waybill::{Origin, ProfileId, ProfileScope, SessionId, SessionKey, TaskId, TurnId, TurnScope};

use self::sshd::Sshd;
use crate::Rounds;
use crate::table::{Table, ms, quantile, spread};

/// Of the install's name: it marks the containers of this bench.
const INSTALL: &str = "tidings-bench";

/// The file that is read: bytes, and how `read_file` goes through it (a first window, then larger ones).
const TEXT: u64 = 100_000_000;
const WINDOW: usize = 1 << 20;
const FARTHER: usize = 16 << 20;
/// A window at its end, in bytes: some 800 lines.
const END: u64 = 64 << 10;
/// Its lines are so long, and these are the last of them.
const LINE: &str =
    "a line of a log that an agent reads when a person asks what went wrong yesterday";
const LAST: &str = "sed -n '1234400,1234560p' /workspace/lines.txt";
const TAIL: &str = "tail -c 65536 /workspace/lines.txt";

struct World {
    folder: tempfile::TempDir,
    ids: CountingIds,
    spec: SandboxSpec,
    port: Arc<dyn SandboxPort>,
    store: store_sqlite::Store,
}

impl World {
    fn new(
        driver: Driver,
        image: &str,
        remote: Option<Remote>,
        make: impl FnOnce(Folders) -> Arc<dyn SandboxPort>,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let folders = Folders::new(HostPath::new(folder.path().join("profiles")));
        let store = store_sqlite::Store::open(&store_sqlite::Options {
            database: folder.path().join("state").join("tidings.db"),
            blobs: folder.path().join("state").join("blobs"),
        })?;
        Ok(Self {
            port: make(folders),
            folder,
            ids: CountingIds::default(),
            spec: SandboxSpec {
                driver,
                image: image.to_owned(),
                mounts: Vec::new(),
                env: BTreeMap::new(),
                secret_env: BTreeMap::new(),
                network: Network::None,
                allow: Vec::new(),
                remote,
                limits: Limits::default(),
            },
            store,
        })
    }

    fn scope(&self, profile: &str) -> anyhow::Result<TurnScope> {
        let session = SessionKey::Local("bench".to_owned());
        Ok(ProfileScope::enter(ProfileId::parse(profile)?)
            .session(session, SessionId::fresh(&self.ids))
            .begin_turn(
                TurnId::fresh(&self.ids),
                TaskId::fresh(&self.ids),
                Origin::Operator,
                Placement::PerProfile,
            ))
    }

    async fn run(&self, profile: &str, command: &str) -> anyhow::Result<Duration> {
        let exec = Exec {
            command: command.to_owned(),
            directory: SandboxPath::parse(SandboxPath::WORKSPACE)?,
            env: BTreeMap::new(),
            stdin: Vec::new(),
            timeout: Duration::from_secs(300),
            output_bytes: 4_096,
        };
        let began = Instant::now();
        let output = self
            .port
            .exec(&self.scope(profile)?, &self.spec, exec)
            .await?;
        let took = began.elapsed();
        anyhow::ensure!(
            output.exit == Exit::Code(0),
            "'{command}' failed: {}",
            String::from_utf8_lossy(&output.bytes)
        );
        Ok(took)
    }

    /// The first command of so many new sandboxes.
    async fn first(&self, rounds: usize) -> anyhow::Result<Vec<Duration>> {
        let mut took = Vec::new();
        for round in 0..rounds {
            took.push(self.run(&format!("first{round}"), "true").await?);
        }
        Ok(took)
    }

    /// Megabytes a second of a file that is captured.
    async fn capture(&self, megabytes: u64) -> anyhow::Result<f64> {
        self.run(
            "work",
            // What the disk still has to write of it is no part of the capture.
            &format!(
                "head -c {megabytes}000000 /dev/urandom > /workspace/big.bin && sync /workspace/big.bin"
            ),
        )
        .await?;
        let blobs: &dyn BlobStore = self.store.blobs().context("a store for bytes")?;
        let path = SandboxPath::parse("/workspace/big.bin")?;
        let began = Instant::now();
        self.port
            .capture(&self.scope("work")?, &self.spec, &path, u64::MAX, blobs)
            .await?;
        Ok(megabytes as f64 / began.elapsed().as_secs_f64())
    }

    /// Makes the text that is read.
    async fn write_text(&self) -> anyhow::Result<()> {
        let made = format!("yes '{LINE}' | head -c {TEXT} > /workspace/lines.txt");
        self.run("work", &made).await.map(drop)
    }

    /// Bytes from a place on; how many the file has.
    async fn read(&self, place: u64, most: usize) -> anyhow::Result<(usize, u64)> {
        let path = SandboxPath::parse("/workspace/lines.txt")?;
        let (bytes, size) = self
            .port
            .read(&self.scope("work")?, &self.spec, &path, place, most)
            .await?;
        Ok((bytes.len(), size))
    }

    /// Goes through the text as `read_file` does that looks for its last lines.
    async fn read_through(&self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let mut place = 0;
        loop {
            let most = if place == 0 { WINDOW } else { FARTHER };
            let (length, size) = self.read(place, most).await?;
            anyhow::ensure!(length > 0, "the text ended at {place}");
            place += length as u64;
            if place >= size {
                return Ok(began.elapsed());
            }
        }
    }

    /// Reads its end alone.
    async fn read_end(&self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let (length, _) = self.read(TEXT - END, WINDOW).await?;
        anyhow::ensure!(length as u64 == END, "the end has {length} bytes");
        Ok(began.elapsed())
    }

    /// Both, beside the tools that people take for it: `native` runs a shell's line there without us.
    async fn reading(
        &self,
        table: &mut Table,
        kind: &str,
        native: impl AsyncFn(&str) -> anyhow::Result<Duration>,
        rounds: Rounds,
    ) -> anyhow::Result<()> {
        self.write_text().await?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut ends, mut walled, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..(rounds.turns / 20).max(5) {
            ours.push(self.read_through().await?);
            theirs.push(native(LAST).await?);
        }
        for _ in 0..rounds.turns / 10 {
            ends.push(self.read_end().await?);
            walled.push(self.run("work", TAIL).await?);
            bare.push(native(TAIL).await?);
        }
        let ratio = |mine: &mut [Duration], theirs: &mut [Duration]| {
            quantile(mine, 0.5).as_secs_f64() / quantile(theirs, 0.5).as_secs_f64()
        };
        let times = ratio(&mut ours, &mut theirs);
        table.row(
            format!("{kind}: `read_file` of the last lines of 100 MB"),
            format!("{}, {times:.2} × `sed -n`", spread(&mut ours)),
            format!(
                "`sed -n` of the same lines there, without us: {}; target ≤ 2 ×",
                ms(quantile(&mut theirs, 0.5))
            ),
        );
        let times = ratio(&mut ends, &mut walled);
        table.row(
            format!("{kind}: the last 64 KB of it alone"),
            format!("{}, {times:.2} × `tail -c`", spread(&mut ends)),
            format!(
                "`tail -c` as a command in the sandbox: {}, there without us: {}; target ≤ 2 × the first",
                ms(quantile(&mut walled, 0.5)),
                ms(quantile(&mut bare, 0.5))
            ),
        );
        Ok(())
    }
}

pub(crate) async fn measure(
    table: &mut Table,
    binary: &Path,
    rounds: Rounds,
) -> anyhow::Result<()> {
    let image = tokio::task::spawn_blocking(testkit::image::ensure_test_image).await?;
    match image {
        Ok(image) => docker(table, &image, rounds).await?,
        Err(error) => table.row("sandboxes in Docker", "not measured", format!("{error:#}")),
    }
    process(table, binary, rounds).await?;
    match Sshd::start().await {
        Ok(sshd) => ssh(table, &sshd, rounds).await,
        Err(error) => {
            table.row("sandboxes over SSH", "not measured", format!("{error:#}"));
            Ok(())
        }
    }
}

async fn docker(table: &mut Table, image: &str, rounds: Rounds) -> anyhow::Result<()> {
    let mut driver = None;
    let world = World::new(Driver::Docker, image, None, |folders| {
        let docker = DockerSandbox::new(sandbox_docker::Options {
            install: INSTALL.to_owned(),
            socket: None,
            folders,
            clock: Arc::new(ManualClock::default()),
            egress: None,
            beside: false,
        });
        driver = Some(docker.clone());
        Arc::new(docker)
    })?;
    let driver = driver.context("a driver")?;
    let mut first = world.first(if rounds.turns < 100 { 2 } else { 5 }).await?;
    table.row(
        "Docker: a new sandbox, to the end of its first command",
        spread(&mut first),
        "image is there",
    );
    world.run("work", "true").await?;
    let container = driver
        .list()
        .await?
        .into_iter()
        .find(|row| {
            row.profile
                .as_ref()
                .is_some_and(|profile| profile.as_str() == "work")
        })
        .context("no container")?
        .id;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds.turns / 4 {
        ours.push(world.run("work", "true").await?);
        bare.push(exec(&container, &["sh", "-c", "true"]).await?);
    }
    let (mine, theirs) = (quantile(&mut ours, 0.5), quantile(&mut bare, 0.5));
    table.row(
        "Docker: a command in a warm sandbox",
        format!(
            "{}, {:.2} × `docker exec`",
            spread(&mut ours),
            mine.as_secs_f64() / theirs.as_secs_f64()
        ),
        format!("`docker exec` of the same: {}; target ≤ 1.2 ×", ms(theirs)),
    );
    let megabytes = size(rounds);
    let captured = world.capture(megabytes).await?;
    let cat = megabytes as f64
        / exec(&container, &["cat", "/workspace/big.bin"])
            .await?
            .as_secs_f64();
    table.row(
        format!("Docker: capture of {megabytes} MB, hashed and durable"),
        format!(
            "{captured:.0} MB/s, {:.0} % of `cat`",
            captured / cat * 100.0
        ),
        format!("`docker exec … cat` to nowhere: {cat:.0} MB/s; target ≥ 60 %"),
    );
    let native = async |line: &str| exec(&container, &["sh", "-c", line]).await;
    world.reading(table, "Docker", native, rounds).await?;
    for row in driver.list().await? {
        driver.remove(&row.id).await?;
    }
    Ok(())
}

fn size(rounds: Rounds) -> u64 {
    if rounds.turns < 100 { 100 } else { 1_000 }
}

/// The engine's own client, its output thrown away.
async fn exec(container: &str, command: &[&str]) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let status = Command::new("docker")
        .args(["exec", container])
        .args(command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .await
        .context("the docker command can't be run")?;
    anyhow::ensure!(status.success(), "docker exec failed");
    Ok(began.elapsed())
}

async fn process(table: &mut Table, binary: &Path, rounds: Rounds) -> anyhow::Result<()> {
    let launcher = vec![binary.display().to_string(), "__sandbox".to_owned()];
    let world = World::new(Driver::Process, "", None, |folders| {
        Arc::new(ProcessSandbox::new(sandbox_process::Options {
            launcher,
            folders,
            egress: None,
            beside: false,
        }))
    })?;
    let mut first = world.first(5).await?;
    table.row(
        "processes: a new sandbox, to the end of its first command",
        spread(&mut first),
        "walls are built for each command",
    );
    let mut ours = Vec::new();
    for _ in 0..rounds.turns / 4 {
        ours.push(world.run("work", "true").await?);
    }
    table.row("processes: a command", spread(&mut ours), "");
    let megabytes = size(rounds);
    let captured = world.capture(megabytes).await?;
    let workspace = world
        .folder
        .path()
        .join("profiles/work/sandboxes/profile.work/workspace");
    // What `cat` moves when nobody keeps it, and what the disk takes when somebody does.
    let cat = bare(&workspace, "cat /workspace/big.bin | cat > /dev/null").await?;
    let kept = bare(
        &workspace,
        "cat /workspace/big.bin > /workspace/copy.bin && sync /workspace/copy.bin",
    )
    .await?;
    let [cat, kept] = [cat, kept].map(|took| megabytes as f64 / took.as_secs_f64());
    table.row(
        format!("processes: capture of {megabytes} MB, hashed and durable"),
        format!(
            "{captured:.0} MB/s, {:.0} % of `cat`",
            captured / cat * 100.0
        ),
        format!(
            "`cat` through a pipe to nowhere: {cat:.0} MB/s, `cat` to a file and `sync`: {kept:.0} MB/s; target ≥ 60 %"
        ),
    );
    let native = async |line: &str| bare(&workspace, line).await;
    world.reading(table, "processes", native, rounds).await
}

/// A shell's line on this machine without walls, its output thrown away.
async fn bare(workspace: &Path, line: &str) -> anyhow::Result<Duration> {
    let line = line.replace("/workspace", "\"$1\"");
    let began = Instant::now();
    let status = Command::new("sh")
        .args(["-c", &line, "sh"])
        .arg(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .await?;
    anyhow::ensure!(status.success(), "'{line}' failed");
    Ok(began.elapsed())
}

async fn ssh(table: &mut Table, sshd: &Sshd, rounds: Rounds) -> anyhow::Result<()> {
    let world = World::new(Driver::Ssh, "", Some(sshd.remote()?), |_folders| {
        Arc::new(SshSandbox::new(sandbox_ssh::Options::default()))
    })?;
    if let Err(error) = world.run("work", "true").await {
        table.row("sandboxes over SSH", "not measured", format!("{error:#}"));
        return Ok(());
    }
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds.turns / 4 {
        ours.push(world.run("work", "true").await?);
        bare.push(sshd.run("true").await?);
    }
    let (mine, theirs) = (quantile(&mut ours, 0.5), quantile(&mut bare, 0.5));
    table.row(
        "SSH: a command in a sandbox, the connection stands",
        format!(
            "{}, {:.2} × `ssh`",
            spread(&mut ours),
            mine.as_secs_f64() / theirs.as_secs_f64()
        ),
        format!(
            "`ssh` of the same over a standing connection, without walls: {}",
            ms(theirs)
        ),
    );
    let megabytes = size(rounds);
    let captured = world.capture(megabytes).await?;
    let cat = megabytes as f64 / sshd.run("cat /workspace/big.bin").await?.as_secs_f64();
    table.row(
        format!("SSH: capture of {megabytes} MB, hashed and durable"),
        format!(
            "{captured:.0} MB/s, {:.0} % of `cat`",
            captured / cat * 100.0
        ),
        format!("`ssh … cat` to nowhere: {cat:.0} MB/s; target ≥ 60 %"),
    );
    let native = async |line: &str| sshd.run(line).await;
    world.reading(table, "SSH", native, rounds).await
}
