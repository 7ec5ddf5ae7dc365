//! A world, and short words for what tests do in it.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobStore, Exec, Mount, MountMode, Output, Placement, Refusal, SandboxPath,
    SandboxPort, SandboxSpec, Staged,
};
use tempfile::TempDir;
use testkit::blobs::MemoryBlobs;
use testkit::clock::CountingIds;
use waybill::{Origin, ProfileId, ProfileScope, SessionId, SessionKey, TaskId, TurnId, TurnScope};

/// A promise that not every driver can keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// The owner's folders of the gateway's machine are shown inside.
    Mounts,
    /// System calls are filtered.
    SystemCalls,
}

/// What a driver's test binary gives to the suite.
#[async_trait]
pub trait SandboxWorld: Sized + Send + Sync + 'static {
    /// A fresh gateway home with nothing in it, and a driver over it.
    async fn build() -> Self;
    /// The driver.
    fn port(&self) -> Arc<dyn SandboxPort>;
    /// Another driver over the same home, as after a restart of the gateway. The first one is not used any more.
    fn restarted(&self) -> Arc<dyn SandboxPort>;
    /// What sandboxes are made of here: no mounts, no environment, no network, `Limits::default()`.
    fn spec(&self) -> SandboxSpec;
    /// The gateway's home on this machine: nothing of it may be reached from inside, but for the sandboxes' own folders.
    fn home(&self) -> &Path;
    /// Why this driver can't keep a promise; what hangs on it is then skipped, and says so.
    fn lacks(&self, promise: Promise) -> Option<&'static str> {
        let _every = promise;
        None
    }
}

/// The secret that no capture may ever yield.
pub const SECRET: &[u8] = b"the owner's key: never to be seen in a chat";

/// How long a command of the suite may take; far more than it needs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A world with what most tests need in it.
pub struct Bench<W> {
    /// The driver's world.
    pub world: W,
    /// Its driver.
    pub port: Arc<dyn SandboxPort>,
    /// The world's spec with `/secrets` (secret), `/shown` (read only) and `/shared` (read and write) mounted.
    pub spec: SandboxSpec,
    /// Where captures go.
    pub blobs: MemoryBlobs,
    /// The host's side of the mounts: `secrets`, `shown`, `shared`.
    pub mounts: TempDir,
    ids: CountingIds,
    staged: AtomicU64,
}

impl<W: SandboxWorld> Bench<W> {
    /// Builds a world.
    pub async fn build() -> Self {
        let world = W::build().await;
        let mounts = tempfile::tempdir().unwrap();
        let mut spec = world.spec();
        for (name, mode) in [
            ("secrets", MountMode::Secret),
            ("shown", MountMode::Ro),
            ("shared", MountMode::Rw),
        ] {
            let host = mounts.path().join(name);
            std::fs::create_dir(&host).unwrap();
            if world.lacks(Promise::Mounts).is_none() {
                spec.mounts.push(Mount {
                    host: host.to_str().unwrap().to_owned(),
                    at: path(&format!("/{name}")),
                    mode,
                });
            }
        }
        std::fs::write(mounts.path().join("secrets/key"), SECRET).unwrap();
        std::fs::write(mounts.path().join("shown/notes.txt"), b"notes").unwrap();
        Self {
            port: world.port(),
            world,
            spec,
            blobs: MemoryBlobs::default(),
            mounts,
            ids: CountingIds::default(),
            staged: AtomicU64::new(0),
        }
    }

    /// Does the driver keep a promise? If not, says what is skipped for it.
    pub fn keeps(&self, promise: Promise) -> bool {
        let why = self.world.lacks(promise);
        if let Some(why) = why {
            println!("skipped ({promise:?}): {why}");
        }
        why.is_none()
    }

    /// A fresh turn of a profile, in the profile's own sandbox.
    pub fn scope(&self, profile: &str) -> TurnScope {
        self.placed(profile, "talk", Placement::PerProfile)
    }

    /// A fresh turn of a profile in a conversation, in the sandbox that the placement gives it.
    pub fn placed(&self, profile: &str, talk: &str, placement: Placement) -> TurnScope {
        ProfileScope::enter(ProfileId::parse(profile).unwrap())
            .session(
                SessionKey::Local(talk.to_owned()),
                SessionId::fresh(&self.ids),
            )
            .begin_turn(
                TurnId::fresh(&self.ids),
                TaskId::fresh(&self.ids),
                Origin::Operator,
                placement,
            )
    }

    /// Runs a command of the profile `work`.
    pub async fn run(&self, command: &str) -> Output {
        self.run_as("work", command).await
    }

    /// Runs a command of a profile.
    pub async fn run_as(&self, profile: &str, command: &str) -> Output {
        self.port
            .exec(&self.scope(profile), &self.spec, exec(command))
            .await
            .unwrap_or_else(|error| panic!("{command:?} could not be run: {error}"))
    }

    /// Runs a command of the profile `work` that must succeed; its output as text.
    pub async fn say(&self, command: &str) -> String {
        self.say_as("work", command).await
    }

