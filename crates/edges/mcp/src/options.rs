//! What a server is, and how patient the gateway is with it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use waybill::Secret;

/// A server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is.
    pub reach: Reach,
    /// The only tools of it that are offered, by the server's own names; `None` for all.
    pub only: Option<BTreeSet<String>>,
    /// How patient the gateway is.
    pub limits: Limits,
}

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program on this machine, spoken to over its standard input and output.
    Program(Program),
    /// A service, spoken to over HTTP.
    Address(Address),
}

/// A program. It runs as the gateway's own user: its owner chose it.
#[derive(Debug, Clone)]
pub struct Program {
    /// The command line that becomes a minder; see [`crate::minder`]. The server's own is added.
    pub launcher: Vec<String>,
    /// The server's command line.
    pub command: Vec<String>,
    /// All of its environment but the secrets.
    pub environment: Vec<(String, String)>,
    /// Variables whose values are secret.
    pub secrets: Vec<(String, Secret)>,
    /// Where it runs; made if it is not there.
    pub folder: PathBuf,
}

/// A service.
#[derive(Debug, Clone)]
pub struct Address {
    /// Its address; some carry their key in it.
    pub url: Secret,
    /// Further headers of each request.
    pub headers: Vec<(String, Secret)>,
}

/// How long the gateway waits for a server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// For the program to start or the service to answer, and for its list of tools.
    pub connect: Duration,
    /// For a call in silence. Each sign of progress begins it anew.
    pub call: Duration,
    /// For a call altogether, whatever progress it reports: a server must not hold a turn for ever.
    pub call_in_all: Duration,
    /// First rest after a failure; doubled each time.
    pub first_rest: Duration,
    /// Longest rest.
    pub longest_rest: Duration,
    /// How often a quiet server is asked whether it is still there, and for its list.
    pub look_again: Duration,
    /// Shortest time between two lists that a server makes us ask for.
    pub between_lists: Duration,
    /// How often the owner's word is looked for while a server waits for it.
    pub owner: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(60),
            call: Duration::from_secs(300),
            call_in_all: Duration::from_secs(1800),
            first_rest: Duration::from_secs(1),
            longest_rest: Duration::from_secs(300),
            look_again: Duration::from_secs(120),
            between_lists: Duration::from_secs(5),
            owner: Duration::from_secs(2),
        }
    }
}
