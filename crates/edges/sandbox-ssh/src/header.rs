//! What the scripts say before, and after, a file's bytes.

/// A file as its opened handle was described: size, hard links, mode, time of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) size: u64,
    pub(crate) links: u64,
    pub(crate) regular: bool,
    /// As `stat` writes it: compared, never read.
    changed: String,
}

/// The bits of a mode that say what kind of thing it is (`inode(7)`).
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;

impl Opened {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim().splitn(4, ' ');
        let size = fields.next()?.parse().ok()?;
        let links = fields.next()?.parse().ok()?;
        let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
        Some(Self {
            size,
            links,
            regular: mode & KIND == REGULAR,
            changed: fields.next()?.to_owned(),
        })
    }

    /// The same bytes, as far as size and time of change tell. Names may have come or gone meanwhile.
    pub(crate) fn is_unchanged(&self, after: &Self) -> bool {
        self.size == after.size && self.changed == after.changed
    }
}

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing; names of regular files beside it follow.
    Missing,
    /// No regular file.
    Other(&'static str),
    /// A file that is not to be read.
    Closed,
    /// A file, opened, and where the kernel says it lies.
    Opened(Opened, String),
}

impl Found {
    /// Reads the words up to the first NUL, or the whole answer if it has none.
    pub(crate) fn parse(words: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(words).ok()?;
        let (line, rest) = text.split_once('\n')?;
        Some(match line {
            "missing" => Self::Missing,
            "directory" => Self::Other("directory"),
            "fifo" => Self::Other("fifo"),
            "socket" => Self::Other("socket"),
            "device" => Self::Other("device"),
            "closed" => Self::Closed,
            _ => {
                let opened = Opened::parse(line.strip_prefix("ok ")?)?;
                let place = rest.strip_suffix('\n')?;
                // Of a file whose name is gone the kernel says so; its place is what counts.
                let place = place.strip_suffix(" (deleted)").unwrap_or(place);
                if !place.starts_with('/') {
                    return None;
                }
                Self::Opened(opened, place.to_owned())
            }
        })
    }
}

/// One line of a listing: `MODE SIZE ./NAME`.
pub(crate) fn entry(line: &str) -> Option<sandbox::Entry> {
    let mut fields = line.splitn(3, ' ');
    let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
    let size = fields.next()?.parse().ok()?;
    let name = fields.next()?.strip_prefix("./")?;
    Some(sandbox::Entry {
        name: name.to_owned(),
        kind: match mode & KIND {
            REGULAR => sandbox::EntryKind::File,
            FOLDER => sandbox::EntryKind::Folder,
            _ => sandbox::EntryKind::Other,
        },
        size,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sandbox::EntryKind;

    use super::{Found, Opened, entry};

    #[test]
    fn headers_are_read_or_refused() {
        let line = "ok 6 1 81a4 2026-01-02 03:04:05.000000006 +0000\n";
        let opened = Opened::parse(line.strip_prefix("ok ").unwrap()).unwrap();
        assert!(opened.regular && opened.size == 6 && opened.links == 1);
        let at = |place: &str| Some(Found::Opened(opened.clone(), place.to_owned()));
        for (words, found) in [
            (format!("{line}/workspace/a b\n"), at("/workspace/a b")),
            (format!("{line}/x (deleted)\n"), at("/x")),
            (format!("{line}/a\nb\n"), at("/a\nb")),
            (format!("{line}pipe:[12]\n"), None),
            (line.to_owned(), None),
            ("ok 6 1\n/x\n".to_owned(), None),
            ("missing\n".to_owned(), Some(Found::Missing)),
            ("fifo\n".to_owned(), Some(Found::Other("fifo"))),
            ("closed\n".to_owned(), Some(Found::Closed)),
            ("bwrap: no\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Found::parse(words.as_bytes()), found, "{words:?}");
        }
        let later = Opened::parse("7 1 81a4 2026-01-02 03:04:05.000000006 +0000").unwrap();
        assert!(!opened.is_unchanged(&later) && opened.is_unchanged(&opened));
    }

    #[test]
    fn entries_keep_odd_names() {
        let read = |line| entry(line).map(|entry| (entry.kind, entry.size, entry.name));
        assert_eq!(
            read("81a4 12 ./a b"),
            Some((EntryKind::File, 12, "a b".to_owned()))
        );
        assert_eq!(
            read("41ed 4096 ./-rf"),
            Some((EntryKind::Folder, 4096, "-rf".to_owned()))
        );
        assert_eq!(
            read("a1ff 3 ./link"),
            Some((EntryKind::Other, 3, "link".to_owned()))
        );
        assert_eq!(read("second line of a name"), None);
    }

    proptest! {
        #[test]
        fn whatever_a_shell_says_is_read_or_refused(words in proptest::collection::vec(any::<u8>(), 0..80), line in ".{0,40}") {
            drop((Found::parse(&words), entry(&line), Opened::parse(&line)));
        }
    }
}
