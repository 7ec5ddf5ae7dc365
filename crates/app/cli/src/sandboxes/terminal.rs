//! The person's own terminal, lent to a program.

use std::io::{self, IsTerminal as _};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use sandbox::Window;

/// Usual size of a terminal that does not tell its own.
const USUAL: Window = Window {
    rows: 24,
    columns: 80,
};

/// Is there a person at both ends?
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Its size now.
pub(super) fn window() -> Window {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => Window {
            rows: size.ws_row,
            columns: size.ws_col,
        },
        Ok(_) | Err(_) => USUAL,
    }
}

/// Every key goes to the program, `^C` too. Dropped, the terminal is as it was.
pub(super) struct Raw(Termios);

impl Raw {
    /// Begins.
    pub(super) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Err(error) = tcsetattr(io::stdin(), OptionalActions::Now, &self.0) {
            eprintln!("tidings: the terminal could not be put back ({error}); type: reset");
        }
    }
}
