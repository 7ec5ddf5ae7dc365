//! What a sandbox is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use waybill::Secret;

use crate::SandboxPath;

/// How sandboxes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Driver {
    /// Containers of a Docker engine.
    Docker,
    /// Namespaces, Landlock and seccomp on this machine.
    Process,
    /// Another machine, over SSH: what its account may do, commands may do.
    Ssh,
    /// No walls: commands run as the gateway's own user. Only on the owner's word.
    Host,
}

impl Driver {
    /// Whether the gateway itself builds the walls between commands and everything else, and vouches for them.
    #[must_use]
    pub fn has_own_walls(self) -> bool {
        match self {
            Self::Docker | Self::Process => true,
            Self::Ssh | Self::Host => false,
        }
    }
}

/// May the sandbox reach others?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// No network at all.
    #[default]
    None,
    /// The engine's ordinary bridge.
    Bridge,
}

/// Somewhere that a sandbox without a network may still reach, through the gateway's proxy.
///
/// Text form: `HOST:PORT`. A host is a name (`example.org`, or `*.example.org` for whatever is below it, itself not included)
/// or an address (`93.184.215.14`, `[2606:2800::1]`). Names compare without regard to case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Destination {
    /// The host in small letters, without brackets and without a last dot.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Destination {
    /// Is this host and port what is meant? `host` may be a name or an address, in any case, with or without a last dot.
    #[must_use]
    pub fn covers(&self, host: &str, port: u16) -> bool {
        if port != self.port {
            return false;
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        match self.host.strip_prefix("*.") {
            Some(domain) => host
                .strip_suffix(domain)
                .and_then(|rest| rest.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty()),
            None => host == self.host,
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(out, "[{}]:{}", self.host, self.port)
        } else {
            write!(out, "{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Destination {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not HOST:PORT, like example.org:443");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port
            .parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(wrong)?;
        let address = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(address) = address {
            let address: Ipv6Addr = address.parse().map_err(|_malformed| wrong())?;
            return Ok(Self {
                host: address.to_string(),
                port,
            });
        }
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if name.len() > 253 || !name.split('.').all(label) {
            return Err(wrong());
        }
        Ok(Self { host, port })
    }
}

impl TryFrom<String> for Destination {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

/// A machine that is reached over SSH.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Name or address.
    pub host: String,
    /// Port, usually 22.
    pub port: u16,
    /// The account there.
    pub user: String,
    /// The private key, in OpenSSH's own format.
    pub key: Secret,
    /// The host's public key, as a line of `known_hosts` has it (`ssh-ed25519 AAAA…`) or as its fingerprint (`SHA256:…`).
    pub host_key: String,
    /// Folder of the sandboxes there, below the account's home unless absolute.
    pub folder: String,
}

/// May commands write through a mount?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MountMode {
    /// Read only.
    Ro,
    /// Read and write.
    Rw,
    /// Read only, and nothing from it may ever be captured.
    Secret,
}

/// A folder of the host that the owner shows to a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mount {
    /// The folder on the host, as the owner wrote it; drivers alone look at it.
    pub host: String,
    /// Where the sandbox sees it.
    pub at: SandboxPath,
    /// What may be done through it.
    pub mode: MountMode,
}

/// Bounds of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory in bytes.
    pub memory: u64,
    /// Processor cores.
    pub cpus: f64,
    /// Processes and threads.
    pub pids: u32,
    /// Longest run of one command, in seconds.
    pub command_seconds: u64,
    /// Kept output of one command, in bytes, head and tail together.
    pub output_bytes: usize,
    /// Unused for this long, in seconds, and the sandbox may be stopped.
    pub idle_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 2 << 30,
            cpus: 1.0,
            pids: 256,
            command_seconds: 180,
            output_bytes: 64 << 10,
            idle_seconds: 3600,
        }
    }
}

/// What a sandbox is made of. Two specs that differ in a field are two sandboxes.
#[derive(Debug, Clone)]
pub struct SandboxSpec {
    /// How it is made.
    pub driver: Driver,
    /// The image, for drivers that have one.
    pub image: String,
    /// Folders of the host.
    pub mounts: Vec<Mount>,
    /// Environment of every command.
    pub env: BTreeMap<String, String>,
    /// Environment that is secret: never on a command line, in an inspect output that the agent reads, or in a log.
    pub secret_env: BTreeMap<String, Secret>,
    /// Network.
    pub network: Network,
    /// What may be reached all the same where the network is [`Network::None`]; empty: nothing.
    pub allow: Vec<Destination>,
    /// The machine, for [`Driver::Ssh`].
    pub remote: Option<Remote>,
    /// Bounds.
    pub limits: Limits,
}

#[cfg(test)]
mod tests {
    use super::Destination;

    #[test]
    fn a_destination_is_a_host_and_a_port_and_nothing_else() {
        for (text, shown) in [
            ("example.org:443", "example.org:443"),
            ("Example.ORG.:443", "example.org:443"),
            ("*.example.org:80", "*.example.org:80"),
            ("93.184.215.14:8080", "93.184.215.14:8080"),
            ("[2606:2800:0::1]:443", "[2606:2800::1]:443"),
        ] {
            let read: Destination = text.parse().unwrap();
            assert_eq!(read.to_string(), shown);
            assert_eq!(shown.parse(), Ok(read));
        }
        for text in [
            "",
            "example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            ":443",
            "a b:1",
            "https://example.org:443",
            "*:443",
            "*.:443",
            "e*.org:443",
            "[::1:443",
            "::1:443",
            "a..b:443",
            "user@example.org:443",
            "example.org/x:443",
        ] {
            assert!(text.parse::<Destination>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_star_covers_what_is_below_a_domain_and_not_the_domain_or_its_like() {
        let star: Destination = "*.example.org:443".parse().unwrap();
        for (host, covered) in [
            ("a.example.org", true),
            ("A.B.Example.org.", true),
            ("example.org", false),
            (".example.org", false),
            ("badexample.org", false),
            ("a.example.org.evil.net", false),
        ] {
            assert_eq!(star.covers(host, 443), covered, "{host}");
        }
        assert!(!star.covers("a.example.org", 80));
    }
}
