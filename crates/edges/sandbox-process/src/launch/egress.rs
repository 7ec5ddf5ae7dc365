//! Listens on the sandbox's own loopback and hands the socket to the gateway, which answers there.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::Stop;
use crate::plan::Report;

/// Returns the port. This side's own descriptor is closed by then, so that no command can take its place.
pub(super) fn hand_over() -> Result<u16, Stop> {
    let failed = |source: io::Error| {
        Stop::Failed(format!(
            "the sandbox's way to the egress proxy can't be made: {source}"
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let mut line = serde_json::to_vec(&Report::Listening).map_err(|error| failed(error.into()))?;
    line.push(b'\n');
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let handed = [listener.as_fd()];
    if !rights.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(failed(io::Error::other("no room for a socket")));
    }
    let sent = sendmsg(
        io::stderr().as_fd(),
        &[IoSlice::new(&line)],
        &mut rights,
        SendFlags::NOSIGNAL,
    )
    .map_err(|error| failed(error.into()))?;
    if sent < line.len() {
        return Err(failed(io::ErrorKind::WriteZero.into()));
    }
    Ok(port)
}
