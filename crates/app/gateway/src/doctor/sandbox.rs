//! A profile's sandbox, tried.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sandbox::{
    Blob, BlobError, BlobReader, BlobStore, BlobWriter, ContentHash, Exec, Exit, Output,
    SandboxError, SandboxPath, WriteMode,
};
use waybill::ProfileId;

use super::network;
use super::{Check, Verdict};
use crate::sandboxes::Ready;

/// What is written, and must come back.
const WORDS: &[u8] = b"tidings doctor\n\0\xff\xfe\n";
/// For a command that ends by itself. The first one may make the sandbox.
const SOON: Duration = Duration::from_secs(60);
/// For the command that never ends by itself.
const NEVER: Duration = Duration::from_secs(2);

/// All checks, in an order in which each may need those before it.
pub(super) async fn examine(ready: &Ready) -> Vec<Check> {
    let place = match Place::of(ready) {
        Ok(place) => place,
        Err(error) => return vec![Check::bad("sandbox", error.to_string())],
    };
    // Where its files lie is known once there is one.
    let written = place.write().await;
    let mut checks = vec![match ready.port.describe().await {
        Ok(walls) => Check::good("walls", walls),
        Err(error) => Check::bad("walls", error.to_string()),
    }];
    let works = written.verdict == Verdict::Good;
    checks.push(written);
    if !works {
        checks.extend(["run", "read", "capture", "kill", "network"].map(|name| {
            Check::new(
                name,
                Verdict::Skipped,
                "nothing can be written, so this was not tried",
            )
        }));
        return checks;
    }
    checks.push(place.run().await);
    checks.push(place.read().await);
    checks.push(place.capture().await);
    checks.push(place.kill().await);
    checks.push(place.network().await);
    if let Err(error) = place
        .exec(&format!("rm -rf -- {}", place.folder), SOON)
        .await
    {
        tracing::debug!(%error, "what the doctor wrote could not be removed");
    }
    checks
}

/// Where it is tried.
struct Place<'a> {
    ready: &'a Ready,
    folder: String,
    file: SandboxPath,
}

impl<'a> Place<'a> {
    fn of(ready: &'a Ready) -> Result<Self, SandboxError> {
        let folder = format!("{}/.{}", SandboxPath::WORKSPACE, ready.scope.turn());
        Ok(Self {
            ready,
            file: SandboxPath::parse(&format!("{folder}/words"))?,
            folder,
        })
    }

    async fn exec(&self, command: &str, timeout: Duration) -> Result<Output, SandboxError> {
        let exec = Exec {
            command: command.to_owned(),
            directory: SandboxPath::parse(SandboxPath::WORKSPACE)?,
            env: BTreeMap::new(),
            stdin: Vec::new(),
            timeout,
            output_bytes: 64 << 10,
        };
        self.ready
            .port
            .exec(&self.ready.scope, &self.ready.spec, exec)
            .await
    }

    async fn write(&self) -> Check {
        let written = self.ready.port.write(
            &self.ready.scope,
            &self.ready.spec,
            &self.file,
            WORDS,
            WriteMode::CreateNew,
        );
        match written.await {
            Ok(()) => Check::good("write", "a file was written"),
            Err(error) => Check::bad("write", error.to_string()),
        }
    }

    async fn run(&self) -> Check {
        match self.exec(&format!("cat {}/words", self.folder), SOON).await {
            Ok(Output {
                exit: Exit::Code(0),
                bytes,
                ..
            }) if bytes == WORDS => Check::good("run", "a command ran and saw the file"),
            Ok(output) => Check::bad(
                "run",
                format!(
                    "a command did not see the file that was written ({}); stop the sandbox with `tidings sandboxes stop` so that it is made \
                     anew",
                    told(&output)
                ),
            ),
            Err(error) => Check::bad("run", error.to_string()),
        }
    }

    async fn read(&self) -> Check {
        let read = self.ready.port.read(
            &self.ready.scope,
            &self.ready.spec,
            &self.file,
            0,
            WORDS.len() * 2,
        );
        match read.await {
            Ok((bytes, size)) if bytes == WORDS && size == WORDS.len() as u64 => {
                Check::good("read", "its bytes came back")
            }
            Ok((_, size)) => Check::bad(
                "read",
                format!("other bytes came back than were written ({size}); report this"),
            ),
            Err(error) => Check::bad("read", error.to_string()),
        }
    }

    async fn capture(&self) -> Check {
        let kept = Kept::default();
        let captured = self.ready.port.capture(
            &self.ready.scope,
            &self.ready.spec,
            &self.file,
            WORDS.len() as u64,
            &kept,
        );
        match captured.await {
            Ok(_) if kept.bytes() == WORDS => Check::good("capture", "it was copied out whole"),
            Ok(_) => Check::bad(
                "capture",
                "other bytes were copied out than were written; report this",
            ),
            Err(refusal) => Check::bad("capture", refusal.to_string()),
        }
    }

    /// A command that is cut off must be gone with what it started.
    async fn kill(&self) -> Check {
        let command = format!("sleep 3600 & echo $! > {}/pid; wait", self.folder);
        match self.exec(&command, NEVER).await {
            Ok(Output {
                exit: Exit::TimedOut,
                ..
            }) => {}
            Ok(output) => {
                return Check::bad(
                    "kill",
                    format!(
                        "a command that never ends was not cut off ({}); report this",
                        told(&output)
                    ),
                );
            }
            Err(error) => return Check::bad("kill", error.to_string()),
        }
        let alive = format!("p=$(cat {}/pid) && kill -0 \"$p\" 2>/dev/null", self.folder);
        match self.exec(&alive, SOON).await {
            Ok(Output {
                exit: Exit::Code(0),
                ..
            }) => Check::bad(
                "kill",
                "a process outlived the command that was cut off; stop the sandbox with `tidings sandboxes stop`, and report this",
            ),
            Ok(_) => Check::good(
                "kill",
                "a command that was cut off is gone with all that it started",
            ),
            Err(error) => Check::bad("kill", error.to_string()),
        }
    }

    async fn network(&self) -> Check {
        match self.exec(network::LOOK, SOON).await {
            Ok(output) => network::judge(&self.ready.spec, &String::from_utf8_lossy(&output.bytes)),
            Err(error) => Check::bad("network", error.to_string()),
        }
    }
}

/// How a command ended, in a few words of ours; what it printed may be anything.
fn told(output: &Output) -> String {
    match output.exit {
        Exit::Code(code) => format!("it ended with {code}"),
        Exit::TimedOut => "it was cut off".to_owned(),
        Exit::OutOfMemory => "it ran out of memory".to_owned(),
    }
}

/// Keeps what is captured in memory, and throws it away.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn bytes(&self) -> Vec<u8> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[async_trait]
impl BlobWriter for Kept {
    async fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(())
    }

    async fn finish(self: Box<Self>, _name: &str) -> Result<Blob, BlobError> {
        Ok(Blob {
            // Nobody asks for it by its hash.
            hash: ContentHash::new([0; 32]),
            size: self.bytes().len() as u64,
            mime: "application/octet-stream".to_owned(),
        })
    }
}

#[async_trait]
impl BlobStore for Kept {
    async fn create(&self, _profile: &ProfileId) -> Result<Box<dyn BlobWriter>, BlobError> {
        Ok(Box::new(self.clone()))
    }

    async fn open(
        &self,
        _profile: &ProfileId,
        _hash: &ContentHash,
    ) -> Result<(u64, Box<dyn BlobReader>), BlobError> {
        Err(BlobError::Missing)
    }
}
