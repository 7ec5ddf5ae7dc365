//! What an agent can do, by where it ends.

/// How far a command reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Its sandbox has a network, or destinations that it may reach.
    Network,
    /// There are no walls: it runs on a machine as somebody's own account.
    NoWalls,
}

/// Whether an address stood in the conversation before: in what a person wrote or in what a tool brought. One that the agent put
/// together by itself can carry data to whoever reads the requests there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seen {
    /// It did, to the letter.
    Before,
    /// It did not.
    Never,
}

/// What an agent wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Something inside its sandbox, or told to its own chat: nothing leaves.
    Inside,
    /// A command.
    Run(Reach),
    /// Reading a page.
    Fetch {
        /// Where.
        address: String,
        /// Whether it stood in the conversation.
        seen: Seen,
    },
    /// Asking the owner's search service.
    Search,
    /// A message to another chat than its own.
    Send {
        /// There, as the agent names it.
        to: String,
    },
    /// A tool of another program that only reads, as that program says.
    Read {
        /// The tool.
        tool: String,
        /// Whether every address in its arguments stood in the conversation.
        seen: Seen,
    },
    /// A tool of another program that may change something.
    Change {
        /// The tool.
        tool: String,
    },
    /// Writing down what later conversations will read.
    Remember,
    /// Making, changing or removing a scheduled job.
    Schedule,
    /// Changing the configuration.
    Configure,
    /// A tool that nobody gave a rule.
    Unknown {
        /// The tool.
        tool: String,
    },
}

/// What an answer "in this conversation" covers, besides the action itself: the same tool with the same target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Class(String);

impl Class {
    /// Its name, for the log.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Action {
    /// Whether something of it can reach somebody else than who asked, or what later turns do: the E of "untrusted, private,
    /// external".
    #[must_use]
    pub fn leaves(&self) -> bool {
        match self {
            // The search service is one that the owner chose, and no page can read what is asked there.
            Self::Inside | Self::Search => false,
            Self::Fetch { seen, .. } | Self::Read { seen, .. } => *seen == Seen::Never,
            Self::Run(_)
            | Self::Send { .. }
            | Self::Change { .. }
            | Self::Remember
            | Self::Schedule
            | Self::Configure
            | Self::Unknown { .. } => true,
        }
    }

    /// Whether it reads private data by itself: a command reads the sandbox's files and sends them in one go.
    #[must_use]
    pub fn reads_private(&self) -> bool {
        matches!(self, Self::Run(_))
    }

    /// What an answer for the conversation covers; `None`: each time is asked anew.
    #[must_use]
    pub fn class(&self) -> Option<Class> {
        let name = match self {
            Self::Run(Reach::Network) => "run with network".to_owned(),
            Self::Run(Reach::NoWalls) => "run without walls".to_owned(),
            Self::Fetch { address, .. } => format!("read {}", host(address)?),
            Self::Search => "search".to_owned(),
            Self::Send { to } => format!("send to {to}"),
            Self::Read { tool, .. } | Self::Change { tool } => format!("call {tool}"),
            Self::Remember => "remember".to_owned(),
            Self::Inside | Self::Schedule | Self::Configure | Self::Unknown { .. } => return None,
        };
        Some(Class(name))
    }

    /// What it is, as the end of "May I …?".
    #[must_use]
    pub fn question(&self) -> String {
        let named = |text: &str| super::plain(text, 200);
        match self {
            Self::Inside => "work in my sandbox".to_owned(),
            Self::Run(Reach::Network) => {
                "run commands that can reach the network, after I read text of others".to_owned()
            }
            Self::Run(Reach::NoWalls) => {
                "run commands on the machine itself, after I read text of others".to_owned()
            }
            Self::Fetch { address, .. } => {
                format!(
                    "open an address at {}",
                    named(&host(address).unwrap_or_default())
                )
            }
            Self::Search => "search the web".to_owned(),
            Self::Send { to } => format!("send a message to {}", named(to)),
            Self::Read { tool, .. } => format!("use {}, with an address of my own", named(tool)),
            Self::Change { tool } => format!("use {}, which may change something", named(tool)),
            Self::Remember => "change what I remember".to_owned(),
            Self::Schedule => "change scheduled jobs".to_owned(),
            Self::Configure => "change the configuration".to_owned(),
            Self::Unknown { tool } => format!("use {}", named(tool)),
        }
    }
}

/// The host of an address, with its port; `None` if it has none. What stands before an `@` is no host, whatever it looks like.
fn host(address: &str) -> Option<String> {
    let (_, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?.to_ascii_lowercase();
    if host.is_empty() { None } else { Some(host) }
}

/// Every web address in a text, as it stands there.
pub fn addresses(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("://").filter_map(move |(at, _)| {
        let before = text.as_bytes().get(..at)?;
        let scheme = ["https", "http"].into_iter().find(|scheme| {
            let start = before.len().checked_sub(scheme.len());
            start
                .and_then(|start| before.get(start..))
                .is_some_and(|end| end.eq_ignore_ascii_case(scheme.as_bytes()))
        })?;
        let from = text.get(at - scheme.len()..)?;
        let end = from
            .find(|sign: char| sign.is_whitespace() || matches!(sign, '"' | '<' | '>' | '`' | '\\'))
            .unwrap_or(from.len());
        let whole = from.get(..end)?;
        // What closes a sentence or a markdown link is not the address's own.
        Some(whole.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '*', '_']))
    })
}

/// The part of an address that is sent to its server.
#[must_use]
pub fn sent(address: &str) -> &str {
    address.split('#').next().unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_not_what_it_pretends_to_be() {
        for (address, is) in [
            ("https://a.example/x?y#z", Some("a.example")),
            ("https://good.example@evil.example/", Some("evil.example")),
            ("https://good.example\\@evil.example/", Some("good.example")),
            ("HTTP://A.Example:8080", Some("a.example:8080")),
            ("a.example", None),
            ("https:///x", None),
        ] {
            assert_eq!(host(address).as_deref(), is, "{address}");
        }
    }

    #[test]
    fn addresses_are_found_in_sentences_and_in_links() {
        let text = "See https://a.example/b?c=d, [this](http://x.example/y) and <HTTPS://Z.example>; ftp://no.example";
        let found: Vec<&str> = addresses(text).collect();
        assert_eq!(
            found,
            [
                "https://a.example/b?c=d",
                "http://x.example/y",
                "HTTPS://Z.example"
            ]
        );
        assert_eq!(addresses("none: ://, ttps://x, é://y").count(), 0);
        assert_eq!(sent("https://a.example/b?c#d"), "https://a.example/b?c");
    }
}
