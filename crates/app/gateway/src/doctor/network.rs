//! What a sandbox's own kernel says of its network. Pure.

use sandbox::{Driver, Network, SandboxSpec};

use super::{Check, Verdict};

/// Prints the routes of both families, one a line after a mark, and the proxy that commands are told of.
pub(super) const LOOK: &str = "for f in route ipv6_route; do while read -r l; do echo \"$f $l\"; done < /proc/net/$f; done 2>/dev/null; \
                               echo \"proxy $HTTPS_PROXY$https_proxy\"";

/// Judges what [`LOOK`] printed.
pub(super) fn judge(spec: &SandboxSpec, printed: &str) -> Check {
    // Without a network of its own to take away, that driver runs nothing; what it runs is judged like all others.
    if spec.driver == Driver::Ssh && spec.network == Network::Bridge {
        return Check::new(
            "network",
            Verdict::Warning,
            "bridge: it is the other machine's own; what that reaches, commands reach",
        );
    }
    let routes = printed.lines().filter(|line| leads_out(line)).count();
    let proxied = printed
        .lines()
        .filter_map(|line| line.strip_prefix("proxy "))
        .any(|address| !address.trim().is_empty());
    match spec.network {
        Network::None if routes > 0 => Check::bad(
            "network",
            "the sandbox reaches others although network = \"none\"; stop it with `tidings sandboxes stop`, and report this",
        ),
        Network::None if spec.allow.is_empty() => {
            Check::good("network", "none: there is no way to any other machine")
        }
        Network::None if proxied => Check::good(
            "network",
            format!(
                "none but through the gateway's proxy, to {} destinations of the allow list",
                spec.allow.len()
            ),
        ),
        Network::None => Check::bad(
            "network",
            "there is an allow list, and commands are not told of the proxy; stop the sandbox with `tidings sandboxes stop` so that it is \
             made anew",
        ),
        Network::Bridge if routes == 0 => Check::bad(
            "network",
            "network = \"bridge\", and the sandbox has no way out; look at the engine's bridge and the firewall of this machine",
        ),
        Network::Bridge => Check::good(
            "network",
            "bridge: commands reach the network of this machine and what is behind it",
        ),
    }
}

/// A route over a device that is not the sandbox's own loopback.
fn leads_out(line: &str) -> bool {
    let mut words = line.split_whitespace();
    match words.next() {
        // The device is the first word of an IPv4 row, and the last of an IPv6 row.
        Some("route") => words
            .next()
            .is_some_and(|device| device != "Iface" && device != "lo"),
        Some("ipv6_route") => words.last().is_some_and(|device| device != "lo"),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sandbox::Limits;

    use super::*;

    const HEAD: &str = "route Iface\tDestination\tGateway\tFlags\nipv6_route 00000000000000000000000000000001 80 0000 00 lo\n";
    const OUT: &str = "route eth0\t00000000\t010011AC\t0003\n";
    const OUT_V6: &str = "ipv6_route 20010db8000000000000000000000000 40 0000 00 eth0\n";

    fn spec(network: Network, allow: &[&str]) -> SandboxSpec {
        SandboxSpec {
            driver: Driver::Docker,
            image: String::new(),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            secret_env: BTreeMap::new(),
            network,
            allow: allow.iter().map(|text| text.parse().unwrap()).collect(),
            remote: None,
            limits: Limits::default(),
        }
    }

    #[test]
    fn a_sandbox_that_reaches_others_without_leave_is_told() {
        let none = spec(Network::None, &[]);
        assert_eq!(
            judge(&none, &format!("{HEAD}proxy \n")).verdict,
            Verdict::Good
        );
        for out in [OUT, OUT_V6] {
            assert_eq!(
                judge(&none, &format!("{HEAD}{out}proxy \n")).verdict,
                Verdict::Bad,
                "{out}"
            );
        }
        let bridge = spec(Network::Bridge, &[]);
        assert_eq!(judge(&bridge, HEAD).verdict, Verdict::Bad);
        assert_eq!(
            judge(&bridge, &format!("{HEAD}{OUT}")).verdict,
            Verdict::Good
        );
        let listed = spec(Network::None, &["example.org:443"]);
        assert_eq!(
            judge(&listed, &format!("{HEAD}proxy \n")).verdict,
            Verdict::Bad
        );
        assert_eq!(
            judge(&listed, &format!("{HEAD}proxy http://127.0.0.1:3128\n")).verdict,
            Verdict::Good
        );
        assert_eq!(
            judge(
                &listed,
                &format!("{HEAD}{OUT}proxy http://127.0.0.1:3128\n")
            )
            .verdict,
            Verdict::Bad
        );
    }
}
