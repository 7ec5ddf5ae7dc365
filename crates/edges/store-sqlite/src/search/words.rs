//! From texts to what is indexed, and from what people type to what the index understands.

/// Terms of a query; what comes after them is left out.
const MOST: usize = 16;
/// Letters from which on a word also finds longer ones that begin with it.
const PREFIX: usize = 4;

/// A query in the index's own language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    /// Every term stands there.
    pub(super) all: String,
    /// One of them does.
    pub(super) any: String,
}

/// A text as it is indexed: scripts that put no blanks between words are taken sign by sign.
pub(super) fn spaced(text: &str) -> String {
    let mut apart = String::with_capacity(text.len() + text.len() / 4);
    for sign in text.chars() {
        if stands_alone(sign) {
            apart.push(' ');
            apart.push(sign);
            apart.push(' ');
        } else {
            apart.push(sign);
        }
    }
    apart
}

/// Signs of scripts without blanks between words: Han, Kana, Hangul, Thai, Lao, Khmer and Burmese letters.
fn stands_alone(sign: char) -> bool {
    matches!(sign,
        '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}'
        | '\u{0E01}'..='\u{0E30}' | '\u{0E81}'..='\u{0EB0}' | '\u{1780}'..='\u{17B3}' | '\u{1000}'..='\u{102A}')
}

/// Reads what somebody typed; none if there is no word in it. Words in quotes must stand together.
pub(super) fn query(text: &str) -> Option<Query> {
    let mut terms = Vec::new();
    for (part, quoted) in text.split('"').zip([false, true].into_iter().cycle()) {
        if quoted {
            terms.extend(term(part, Kind::Phrase));
        } else {
            terms.extend(
                part.split_whitespace()
                    .filter_map(|word| term(word, Kind::Word)),
            );
        }
    }
    terms.truncate(MOST);
    if terms.is_empty() {
        return None;
    }
    Some(Query {
        all: terms.join(" AND "),
        any: terms.join(" OR "),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Phrase,
}

fn term(text: &str, kind: Kind) -> Option<String> {
    if !text.chars().any(char::is_alphanumeric) {
        return None;
    }
    // A mark would end the text inside the expression.
    let clean: String = text
        .chars()
        .filter(|sign| *sign != '"' && *sign != '\0')
        .collect();
    let long = clean.chars().filter(|sign| sign.is_alphanumeric()).count() >= PREFIX;
    let open = kind == Kind::Word && long && !clean.chars().any(stands_alone);
    Some(format!(
        "\"{}\"{}",
        spaced(&clean).trim(),
        if open { "*" } else { "" }
    ))
}

#[cfg(test)]
mod tests {
    use super::{query, spaced};

    #[test]
    fn what_people_type_never_breaks_the_expression() {
        for (typed, all) in [
            ("tea", Some("\"tea\"")),
            ("reports", Some("\"reports\"*")),
            ("green tea", Some("\"green\"* AND \"tea\"")),
            ("\"green tea\" cup", Some("\"green tea\" AND \"cup\"")),
            ("\"open", Some("\"open\"")),
            (
                "a AND b OR NOT c*",
                Some("\"a\" AND \"AND\" AND \"b\" AND \"OR\" AND \"NOT\" AND \"c*\""),
            ),
            (
                "col:umn -minus (x",
                Some("\"col:umn\"* AND \"-minus\"* AND \"(x\""),
            ),
            ("東京タワー", Some("\"東  京  タ  ワ  ー\"")),
            ("?! -- *", None),
            ("", None),
        ] {
            assert_eq!(
                query(typed).map(|query| query.all).as_deref(),
                all,
                "{typed}"
            );
        }
        let many = "word ".repeat(100);
        assert_eq!(
            query(&many).map(|query| query.any.matches("OR").count()),
            Some(15)
        );
    }

    #[test]
    fn only_scripts_without_blanks_are_taken_apart() {
        assert_eq!(spaced("Grüße, Киев 1"), "Grüße, Киев 1");
        assert_eq!(spaced("a東b").split_whitespace().count(), 3);
    }
}