    /// Runs a command of a profile that must succeed; its output as text.
    pub async fn say_as(&self, profile: &str, command: &str) -> String {
        let output = self.run_as(profile, command).await;
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        assert_eq!(
            output.exit,
            sandbox::Exit::Code(0),
            "{command:?} said {text:?}"
        );
        text
    }

    /// Captures a file of the profile `work`, at most 8 MB.
    pub async fn capture(&self, path: &str) -> Result<ArtifactRef, Refusal> {
        self.capture_as("work", path, 8 << 20).await
    }

    /// Captures a file of a profile.
    pub async fn capture_as(
        &self,
        profile: &str,
        path: &str,
        limit: u64,
    ) -> Result<ArtifactRef, Refusal> {
        let path = SandboxPath::parse(path)?;
        let started = Instant::now();
        let taken = self
            .port
            .capture(&self.scope(profile), &self.spec, &path, limit, &self.blobs)
            .await;
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "capture of {path} took {:?}",
            started.elapsed()
        );
        if let Ok(artifact) = &taken {
            assert_eq!(
                artifact.profile.as_str(),
                profile,
                "the artifact belongs to who made it"
            );
            assert!(
                !artifact.name.contains('/'),
                "a shown name is never a path: {}",
                artifact.name
            );
        }
        taken
    }

    /// The bytes of an artifact.
    pub fn bytes(&self, artifact: &ArtifactRef) -> Bytes {
        self.blobs
            .get(&artifact.profile, &artifact.blob.hash)
            .unwrap()
    }

    /// Captures what must be there; its bytes.
    pub async fn captured(&self, path: &str) -> Bytes {
        let artifact = self
            .capture(path)
            .await
            .unwrap_or_else(|refusal| panic!("{path} was refused: {refusal}"));
        self.bytes(&artifact)
    }

    /// Lays bytes into the inbox of the profile `work`.
    pub async fn stage(&self, name: &str, bytes: &'static [u8]) -> Staged {
        let scope = self.scope("work");
        let number = self.staged.fetch_add(1, Ordering::SeqCst);
        let blob = self
            .blobs
            .put(scope.profile(), &format!("staged-{number}"), bytes);
        let (_, reader) = self.blobs.open(scope.profile(), &blob.hash).await.unwrap();
        self.port
            .stage(&scope, &self.spec, name, reader)
            .await
            .unwrap()
    }

    /// Waits until a file that a loop keeps lengthening has been begun.
    pub async fn until_written(&self, path: &str) {
        eventually(PATIENCE, &format!("{path} was written"), async || {
            self.size(path).await.is_some_and(|size| size > 0)
        })
        .await;
    }

    /// Waits until a file is there, empty or not.
    pub async fn until_written_at_all(&self, path: &str) {
        eventually(PATIENCE, &format!("{path} is there"), async || {
            self.size(path).await.is_some()
        })
        .await;
    }

    /// Waits until a file that a loop keeps lengthening stays as it is: the loop is dead.
    pub async fn until_still(&self, path: &str) {
        eventually(
            Duration::from_secs(20),
            &format!("nobody writes {path}"),
            async || {
                let first = self.size(path).await;
                for _ in 0..4 {
                    tokio::time::sleep(Duration::from_millis(250)).await;
                    if self.size(path).await != first {
                        return false;
                    }
                }
                true
            },
        )
        .await;
    }

    /// Waits until a program with this command line (which nothing else in the sandbox has) has begun. The shell that starts it
    /// has its own handlers of signals until then: between its fork and the program's beginning a key would be lost.
    pub async fn until_in_front(&self, line: &str) {
        // In an argument of its own, so that the look does not find itself.
        let look =
            "for file in /proc/[0-9]*/cmdline; do tr '\\000' ' ' < $file; echo; done 2>/dev/null";
        eventually(PATIENCE, &format!("{line:?} runs"), async || {
            let lines = self.say(&format!("{look}; true")).await;
            lines.lines().any(|seen| seen.trim_end() == line)
        })
        .await;
    }

    /// The size of a file, if it is there.
    async fn size(&self, at: &str) -> Option<u64> {
        self.port
            .read(&self.scope("work"), &self.spec, &path(at), 0, 1)
            .await
            .ok()
            .map(|(_, size)| size)
    }
}

/// A path that must be one.
pub fn path(text: &str) -> SandboxPath {
    SandboxPath::parse(text).unwrap()
}

/// A command in `/workspace` without input.
pub fn exec(command: &str) -> Exec {
    Exec {
        command: command.to_owned(),
        directory: path(SandboxPath::WORKSPACE),
        env: BTreeMap::new(),
        stdin: Vec::new(),
        timeout: PATIENCE,
        output_bytes: 64 << 10,
    }
}

/// Asks again and again until it is so, up to a deadline.
pub async fn eventually<F: Future<Output = bool>>(
    patience: Duration,
    what: &str,
    mut is_so: impl FnMut() -> F,
) {
    let deadline = Instant::now() + patience;
    while !is_so().await {
        assert!(Instant::now() < deadline, "not within {patience:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
