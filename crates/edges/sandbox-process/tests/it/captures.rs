//! Captures that a driver of this kind could get wrong by its own means.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use conformance::sandbox::bench::{exec, path};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{
    Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash, Exit, Mount, MountMode,
    SandboxPath, SandboxPort as _,
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
