//! A plain shell of this machine in a temporary folder: no walls, for tests of what stands above the port. Paths of the
//! sandbox lie below that folder; what a command itself names is the machine's.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Ended, Entry, EntryKind, Exec, Exit, HeadAndTail, Output,
    Refusal, Running, SandboxError, SandboxPath, SandboxPort, SandboxSpec, Staged, Start, Taken,
    WriteMode,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use waybill::TurnScope;

/// A shell in a folder of its own, the same for every scope.
#[derive(Debug)]
pub struct PlainShell {
    root: TempDir,
}

fn failed(error: impl std::fmt::Display) -> SandboxError {
    SandboxError::Failed(error.to_string())
}

fn file(path: &SandboxPath, error: impl std::fmt::Display) -> SandboxError {
    SandboxError::File(format!("{path}: {error}"))
}

impl PlainShell {
    /// An empty one.
    ///
    /// # Errors
    /// If no folder can be made.
    pub fn new() -> std::io::Result<Self> {
        let root = tempfile::tempdir()?;
        for folder in ["workspace", "root", "inbox", "tmp"] {
            std::fs::create_dir(root.path().join(folder))?;
        }
        Ok(Self { root })
    }

    /// Where a path of the sandbox lies on this machine.
    #[must_use]
    pub fn place(&self, path: &str) -> PathBuf {
        let root = self.root.path();
        if Path::new(path).starts_with(root) {
            return PathBuf::from(path);
        }
        root.join(path.trim_start_matches('/'))
    }

    fn command(&self, spec: &SandboxSpec, start: &Start) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .arg("-c")
            .arg(format!("exec 2>&1; {}", start.command))
            .current_dir(self.place(start.directory.as_str()))
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.place(SandboxPath::HOME))
            .envs(&spec.env)
            .envs(
                spec.secret_env
                    .iter()
                    .map(|(name, value)| (name, value.reveal())),
            )
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        for (name, value) in &start.env {
            // What the engine's own scripts are given are paths of the sandbox.
            if name.starts_with("TIDINGS_") && value.starts_with('/') {
                command.env(name, self.place(value));
            } else {
                command.env(name, value);
            }
        }
        command
    }

    fn begin(&self, spec: &SandboxSpec, start: &Start) -> Result<Shell, SandboxError> {
        let mut child = self.command(spec, start).spawn().map_err(failed)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Shell {
            group: child.id(),
            child,
            stdin,
            stdout,
        })
    }
}

/// A shell that runs, in a process group of its own.
struct Shell {
    group: Option<u32>,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
}

impl Shell {
    fn signal(&mut self) {
        if let Some(group) = self.group.take() {
            let killed = std::process::Command::new("/bin/sh")
                .arg("-c")
                .arg(format!("kill -9 -{group} 2>/dev/null"))
                .status();
            drop(killed);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.signal();
    }
}

#[async_trait]
impl Running for Shell {
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
        let Some(stdout) = &mut self.stdout else {
            return Ok(None);
        };
        let mut bytes = vec![0; 8 << 10];
        let read = tokio::select! {
            biased;
            read = stdout.read(&mut bytes) => read.map_err(failed)?,
            ended = self.child.wait() => {
                ended.map_err(failed)?;
                // What it said before its end is in the pipe; a child of it may hold that open.
                let last = tokio::time::timeout(Duration::from_millis(50), stdout.read(&mut bytes));
                last.await.unwrap_or(Ok(0)).map_err(failed)?
            }
        };
        if read == 0 {
            self.stdout = None;
            return Ok(None);
        }
        bytes.truncate(read);
        Ok(Some(Bytes::from(bytes)))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(bytes).await.map_err(failed),
            None => Err(failed("its input has ended")),
        }
    }

    async fn end_input(&mut self) {
        self.stdin = None;
    }

    async fn resize(&mut self, _window: sandbox::Window) {}

    async fn ended(mut self: Box<Self>) -> Result<Ended, SandboxError> {
        while self.output().await?.is_some() {}
        let status = self.child.wait().await.map_err(failed)?;
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        let code = status.code().or(signal.map(|signal| 128 + signal));
        Ok(Ended {
            exit: Exit::Code(code.unwrap_or(-1).into()),
            note: None,
        })
    }

    async fn kill(mut self: Box<Self>) {
        self.signal();
        let gone = self.child.wait().await;
        drop(gone);
    }
}

