//! Turns on the loopback of an own network, with one netlink message.

use std::io;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// linux/rtnetlink.h: RTM_NEWLINK.
const NEW_LINK: u16 = 16;
/// linux/netlink.h: NLM_F_REQUEST | NLM_F_ACK.
const REQUEST_AND_ANSWER: u16 = 1 | 4;
/// linux/if.h: IFF_UP.
const UP: u32 = 1;
/// The loopback is the first interface of each network namespace.
const LOOPBACK: i32 = 1;
/// nlmsghdr and ifinfomsg.
const LENGTH: u32 = 32;

pub(super) fn up() -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend_from_slice(&LENGTH.to_ne_bytes());
    message.extend_from_slice(&NEW_LINK.to_ne_bytes());
    message.extend_from_slice(&REQUEST_AND_ANSWER.to_ne_bytes());
    message.extend_from_slice(&1u32.to_ne_bytes());
    message.extend_from_slice(&0u32.to_ne_bytes());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(&LOOPBACK.to_ne_bytes());
    message.extend_from_slice(&UP.to_ne_bytes());
    message.extend_from_slice(&UP.to_ne_bytes());
    sendto(
        &socket,
        &message,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0; 256];
    recv(&socket, &mut answer, RecvFlags::empty())?;
    Ok(())
}
