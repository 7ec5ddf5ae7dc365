//! What a message asks for, by simple signs.

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Intent {
    /// A file came with the message.
    File { attached: Attached, back: Back },
    /// A command to run.
    Run(String),
    /// A bar chart; without numbers it shows an example.
    Chart(Vec<f64>),
    /// The files of the workspace.
    List,
    /// Words to keep in a file.
    Write { path: String, content: String },
    /// A file to send.
    Send(String),
    /// Anything else.
    Hello,
}

/// Whether the file is wanted back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Back {
    Yes,
    No,
}

/// A file, as the agent tells of it: `[attached: /inbox/report.txt (text/plain, 1.2 KB)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attached {
    pub(crate) path: String,
    pub(crate) mime: String,
    pub(crate) size: String,
}

impl Attached {
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    pub(crate) fn is_text(&self) -> bool {
        let texts = ["json", "xml", "yaml", "toml", "csv", "javascript", "x-sh"];
        self.mime.starts_with("text/")
            || self.mime.is_empty()
            || texts.iter().any(|kind| self.mime.ends_with(kind))
    }
}

const CHART_WORDS: &[&str] = &[
    "draw", "chart", "charts", "plot", "picture", "graph", "diagram", "image",
];
const MOST_BARS: usize = 12;
const LARGEST: f64 = 1e12;

pub(crate) fn intent(message: &str) -> Intent {
    if let Some(attached) = message.lines().find_map(attached) {
        let words = words(message);
        let wants_back = has(&words, "send") && has(&words, "back");
        return Intent::File {
            attached,
            back: if wants_back { Back::Yes } else { Back::No },
        };
    }
    if let Some(command) = command(message) {
        return Intent::Run(command);
    }
    if let Some(found) = write(message) {
        return found;
    }
    let words = words(message);
    if CHART_WORDS.iter().any(|word| has(&words, word)) && !has(&words, "send") {
        return Intent::Chart(numbers(message));
    }
    if has(&words, "files")
        && ["list", "show", "which", "what"]
            .iter()
            .any(|word| has(&words, word))
        || message.trim() == "ls"
    {
        return Intent::List;
    }
    if let Some(path) = message
        .split_whitespace()
        .find(|word| word.starts_with("/workspace/"))
        .filter(|_| has(&words, "send"))
    {
        return Intent::Send(path.trim_end_matches(['.', ',', '?', '!']).to_owned());
    }
    if CHART_WORDS.iter().any(|word| has(&words, word)) {
        return Intent::Chart(numbers(message));
    }
    Intent::Hello
}

