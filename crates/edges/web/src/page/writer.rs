//! Text as it grows: words with single blanks, lines, and what stands before a line.

/// Most bytes of text that are made of a page. What is read of it in one call of a tool is a hundredth of that.
const MOST: usize = 2_000_000;
/// Longest beginning of a line: of lists in lists and quotes in quotes.
const INDENT: usize = 40;
/// Longest mark at the beginning of an item.
const MARK: usize = 80;
/// Signs that may wait for the word that they open.
const OPENING: usize = 4;

/// What stands between the last word and the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    Cell,
    Line,
    Blank,
}

#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    gap: Gap,
    indent: String,
    /// Instead of the indent, at the beginning of the next line.
    mark: Option<String>,
    /// Signs that come right before the next word, if it comes.
    opening: Vec<char>,
    preformatted: bool,
    cut: bool,
}

impl Writer {
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// The text, and whether there would have been more.
    pub(super) fn finish(self) -> (String, bool) {
        (self.text, self.cut)
    }

    pub(super) fn is_full(&self) -> bool {
        self.cut
    }

    pub(super) fn indent(&self) -> usize {
        self.indent.len()
    }

    /// At least so much stands before the next word. The first block of a cell stands right behind the one before.
    pub(super) fn gap(&mut self, gap: Gap) {
        if self.gap != Gap::Cell {
            self.gap = self.gap.max(gap);
        }
    }

    /// A cell behind another one: what the paragraphs of that one left behind goes.
    pub(super) fn next_cell(&mut self) {
        self.gap = Gap::Cell;
        self.mark = None;
    }

    /// A row ends or begins, also behind an empty cell.
    pub(super) fn next_row(&mut self) {
        self.gap = self.gap.max(Gap::Line);
    }

    /// A line break that somebody wrote; two of them are an empty line.
    pub(super) fn line_break(&mut self) {
        if self.preformatted {
            self.raw("\n");
        } else if self.gap >= Gap::Line {
            self.gap = Gap::Blank;
        } else {
            self.gap = Gap::Line;
        }
    }

    /// `- `, `3. `, `## ` before the next word, which begins a line.
    pub(super) fn mark(&mut self, mark: &str) {
        let before = self.mark.take().filter(|before| before.len() < MARK);
        let before = before.unwrap_or_else(|| self.indent.clone());
        self.mark = Some(before + mark);
    }

    /// Nothing came after the mark.
    pub(super) fn unmark(&mut self) {
        self.mark = None;
    }

    /// What begins every line from here on.
    pub(super) fn push_indent(&mut self, indent: &str) {
        if self.indent.len() + indent.len() <= INDENT {
            self.indent.push_str(indent);
        }
    }

    pub(super) fn cut_indent(&mut self, length: usize) {
        // Made of ASCII alone.
        self.indent.truncate(length);
    }

    /// A sign that opens a word which may not come. Whether it was taken.
    pub(super) fn open(&mut self, sign: char) -> bool {
        let room = self.opening.len() < OPENING;
        if room {
            self.opening.push(sign);
        }
        room
    }

    /// Whether no word came after the sign by now.
    pub(super) fn awaits(&self, sign: char) -> bool {
        self.opening.contains(&sign)
    }

    /// Whether a word came after the sign; if not, the sign is forgotten.
    pub(super) fn close(&mut self, sign: char) -> bool {
        match self.opening.iter().rposition(|open| *open == sign) {
            Some(at) => {
                self.opening.remove(at);
                false
            }
            None => true,
        }
    }

    /// Written right after the last word.
    pub(super) fn attach(&mut self, text: &str) {
        self.push(text);
    }

    pub(super) fn words(&mut self, text: &str) {
        if self.preformatted {
            return self.raw(text);
        }
        if text.starts_with(char::is_whitespace) {
            self.gap(Gap::Space);
        }
        for word in text.split_whitespace() {
            self.begin();
            self.push(word);
            self.gap = Gap::Space;
        }
        if !text.ends_with(char::is_whitespace) && self.gap == Gap::Space {
            self.gap = Gap::None;
        }
    }

    pub(super) fn begin_preformatted(&mut self) {
        if self.preformatted {
            return;
        }
        self.gap(Gap::Blank);
        self.begin();
        self.push("```");
        self.new_line();
        self.preformatted = true;
    }

    pub(super) fn end_preformatted(&mut self) {
        if !self.preformatted {
            return;
        }
        self.preformatted = false;
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.new_line();
        self.push("```");
        self.gap = Gap::Blank;
    }

    /// A line of its own.
    pub(super) fn rule(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.gap(Gap::Blank);
        self.begin();
        self.push("---");
        self.gap = Gap::Blank;
    }

    fn raw(&mut self, text: &str) {
        let mut lines = text.split('\n');
        if let Some(first) = lines.next() {
            self.push(first.trim_end_matches('\r'));
        }
        for line in lines {
            self.new_line();
            self.push(line.trim_end_matches('\r'));
        }
    }

    /// Writes the gap, the mark and what opens the next word.
    fn begin(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if self.text.is_empty() {
            let mark = self.mark.take();
            self.push(&mark.unwrap_or_else(|| self.indent.clone()));
        } else {
            match gap {
                Gap::None => {}
                Gap::Space => self.push(" "),
                Gap::Cell => self.push(" | "),
                Gap::Line => self.new_line(),
                Gap::Blank => {
                    let between = format!("\n{}", self.indent.trim_end());
                    self.push(&between);
                    self.new_line();
                }
            }
        }
        for sign in std::mem::take(&mut self.opening) {
            self.push(sign.encode_utf8(&mut [0; 4]));
        }
    }

    fn new_line(&mut self) {
        let before = self.mark.take().unwrap_or_else(|| self.indent.clone());
        self.push("\n");
        self.push(&before);
    }

    fn push(&mut self, text: &str) {
        if self.cut || self.text.len() + text.len() > MOST {
            self.cut = true;
            return;
        }
        self.text.push_str(text);
    }
}
