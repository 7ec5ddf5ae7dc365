//! What a person types. Lines that come at once, as a paste does, are one message.

use std::io::BufRead as _;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;

use crate::exit::Failure;

/// Lines that come within so long belong together.
const PASTE: Duration = Duration::from_millis(40);
/// Lines that wait; the terminal waits after that.
const WAITING: usize = 64;

/// The lines that are typed.
pub(crate) struct Typed {
    lines: mpsc::Receiver<String>,
}

impl Typed {
    /// Reads standard input from now on.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let (sender, lines) = mpsc::channel(WAITING);
        std::thread::Builder::new()
            .name("typed".to_owned())
            .spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    let Ok(line) = line else { return };
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            })
            .context("no thread for standard input")?;
        Ok(Self { lines })
    }

    /// Nobody types.
    pub(crate) fn nobody() -> Self {
        Self {
            lines: mpsc::channel(1).1,
        }
    }

    /// The next message; `None` at the end of input.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let mut text = self.lines.recv().await?;
        while let Ok(Some(more)) = tokio::time::timeout(PASTE, self.lines.recv()).await {
            text.push('\n');
            text.push_str(&more);
        }
        Some(text)
    }
}
