//! Stored text on its way to a terminal: what others wrote must not move the cursor, colour, hide or reorder what we say.

/// The text on one line: line ends and tabs become blanks, other control and direction-changing characters become `�`.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|sign| match sign {
            '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
            sign if sign.is_control() || misleads(sign) => char::REPLACEMENT_CHARACTER,
            sign => sign,
        })
        .collect()
}

/// Characters without a shape that change the order of others (Unicode's `Bidi_Control`), or spell what nobody sees.
fn misleads(sign: char) -> bool {
    matches!(
        sign,
        '\u{061C}'
            | '\u{200E}'
            | '\u{200F}'
            | '\u{202A}'..='\u{202E}'
            | '\u{2066}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        for (stored, shown) in [
            ("words, größer, 日本語, é", "words, größer, 日本語, é"),
            ("\u{1f469}\u{200d}\u{1f4bb}", "\u{1f469}\u{200d}\u{1f4bb}"),
            ("\u{1b}[2J\u{1b}[1;1Hall is well", "�[2J�[1;1Hall is well"),
            ("\u{1b}]0;title\u{7}", "�]0;title�"),
            ("\u{9b}31mred", "�31mred"),
            ("over\rwritten\nnext\tcolumn", "over written next column"),
            (
                "back\u{8}, delete\u{7f}, nothing\0",
                "back�, delete�, nothing�",
            ),
            ("report\u{202e}gpj.exe", "report�gpj.exe"),
            ("\u{2066}isolated\u{2069}", "�isolated�"),
            ("tag\u{e0041}s", "tag�s"),
        ] {
            assert_eq!(printable(stored), shown);
        }
        let all: String = ('\0'..=char::MAX).collect();
        assert!(!printable(&all).chars().any(char::is_control));
    }
}
