//! Words that may be shown before the answer is there.
//!
//! Whoever reads a stream can't take a word back, and a growing answer may yet turn out to be a remark beside a tool call, or be
//! taken back with its step. So only what is more than a remark is shown early, and in the end the answer stands there whole: as
//! what completes the words that were shown, or, where it is another, once more below them.

/// A text of so many bytes is more than a remark: models say a sentence or two beside a tool call.
const REMARK: usize = 280;

/// What was shown of an answer.
#[derive(Debug, Default)]
pub struct Early {
    shown: String,
}

impl Early {
    /// What of a growing answer may be shown now, beyond what was.
    pub fn grow(&mut self, so_far: &str) -> Option<String> {
        // Blanks at the end may be those of a line that is taken back.
        let text = so_far.trim();
        if self.shown.is_empty() && text.len() < REMARK {
            return None;
        }
        let more = text.strip_prefix(self.shown.as_str())?;
        if more.is_empty() {
            return None;
        }
        let more = more.to_owned();
        self.shown.push_str(&more);
        Some(more)
    }

    /// What has to be shown yet, so that the answer stands there whole at the end.
    #[must_use]
    pub fn finish(self, answer: &str) -> String {
        match answer.strip_prefix(self.shown.as_str()) {
            Some(rest) => rest.to_owned(),
            None => format!("\n\n{answer}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(frames: &[&str], answer: &str) -> String {
        let mut early = Early::default();
        let mut all: String = frames
            .iter()
            .filter_map(|frame| early.grow(frame))
            .collect();
        all.push_str(&early.finish(answer));
        all
    }

    fn long(text: &str) -> String {
        text.repeat(REMARK.div_ceil(text.len()) + 1)
    }

    #[test]
    fn an_answer_cut_anywhere_is_shown_once() {
        let answer = long("grüße 🌍 and more.\n\n");
        let answer = answer.trim();
        for (end, _) in answer.char_indices() {
            let frame = answer.get(..end).unwrap();
            assert_eq!(shown(&[frame], answer), answer, "{end}");
            assert_eq!(shown(&["", frame, frame, answer], answer), answer, "{end}");
        }
    }

    #[test]
    fn a_remark_beside_a_tool_call_is_not_shown_before_the_answer() {
        assert_eq!(
            shown(&["Let me look.", "It is", "It is 4."], "It is 4."),
            "It is 4."
        );
    }

    #[test]
    fn what_turned_out_otherwise_still_ends_in_the_answer() {
        let wrong = long("I think that it is five. ");
        let all = shown(&[&wrong, "It is 4."], "It is 4.");
        assert_eq!(all, format!("{}\n\nIt is 4.", wrong.trim()));
    }

    #[test]
    fn notes_and_files_below_the_words_complete_them() {
        let words = long("word ");
        let answer = format!("{}\n\n⚠ a note", words.trim());
        assert_eq!(shown(&[&words], &answer), answer);
    }
}
