//! Markdown on a terminal, line by line, so that it can be shown while it grows.

use crate::outbox::Paint;
use crate::printable::printable;

/// Draws lines, and knows whether it is inside a block of code.
#[derive(Debug, Default)]
pub(crate) struct Pen {
    fence: Option<String>,
}

impl Pen {
    /// A whole line, without its end.
    pub(crate) fn line(&mut self, line: &str, paint: Paint) -> String {
        // Tabs keep their meaning; nothing else that a terminal obeys does.
        let line: Vec<String> = line.split('\t').map(printable).collect();
        let line = line.join("    ");
        if paint == Paint::Plain {
            return line;
        }
        let bare = line.trim_start();
        let mark = bare
            .chars()
            .take_while(|sign| matches!(sign, '`' | '~'))
            .collect::<String>();
        match &self.fence {
            Some(fence) if mark.starts_with(fence.as_str()) && bare.trim_end() == mark => {
                self.fence = None;
                return paint.faint(&line);
            }
            Some(_) => return paint.code(&line),
            None if mark.len() >= 3 => {
                self.fence = Some(mark);
                return paint.faint(&line);
            }
            None => {}
        }
        if let Some(heading) = heading(bare) {
            return paint.strong(heading);
        }
        let (indent, rest) = line
            .split_at_checked(line.len() - bare.len())
            .unwrap_or(("", &line));
        match rest.strip_prefix("- ").or(rest.strip_prefix("* ")) {
            Some(item) => format!("{indent}• {}", inline(item, paint)),
            None => match rest.strip_prefix("> ") {
                Some(quoted) => format!("{indent}{} {}", paint.faint("│"), inline(quoted, paint)),
                None => format!("{indent}{}", inline(rest, paint)),
            },
        }
    }
}

fn heading(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let level = line.len() - words.len();
    ((1..=6).contains(&level)).then(|| words.strip_prefix(' '))?
}

/// Bold words and code inside a line. What is not closed stays as it is.
fn inline(line: &str, paint: Paint) -> String {
    let mut drawn = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`']) {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        drawn.push_str(before);
        let mark = if from.starts_with("**") {
            "**"
        } else if from.starts_with('`') {
            "`"
        } else {
            "*"
        };
        let after = from.strip_prefix(mark).unwrap_or_default();
        match (mark, after.split_once(mark)) {
            ("**", Some((words, next))) if !words.is_empty() => {
                drawn.push_str(&paint.strong(words));
                rest = next;
            }
            ("`", Some((words, next))) if !words.is_empty() => {
                drawn.push_str(&paint.code(words));
                rest = next;
            }
            _ => {
                drawn.push_str(mark);
                rest = after;
            }
        }
    }
    drawn.push_str(rest);
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, paint: Paint) -> Vec<String> {
        let mut pen = Pen::default();
        text.lines().map(|line| pen.line(line, paint)).collect()
    }

    #[test]
    fn a_program_reads_what_the_agent_wrote() {
        let text = "# Title\n- **bold** `code`\n```\n# no title\n```";
        assert_eq!(drawn(text, Paint::Plain).join("\n"), text);
    }

    #[test]
    fn a_person_sees_headings_lists_and_code() {
        let lines = drawn(
            "# Title\n- **bold** and `code`, 2 * 3\n```sh\n# no title\n```\n> said",
            Paint::Colours,
        );
        assert_eq!(lines[0], "\u{1b}[1mTitle\u{1b}[0m");
        assert!(
            lines[1].starts_with("• \u{1b}[1mbold\u{1b}[0m and "),
            "{}",
            lines[1]
        );
        assert!(lines[1].ends_with(", 2 * 3"), "{}", lines[1]);
        assert!(lines[3].contains("# no title"), "{}", lines[3]);
        assert!(lines[5].ends_with(" said"), "{}", lines[5]);
    }

    #[test]
    fn no_text_moves_the_cursor() {
        for paint in [Paint::Plain, Paint::Colours] {
            let lines = drawn("a\u{1b}[2Jb\r\n**\u{9b}31m**\n`\u{7}`", paint);
            let all = lines
                .join("")
                .replace("\u{1b}[1m", "")
                .replace("\u{1b}[0m", "");
            let all = all.replace("\u{1b}[36m", "");
            assert!(!all.chars().any(char::is_control), "{all:?}");
        }
    }

    #[test]
    fn any_text_is_drawn_whole() {
        for text in [
            "*",
            "**",
            "`",
            "***x",
            "**a",
            "`a",
            "a ** b ** c",
            "#",
            "#######",
            "é*ü`",
            "- ",
        ] {
            let mut pen = Pen::default();
            let line = pen.line(text, Paint::Colours);
            let visible: String = line.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            for sign in text.chars().filter(|sign| sign.is_alphanumeric()) {
                assert!(visible.contains(sign), "{text} {line:?}");
            }
        }
    }
}
