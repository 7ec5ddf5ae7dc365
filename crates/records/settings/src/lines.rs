//! From a byte's offset to the line and column that an editor shows.

/// The text of the file, for finding places in it.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// Line and column, both counted from 1; the column counts characters. An offset past the end is the end.
    pub(crate) fn place(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self
            .text
            .bytes()
            .skip(start)
            .take(offset - start)
            // Counting the bytes that begin a character needs no boundary at `offset`.
            .filter(|byte| byte & 0xC0 != 0x80)
            .count();
        (line, before + 1)
    }

    pub(crate) fn line(&self, offset: usize) -> usize {
        self.place(offset).0
    }
}
