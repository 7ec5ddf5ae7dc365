//! The wire between the gateway and one run of the launcher: a socket that is the launcher's standard error.
//!
//! The launcher tells its reports on it, one line of JSON each, and may hand over one socket with a report. The gateway tells new
//! sizes of a terminal. Whoever finds the other end closed ends: that is how a lost gateway, a kill and a drop all look.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::sync::OnceLock;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, Shutdown, recvmsg, shutdown,
};
use sandbox::Window;
use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::plan::size;

/// Why the gateway ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Its time was over, or nobody wants it any more.
    Killed,
    /// It had nearly filled the disk.
    DiskFilled,
    /// The owner stopped the sandbox.
    Stopped,
}

/// The gateway's end.
#[derive(Debug)]
pub(crate) struct Control {
    stream: UnixStream,
    cut: OnceLock<Cut>,
}

impl Control {
    /// Both ends: the gateway's, and the launcher's standard error.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = Pair::pair()?;
        ours.set_nonblocking(true)?;
        let control = Self {
            stream: UnixStream::from_std(ours)?,
            cut: OnceLock::new(),
        };
        Ok((control, theirs.into()))
    }

    /// The next piece, and the socket that was handed over with it; no bytes at the end. May be dropped and called again.
    pub(crate) async fn hear(&self, into: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
        self.stream
            .async_io(Interest::READABLE, || {
                let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
                let mut rights = RecvAncillaryBuffer::new(&mut space);
                let got = recvmsg(
                    &self.stream,
                    &mut [IoSliceMut::new(into)],
                    &mut rights,
                    RecvFlags::CMSG_CLOEXEC,
                )?;
                let mut handed = None;
                for message in rights.drain() {
                    if let RecvAncillaryMessage::ScmRights(mut sockets) = message {
                        handed = sockets.next();
                    }
                }
                Ok((got.bytes, handed))
            })
            .await
    }

    /// Tells the terminal's new size. A launcher that does not listen misses it.
    pub(crate) fn resize(&self, window: Window) {
        if let Err(error) = self.stream.try_write(&size::told(window)) {
            tracing::debug!(%error, "a terminal's new size was not told");
        }
    }

    /// Ends the run. The first reason counts.
    pub(crate) fn end(&self, why: Cut) {
        self.cut.get_or_init(|| why);
        // It may have ended by itself.
        shutdown(&self.stream, Shutdown::Both).unwrap_or_default();
    }

    /// Why the gateway ended the run, if it did.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.cut.get().copied()
    }
}
