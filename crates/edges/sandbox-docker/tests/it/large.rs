//! Files that are larger than the gateway's memory should ever be.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use conformance::sandbox::Bench;
use conformance::sandbox::bench::path;
use sandbox::{Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash};
use waybill::ProfileId;

use crate::world::World;

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

/// Memory is measured of a whole process, so that it is given one of its own.
#[test]
fn two_gigabytes_come_out_with_memory_for_a_few_megabytes() {
    let said = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "large::alone", "--ignored"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.contains("1 passed"), "{text}");
}

#[tokio::test]
#[ignore = "the test above runs it, in a process of its own"]
async fn alone() {
    const SIZE: u64 = 2 << 30;
    let bench = Bench::<World>::build().await;
    bench
        .say(&format!("truncate -s {SIZE} /workspace/video.mp4"))
        .await;
    // What any capture takes is not what is measured.
    bench.say("echo small > small").await;
    bench.captured("small").await;
    let before = peak();
    let blobs = Counting::default();
    let (scope, asked) = (bench.scope("work"), path("video.mp4"));
    let capturing = bench
        .port
        .capture(&scope, &bench.spec, &asked, SIZE, &blobs);
    let artifact = tokio::time::timeout(Duration::from_secs(280), capturing).await;
    assert_eq!(artifact.unwrap().unwrap().blob.size, SIZE);
    let more = peak() - before;
    assert!(more < 32 << 10, "{more} kB more");
}
