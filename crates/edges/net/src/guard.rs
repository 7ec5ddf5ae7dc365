//! The guard of a client that is sent to addresses of somebody else's choice: to the public Internet, and nowhere else.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::NetError;
use crate::reach::{Reach, reach};

/// Ports of the web. Others are for machines that speak to machines, and some of those take a request for a command.
const PORTS: [u16; 6] = [80, 443, 8000, 8080, 8443, 8888];

/// Ends of names that mean a network's own machines: reserved for that (RFC 6761, 6762, 8375, 9476; ICANN's `internal`), or in
/// wide use for it.
const INTERNAL: [&str; 15] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "test",
    "invalid",
    "onion",
    "alt",
    "arpa",
    "consul",
];

/// Who knows where names lead.
#[async_trait]
pub trait Names: Send + Sync + std::fmt::Debug {
    /// The addresses of a name.
    ///
    /// # Errors
    /// If it is not known.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Whether an address is one of this machine's own: a public one may be, and what listens there may trust its neighbours.
    fn is_own(&self, address: IpAddr) -> bool;
}

/// The system's own names.
#[derive(Debug, Clone, Copy)]
pub struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((name, 0)).await?;
        Ok(found.map(|address| address.ip()).collect())
    }

    /// Nothing is sent: a machine that speaks to itself does so from the very address, and the system chooses it when it is asked for
    /// a way. The addresses of a network address translator before this machine can't be known.
    fn is_own(&self, address: IpAddr) -> bool {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let from = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect((address, 9))?;
            socket.local_addr()
        });
        from.is_ok_and(|from| from.ip() == address)
    }
}

/// Judges addresses as they are written, and what names lead to.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) names: Arc<dyn Names>,
    pub(crate) except: Vec<SocketAddr>,
}

impl Guard {
    /// Whether an address may be asked, as far as its text tells. Where a name leads is judged when it is looked up.
    pub(crate) fn admit(&self, url: &Url) -> Result<(), NetError> {
        if !url.username().is_empty() || url.password().is_some() {
            return forbidden("an address with a user or a password in it is not asked");
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if !PORTS.contains(&port) && !self.except.iter().any(|one| one.port() == port) {
            let ports = PORTS.map(|port| port.to_string()).join(", ");
            return forbidden(&format!(
                "port {port} is not one of the web's ({ports}), so it is not asked"
            ));
        }
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) => self.judge(address),
            Err(_a_name) => named(host),
        }
    }

    fn judge(&self, address: IpAddr) -> Result<(), NetError> {
        if self.except.iter().any(|one| one.ip() == address) {
            return Ok(());
        }
        match reach(address) {
            Reach::Open if self.names.is_own(address) => {
                forbidden("it leads to this machine itself, which is not asked from here")
            }
            Reach::Open => Ok(()),
            Reach::Private => forbidden(
                "it leads to this machine or a private network, which is not asked from here",
            ),
            Reach::Never => forbidden(
                "it leads to a link-local, multicast or metadata address, which is not asked from here",
            ),
        }
    }

    async fn lookup(&self, name: &str) -> Result<Vec<SocketAddr>, NetError> {
        let found = self.names.addresses(name).await;
        let found = found.map_err(|_unknown| NetError::NotSent {
            cause: "the name is not known".to_owned(),
        })?;
        let mut refused = NetError::NotSent {
            cause: "the name leads nowhere".to_owned(),
        };
        let mut open = Vec::new();
        for address in found {
            match self.judge(address) {
                // The port is the one of the request.
                Ok(()) => open.push(SocketAddr::new(address, 0)),
                Err(why) => refused = why,
            }
        }
        if open.is_empty() {
            Err(refused)
        } else {
            Ok(open)
        }
    }
}

/// A name that leads into a private network by its looks is not even looked up.
fn named(host: &str) -> Result<(), NetError> {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let internal = match name.rsplit_once('.') {
        None => true,
        Some((_, last)) => INTERNAL.contains(&last),
    };
    if internal {
        return forbidden("it is a name of a private network, which is not asked from here");
    }
    Ok(())
}