fn words(message: &str) -> Vec<String> {
    message
        .split(|one: char| !one.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn has(words: &[String], word: &str) -> bool {
    words.iter().any(|one| one == word)
}

fn attached(line: &str) -> Option<Attached> {
    let (_, inside) = line.split_once("[attached: ")?;
    let inside = inside
        .split_once(']')
        .map_or(inside, |(inside, _)| inside)
        .trim();
    let bare = |path: &str| Attached {
        path: path.to_owned(),
        mime: String::new(),
        size: String::new(),
    };
    let Some((path, about)) = inside.rsplit_once(" (") else {
        return (!inside.is_empty()).then(|| bare(inside));
    };
    let about = about.trim_end_matches(')');
    let (mime, size) = about.split_once(", ").unwrap_or((about, ""));
    Some(Attached {
        mime: mime.to_owned(),
        size: size.to_owned(),
        ..bare(path)
    })
}

/// ``run `cmd` ``, `run cmd`, `$ cmd`: at the beginning of a line, after a mention if there is one.
fn command(message: &str) -> Option<String> {
    message.lines().find_map(|line| {
        let line = after_mentions(line);
        if let Some(rest) = line.strip_prefix("$ ") {
            return filled(rest);
        }
        let line = after_word(line, "please").unwrap_or(line);
        let rest = after_word(line, "run")?;
        let quoted = rest
            .split_once('`')
            .and_then(|(_, rest)| rest.split_once('`'))
            .map(|(quoted, _)| quoted);
        filled(quoted.unwrap_or(rest))
    })
}

fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn after_mentions(line: &str) -> &str {
    let mut line = line.trim();
    while line.starts_with('@') {
        line = line
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    line
}

fn after_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let (first, rest) = line.split_once(char::is_whitespace)?;
    first
        .trim_end_matches(':')
        .eq_ignore_ascii_case(word)
        .then(|| rest.trim_start())
}

/// `write WORDS to FILE`.
fn write(message: &str) -> Option<Intent> {
    let rest = after_word(after_mentions(message), "write")?;
    let (content, path) = rest.rsplit_once(" to ")?;
    let path = path.trim().trim_matches('`');
    let fits = !path.is_empty() && !path.contains(char::is_whitespace) && path.contains('.');
    fits.then(|| Intent::Write {
        path: path.to_owned(),
        content: content.trim().trim_matches(['"', '`']).to_owned(),
    })
}

/// The numbers of a message, as many as a chart has room for.
fn numbers(message: &str) -> Vec<f64> {
    message
        .split(|one: char| {
            one.is_whitespace() || matches!(one, ',' | ';' | ':' | '(' | ')' | '[' | ']')
        })
        .filter_map(|word| {
            word.trim_end_matches(['.', '?', '!', '%'])
                .parse::<f64>()
                .ok()
        })
        .filter(|number| number.is_finite() && number.abs() <= LARGEST)
        .take(MOST_BARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_and_what_they_ask_for() {
        let run = |command: &str| Intent::Run(command.to_owned());
        for (message, expected) in [
            ("hello", Intent::Hello),
            ("", Intent::Hello),
            ("how does it run?", Intent::Hello),
            ("run `ls -l | wc`", run("ls -l | wc")),
            ("Run uname -a", run("uname -a")),
            ("@ada_bot please run: echo hi", run("echo hi")),
            ("$ echo \"a chart\"", run("echo \"a chart\"")),
            ("can you\n$ date", run("date")),
            ("run", Intent::Hello),
            ("draw something", Intent::Chart(vec![])),
            ("A CHART of 3, 5, 8!", Intent::Chart(vec![3.0, 5.0, 8.0])),
            (
                "plot -1.5; 20% and 1e3 please",
                Intent::Chart(vec![-1.5, 20.0, 1000.0]),
            ),
            ("graph: NaN inf 1e300 7", Intent::Chart(vec![7.0])),
            ("list files", Intent::List),
            ("What files are there?", Intent::List),
            ("ls", Intent::List),
            (
                "write milk and eggs to shopping.txt",
                Intent::Write {
                    path: "shopping.txt".to_owned(),
                    content: "milk and eggs".to_owned(),
                },
            ),
            ("write me a poem", Intent::Hello),
            (
                "send me /workspace/chart.png.",
                Intent::Send("/workspace/chart.png".to_owned()),
            ),
        ] {
            assert_eq!(intent(message), expected, "{message:?}");
        }
    }

    #[test]
    fn a_file_that_came_along() {
        let file = |path: &str, mime: &str, size: &str| Attached {
            path: path.to_owned(),
            mime: mime.to_owned(),
            size: size.to_owned(),
        };
        for (message, expected, back) in [
            (
                "[attached: /inbox/report.txt (text/plain, 1.2 KB)]",
                file("/inbox/report.txt", "text/plain", "1.2 KB"),
                Back::No,
            ),
            (
                "look\n[attached: /inbox/my file (1).pdf (application/pdf, 3 MB)]",
                file("/inbox/my file (1).pdf", "application/pdf", "3 MB"),
                Back::No,
            ),
            (
                "[attached: /inbox/x]\nsend it back",
                file("/inbox/x", "", ""),
                Back::Yes,
            ),
        ] {
            assert_eq!(
                intent(message),
                Intent::File {
                    attached: expected,
                    back
                },
                "{message}"
            );
        }
    }

    #[test]
    fn a_chart_has_room_for_so_many() {
        let message = format!("chart {}", "1 ".repeat(100));
        assert_eq!(intent(&message), Intent::Chart(vec![1.0; MOST_BARS]));
    }

    proptest! {
        #[test]
        fn no_message_is_too_odd(message in "(\\[attached: |run |\\$ |`|draw |write |to |@x |\\PC|\n){0,12}") {
            intent(&message);
        }
    }
}
