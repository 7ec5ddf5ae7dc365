//! Captures that a driver of this kind could get wrong by its own means.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use conformance::sandbox::bench::{PATIENCE, eventually, exec, path};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{
    Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash, Exit, Mount, MountMode,
    Refusal, SandboxPath, SandboxPort as _,
};
use waybill::ProfileId;

use crate::world::{LAUNCHER, World, driver, spec};

type Here = Bench<World>;

/// Keeps nothing but the count.
#[derive(Default)]
struct Counting(Arc<AtomicU64>);

struct Counted(Arc<AtomicU64>);

#[async_trait]
impl BlobStore for Counting {
    async fn create(&self, _profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(Counted(Arc::clone(&self.0))))
    }

    async fn open(
        &self,
        _profile: &ProfileId,
        _hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        Err(BlobError::Missing)
    }
}

#[async_trait]
impl BlobWriter for Counted {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    async fn finish(self: Box<Self>, _name: &str) -> Result<Blob, BlobError> {
        Ok(Blob {
            hash: ContentHash::new([0; 32]),
            size: self.0.load(Ordering::SeqCst),
            mime: "application/octet-stream".to_owned(),
        })
    }
}

/// The most memory that this process ever had, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap()
}

#[tokio::test]
async fn two_gigabytes_come_out_with_memory_for_a_few_megabytes() {
    const SIZE: u64 = 2 << 30;
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let mut spec = spec();
    // The launcher's own bound while it copies.
    spec.limits.memory = 32 << 20;
    let scope = bench.scope("work");
    let made = exec(&format!("truncate -s {SIZE} /tmp/video.mp4"));
    let output = driver.exec(&scope, &spec, made).await.unwrap();
    assert_eq!(output.exit, Exit::Code(0));
    let before = peak();
    let blobs = Counting::default();
    let artifact = driver
        .capture(&scope, &spec, &path("/tmp/video.mp4"), SIZE, &blobs)
        .await
        .unwrap();
    assert_eq!(artifact.blob.size, SIZE);
    let more = peak() - before;
    assert!(more < 32 << 10, "{more} kB more");
}

#[tokio::test]
async fn a_file_of_a_folder_on_another_disk_comes_out_and_is_read_all_the_same() {
    let bench = Here::build().await;
    let device = |folder: &Path| std::fs::metadata(folder).map(|found| found.dev());
    let other = Path::new("/dev/shm");
    if device(other).is_err() || device(other).ok() == device(bench.world.home()).ok() {
        println!("skipped: this machine has no /dev/shm of its own");
        return;
    }
    let shown = tempfile::tempdir_in(other).unwrap();
    let noise: Vec<u8> = (0..1_u32 << 20).flat_map(u32::to_le_bytes).collect();
    std::fs::write(shown.path().join("far.bin"), &noise).unwrap();
    let mut spec = bench.spec.clone();
    spec.mounts.push(Mount {
        host: shown.path().to_str().unwrap().to_owned(),
        at: SandboxPath::parse("/far").unwrap(),
        mode: MountMode::Ro,
    });
    let (scope, file) = (bench.scope("work"), path("/far/far.bin"));
    let capture = async |limit| {
        let port = &bench.port;
        port.capture(&scope, &spec, &file, limit, &bench.blobs)
            .await
    };
    let artifact = capture(noise.len() as u64).await.unwrap();
    assert!(bench.bytes(&artifact) == noise.as_slice());
    let refusal = capture(noise.len() as u64 - 1).await.unwrap_err();
    assert!(matches!(refusal, Refusal::TooLarge { .. }), "{refusal:?}");
    let (bytes, size) = bench
        .port
        .read(&scope, &spec, &file, 4_000, 8)
        .await
        .unwrap();
    assert_eq!(size, noise.len() as u64);
    assert_eq!(bytes.as_ref(), noise.get(4_000..4_008).unwrap());
}

/// A store that takes nothing after its first piece until it is dropped.
struct Stuck(Arc<AtomicU64>);

#[async_trait]
impl BlobStore for Stuck {
    async fn create(&self, _profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(Stuck(Arc::clone(&self.0))))
    }

    async fn open(
        &self,
        _profile: &ProfileId,
        _hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        Err(BlobError::Missing)
    }
}

#[async_trait]
impl BlobWriter for Stuck {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        std::future::pending().await
    }

    async fn finish(self: Box<Self>, _name: &str) -> Result<Blob, BlobError> {
        Err(BlobError::Missing)
    }
}

#[tokio::test]
async fn a_capture_that_is_given_up_lets_go_of_the_file() {
    let bench = Here::build().await;
    bench.say("head -c 50000000 /dev/zero > big.bin").await;
    let (scope, file) = (bench.scope("work"), path("big.bin"));
    let taken = Arc::new(AtomicU64::new(0));
    let blobs = Stuck(Arc::clone(&taken));
    let inode = bench.say("stat -c %i big.bin").await.trim().parse();
    let inode: u64 = inode.unwrap();
    // By its number: it was opened where the gateway's own paths mean nothing.
    let held = || {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .flatten()
            .filter_map(|entry| std::fs::metadata(entry.path()).ok())
            .any(|found| found.ino() == inode && found.len() == 50_000_000)
    };
    // While the capture is there: it is gone before a branch below begins.
    let given_up = eventually(PATIENCE, "the gateway reads it itself", async || {
        taken.load(Ordering::SeqCst) > 0 && held()
    });
    tokio::select! {
        taken = bench.port.capture(&scope, &bench.spec, &file, 1 << 30, &blobs) => panic!("{taken:?}"),
        () = given_up => {}
    }
    eventually(PATIENCE, "nobody has it open", async || !held()).await;
}

#[tokio::test]
async fn folders_of_the_machine_are_never_sent() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let scope = bench.scope("work");
    let mount = |host: &str, at: &str, mode| Mount {
        host: host.to_owned(),
        at: SandboxPath::parse(at).unwrap(),
        mode,
    };
    let mut spec = spec();
    spec.mounts = vec![
        mount("/srv/data", "/data", MountMode::Ro),
        mount("/srv/keys", "/data/keys", MountMode::Secret),
    ];
    let forbids = async |folder: &str| driver.forbids_folder(&scope, &spec, folder).await;
    for sent in [
        "/workspace",
        "/workspace/a",
        "/root/a",
        "/tmp",
        "/inbox",
        "/data/a",
    ] {
        assert_eq!(forbids(sent).await, None, "{sent}");
    }
    for (folder, place) in [
        ("/usr/share/doc", "/usr"),
        ("/etc", "/etc"),
        ("/", "/"),
        ("/workspaces", "/workspaces"),
        ("/home/ana", "/home"),
        ("/proc/self", "/proc"),
        ("/data/keys/a", "/data/keys"),
        ("/root/.ssh", "~/.ssh"),
    ] {
        assert_eq!(forbids(folder).await.as_deref(), Some(place), "{folder}");
    }
}
