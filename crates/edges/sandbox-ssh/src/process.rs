//! A process on the other machine: its streams, its end, and the leash that it is on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Sig};
use sandbox::{SandboxError, Window};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::Failure;
use crate::connection::Connection;
use crate::facts::{Facts, Walls};

/// The kind of terminal that programs are told they have.
pub(crate) const TERM: &str = "xterm-256color";

/// How long what was left in the background may hold the streams of a process that has ended: it is being ended.
const LINGER: Duration = Duration::from_secs(5);

/// How long a channel may take to close after its process was found dead, and how often the process is looked for.
const ROUND: Duration = Duration::from_millis(200);
const ROUNDS: u32 = 50;

/// Which stream a piece came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Out,
    Err,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Code(u32),
    /// Killed, as a shell would tell it: 128 and the signal.
    Signal(i64),
}

pub(crate) struct Process {
    machine: String,
    input: Input,
    end: Option<End>,
    leash: Leash,
    _slot: OwnedSemaphorePermit,
}

/// The way to a process. It may be used while its output is heard.
#[derive(Clone)]
pub(crate) struct Input {
    machine: String,
    write: Arc<ChannelWriteHalf<Msg>>,
}

impl Input {
    /// Gives it bytes; returns when they are on their way.
    pub(crate) async fn say(&self, bytes: Bytes) -> Result<(), SandboxError> {
        self.write.data_bytes(bytes).await.map_err(|_gone| {
            Failure::Lost {
                machine: self.machine.clone(),
            }
            .into()
        })
    }

    /// No more comes.
    pub(crate) async fn end(&self) {
        // One that has ended needs no end of its input.
        self.write.eof().await.unwrap_or_default();
    }

    /// Gives it all and ends. A process that does not read is no failure.
    pub(crate) async fn feed(&self, bytes: &[u8]) {
        if self.write.data_bytes(bytes.to_vec()).await.is_ok() {
            self.end().await;
        }
    }

    pub(crate) async fn resize(&self, window: Window) {
        let resized =
            self.write
                .window_change(u32::from(window.columns), u32::from(window.rows), 0, 0);
        // One that has ended has no terminal.
        resized.await.unwrap_or_default();
    }
}

impl Process {
    pub(crate) fn new(
        machine: String,
        connection: Arc<Connection>,
        slot: OwnedSemaphorePermit,
        mark: String,
        read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
    ) -> Self {
        Self {
            input: Input {
                machine: machine.clone(),
                write: Arc::new(write),
            },
            machine,
            end: None,
            leash: Leash {
                connection,
                what: format!("TIDINGS_EXEC={mark}"),
                read: Some(read),
                held: true,
            },
            _slot: slot,
        }
    }

    /// What the machine that it runs on is like.
    pub(crate) fn facts(&self) -> &Facts {
        &self.leash.connection.facts
    }

    pub(crate) fn input(&self) -> Input {
        self.input.clone()
    }

    /// The next piece of its output; `None` when it has ended. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Option<(Source, Bytes)> {
        loop {
            let read = self.leash.read.as_mut()?;
            let message = match self.end {
                None => read.wait().await,
                Some(_) => timeout(LINGER, read.wait()).await.unwrap_or(None),
            };
            match message {
                Some(ChannelMsg::Data { data }) => return Some((Source::Out, data)),
                Some(ChannelMsg::ExtendedData { data, .. }) => return Some((Source::Err, data)),
                Some(ChannelMsg::ExitStatus { exit_status }) => self.ends(End::Code(exit_status)),
                Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                    self.ends(End::Signal(128 + number(&signal_name)))
                }
                Some(ChannelMsg::Close) | None => {
                    self.leash.read = None;
                    return None;
                }
                Some(_) => {}
            }
        }
    }

    /// Nothing lives longer than its command: behind walls it can't, without them it is ended.
    fn ends(&mut self, end: End) {
        self.end = Some(end);
        self.leash.held = false;
        if matches!(self.leash.connection.facts.walls, Walls::Bare(_)) {
            drop(self.leash.connection.watch.order(&self.leash.what));
        }
    }

    /// How it ended, once [`Self::next`] said `None`.
    pub(crate) fn end(&self) -> Result<End, Failure> {
        self.end.ok_or_else(|| Failure::Lost {
            machine: self.machine.clone(),
        })
    }

    /// Kills it with all that it started, and waits until they are gone. If the waiting is dropped, the killing goes on.
    pub(crate) async fn kill(mut self) {
        let connection = Arc::clone(&self.leash.connection);
        if let Some(reaping) = self.leash.reap() {
            let gone = connection.tasks.spawn(reaping).await;
            if !matches!(gone, Ok(true)) {
                tracing::warn!(machine = self.machine, "a command could not be ended there");
            }
        }
    }
}

/// Held while a process may run. Dropped, it has the process killed with all that it started.
struct Leash {
    connection: Arc<Connection>,
    /// What the environment of its processes holds.
    what: String,
    /// Gone once the channel is closed, or is waited for by whoever kills.
    read: Option<ChannelReadHalf>,
    held: bool,
}

impl Leash {
    /// What must run until the process is gone; none if it is gone already.
    fn reap(&mut self) -> Option<impl Future<Output = bool> + Send + use<>> {
        self.held = false;
        let read = self.read.take()?;
        Some(reap(Arc::clone(&self.connection), self.what.clone(), read))
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        // Without a runtime the gateway itself is ending, and its connections with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let tasks = self.connection.tasks.clone();
            if let Some(reaping) = self.reap() {
                tasks.spawn_on(reaping, &runtime);
            }
        }
    }
}

/// Orders the end again until the channel is closed. A shell that had not begun when it was looked for begins after it; only
/// the channel's end says that there is none. Its output is taken meanwhile, so that it holds up nobody.
async fn reap(connection: Arc<Connection>, what: String, mut read: ChannelReadHalf) -> bool {
    for _ in 0..ROUNDS {
        let ordered = connection.watch.order(&what);
        tokio::select! {
            () = closed(&mut read) => return true,
            _clear = ordered => {}
        }
        if timeout(ROUND, closed(&mut read)).await.is_ok() {
            return true;
        }
    }
    connection.is_dead()
}

async fn closed(read: &mut ChannelReadHalf) {
    while let Some(message) = read.wait().await {
        if matches!(message, ChannelMsg::Close) {
            return;
        }
    }
}

/// The number that Linux gives a signal; 0 for one without a name here.
fn number(signal: &Sig) -> i64 {
    match signal {
        Sig::HUP => 1,
        Sig::INT => 2,
        Sig::QUIT => 3,
        Sig::ILL => 4,
        Sig::ABRT => 6,
        Sig::FPE => 8,
        Sig::KILL => 9,
        Sig::USR1 => 10,
        Sig::SEGV => 11,
        Sig::PIPE => 13,
        Sig::ALRM => 14,
        Sig::TERM => 15,
        Sig::Custom(_) => 0,
    }
}
