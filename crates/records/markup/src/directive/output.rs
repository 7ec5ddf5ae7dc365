//! Where pieces gather, and where blank lines are kept back until it is known what follows them.

use super::Piece;

/// Blank lines kept back, in bytes; more of them are shown as they are.
const MOST: usize = 8 * 1024;

#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    pieces: Vec<Piece>,
    started: bool,
    breaks: String,
    removed: bool,
}

impl Output {
    /// Shows words, after the line breaks that are due. Nothing blank stands before the first word but its indentation.
    pub(super) fn text(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if self.started {
            let due = self.due();
            self.push(&due);
        }
        self.started = true;
        self.breaks.clear();
        self.removed = false;
        self.push(words);
    }

    fn push(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            last.push_str(words);
        } else {
            self.pieces.push(Piece::Text(words.to_owned()));
        }
    }

    /// The line breaks before the next word: at most one blank line where a line was taken away.
    pub(super) fn due(&self) -> String {
        if !self.started {
            String::new()
        } else if self.removed {
            let breaks = self.breaks.matches('\n').count();
            "\n".repeat(breaks.min(2))
        } else {
            self.breaks.clone()
        }
    }

    pub(super) fn piece(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// Ends a line, `blank` being what stood on it if that was nothing but blanks.
    pub(super) fn end_line(&mut self, blank: &str, ending: &str) {
        self.breaks.push_str(blank);
        self.breaks.push_str(ending);
        if self.breaks.len() > MOST {
            let due = self.due();
            self.breaks.clear();
            self.push(&due);
        }
    }

    /// A line was taken away whole.
    pub(super) fn line_removed(&mut self) {
        self.removed = true;
    }

    pub(super) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }
}
