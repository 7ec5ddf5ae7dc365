//! File names that are safe to write and honest to read.

/// Longest name in bytes; leaves room for a number within a folder's 255.
const LONGEST: usize = 180;

/// A name as people may see it: the last component, without control and direction-changing characters, never hidden,
/// never an option, at most 180 bytes with its ending kept.
#[must_use]
pub fn shown(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last
        .chars()
        .filter(|sign| !sign.is_control() && !changes_direction(*sign))
        .collect::<String>()
        .trim_matches(|sign: char| sign.is_whitespace())
        .trim_start_matches(['.', '-'])
        .to_owned();
    if clean.is_empty() {
        return "file".to_owned();
    }
    shorten(&clean)
}

fn changes_direction(sign: char) -> bool {
    matches!(sign, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

fn shorten(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    let ending: String = if ending.len() <= 20 {
        ending.to_owned()
    } else {
        String::new()
    };
    let mut short = String::new();
    for sign in stem.chars() {
        if short.len() + sign.len_utf8() + ending.len() > LONGEST {
            break;
        }
        short.push(sign);
    }
    short + &ending
}

/// The name of a second file of one name, of a third: `report.pdf`, then `report (2).pdf`, … `number` counts from 1.
#[must_use]
pub fn numbered(name: &str, number: u32) -> String {
    if number <= 1 {
        return name.to_owned();
    }
    let (stem, ending) = split(name);
    format!("{stem} ({number}){ending}")
}

fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(dot) if dot > 0 => name.split_at(dot),
        _ => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::{numbered, shown};

    #[test]
    fn names_are_shown_as_people_gave_them_and_never_as_a_trick() {
        for (given, seen) in [
            ("report v2.pdf", "report v2.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\报告.docx", "报告.docx"),
            ("gpj.\u{202E}exe", "gpj.exe"),
            ("-i.mp3", "i.mp3"),
            (".netrc", "netrc"),
            ("a\nb", "ab"),
            ("", "file"),
            ("..", "file"),
        ] {
            assert_eq!(shown(given), seen, "{given:?}");
        }
        assert!(shown(&"ü".repeat(300)).len() <= 180);
        assert!(shown(&format!("{}.pdf", "x".repeat(300))).ends_with(".pdf"));
    }

    #[test]
    fn a_second_file_of_one_name_gets_a_number() {
        assert_eq!(numbered("report.pdf", 1), "report.pdf");
        assert_eq!(numbered("report.pdf", 2), "report (2).pdf");
        assert_eq!(numbered("README", 3), "README (3)");
    }
}
