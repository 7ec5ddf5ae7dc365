//! What it says.

/// What is shown of a tool's result, in characters.
const SHOWN: usize = 3000;
const FIRST_LINES: usize = 8;

pub(crate) const HELLO: &str = "\
**Hi! I'm the demo model.** I'm a small script and no AI, so that you can see everything work before you connect a real model.

Things to try:

- **draw a chart of 3, 5, 8**: a program draws it in the sandbox, and the picture comes to you
- **run `uname -a`**: a command in the sandbox
- **list files**: what lies in the workspace
- send me a text file, and I read it

**To connect a real model**, do one of these and restart:

- set `OPENROUTER_API_KEY`, `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`
- start Ollama on this machine
- write `model = \"PROVIDER/MODEL\"` into `tidings.toml`";

pub(crate) const AFTER_CHART: &str = "There it is: drawn by a shell script in your sandbox, byte by byte, and picked up before it reached you. \
     Give me your own numbers: `draw a chart of 12, 7, 30`.";

pub(crate) fn before_chart(numbers: &[f64]) -> &'static str {
    if numbers.is_empty() {
        "You gave no numbers, so I take some of my own and draw them with a script in the sandbox."
    } else {
        "I draw your numbers with a script in the sandbox."
    }
}

pub(crate) fn after_run(failed: bool) -> &'static str {
    if failed {
        "That did not work:"
    } else {
        "Done:"
    }
}

pub(crate) fn first_lines(text: &str) -> &str {
    match text.match_indices('\n').nth(FIRST_LINES - 1) {
        Some((at, _)) => text.get(..at).unwrap_or(text),
        None => text,
    }
}

/// A code block whose fence is longer than any inside it.
pub(crate) fn block(text: &str) -> String {
    let text = text.trim_end();
    let (shown, mark) = match text.char_indices().nth(SHOWN) {
        Some((at, _)) => (text.get(..at).unwrap_or(text), "\n…"),
        None => (text, ""),
    };
    if shown.is_empty() {
        return "(nothing)".to_owned();
    }
    let (mut longest, mut run) = (0_usize, 0_usize);
    for one in shown.chars() {
        run = if one == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{shown}{mark}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_can_hold_a_block() {
        assert_eq!(block("a\n"), "```\na\n```");
        assert_eq!(block("```\nx\n```"), "````\n```\nx\n```\n````");
        assert_eq!(block(" \n"), "(nothing)");
        assert!(block(&"ä".repeat(5000)).chars().count() < SHOWN + 20);
    }

    #[test]
    fn the_first_lines_of_a_file() {
        assert_eq!(first_lines("a\nb"), "a\nb");
        assert_eq!(first_lines(&"x\n".repeat(50)).lines().count(), FIRST_LINES);
    }
}
