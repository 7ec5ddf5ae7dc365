//! A server that is a program: its start, its words on standard error, and its end.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use redact::Redactor;
use rmcp::service::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::watched::End;
use crate::{Program, text};

/// Largest message of a server, in bytes. A picture fits; a server that sends more is let go, since nobody can say where its next
/// message begins.
pub(crate) const MESSAGE: usize = 16 << 20;
/// Longest line of standard error that is kept.
const LINE: usize = 2_000;
/// Lines for the log in each stretch of time; further ones are counted.
const LINES: u32 = 50;
/// That stretch.
const STRETCH: Duration = Duration::from_secs(10);
/// Characters of a program's last words that people read.
const LAST_WORDS: usize = 300;
/// How long a program that ended may take to say its last words.
const DYING: Duration = Duration::from_secs(2);

/// How a program is spoken to.
pub(crate) type Pipes = AsyncRwTransport<RoleClient, Bounded<ChildStdout>, ChildStdin>;

/// A program that runs. Dropped, its standard error closes, which its minder takes for the end; see [`crate::minder`].
pub(crate) struct Running {
    last_words: Arc<Mutex<Option<String>>>,
    hearing: JoinSet<()>,
}

/// Starts a program.
///
/// # Errors
/// Why it does not start, for people.
pub(crate) async fn start(
    server: &str,
    program: &Program,
    redactor: &Arc<Redactor>,
    end: &End,
) -> Result<(Pipes, Running), String> {
    let folder = &program.folder;
    tokio::fs::create_dir_all(folder)
        .await
        .map_err(|error| format!("its folder {} can't be made: {error}", folder.display()))?;
    let (launcher, first) = program
        .launcher
        .split_first()
        .ok_or("no launcher is configured")?;
    if program.command.is_empty() {
        return Err("its `command` is empty".to_owned());
    }
    let mut command = Command::new(launcher);
    command
        .args(first)
        .args(&program.command)
        .env_clear()
        .envs(
            program
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .envs(
            program
                .secrets
                .iter()
                .map(|(name, value)| (name, value.reveal())),
        )
        .current_dir(folder)
        // A Ctrl-C in the gateway's terminal is for the gateway, which ends its servers itself.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("it can't be started: {error}"))?;
    let (Some(input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("it can't be started: it has no pipes".to_owned());
    };
    let last_words = Arc::new(Mutex::new(None));
    let mut hearing = JoinSet::new();
    let ears = Ears {
        server: server.to_owned(),
        redactor: Arc::clone(redactor),
        last_words: Arc::clone(&last_words),
    };
    hearing.spawn(async move {
        ears.hear(errors).await;
        // Whoever waits for a process takes its entry out of the machine's table.
        child.wait().await.map(drop).unwrap_or_default();
    });
    let bounded = Bounded {
        inner: output,
        since_line: 0,
        end: end.clone(),
    };
    Ok((
        AsyncRwTransport::new_client(bounded, input).with_max_line_length(MESSAGE),
        Running {
            last_words,
            hearing,
        },
    ))
}

impl Running {
    /// What a program that ended said last, for people.
    pub(crate) async fn last_words(&mut self) -> Option<String> {
        // The reason often comes a moment after the end.
        tokio::time::timeout(DYING, self.hearing.join_next())
            .await
            .map(drop)
            .unwrap_or_default();
        self.last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Hears what a program says on standard error.
struct Ears {
    server: String,
    redactor: Arc<Redactor>,
    last_words: Arc<Mutex<Option<String>>>,
}

impl Ears {
    async fn hear(&self, mut errors: ChildStderr) {
        let mut piece = [0; 4096];
        let mut line = Vec::new();
        let mut allowance = Allowance::new();
        loop {
            let count = match errors.read(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(count) => count,
            };
            for byte in piece.get(..count).unwrap_or_default() {
                match byte {
                    b'\n' => self.heard(&std::mem::take(&mut line), &mut allowance),
                    byte if line.len() < LINE => line.push(*byte),
                    _ => {}
                }
            }
        }
        self.heard(&line, &mut allowance);
    }

    fn heard(&self, line: &[u8], allowance: &mut Allowance) {
        let words = text::line(&String::from_utf8_lossy(line), LINE);
        if words.is_empty() {
            return;
        }
        let words = self.redactor.redact(&words).into_owned();
        let shown = text::line(&words, LAST_WORDS);
        *self
            .last_words
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(shown);
        match allowance.one_more(Instant::now()) {
            Said::Yes => tracing::info!(server = %self.server, words, "a server's standard error"),
            Said::After(left_out) => {
                tracing::info!(server = %self.server, left_out, words, "a server's standard error");
            }
            Said::No => {}
        }
    }
}

/// How much a program may say in the log.
struct Allowance {
    since: Instant,
    said: u32,
    left_out: u64,
}

/// Whether a line is written down.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Yes,
    /// After so many that were not.
    After(u64),
    No,
}

impl Allowance {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            said: 0,
            left_out: 0,
        }
    }

    fn one_more(&mut self, now: Instant) -> Said {
        if now.duration_since(self.since) >= STRETCH {
            self.since = now;
            self.said = 0;
        }
        if self.said >= LINES {
            self.left_out += 1;
            return Said::No;
        }
        self.said += 1;
        match std::mem::take(&mut self.left_out) {
            0 => Said::Yes,
            left_out => Said::After(left_out),
        }
    }
}

/// What a program writes, as long as its lines stay within the bound. The protocol's library would skip a longer one and leave its
/// caller waiting.
pub(crate) struct Bounded<R> {
    inner: R,
    since_line: usize,
    end: End,
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, into);
        if let Poll::Ready(Ok(())) = &read {
            let fresh = into.filled().get(before..).unwrap_or_default();
            self.since_line = match fresh.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => fresh.len() - last - 1,
                None => self.since_line + fresh.len(),
            };
            if self.since_line > MESSAGE {
                let why = format!("it sent a message of more than {} MB", MESSAGE >> 20);
                self.end.because(why.clone());
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
            }
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_program_that_never_stops_talking_fills_no_log() {
        let mut allowance = Allowance::new();
        let said = (0..1_000)
            .filter(|_| allowance.one_more(Instant::now()) == Said::Yes)
            .count();
        assert_eq!(said, 50);
        tokio::time::advance(STRETCH).await;
        assert_eq!(allowance.one_more(Instant::now()), Said::After(950));
        assert_eq!(allowance.one_more(Instant::now()), Said::Yes);
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_an_end() {
        let end = End::default();
        let mut bounded = Bounded {
            inner: tokio::io::repeat(b'x'),
            since_line: 0,
            end: end.clone(),
        };
        let mut sink = tokio::io::sink();
        let told = tokio::io::copy(&mut bounded, &mut sink).await.unwrap_err();
        assert!(told.to_string().contains("16 MB"), "{told}");
        assert_eq!(end.why(), Some(told.to_string()));
    }
}
