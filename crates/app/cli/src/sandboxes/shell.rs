//! `tidings sandboxes shell`.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use sandbox::{Ended, Exit, Running};
use settings::{Environment, Home};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::terminal::{Raw, is_there, window};
use super::{Needs, with};
use crate::exit::Failure;

/// Pieces of input that wait for a sandbox that does not read; the person's terminal waits after that.
const WAITING: usize = 16;

/// Opens a shell in a profile's sandbox, or in the one with this id.
pub(crate) fn shell(
    home: &Home,
    name: &str,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    if !is_there() {
        return Err(Failure::Failed(
            "a shell needs a terminal: run this where a person types and reads".to_owned(),
        ));
    }
    let env = terminal_kind(environment);
    with(home, environment, Needs::Profiles, async |sandboxes| {
        let mut signals = Signals::begin()?;
        let running = sandboxes
            .shell(name, window(), env)
            .await
            .map_err(|error| Failure::Failed(error.to_string()))?;
        let input = typed()?;
        let raw = Raw::begin().context("the terminal can't be set")?;
        let end = carry(running, input, &mut signals).await;
        drop(raw);
        Ok(code(&end?))
    })
}

/// What programs must know of the terminal; a value that is no name of one is left out.
fn terminal_kind(environment: &dyn Environment) -> BTreeMap<String, String> {
    let good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '.' | '+' | '_');
    environment
        .get("TERM")
        .filter(|term| !term.is_empty() && term.len() <= 64 && term.chars().all(good))
        .map(|term| ("TERM".to_owned(), term))
        .into_iter()
        .collect()
}

/// What can happen to us meanwhile.
struct Signals {
    resized: Signal,
    hung_up: Signal,
    terminated: Signal,
}

impl Signals {
    fn begin() -> anyhow::Result<Self> {
        let watch = |kind| signal(kind).context("signals can't be watched");
        Ok(Self {
            resized: watch(SignalKind::window_change())?,
            hung_up: watch(SignalKind::hangup())?,
            terminated: watch(SignalKind::terminate())?,
        })
    }
}

/// What is typed, read in a thread of its own: a read from a terminal can't be given up.
fn typed() -> anyhow::Result<mpsc::Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    std::thread::Builder::new()
        .name("typed".to_owned())
        .spawn(move || {
            let mut piece = [0; 4096];
            let mut input = std::io::stdin().lock();
            while let Ok(count @ 1..) = input.read(&mut piece) {
                let bytes = piece.get(..count).unwrap_or_default().to_vec();
                if sender.blocking_send(bytes).is_err() {
                    return;
                }
            }
        })
        .context("no thread")?;
    Ok(receiver)
}

/// Carries bytes both ways until the shell ends, or we are told to.
async fn carry(
    mut running: Box<dyn Running>,
    mut input: mpsc::Receiver<Vec<u8>>,
    signals: &mut Signals,
) -> Result<Ended, Failure> {
    let mut open = true;
    loop {
        tokio::select! {
            piece = running.output() => match piece.map_err(gone)? {
                Some(bytes) => show(&bytes)?,
                None => return running.ended().await.map_err(gone),
            },
            typed = input.recv(), if open => match typed {
                Some(bytes) => running.write(&bytes).await.map_err(gone)?,
                None => {
                    open = false;
                    running.end_input().await;
                }
            },
            _ = signals.resized.recv() => running.resize(window()).await,
            _ = signals.hung_up.recv() => return killed(running).await,
            _ = signals.terminated.recv() => return killed(running).await,
        }
    }
}

async fn killed(running: Box<dyn Running>) -> Result<Ended, Failure> {
    running.kill().await;
    Err(Failure::Failed("the shell was ended".to_owned()))
}

fn gone(error: sandbox::SandboxError) -> Failure {
    Failure::Failed(error.to_string())
}

fn show(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .context("standard output is closed")
}

/// The shell's own exit code, as a shell would hand it on.
fn code(ended: &Ended) -> ExitCode {
    if let Some(note) = &ended.note {
        eprintln!("tidings: {}", crate::printable::printable(note));
    }
    match ended.exit {
        Exit::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        Exit::TimedOut | Exit::OutOfMemory => ExitCode::FAILURE,
    }
}
