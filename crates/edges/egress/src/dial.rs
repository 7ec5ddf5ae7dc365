//! From what was asked for to a connection: the list, the name, each address, and only then the network.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hyper::StatusCode;
use sandbox::Destination;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::outside::Outside;
use net::reach::{Reach, reach};

/// Why there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not on the list.
    NotListed,
    /// Nothing but addresses of private networks.
    Private,
    /// Nothing but addresses that are never reached.
    Never,
    /// The name is not known.
    Unknown,
    /// Nobody answered.
    Failed,
    /// Nobody answered in time.
    TimedOut,
}

impl Fault {
    /// As HTTP has it.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::NotListed | Self::Private | Self::Never => StatusCode::FORBIDDEN,
            Self::Unknown | Self::Failed => StatusCode::BAD_GATEWAY,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// One sentence for the program in the sandbox and whoever reads its output.
    pub(crate) fn sentence(self, wanted: &Destination) -> String {
        match self {
            Self::NotListed => format!(
                "{wanted} is not on this sandbox's allow list; the owner can add it under profiles.NAME.sandbox.allow"
            ),
            Self::Private => format!(
                "{wanted} leads to a private network, which is reached only where the owner lists the address itself, not a name, \
                 under profiles.NAME.sandbox.allow"
            ),
            Self::Never => format!(
                "{wanted} leads to a link-local, multicast or metadata address, which no sandbox reaches"
            ),
            Self::Unknown => format!("the name of {wanted} is not known"),
            Self::Failed => format!("{wanted} can't be reached"),
            Self::TimedOut => format!("{wanted} did not answer in time"),
        }
    }
}

/// A connection to what was asked for, if the list and the addresses allow it. `within` is for the name and the connection together.
pub(crate) async fn dial(
    outside: &dyn Outside,
    allow: &[Destination],
    wanted: &Destination,
    within: Duration,
) -> Result<TcpStream, Fault> {
    let listed: Vec<&Destination> = allow
        .iter()
        .filter(|entry| entry.covers(&wanted.host, wanted.port))
        .collect();
    if listed.is_empty() {
        return Err(Fault::NotListed);
    }
    // `*.0.0.1` covers an address by its text; the owner wrote no address there.
    let written = listed
        .iter()
        .any(|entry| entry.host.parse::<IpAddr>().is_ok());
    let open = async {
        let addresses = judged(outside, wanted, written).await?;
        first(outside, &addresses, within).await
    };
    timeout(within, open).await.unwrap_or(Err(Fault::TimedOut))
}

/// The addresses that may be connected to; never empty.
async fn judged(
    outside: &dyn Outside,
    wanted: &Destination,
    written: bool,
) -> Result<Vec<SocketAddr>, Fault> {
    let found = match wanted.host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_a_name) => outside
            .addresses(&wanted.host)
            .await
            .map_err(|_unknown| Fault::Unknown)?,
    };
    let mut fault = Fault::Unknown;
    let mut open = Vec::new();
    for address in found {
        match reach(address) {
            Reach::Private if !written => fault = Fault::Private,
            Reach::Never => fault = Fault::Never,
            Reach::Open | Reach::Private => open.push(SocketAddr::new(address, wanted.port)),
        }
    }
    if open.is_empty() {
        Err(fault)
    } else {
        Ok(open)
    }
}

/// Tries the addresses in their order; each has its share of the time.
async fn first(
    outside: &dyn Outside,
    addresses: &[SocketAddr],
    within: Duration,
) -> Result<TcpStream, Fault> {
    let count = u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut fault = Fault::Failed;
    for address in addresses {
        match timeout(within / count, outside.connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(_refused)) => fault = Fault::Failed,
            Err(_elapsed) => fault = Fault::TimedOut,
        }
    }
    Err(fault)
}
