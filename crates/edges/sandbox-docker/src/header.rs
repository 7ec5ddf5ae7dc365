//! What the scripts say before, and after, a file's bytes.

/// A file as its opened handle was described: `SIZE LINKS MODE MTIME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) size: u64,
    pub(crate) links: u64,
    pub(crate) regular: bool,
    /// When it was last changed, as `stat` writes it: compared, never read.
    pub(crate) changed: String,
}

impl Opened {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim().splitn(4, ' ');
        let size = fields.next()?.parse().ok()?;
        let links = fields.next()?.parse().ok()?;
        let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
        let changed = fields.next()?.to_owned();
        Some(Self {
            size,
            links,
            regular: mode & S_IFMT == S_IFREG,
            changed,
        })
    }

    /// The same bytes, as far as size and time of change tell. Names may have come or gone meanwhile.
    pub(crate) fn unchanged(&self, after: &Self) -> bool {
        self.size == after.size && self.changed == after.changed
    }
}

/// The bits of a mode that say what kind of thing it is (`inode(7)`).
const S_IFMT: u32 = 0o170_000;
const S_IFREG: u32 = 0o100_000;
const S_IFDIR: u32 = 0o040_000;

/// What `capture` says before the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing there; names of regular files beside it follow.
    Missing,
    /// There, but no regular file.
    Other(&'static str),
    /// There, and not to be read.
    Closed,
    /// Opened: what it is, and where the kernel says it lies.
    Opened(Opened, String),
}

impl Found {
    /// Reads the words up to the first NUL, or the whole answer if it has none.
    pub(crate) fn parse(header: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(header);
        let (line, rest) = text.split_once('\n')?;
        let kind = |kind| Some(Self::Other(kind));
        match line {
            "missing" => Some(Self::Missing),
            "directory" => kind("directory"),
            "fifo" => kind("fifo"),
            "socket" => kind("socket"),
            "device" => kind("device"),
            "closed" => Some(Self::Closed),
            _ => {
                let opened = Opened::parse(line.strip_prefix("ok ")?)?;
                let place = rest.strip_suffix('\n')?;
                // Of a file whose name is gone the kernel says so; its place is what counts.
                let place = place.strip_suffix(" (deleted)").unwrap_or(place);
                place
                    .starts_with('/')
                    .then(|| Self::Opened(opened, place.to_owned()))
            }
        }
    }
}

/// One line of `list`: `MODE SIZE ./NAME`.
pub(crate) fn entry(line: &str) -> Option<(sandbox::EntryKind, u64, &str)> {
    let mut fields = line.splitn(3, ' ');
    let mode = u32::from_str_radix(fields.next()?, 16).ok()?;
    let size = fields.next()?.parse().ok()?;
    let name = fields.next()?.strip_prefix("./")?;
    let kind = match mode & S_IFMT {
        S_IFREG => sandbox::EntryKind::File,
        S_IFDIR => sandbox::EntryKind::Folder,
        _ => sandbox::EntryKind::Other,
    };
    Some((kind, size, name))
}

#[cfg(test)]
mod tests {
    use super::{Found, Opened, entry};
    use sandbox::EntryKind;

    #[test]
    fn headers_are_read_or_refused() {
        let opened = Opened {
            size: 6,
            links: 1,
            regular: true,
            changed: "2026-01-02 03:04:05.000000006 +0000".to_owned(),
        };
        let line = "ok 6 1 81a4 2026-01-02 03:04:05.000000006 +0000\n";
        for (header, found) in [
            (
                format!("{line}/workspace/a b\n"),
                Some(Found::Opened(opened.clone(), "/workspace/a b".to_owned())),
            ),
            (
                format!("{line}/x (deleted)\n"),
                Some(Found::Opened(opened.clone(), "/x".to_owned())),
            ),
            (
                format!("{line}/a\nb\n"),
                Some(Found::Opened(opened.clone(), "/a\nb".to_owned())),
            ),
            (format!("{line}pipe:[12]\n"), None),
            (line.to_owned(), None),
            ("ok 6 1\n/x\n".to_owned(), None),
            ("missing\n".to_owned(), Some(Found::Missing)),
            ("fifo\n".to_owned(), Some(Found::Other("fifo"))),
            ("closed\n".to_owned(), Some(Found::Closed)),
            ("OCI runtime exec failed\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Found::parse(header.as_bytes()), found, "{header:?}");
        }
        let later = Opened {
            size: 7,
            ..opened.clone()
        };
        assert!(!opened.unchanged(&later));
        assert!(opened.unchanged(&Opened {
            links: 0,
            ..opened.clone()
        }));
    }

    #[test]
    fn entries_keep_odd_names() {
        assert_eq!(entry("81a4 12 ./a b"), Some((EntryKind::File, 12, "a b")));
        assert_eq!(
            entry("41ed 4096 ./-rf"),
            Some((EntryKind::Folder, 4096, "-rf"))
        );
        assert_eq!(entry("a1ff 3 ./link"), Some((EntryKind::Other, 3, "link")));
        assert_eq!(entry("second line of a name"), None);
    }
}
