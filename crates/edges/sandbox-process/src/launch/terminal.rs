//! A terminal of the sandbox's own, and what is carried between it and the gateway.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::Stop;

const PIECE: usize = 16 << 10;
/// What a carrying thread needs.
const STACK: usize = 128 << 10;

/// Both ends. The command sits at the inner one; process 1 holds the outer one.
pub(super) struct Terminal {
    outer: OwnedFd,
    inner: OwnedFd,
}

/// Makes one and takes it as this session's: keys like `^C` reach the commands then. Process 1 leads the session; the kernel
/// keeps such signals from it.
pub(super) fn open((rows, columns): (u16, u16)) -> Result<Terminal, Stop> {
    let failed = |error: rustix::io::Errno| {
        Stop::Failed(format!(
            "this machine's kernel gives the sandbox no terminal ({error}); start the command without one"
        ))
    };
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = openpt(flags).map_err(failed)?;
    unlockpt(&outer).map_err(failed)?;
    let inner = ioctl_tiocgptpeer(&outer, flags).map_err(failed)?;
    rustix::process::ioctl_tiocsctty(&inner).map_err(failed)?;
    resize(&outer, sandbox::Window { rows, columns });
    Ok(Terminal { outer, inner })
}

/// Tells it its size; the kernel tells those who sit at it.
pub(super) fn resize(terminal: impl AsFd, window: sandbox::Window) {
    let size = Winsize {
        ws_row: window.rows,
        ws_col: window.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap_or_default();
}

impl Terminal {
    /// The inner end once more, for a stream of the command.
    pub(super) fn stream(&self) -> io::Result<Stdio> {
        Ok(self.inner.try_clone()?.into())
    }

    /// Begins to carry; the command has begun, and this side's inner end is closed. The first thread ends when nobody sits at the
    /// terminal any more and all that was said is told.
    pub(super) fn carry(self) -> io::Result<(OwnedFd, JoinHandle<()>)> {
        let Self { outer, inner } = self;
        drop(inner);
        let (from, into, kept) = (outer.try_clone()?, outer.try_clone()?, outer);
        let thread = || std::thread::Builder::new().stack_size(STACK);
        thread().spawn(move || carry(io::stdin().as_fd(), into.as_fd()))?;
        let out = thread().spawn(move || carry(from.as_fd(), io::stdout().as_fd()))?;
        Ok((kept, out))
    }
}

/// Carries until one side ends.
fn carry(from: BorrowedFd<'_>, into: BorrowedFd<'_>) {
    let Ok(into) = into.try_clone_to_owned() else {
        return;
    };
    let mut into = std::fs::File::from(into);
    let mut piece = vec![0; PIECE];
    loop {
        match rustix::io::read(from, piece.as_mut_slice()) {
            Ok(0) => return,
            Ok(length) => {
                let (bytes, _) = piece.split_at(length.min(PIECE));
                if into.write_all(bytes).is_err() {
                    return;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            // A terminal's way to say that all have left.
            Err(_left) => return,
        }
    }
}
