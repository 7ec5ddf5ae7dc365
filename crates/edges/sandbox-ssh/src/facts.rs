//! What a machine says of itself when it is first spoken to.

use crate::failure::printable;

/// An entry of its root folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder(String),
    Link { at: String, to: String },
}

/// Can commands be walled in?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Walls {
    /// With bubblewrap: where it lies, and whether it can forbid further user namespaces.
    Bubblewrap { program: String, seals: bool },
    /// Not: why.
    Bare(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `Linux 6.1.0`.
    pub(crate) system: String,
    /// Is the account root?
    pub(crate) root: bool,
    /// The account's home, without links.
    pub(crate) home: String,
    /// The folder of the sandboxes, without links.
    pub(crate) folder: String,
    /// Where the file lies that names the name servers, without links.
    pub(crate) names: String,
    pub(crate) walls: Walls,
    pub(crate) entries: Vec<Entry>,
    /// Begins the marks of all that is started over this connection; no other connection ever had it since the machine started.
    pub(crate) mark: String,
}

impl Facts {
    /// Reads the lines up to `ready`; says which is missing.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let one = |word: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
                .map(str::trim_end)
        };
        let absolute = |word: &str| {
            one(word)
                .filter(|path| path.starts_with('/'))
                .map(str::to_owned)
        };
        let walls = match (one("walls"), one("bare")) {
            (Some(walls), _) => {
                let (program, more) = walls.split_once(' ').unwrap_or((walls, ""));
                Walls::Bubblewrap {
                    program: program.to_owned(),
                    seals: !more.is_empty(),
                }
            }
            (None, Some(why)) => Walls::Bare(printable(why)),
            (None, None) => return Err("walls"),
        };
        Ok(Self {
            system: printable(one("system").ok_or("system")?),
            root: one("user").ok_or("user")? == "0",
            home: absolute("home").ok_or("home")?,
            folder: absolute("folder").ok_or("folder")?,
            names: absolute("names").unwrap_or_default(),
            walls,
            entries: text.lines().filter_map(entry).collect(),
            mark: one("ready")
                .filter(|mark| {
                    !mark.is_empty()
                        && mark
                            .bytes()
                            .all(|byte| byte.is_ascii_digit() || byte == b'-')
                })
                .ok_or("ready")?
                .to_owned(),
        })
    }

    /// Does the kernel count processes by user namespace, so that a bound on them falls on the sandbox alone? From 5.14 on.
    pub(crate) fn counts_apart(&self) -> bool {
        let mut numbers = self
            .system
            .rsplit(' ')
            .next()
            .unwrap_or_default()
            .split(|sign: char| !sign.is_ascii_digit())
            .map(|number| number.parse::<u32>().unwrap_or(0));
        let kernel = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        !self.root && kernel >= (5, 14)
    }
}

fn entry(line: &str) -> Option<Entry> {
    let plain = |at: &str| {
        at.strip_prefix('/')
            .is_some_and(|name| !name.is_empty() && !name.contains('/'))
    };
    if let Some(at) = line.strip_prefix("dir ") {
        return plain(at).then(|| Entry::Folder(at.to_owned()));
    }
    // A name with a space in it is no system folder.
    let (at, to) = line.strip_prefix("link ")?.split_once(' ')?;
    (plain(at) && !to.is_empty()).then(|| Entry::Link {
        at: at.to_owned(),
        to: to.to_owned(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::{Entry, Facts, Walls};

    pub(crate) const TEXT: &str = "system Linux 6.1.0-13-amd64\nuser 1000\nhome /home/ana\nfolder /home/ana/.tidings\n\
        names /run/systemd/resolve/stub-resolv.conf\nwalls /usr/bin/bwrap --disable-userns\nlink /bin usr/bin\ndir /etc\ndir /home\n\
        dir /odd name\ndir /usr\ndir /srv\ndir /var\ndir /run\nready 4711-99\n";

    #[test]
    fn a_machine_is_read_as_it_describes_itself() {
        let facts = Facts::parse(TEXT).unwrap();
        assert_eq!(facts.system, "Linux 6.1.0-13-amd64");
        assert_eq!(
            (facts.home.as_str(), facts.mark.as_str()),
            ("/home/ana", "4711-99")
        );
        assert!(!facts.root && facts.counts_apart());
        assert!(
            facts
                .entries
                .contains(&Entry::Folder("/odd name".to_owned()))
        );
        assert!(facts.entries.contains(&Entry::Link {
            at: "/bin".to_owned(),
            to: "usr/bin".to_owned()
        }));
        let walls = |text: &str| {
            Facts::parse(&TEXT.replace("walls /usr/bin/bwrap --disable-userns", text))
                .map(|facts| facts.walls)
        };
        assert_eq!(
            walls("walls /b "),
            Ok(Walls::Bubblewrap {
                program: "/b".to_owned(),
                seals: false
            })
        );
        assert_eq!(
            walls("bare no such thing"),
            Ok(Walls::Bare("no such thing".to_owned()))
        );
        assert_eq!(walls("x"), Err("walls"));
        assert_eq!(
            Facts::parse(&TEXT.replace("ready 4711-99", "ready a b")),
            Err("ready")
        );
        let old = Facts::parse(&TEXT.replace("6.1.0-13-amd64", "5.4.0")).unwrap();
        assert!(!old.counts_apart());
    }

    proptest! {
        #[test]
        fn whatever_a_machine_says_is_read_or_refused(text in "(?s).{0,200}", cut in 0..400_usize) {
            drop(Facts::parse(&text));
            let half: String = TEXT.chars().take(cut).collect();
            prop_assert_eq!(Facts::parse(&half).is_ok(), half.contains("ready 4711-9") || half.contains("ready 4"));
        }
    }
}
