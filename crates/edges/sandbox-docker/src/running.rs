//! A command that somebody stays with.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{Ended, Running, SandboxError, SandboxKey, SandboxSpec, Start, Window};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::command::{check, environment};
use crate::container::Live;
use crate::driver::Inner;
use crate::process::{Input, Launch, Process};
use crate::scripts;

/// What programs are told of their terminal where nobody says otherwise: what web pages and phones can show.
const TERM: &str = "xterm-256color";

/// How long a program may leave its input unread.
const UNREAD: Duration = Duration::from_secs(10);

/// Output that is kept while a program is written to: what programs say before they read what they were given. Docker keeps
/// about a megabyte more, Podman nothing.
const MOST_AHEAD: usize = 2 << 20;

/// `^D`: the end of what is typed.
const END: &[u8] = b"\x04";

impl Inner {
    /// Starts a command and stays with it.
    pub(crate) async fn start_command(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        check(&start.command)?;
        let mut arguments = vec![start.directory.as_str().to_owned(), start.command];
        let mut env = start.env;
        let mut script = scripts::COMMAND;
        if let Some(window) = start.terminal {
            script = scripts::TERMINAL;
            arguments.extend([window.rows.to_string(), window.columns.to_string()]);
            set_default(&mut env, spec, "TERM", TERM);
        }
        let launch = Launch {
            script,
            arguments,
            environment: environment(spec, &env)?,
            terminal: start.terminal,
        };
        let (live, mut process) = self.launch(key, spec, launch).await?;
        Ok(Box::new(Started {
            inner: Arc::clone(self),
            key: key.clone(),
            kills_before: live.kills.load(Ordering::SeqCst),
            live,
            input: process.take_input(),
            process,
            terminal: start.terminal.is_some(),
            ahead: VecDeque::new(),
            ended: false,
        }))
    }
}

fn set_default(env: &mut BTreeMap<String, String>, spec: &SandboxSpec, name: &str, value: &str) {
    if !spec.env.contains_key(name) {
        env.entry(name.to_owned())
            .or_insert_with(|| value.to_owned());
    }
}

/// A process and what is needed to tell how it ended. Dropped, its leash kills it.
struct Started {
    inner: Arc<Inner>,
    key: SandboxKey,
    live: Live,
    kills_before: u64,
    process: Process,
    input: Option<Input>,
    terminal: bool,
    /// Pieces that came while it was written to.
    ahead: VecDeque<Bytes>,
    ended: bool,
}

#[async_trait]
impl Running for Started {
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
        if let Some(piece) = self.ahead.pop_front() {
            return Ok(Some(piece));
        }
        if self.ended {
            return Ok(None);
        }
        let piece = self.process.next().await?;
        self.ended = piece.is_none();
        Ok(piece.map(|(_source, bytes)| bytes))
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        let no_more = || SandboxError::Failed("the command takes no more input".to_owned());
        let Some(mut input) = self.input.take() else {
            return Err(no_more());
        };
        // It may have to speak before it reads.
        let mut kept: usize = self.ahead.iter().map(Bytes::len).sum();
        let written = {
            let writing = async {
                input.write_all(bytes).await?;
                input.flush().await
            };
            let mut writing = std::pin::pin!(timeout(UNREAD, writing));
            loop {
                tokio::select! {
                    written = &mut writing => break written,
                    piece = self.process.next(), if !self.ended && kept < MOST_AHEAD => match piece? {
                        Some((_source, piece)) => {
                            kept += piece.len();
                            self.ahead.push_back(piece);
                        }
                        None => self.ended = true,
                    },
                }
            }
        };
        match written {
            Ok(Ok(())) => {
                self.input = Some(input);
                Ok(())
            }
            Ok(Err(_broken_pipe)) => Err(no_more()),
            // Some of it may be on its way: nobody knows where to go on.
            Err(_elapsed) => Err(SandboxError::Failed(
                "the command does not read its input; it gets no more".to_owned(),
            )),
        }
    }

    async fn end_input(&mut self) {
        if self.terminal {
            // A program that reads no lines may take it for a key; it stays open for more.
            self.write(END).await.unwrap_or_default();
        } else if let Some(mut input) = self.input.take() {
            input.shutdown().await.unwrap_or_default();
        }
    }

    async fn resize(&mut self, window: Window) {
        if self.terminal {
            self.process.resize(window).await;
        }
    }

    async fn ended(mut self: Box<Self>) -> Result<Ended, SandboxError> {
        while !self.ended {
            self.ended = self.process.next().await?.is_none();
        }
        let Self {
            inner,
            key,
            live,
            kills_before,
            process,
            ..
        } = *self;
        let exit = inner.exit(process, &live, kills_before).await?;
        let note = inner.take_note(&key).await;
        Ok(Ended { exit, note })
    }

    async fn kill(self: Box<Self>) {
        self.process.kill().await;
    }
}
