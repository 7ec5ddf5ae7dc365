//! Hands an open descriptor to the gateway, together with the report that says what it is.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::plan::Report;

pub(super) fn over(handed: BorrowedFd<'_>, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let handed = [handed];
    if !rights.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    let sent = sendmsg(
        io::stderr().as_fd(),
        &[IoSlice::new(&line)],
        &mut rights,
        SendFlags::NOSIGNAL,
    )?;
    if sent < line.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}
