//! A command that somebody stays with.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{Ended, Running, SandboxError, Window};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::control::Cut;
use crate::disk;
use crate::hearing::Ending;
use crate::run::{PIECE, Run};
use crate::verdict;

/// How long the walls may take to be built.
const BEGINNING: Duration = Duration::from_secs(30);
/// How long a command may take to read what it is given.
const READING: Duration = Duration::from_secs(30);
/// How much of its output is kept while it is written to and nobody listens, in bytes.
const KEPT: usize = 4 << 20;
/// The end of input, typed (`^D`).
const END: [u8; 1] = [4];

/// One that runs in a process sandbox.
pub(crate) struct Stayed {
    run: Run,
    has_terminal: bool,
    stdin: Option<ChildStdin>,
    ear: Ear,
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Watches the disk; ends with this.
    _watch: JoinSet<()>,
}

impl Stayed {
    /// Tells the launcher its plan and returns when the command runs. `folder` is on the disk that it writes to.
    pub(crate) async fn begin(
        mut run: Run,
        has_terminal: bool,
        folder: PathBuf,
    ) -> Result<Self, SandboxError> {
        run.tell().await;
        let control = Arc::clone(&run.control);
        timeout(BEGINNING, run.hearing.begun(&control))
            .await
            .map_err(|_late| verdict::of_other(Ending::TimedOut))??;
        let mut watch = JoinSet::new();
        watch.spawn(async move {
            disk::filled(&folder).await;
            control.end(Cut::DiskFilled);
        });
        Ok(Self {
            stdin: run.stdin.take(),
            run,
            has_terminal,
            ear: Ear {
                silent: false,
                piece: vec![0; PIECE],
            },
            kept: VecDeque::new(),
            kept_bytes: 0,
            _watch: watch,
        })
    }

    /// Writes a piece, and keeps what the command says meanwhile: a program that answers while it reads must not wait for us.
    async fn give(&mut self, mut bytes: &[u8]) -> Result<(), SandboxError> {
        let gone = || SandboxError::Failed("the command takes no more input".to_owned());
        let Some(stdin) = &mut self.stdin else {
            return Err(gone());
        };
        while !bytes.is_empty() {
            let has_room = !self.ear.silent && self.kept_bytes < KEPT;
            tokio::select! {
                written = stdin.write(bytes) => match written {
                    Ok(length) if length > 0 => {
                        (_, bytes) = bytes.split_at(length);
                    }
                    Ok(_) | Err(_) => return Err(gone()),
                },
                heard = self.ear.listen(&mut self.run), if has_room => {
                    if let Some(heard) = heard? {
                        self.kept_bytes += heard.len();
                        self.kept.push_back(heard);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Hears the command and the launcher at once.
struct Ear {
    silent: bool,
    piece: Vec<u8>,
}

impl Ear {
    /// The next piece of output from the pipe; none at its end. May be dropped and called again.
    async fn listen(&mut self, run: &mut Run) -> Result<Option<Bytes>, SandboxError> {
        let Run {
            control,
            hearing,
            stdout,
            ..
        } = run;
        while !self.silent {
            tokio::select! {
                read = stdout.read(&mut self.piece) => {
                    let length = read.map_err(|error| {
                        SandboxError::Failed(format!("the command can't be heard any more: {error}"))
                    })?;
                    if length > 0 {
                        let (bytes, _) = self.piece.split_at(length);
                        return Ok(Some(Bytes::copy_from_slice(bytes)));
                    }
                    self.silent = true;
                }
                () = hearing.more(control), if !hearing.is_over() => {}
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl Running for Stayed {
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
        if let Some(kept) = self.kept.pop_front() {
            self.kept_bytes -= kept.len();
            return Ok(Some(kept));
        }
        self.ear.listen(&mut self.run).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        timeout(READING, self.give(bytes)).await.map_err(|_late| {
            SandboxError::Failed(format!(
                "the command did not read all that it was given within {} seconds",
                READING.as_secs()
            ))
        })?
    }

    async fn end_input(&mut self) {
        if self.has_terminal {
            // One that takes no more has nothing to end.
            self.write(&END).await.unwrap_or_default();
        } else {
            self.stdin = None;
        }
    }

    async fn resize(&mut self, window: Window) {
        if self.has_terminal {
            self.run.control.resize(window);
        }
    }

    async fn ended(mut self: Box<Self>) -> Result<Ended, SandboxError> {
        while self.ear.listen(&mut self.run).await?.is_some() {}
        let control = Arc::clone(&self.run.control);
        self.run.hearing.all(&control).await;
        self.run.bury().await;
        let ran_out_of_memory = self.run.ran_out_of_memory();
        let (exit, note) = verdict::of_command(self.run.ending()?, ran_out_of_memory)?;
        Ok(Ended { exit, note })
    }

    async fn kill(mut self: Box<Self>) {
        self.run.control.end(Cut::Killed);
        self.run.bury().await;
    }
}
