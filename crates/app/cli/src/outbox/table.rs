//! A table that fits the page. Cells hold what others wrote; they are made printable here.

use crate::printable::printable;

/// Columns of the page.
pub(crate) const PAGE: usize = 100;

/// The text made printable and cut to so many columns, with `…` where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let text = printable(text);
    if width(&text) <= most {
        return text;
    }
    let mut cut = String::new();
    let mut used = 1;
    for sign in text.chars() {
        used += columns(sign);
        if used > most {
            break;
        }
        cut.push(sign);
    }
    cut.push('…');
    cut
}

/// The text, made printable, cut and filled up to so many columns.
pub(crate) fn cell(text: &str, wide: usize) -> String {
    let mut cell = cut(text, wide);
    let missing = wide.saturating_sub(width(&cell));
    cell.extend(std::iter::repeat_n(' ', missing));
    cell
}

/// Columns that the text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Two for the blocks of East Asian scripts and emoji (Unicode's East_Asian_Width W and F, by whole blocks), one for the
/// rest: a mark that takes none makes a cell narrower and never wider than the page.
fn columns(sign: char) -> usize {
    match sign {
        '\u{1100}'..='\u{115F}'
        | '\u{231A}'..='\u{231B}'
        | '\u{23E9}'..='\u{23F3}'
        | '\u{2600}'..='\u{27BF}'
        | '\u{2E80}'..='\u{A4CF}'
        | '\u{A960}'..='\u{A97F}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF00}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F000}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_wide_as_its_column() {
        for (text, wide, shown) in [
            ("short", 8, "short   "),
            ("much too long", 8, "much to…"),
            ("two\nlines", 10, "two lines "),
            ("日本語のテキスト", 8, "日本語… "),
            ("\u{1b}[31mred", 4, "�[3…"),
            ("", 2, "  "),
        ] {
            assert_eq!(cell(text, wide), shown);
            assert_eq!(width(&cell(text, wide)), wide);
        }
    }
}
