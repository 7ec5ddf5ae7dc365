//! What sandboxes cost: a command in a warm one beside the engine's own `exec`, the first command in a new one, and a file
//! that is copied out beside `cat`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use sandbox::{
    BlobStore, Driver, Exec, Exit, Limits, Network, Placement, SandboxPath, SandboxPort,
    SandboxSpec,
};
use sandbox_docker::DockerSandbox;
use sandbox_folders::{Folders, HostPath};
use sandbox_process::ProcessSandbox;
use testkit::clock::{CountingIds, ManualClock};
use tokio::process::Command;
use waybill::{Origin, ProfileId, ProfileScope, SessionId, SessionKey, TaskId, TurnId, TurnScope};

use crate::Rounds;
use crate::table::{Table, ms, quantile, spread};

/// Of the install's name: it marks the containers of this bench.
const INSTALL: &str = "tidings-bench";

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
                remote: None,
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
            &format!("head -c {megabytes}000000 /dev/urandom > /workspace/big.bin"),
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
    process(table, binary, rounds).await
}

async fn docker(table: &mut Table, image: &str, rounds: Rounds) -> anyhow::Result<()> {
    let mut driver = None;
    let world = World::new(Driver::Docker, image, |folders| {
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
    let world = World::new(Driver::Process, "", |folders| {
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
    let file = world
        .folder
        .path()
        .join("profiles/work/sandboxes/profile.work/workspace/big.bin");
    let began = Instant::now();
    let status = Command::new("sh")
        .args(["-c", "cat \"$1\" | cat >/dev/null", "sh"])
        .arg(&file)
        .status()
        .await?;
    anyhow::ensure!(status.success(), "cat failed");
    let cat = megabytes as f64 / began.elapsed().as_secs_f64();
    table.row(
        format!("processes: capture of {megabytes} MB, hashed and durable"),
        format!(
            "{captured:.0} MB/s, {:.0} % of `cat`",
            captured / cat * 100.0
        ),
        format!("`cat` through a pipe to nowhere: {cat:.0} MB/s; target ≥ 60 %"),
    );
    Ok(())
}
