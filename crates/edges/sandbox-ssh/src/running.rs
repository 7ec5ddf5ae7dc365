//! Commands that somebody stays with.

use std::collections::VecDeque;
use std::pin::pin;
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

/// How long a program may take to read what it is given. A connection that takes nothing is noticed later than that.
const READING: Duration = Duration::from_secs(30);

/// How much of its output is kept while it is written to and nobody listens, in bytes; more than the connection holds by itself.
const KEPT: usize = 8 << 20;

/// Most bytes of what is said instead of that.
const COMPLAINT: usize = 4 << 10;

struct Program {
    process: Process,
    beside: Beside,
    terminal: bool,
    /// What came with the word that the terminal is ready, and while the program was written to.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Has it said its last word?
    silent: bool,
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
            kept: VecDeque::new(),
            kept_bytes: 0,
            silent: false,
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
                if !behind.is_empty() {
                    self.keep(behind);
                }
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

    fn keep(&mut self, bytes: Bytes) {
        self.kept_bytes += bytes.len();
        self.kept.push_back(bytes);
    }

    /// Hears it once. May be dropped and called again.
    async fn hear(&mut self) -> Option<Bytes> {
        while !self.silent {
            match self.process.next().await {
                Some((Source::Out, bytes)) => return Some(bytes),
                Some((Source::Err, bytes)) => self.beside.push(&bytes),
                None => self.silent = true,
            }
        }
        None
    }

    /// Gives it bytes, and keeps what it says meanwhile: one that answers while it reads must not wait for us, and what it says
    /// and nobody takes holds up the connection over which it is told that it may be given more.
    async fn give(&mut self, bytes: Bytes) -> Result<(), SandboxError> {
        let gone =
            || SandboxError::Failed("the program takes no more input: it has ended".to_owned());
        if self.silent {
            return Err(gone());
        }
        let input = self.process.input();
        let mut saying = pin!(input.say(bytes));
        loop {
            let has_room = !self.silent && self.kept_bytes < KEPT;
            tokio::select! {
                said = &mut saying => return said.map_err(|_gone| gone()),
                heard = self.hear(), if has_room => match heard {
                    Some(heard) => self.keep(heard),
                    None => return Err(gone()),
                },
            }
        }
    }
}

#[async_trait]
impl Running for Program {
    async fn output(&mut self) -> Result<Option<Bytes>, SandboxError> {
        if let Some(kept) = self.kept.pop_front() {
            self.kept_bytes = self.kept_bytes.saturating_sub(kept.len());
            return Ok(Some(kept));
        }
        match self.hear().await {
            Some(bytes) => Ok(Some(bytes)),
            None => self
                .process
                .end()
                .map(|_end| None)
                .map_err(SandboxError::from),
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), SandboxError> {
        let giving = self.give(Bytes::copy_from_slice(bytes));
        timeout(READING, giving).await.map_err(|_late| {
            SandboxError::Failed(format!(
                "the program did not read all that it was given within {} seconds",
                READING.as_secs()
            ))
        })?
    }

    async fn end_input(&mut self) {
        if self.terminal {
            // A program that has ended needs no end of its input, and one that takes no more has nothing to end.
            self.write(END_OF_INPUT).await.unwrap_or_default();
        } else if timeout(READING, self.process.input().end()).await.is_err() {
            tracing::warn!(
                "a program on the other machine was not told in time that its input ends"
            );
        }
    }

    async fn resize(&mut self, window: Window) {
        if self.terminal
            && timeout(READING, self.process.input().resize(window))
                .await
                .is_err()
        {
            tracing::debug!("a terminal's new size was not told in time");
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
