//! Listens on the sandbox's own loopback and hands the socket to the gateway, which answers there.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd as _;

use super::{Stop, hand};
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
    hand::over(listener.as_fd(), &Report::Listening).map_err(failed)?;
    Ok(port)
}
