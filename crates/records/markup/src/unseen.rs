//! Characters that stand in a text and that nobody sees: what is hidden behind them is read by a model alone.

/// The first character of a text that a person would not see, if there is one: controls but line ends and tabs, marks that
/// change the direction of writing, blanks without width, fillers, tags and the selectors beyond the first sixteen.
///
/// The joiners U+200C and U+200D are letters' parts in some scripts and hold emoji together; between two characters beyond
/// ASCII they may stand.
#[must_use]
pub fn unseen(text: &str) -> Option<char> {
    let mut before = None;
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        let joins = matches!(sign, '\u{200C}' | '\u{200D}');
        let wide =
            |other: Option<char>| other.is_some_and(|other| !other.is_ascii() && !hides(other));
        if (joins && !(wide(before) && wide(signs.peek().copied()))) || (!joins && hides(sign)) {
            return Some(sign);
        }
        before = Some(sign);
    }
    None
}

fn hides(sign: char) -> bool {
    match sign {
        '\n' | '\r' | '\t' => false,
        _ if sign.is_control() => true,
        '\u{00AD}'
        | '\u{034F}'
        | '\u{061C}'
        | '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::unseen;

    #[test]
    fn what_nobody_sees_is_found_and_what_people_write_is_not() {
        for (text, found) in [
            ("plain words, ünïcode, 日本語, العربية\n\tand tabs", None),
            ("family 👨\u{200D}👩\u{200D}👧, heart ❤\u{FE0F}", None),
            ("می\u{200C}خواهم", None),
            ("a\u{200D}b", Some('\u{200D}')),
            ("\u{200C}", Some('\u{200C}')),
            ("👨\u{200D}\u{200D}👩", Some('\u{200D}')),
            ("pay\u{202E}gpj.exe", Some('\u{202E}')),
            ("zero\u{200B}width", Some('\u{200B}')),
            ("tag\u{E0041}", Some('\u{E0041}')),
            ("bell\u{7}", Some('\u{7}')),
            ("\u{FEFF}mark", Some('\u{FEFF}')),
            ("soft\u{AD}hyphen", Some('\u{AD}')),
        ] {
            assert_eq!(unseen(text), found, "{text:?}");
        }
    }
}