#[async_trait]
impl SandboxPort for PlainShell {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let start = Start {
            command: exec.command,
            directory: exec.directory,
            env: exec.env,
            terminal: None,
        };
        let mut running = self.start(scope, spec, start).await?;
        let mut kept = HeadAndTail::new(exec.output_bytes);
        let hear = async {
            running.write(&exec.stdin).await?;
            running.end_input().await;
            while let Some(bytes) = running.output().await? {
                kept.push(&bytes);
            }
            Ok::<(), SandboxError>(())
        };
        let exit = match tokio::time::timeout(exec.timeout, hear).await {
            Ok(heard) => {
                heard?;
                running.ended().await?.exit
            }
            Err(_late) => {
                running.kill().await;
                Exit::TimedOut
            }
        };
        let (bytes, left_out) = kept.into_parts();
        Ok(Output {
            exit,
            bytes,
            left_out,
            note: None,
        })
    }

    async fn start(
        &self,
        _: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        Ok(Box::new(self.begin(spec, &start)?))
    }

    async fn read(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let whole = std::fs::read(self.place(path.as_str())).map_err(|error| file(path, error))?;
        let from = usize::try_from(offset).map_err(failed)?;
        let part: Vec<u8> = whole.iter().skip(from).take(most).copied().collect();
        Ok((Bytes::from(part), whole.len() as u64))
    }

    async fn write(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        _: WriteMode,
    ) -> Result<(), SandboxError> {
        let at = self.place(path.as_str());
        if let Some(folder) = at.parent() {
            std::fs::create_dir_all(folder).map_err(|error| file(path, error))?;
        }
        std::fs::write(at, bytes).map_err(|error| file(path, error))
    }

    async fn list(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        let listed =
            std::fs::read_dir(self.place(path.as_str())).map_err(|error| file(path, error))?;
        let mut entries = Vec::new();
        for entry in listed {
            let entry = entry.map_err(|error| file(path, error))?;
            let metadata = entry.metadata().map_err(|error| file(path, error))?;
            let kind = if metadata.is_dir() {
                EntryKind::Folder
            } else if metadata.is_file() {
                EntryKind::File
            } else {
                EntryKind::Other
            };
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                kind,
                size: metadata.len(),
            });
        }
        entries.sort_by_key(|entry| (entry.kind != EntryKind::Folder, entry.name.clone()));
        let left_out = entries.len().saturating_sub(most);
        entries.truncate(most);
        Ok((entries, left_out))
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        _: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        let at = self.place(path.as_str());
        let path = path.clone();
        if at.is_dir() {
            let kind = "directory";
            return Err(Refusal::NotAFile { path, kind });
        }
        let Ok(bytes) = std::fs::read(&at) else {
            let near = Vec::new();
            return Err(Refusal::Missing { path, near });
        };
        if bytes.len() as u64 > limit {
            return Err(Refusal::TooLarge { path, limit });
        }
        let store = |error: sandbox::BlobError| Refusal::Store {
            reason: error.to_string(),
        };
        let mut writer = blobs.create(scope.profile()).await.map_err(store)?;
        writer.write(&bytes).await.map_err(store)?;
        let name = path.file_name().to_owned();
        Ok(ArtifactRef {
            profile: scope.profile().clone(),
            blob: writer.finish(&name).await.map_err(store)?,
            name,
            taken: Taken::Captured {
                sandbox: scope.sandbox().clone(),
                path,
                turn: scope.turn(),
            },
        })
    }

    async fn stage(
        &self,
        _: &TurnScope,
        _: &SandboxSpec,
        name: &str,
        mut bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        let path = SandboxPath::parse(&format!("{}/{name}", SandboxPath::INBOX))?;
        let mut whole = Vec::new();
        while let Some(piece) = bytes.next().await.map_err(failed)? {
            whole.extend_from_slice(&piece);
        }
        std::fs::write(self.place(path.as_str()), whole).map_err(|error| file(&path, error))?;
        Ok(Staged { path })
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        Ok("a plain shell without walls, for tests".to_owned())
    }
}
