//! Some lines of a file that comes in pieces, without the rest of it in memory.

use sandbox::{SandboxPath, size_text};

/// Bytes of lines that are gathered: more than a result shows.
const GATHERED: usize = 256 << 10;

/// Gathers lines `first` to `first + most - 1`, counted from 1.
pub(super) struct Lines {
    first: usize,
    most: usize,
    /// Line breaks passed by.
    breaks: usize,
    /// Whether the last line has begun and not ended.
    open: bool,
    gathered: Vec<u8>,
    /// Bytes of the wanted lines that did not fit.
    left_out: u64,
    /// Whether the file was gone through to its end.
    whole: bool,
}

impl Lines {
    pub(super) fn new(first: usize, most: usize) -> Self {
        Self {
            first,
            most,
            breaks: 0,
            open: false,
            gathered: Vec::new(),
            left_out: 0,
            whole: false,
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let number = self.breaks + 1;
            if number >= self.first && number - self.first < self.most {
                let room = GATHERED.saturating_sub(self.gathered.len());
                let (kept, rest) = line.split_at(room.min(line.len()));
                self.gathered.extend_from_slice(kept);
                self.left_out += rest.len() as u64;
            }
            self.open = !line.ends_with(b"\n");
            if !self.open {
                self.breaks += 1;
            }
        }
    }

    /// How many lines stand before the wanted ones.
    pub(super) fn before(&self) -> usize {
        self.first - 1
    }

    /// Whether the wanted lines begin behind all that was read.
    pub(super) fn lie_ahead(&self) -> bool {
        self.breaks < self.before()
    }

    /// Goes on behind bytes that were counted and not read: `breaks` line breaks in all, `last` the last of the bytes. False if
    /// that can't be, and then all is as it was.
    pub(super) fn pass(&mut self, breaks: usize, last: &[u8]) -> bool {
        let ended = last == b"\n";
        let can_be =
            breaks >= self.breaks && (breaks < self.before() || (breaks == self.before() && ended));
        if can_be {
            self.breaks = breaks;
            self.open = !ended;
        }
        can_be
    }

    /// The file has no more.
    pub(super) fn end(&mut self) {
        self.whole = true;
    }

    /// Whether all wanted lines are there.
    pub(super) fn enough(&self) -> bool {
        self.breaks >= (self.first - 1).saturating_add(self.most)
            || (self.gathered.len() >= GATHERED && self.breaks + 1 >= self.first)
    }

    /// Lines by now.
    fn total(&self) -> usize {
        self.breaks + usize::from(self.open)
    }

    /// What the model reads.
    pub(super) fn shown(self, path: &SandboxPath, size: u64) -> Result<String, String> {
        let total = self.total();
        if total == 0 {
            return Ok("[the file is empty]".to_owned());
        }
        if self.first > total {
            return Err(format!("{path} has {total} lines"));
        }
        let mut text = String::from_utf8_lossy(&self.gathered).into_owned();
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        let last = (self.first - 1).saturating_add(self.most).min(total);
        if self.left_out > 0 {
            text.push_str(&format!(
                "\n[{} bytes of these lines are left out]",
                self.left_out
            ));
        }
        if last < total || !self.whole || self.first > 1 {
            let more = if self.whole { "" } else { "+" };
            text.push_str(&format!(
                "\n[lines {} to {last} of {total}{more}; {}]",
                self.first,
                size_text(size)
            ));
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, first: usize, most: usize, piece: usize) -> Result<String, String> {
        let mut lines = Lines::new(first, most);
        for piece in text.as_bytes().chunks(piece) {
            lines.feed(piece);
        }
        lines.end();
        lines.shown(&SandboxPath::parse("/f").unwrap(), text.len() as u64)
    }

    #[test]
    fn the_same_lines_are_shown_wherever_the_file_is_cut() {
        let text = "one\ntwo\n\nfour\r\nfive";
        for (first, most, shown) in [
            (1, 9, Ok("one\ntwo\n\nfour\r\nfive".to_owned())),
            (1, 1, Ok("one\n[lines 1 to 1 of 5; 19 bytes]".to_owned())),
            (2, 2, Ok("two\n\n[lines 2 to 3 of 5; 19 bytes]".to_owned())),
            (4, 1, Ok("four\n[lines 4 to 4 of 5; 19 bytes]".to_owned())),
            (5, 9, Ok("five\n[lines 5 to 5 of 5; 19 bytes]".to_owned())),
            (6, 1, Err("/f has 5 lines".to_owned())),
        ] {
            for piece in 1..=text.len() {
                assert_eq!(
                    lines(text, first, most, piece),
                    shown,
                    "{first}, {most} by {piece}"
                );
            }
        }
        assert_eq!(lines("", 1, 5, 1), Ok("[the file is empty]".to_owned()));
        assert_eq!(lines("\n", 1, 5, 1), Ok(String::new()));
    }

    #[test]
    fn lines_are_the_same_whether_those_before_were_read_or_counted() {
        let text = "one\ntwo\n\nfour\r\nfive";
        for first in 2..=7 {
            let before: String = text.split_inclusive('\n').take(first - 1).collect();
            let rest = text.get(before.len()..).unwrap();
            let mut jumped = Lines::new(first, 2);
            assert!(jumped.lie_ahead());
            let last = &before.as_bytes()[before.len() - 1..];
            assert!(jumped.pass(before.matches('\n').count(), last), "{first}");
            jumped.feed(rest.as_bytes());
            jumped.end();
            let path = SandboxPath::parse("/f").unwrap();
            let jumped = jumped.shown(&path, text.len() as u64);
            assert_eq!(jumped, lines(text, first, 2, 100), "{first}");
        }
    }

    #[test]
    fn a_count_that_cannot_be_changes_nothing() {
        let mut lines = Lines::new(9, 1);
        lines.feed(b"1\n2\n3\n4");
        for (breaks, last) in [(2, "\n"), (9, "\n"), (8, "x"), (100, "x")] {
            assert!(!lines.pass(breaks, last.as_bytes()), "{breaks}");
            assert!(lines.breaks == 3 && lines.open);
        }
        assert!(lines.pass(8, b"\n") && !lines.lie_ahead());
    }

    #[test]
    fn a_line_without_end_is_bounded() {
        let shown = lines(&"x".repeat(GATHERED + 10), 1, 5, 1000).unwrap();
        assert!(
            shown.ends_with("[10 bytes of these lines are left out]"),
            "{}",
            shown.len()
        );
    }
}