fn forbidden(cause: &str) -> Result<(), NetError> {
    Err(NetError::Forbidden {
        cause: cause.to_owned(),
    })
}

/// The guard as the HTTP client knows it: what it answers is all that is connected to.
pub(crate) struct Resolver(pub(crate) Arc<Guard>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = Arc::clone(&self.0);
        Box::pin(async move {
            let addresses = guard.lookup(name.as_str()).await?;
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose own public address is 93.184.215.14.
    #[derive(Debug)]
    struct Known(&'static str, &'static [&'static str]);

    #[async_trait]
    impl Names for Known {
        async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            if name != self.0 {
                return Err(io::ErrorKind::NotFound.into());
            }
            Ok(self.1.iter().map(|text| text.parse().unwrap()).collect())
        }

        fn is_own(&self, address: IpAddr) -> bool {
            address == IpAddr::from([93, 184, 215, 14])
        }
    }

    fn guard(addresses: &'static [&'static str]) -> Guard {
        Guard {
            names: Arc::new(Known("site.example", addresses)),
            except: Vec::new(),
        }
    }

    #[test]
    fn what_is_asked_by_its_text() {
        let guard = guard(&[]);
        let admits = |text: &str| guard.admit(&Url::parse(text).unwrap()).is_ok();
        for fine in [
            "https://site.example/",
            "https://site.example./",
            "http://site.example:8080/x?y#z",
            "https://1.1.1.1/",
            "https://[2606:4700::1111]/",
            "https://localhost.example.org/",
            "https://bücher.example/",
        ] {
            assert!(admits(fine), "{fine}");
        }
        for bad in [
            "http://169.254.169.254/latest/meta-data/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://[::1]/",
            "http://[64:ff9b::10.0.0.1]/",
            "http://[2002:7f00:1::]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://0/",
            "http://100.64.0.1/",
            "http://10.0.0.1/",
            "http://192.168.1.1/",
            "http://203.0.113.1/",
            "http://224.0.0.1/",
            "http://93.184.215.14/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://a.localhost/",
            "http://router/",
            "http://nas.local/",
            "http://metadata.google.internal/",
            "http://printer.lan/",
            "http://x.home.arpa/",
            "http://1.0.0.127.in-addr.arpa/",
            "http://user@site.example/",
            "http://user:pw@site.example/",
            "http://:pw@site.example/",
            "http://site.example:22/",
            "http://site.example:6379/",
            "https://site.example:0/",
            "http://１２７.0.0.1/",
            "http://127。0。0。1/",
        ] {
            assert!(!admits(bad), "{bad}");
        }
    }

    #[tokio::test]
    async fn a_name_leads_to_judged_addresses_alone() {
        let table: [(&'static [&'static str], Result<usize, &str>); 7] = [
            (&["1.1.1.1", "2606:4700::1111"], Ok(2)),
            (&["1.1.1.1", "127.0.0.1", "10.0.0.1"], Ok(1)),
            (&["127.0.0.1"], Err("private network")),
            (&["::ffff:10.0.0.1"], Err("private network")),
            (&["169.254.169.254"], Err("metadata")),
            (&["93.184.215.14"], Err("this machine itself")),
            (&[], Err("leads nowhere")),
        ];
        for (addresses, expected) in table {
            let found = guard(addresses).lookup("site.example").await;
            match (found, expected) {
                (Ok(found), Ok(count)) => assert_eq!(found.len(), count, "{addresses:?}"),
                (Err(error), Err(words)) => {
                    assert!(error.to_string().contains(words), "{addresses:?}: {error}");
                }
                (found, _) => panic!("{addresses:?}: {found:?}"),
            }
        }
        assert!(guard(&[]).lookup("other.example").await.is_err());
    }

    #[test]
    fn this_machine_knows_its_own_addresses() {
        assert!(SystemNames.is_own(Ipv4Addr::LOCALHOST.into()));
        assert!(!SystemNames.is_own(Ipv4Addr::new(192, 0, 2, 1).into()));
    }
}
