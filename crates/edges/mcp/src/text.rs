//! Somebody else's text, made fit to be read: no signs that steer a terminal or hide words, and no more of it than wanted.

/// At most so many characters, without control characters, invisible ones and those that turn the direction of writing: a
/// description must show its reader all that a model reads. Cut text ends in `…`.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let mut signs = text.chars().filter(|sign| is_seen(*sign));
    let mut kept: String = signs.by_ref().take(most).collect();
    if signs.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}

/// As [`clean`], in one line.
pub(crate) fn line(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    clean(&words.join(" "), most)
}

fn is_seen(sign: char) -> bool {
    match sign {
        '\n' | '\t' => true,
        // Zero width and direction marks, invisible operators, variation selectors' supplement and tags: ways to hide words.
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{00ad}'
        | '\u{180e}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        sign => !sign.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden_and_nothing_steers() {
        for (text, most, expected) in [
            ("Adds two numbers.", 100, "Adds two numbers."),
            ("a\u{1b}[2Jb", 100, "a[2Jb"),
            ("a\u{200b}\u{202e}b\u{feff}", 100, "ab"),
            ("x\u{e0041}\u{e0042}y", 100, "xy"),
            ("line\r\nline\tend", 100, "line\nline\tend"),
            ("0123456789", 10, "0123456789"),
            ("0123456789a", 10, "012345678…"),
            ("中文🦀x", 3, "中文…"),
            ("", 3, ""),
        ] {
            assert_eq!(clean(text, most), expected, "{text:?}");
        }
        assert_eq!(line("  a\n b\t c ", 9), "a b c");
    }
}
