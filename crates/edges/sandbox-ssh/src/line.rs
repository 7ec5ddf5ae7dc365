//! Script text on its way to the other machine: as one line on the standard input of a waiting shell.
//!
//! Nothing variable ever stands on a command line there, where every account of the machine could read it.

use std::fmt::Write as _;

/// What the waiting shell is told: read one line, undo [`encode`], do what it says. `read` takes byte for byte, so that what
/// follows the line is still there for whoever reads next. Holds no single quote.
pub(crate) const BOOT: &str = r#"IFS= read -r line && eval "$(printf %b "$line")""#;

/// The command line of every channel. The account's own shell reads it, whatever shell that is; no variable of its start-up
/// files goes further than here.
pub(crate) fn login_command() -> String {
    format!(r#"exec env -i HOME="$HOME" PATH="$PATH" /bin/sh -c '{BOOT}' tidings"#)
}

/// A text as one word of a shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A line that [`BOOT`] turns back into `script`; none if the script holds a NUL, which no shell can hold.
pub(crate) fn encode(script: &str) -> Option<String> {
    let mut line = String::with_capacity(script.len() + script.len() / 4 + 1);
    for byte in script.bytes() {
        match byte {
            0 => return None,
            b'\\' => line.push_str(r"\0134"),
            b' '..=b'~' => line.push(char::from(byte)),
            _ => write!(line, "\\0{byte:03o}").ok()?,
        }
    }
    line.push('\n');
    Some(line)
}

/// `set -- 'one' 'two'`, then the script.
pub(crate) fn with_arguments(script: &str, arguments: &[&str]) -> String {
    let mut text = "set --".to_owned();
    for argument in arguments {
        text.push(' ');
        text.push_str(&quote(argument));
    }
    text.push('\n');
    text.push_str(script);
    text
}

/// Can a shell hold a variable of this name?
pub(crate) fn is_variable(name: &str) -> bool {
    let mut signs = name.bytes();
    signs
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && signs.all(|sign| sign.is_ascii_alphanumeric() || sign == b'_')
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::{BOOT, encode, is_variable, login_command, quote, with_arguments};

    /// What a real shell makes of lines and what follows them.
    fn through_a_shell(input: &[u8]) -> Vec<u8> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", BOOT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        shell.stdin.take().unwrap().write_all(input).unwrap();
        shell.wait_with_output().unwrap().stdout
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_reaches_the_script_as_it_was(text in "[^\0]{0,60}", odd in "['\\\\%\n\t$`\" é]{0,20}") {
            let text = format!("{text}{odd}");
            let script = with_arguments("printf '%s.' \"$1\"; cat", &[&text]);
            let mut input = encode(&script).unwrap().into_bytes();
            input.extend_from_slice(b"and\0what follows");
            let mut expected = text.into_bytes();
            expected.extend_from_slice(b".and\0what follows");
            prop_assert_eq!(through_a_shell(&input), expected);
        }

        #[test]
        fn a_line_is_one_line(script in "(?s).{0,80}") {
            if let Some(line) = encode(&script) {
                prop_assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
                prop_assert!(line.trim_end_matches('\n').bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            }
        }
    }

    #[test]
    fn half_a_line_does_nothing() {
        let mut line = encode("echo done").unwrap();
        line.pop();
        assert_eq!(through_a_shell(line.as_bytes()), b"");
        assert_eq!(through_a_shell(b""), b"");
    }

    #[test]
    fn names_that_would_be_more_than_a_name_are_none() {
        assert!(is_variable("API_TOKEN2") && is_variable("_"));
        for name in ["", "2X", "A-B", "A B", "A;rm", "A=B", "$(id)", "É"] {
            assert!(!is_variable(name), "{name:?}");
        }
    }

    #[test]
    fn what_the_accounts_shell_reads_has_nothing_that_shells_differ_about() {
        assert!(!BOOT.contains('\'') && !login_command().contains(['!', '\n']));
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(encode("a\0b"), None);
    }
}
