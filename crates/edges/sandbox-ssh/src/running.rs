//! Commands that somebody stays with.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{Ended, Exit, Running, SandboxError, SandboxKey, SandboxSpec, Start, Window};
use tokio::time::timeout;

use crate::command::{Beside, Command};
use crate::failure::printable;
use crate::machine::Over;
use crate::process::{End, Process, Source};
use crate::view::View;
use crate::{SshSandbox, scripts};

/// `^D`: the end of input in a terminal.
const END_OF_INPUT: &[u8] = b"\x04";

/// How long a terminal may take.
const READYING: Duration = Duration::from_secs(30);

/// Most bytes of what is said instead of that.
const COMPLAINT: usize = 4 << 10;

struct Program {
    process: Process,
    beside: Beside,
    terminal: bool,
    /// What came with the word that the terminal is ready.
    ahead: Option<Bytes>,
}

impl SshSandbox {
    /// Over a connection of its own: a program whose output nobody takes holds up nobody else's.
    pub(crate) async fn stay(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        let command = Command {
            command: &start.command,
            directory: &start.directory,
            env: &start.env,
            script: match start.terminal {
                Some(_) => scripts::TERMINAL,
                None => scripts::COMMAND,
            },
        };
        let inside = |view: &View<'_>| command.inside(view, spec);
        let process = self
            .launch(key, spec, Over::Own, start.terminal, &inside)
            .await?;
        let mut program = Program {
            process,
            beside: Beside::default(),
            terminal: start.terminal.is_some(),
            ahead: None,
        };
        if program.terminal {
            timeout(READYING, program.until_ready())
                .await
                .map_err(|_elapsed| {
                    SandboxError::Failed("the terminal was not ready in time".to_owned())
                })??;
        }
        Ok(Box::new(program))
    }
}

impl Program {
    /// Until then the terminal is the shell's, which reads its lines from it without showing them.
    async fn until_ready(&mut self) -> Result<(), SandboxError> {
        let mut said = Vec::new();
        while let Some((_, mut bytes)) = self.process.next().await {
            if let Some(at) = bytes.iter().position(|byte| *byte == scripts::READY) {
                let behind = bytes.split_off(at.saturating_add(1));
                self.ahead = (!behind.is_empty()).then_some(behind);
                return Ok(());
            }
            said.extend(bytes.iter().take(COMPLAINT.saturating_sub(said.len())));
        }
        let said = String::from_utf8_lossy(&said);
        Err(SandboxError::Failed(format!(
            "the program could not be started: {}",
            printable(
                said.lines()
                    .rfind(|line| !line.trim().is_empty())
                    .unwrap_or("its machine does not say why")
            )
        )))
    }
}

#[async_trait]
impl Running for Program {
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
        if let Some(bytes) = self.ahead.take() {
            return Ok(Some(bytes));
        }
        loop {
            match self.process.next().await {
                Some((Source::Out, bytes)) => return Ok(Some(bytes)),
                Some((Source::Err, bytes)) => self.beside.push(&bytes),
                None => {
                    return self
                        .process
                        .end()
                        .map(|_end| None)
                        .map_err(SandboxError::from);
                }
            }
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        self.process
            .input()
            .say(Bytes::copy_from_slice(bytes))
            .await
            .map_err(|_gone| {
                SandboxError::Failed("the program takes no more input: it has ended".to_owned())
            })
    }

    async fn end_input(&mut self) {
        if self.terminal {
            // A program that has ended needs no end of its input.
            self.process
                .input()
                .say(Bytes::from_static(END_OF_INPUT))
                .await
                .unwrap_or_default();
        } else {
            self.process.input().end().await;
        }
    }

    async fn resize(&mut self, window: Window) {
        if self.terminal {
            self.process.input().resize(window).await;
        }
    }

    async fn ended(mut self: Box<Self>) -> Result<Ended, SandboxError> {
        while self.output().await?.is_some() {}
        let end = self.process.end()?;
        let (exit, note) = if self.terminal {
            (
                Exit::Code(match end {
                    End::Code(code) => i64::from(code),
                    End::Signal(code) => code,
                }),
                None,
            )
        } else {
            self.beside.ended(end)?
        };
        Ok(Ended { exit, note })
    }

    async fn kill(self: Box<Self>) {
        self.process.kill().await;
    }
}
