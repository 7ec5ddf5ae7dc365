//! Which addresses are open, and to whom. The one place of the house that judges an address.
//!
//! Source: the IANA registries of special-purpose addresses (IPv4 and IPv6, 2025), and the addresses at which clouds serve credentials.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How an address may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The public Internet: by a name or as itself.
    Open,
    /// A private network, this machine, or nothing at all: only if the owner wrote the address itself.
    Private,
    /// Link-local, multicast, metadata: never.
    Never,
}

/// Addresses outside the link-local blocks at which clouds hand out credentials and the machine's own settings:
/// Azure, Alibaba, Oracle.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];

/// The same, IPv6: AWS, Google.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254),
];

/// Judges an address. One that carries another inside (mapped, NAT64, 6to4) is judged by that one.
#[must_use]
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> Reach {
    let [a, b, c, _] = address.octets();
    if a == 0
        || address.is_link_local()
        || address.is_multicast()
        || a >= 240
        || METADATA_V4.contains(&address)
    {
        return Reach::Never;
    }
    let special = address.is_private()
        || address.is_loopback()
        || address.is_documentation()
        // Shared by the customers of a provider.
        || (a == 100 && (64..128).contains(&b))
        // Protocol assignments, the old 6to4 relays, measurements between networks.
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    if special { Reach::Private } else { Reach::Open }
}

fn reach_v6(address: Ipv6Addr) -> Reach {
    if let Some(inner) = inner(address) {
        return reach_v4(inner);
    }
    let [first, second, ..] = address.segments();
    if address.is_unspecified()
        || address.is_unicast_link_local()
        || address.is_multicast()
        || METADATA_V6.contains(&address)
    {
        return Reach::Never;
    }
    let global = first & 0xe000 == 0x2000;
    let special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || (first == 0x3fff && second < 0x1000);
    if global && !special {
        Reach::Open
    } else {
        Reach::Private
    }
}

/// The IPv4 address that an IPv6 address stands for.
fn inner(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let pair = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        // Mapped; NAT64; what was called compatible, without `::` and `::1`.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(pair(high, low))
        }
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(pair(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => Some(pair(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Reach, reach};

    #[test]
    fn only_the_public_internet_is_open_and_metadata_is_never_reached() {
        let table: [(Reach, &[&str]); 3] = [
            (
                Reach::Open,
                &[
                    "1.1.1.1",
                    "93.184.215.14",
                    "100.63.255.255",
                    "100.128.0.0",
                    "172.15.255.255",
                    "172.32.0.0",
                    "192.167.255.255",
                    "192.0.1.1",
                    "198.17.255.255",
                    "223.255.255.255",
                    "2606:4700::1111",
                    "2a00:1450::1",
                    "::ffff:1.1.1.1",
                    "64:ff9b::1.1.1.1",
                    "2002:0101:0101::1",
                    "2001:4860::1",
                ],
            ),
            (
                Reach::Private,
                &[
                    "10.0.0.1",
                    "127.0.0.1",
                    "127.255.255.254",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.168.0.1",
                    "100.64.0.1",
                    "100.127.255.255",
                    "192.0.0.1",
                    "192.0.2.1",
                    "192.88.99.1",
                    "198.18.0.1",
                    "198.51.100.1",
                    "203.0.113.1",
                    "::1",
                    "fc00::1",
                    "fd12::1",
                    "fec0::1",
                    "2001:db8::1",
                    "2001::1",
                    "2001:20::1",
                    "3fff::1",
                    "100::1",
                    "5f00::1",
                    "64:ff9b:1::1",
                    "4000::1",
                    "::ffff:10.0.0.1",
                    "::ffff:127.0.0.1",
                    "64:ff9b::10.0.0.1",
                    "2002:7f00:0001::1",
                    "2002:c0a8:0001::1",
                    "::127.0.0.1",
                ],
            ),
            (
                Reach::Never,
                &[
                    "0.0.0.0",
                    "0.1.2.3",
                    "169.254.169.254",
                    "169.254.0.1",
                    "168.63.129.16",
                    "100.100.100.200",
                    "192.0.0.192",
                    "224.0.0.1",
                    "239.1.1.1",
                    "240.0.0.1",
                    "255.255.255.255",
                    "::",
                    "fe80::1",
                    "febf::1",
                    "ff02::1",
                    "fd00:ec2::254",
                    "fd20:ce::254",
                    "::ffff:169.254.169.254",
                    "64:ff9b::169.254.169.254",
                    "2002:a9fe:a9fe::",
                    "::169.254.169.254",
                    "::ffff:0.0.0.0",
                ],
            ),
        ];
        for (expected, addresses) in table {
            for address in addresses {
                assert_eq!(reach(address.parse().unwrap()), expected, "{address}");
            }
        }
    }
}
