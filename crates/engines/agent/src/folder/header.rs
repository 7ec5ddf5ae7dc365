//! What the packing command says before the archive: where the folder is, and which files have other names. Each ends with a
//! zero byte, and an empty one ends them.

use std::collections::BTreeSet;

use bytes::Bytes;

/// Most bytes of it.
const LONGEST: usize = 1 << 20;

/// It names more files than a zip may hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

#[derive(Debug, Default)]
pub(super) struct Header {
    bytes: Vec<u8>,
}

impl Header {
    /// Adds a piece; once the header is whole, returns what follows it.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Option<Bytes>, TooLong> {
        // The end may lie across two pieces.
        let from = self.bytes.len().saturating_sub(1);
        self.bytes.extend_from_slice(bytes);
        let fresh = self.bytes.get(from..).unwrap_or_default();
        let end = fresh
            .windows(2)
            .position(|pair| pair == [0, 0])
            .map(|end| from + end + 2);
        match end {
            Some(end) => Ok(Some(Bytes::from(self.bytes.split_off(end)))),
            None if self.bytes.len() > LONGEST => Err(TooLong),
            None => Ok(None),
        }
    }

    /// Where the folder is, as the sandbox's kernel says it; none if that is no absolute path in UTF-8.
    pub(super) fn top(&self) -> Option<String> {
        let top = self.bytes.split(|byte| *byte == 0).next()?;
        let top = String::from_utf8(top.to_vec()).ok()?;
        top.starts_with('/').then_some(top)
    }

    /// Files with other names, as the archive calls them.
    pub(super) fn linked(&self) -> BTreeSet<Vec<u8>> {
        let names = self.bytes.split(|byte| *byte == 0).skip(1);
        names
            .filter(|name| !name.is_empty())
            .map(|name| name.strip_prefix(b"./").unwrap_or(name).to_vec())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_read_wherever_it_is_cut() {
        let said = b"/work space\0./a\0./b/c\0\0\0tar";
        for piece in 1..=said.len() {
            let mut header = Header::default();
            let mut rest = Vec::new();
            let mut whole = false;
            for piece in said.chunks(piece) {
                if whole {
                    rest.extend_from_slice(piece);
                } else if let Some(after) = header.feed(piece).unwrap() {
                    whole = true;
                    rest.extend_from_slice(&after);
                }
            }
            assert_eq!(rest, b"\0tar", "by {piece}");
            assert_eq!(header.top().unwrap(), "/work space");
            let linked: Vec<Vec<u8>> = header.linked().into_iter().collect();
            assert_eq!(linked, [b"a".to_vec(), b"b/c".to_vec()]);
        }
        let mut header = Header::default();
        assert_eq!(
            header.feed(b"/w\0\0tar").unwrap().unwrap(),
            b"tar".as_slice()
        );
        assert!(header.linked().is_empty());
        assert_eq!(
            Header::default().feed(&vec![b'a'; LONGEST + 1]),
            Err(TooLong)
        );
    }
}
