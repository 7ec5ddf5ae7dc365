//! Formatting of what people write: entities (UTF-16 offsets) to markdown.

use crate::wire::Entity;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Inside a line.
    Inline,
    /// Lines of its own.
    Fence,
    /// Lines of its own, each with a mark.
    Quote,
}

struct Mark {
    start: usize,
    end: usize,
    open: String,
    close: String,
    place: Place,
}

/// The text with markdown for what its entities say. Entities that do not fit the text are passed by.
pub(crate) fn markdown(text: &str, entities: &[Entity]) -> String {
    if entities.is_empty() {
        return text.to_owned();
    }
    let bytes = byte_positions(text);
    let mut marks: Vec<Mark> = entities
        .iter()
        .filter_map(|entity| mark(text, &bytes, entity))
        .collect();
    marks.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
    weave(text, marks)
}

/// The byte position of each UTF-16 position; `None` inside a surrogate pair.
fn byte_positions(text: &str) -> Vec<Option<usize>> {
    let mut positions = Vec::with_capacity(text.len() + 1);
    for (at, character) in text.char_indices() {
        positions.push(Some(at));
        positions.extend((1..character.len_utf16()).map(|_| None));
    }
    positions.push(Some(text.len()));
    positions
}

fn mark(text: &str, bytes: &[Option<usize>], entity: &Entity) -> Option<Mark> {
    let position = |at: usize| bytes.get(at).copied().flatten();
    let mut start = position(entity.offset)?;
    let mut end = position(entity.offset.checked_add(entity.length)?)?;
    let mut inside = text.get(start..end)?;
    if entity.kind != "pre" {
        // Markdown's marks don't work beside a space.
        start += inside.len() - inside.trim_start().len();
        inside = inside.trim();
        end = start + inside.len();
    }
    if inside.is_empty() {
        return None;
    }
    let pair = |mark: &str| (mark.to_owned(), mark.to_owned(), Place::Inline);
    let (open, close, place) = match entity.kind.as_str() {
        "bold" => pair("**"),
        "italic" => pair("_"),
        "strikethrough" => pair("~~"),
        "code" => {
            let ticks = "`".repeat(longest_run(inside) + 1);
            if inside.starts_with('`') || inside.ends_with('`') {
                (format!("{ticks} "), format!(" {ticks}"), Place::Inline)
            } else {
                pair(&ticks)
            }
        }
        "pre" => {
            let fence = "`".repeat((longest_run(inside) + 1).max(3));
            let language = entity.language.as_deref().unwrap_or_default();
            let before = if inside.ends_with('\n') { "" } else { "\n" };
            (
                format!("{fence}{language}\n"),
                format!("{before}{fence}"),
                Place::Fence,
            )
        }
        "text_link" => {
            let url = entity.url.as_deref()?;
            let close = if url.contains([')', ' ']) {
                format!("](<{url}>)")
            } else {
                format!("]({url})")
            };
            ("[".to_owned(), close, Place::Inline)
        }
        "blockquote" | "expandable_blockquote" => ("> ".to_owned(), String::new(), Place::Quote),
        _ => return None,
    };
    Some(Mark {
        start,
        end,
        open,
        close,
        place,
    })
}

fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0)
}

fn weave(text: &str, marks: Vec<Mark>) -> String {
    let mut out = String::with_capacity(text.len() + marks.len() * 4);
    let mut open: Vec<Mark> = Vec::new();
    let mut coming = marks.into_iter().peekable();
    let ends = text
        .char_indices()
        .map(|(at, character)| (at, Some(character)));
    for (at, character) in ends.chain(std::iter::once((text.len(), None))) {
        while open.last().is_some_and(|mark| mark.end <= at) {
            if let Some(mark) = open.pop() {
                out.push_str(&mark.close);
                if mark.place != Place::Inline && !matches!(character, None | Some('\n')) {
                    line_break(&mut out, &open);
                }
            }
        }
        while let Some(mark) = coming.next_if(|mark| mark.start <= at) {
            // What sticks out of the one around it can't be written in markdown.
            if open.last().is_some_and(|around| mark.end > around.end) {
                continue;
            }
            if mark.place != Place::Inline
                && !(out.is_empty() || out.ends_with('\n') || out.ends_with("> "))
            {
                line_break(&mut out, &open);
            }
            out.push_str(&mark.open);
            open.push(mark);
        }
        match character {
            Some('\n') => line_break(&mut out, &open),
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

fn line_break(out: &mut String, open: &[Mark]) {
    out.push('\n');
    if open.iter().any(|mark| mark.place == Place::Quote) {
        out.push_str("> ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, entities: &str, expected: &str) {
        let entities: Vec<Entity> = serde_json::from_str(entities).unwrap();
        assert_eq!(markdown(text, &entities), expected);
    }

    #[test]
    fn an_emoji_before_the_command_shifts_nothing() {
        check(
            "😀 run cmd now",
            r#"[{"type":"code","offset":7,"length":3},{"type":"bold","offset":11,"length":3}]"#,
            "😀 run `cmd` **now**",
        );
    }

    #[test]
    fn what_markdown_can_say_is_said() {
        check(
            "bold italic",
            r#"[{"type":"bold","offset":0,"length":11},{"type":"italic","offset":5,"length":6}]"#,
            "**bold _italic_**",
        );
        check(
            "see here now",
            r#"[{"type":"text_link","offset":4,"length":4,"url":"https://a.example/x"}]"#,
            "see [here](https://a.example/x) now",
        );
        check(
            "x",
            r#"[{"type":"text_link","offset":0,"length":1,"url":"https://a.example/(x)"}]"#,
            "[x](<https://a.example/(x)>)",
        );
        check(
            "gone",
            r#"[{"type":"strikethrough","offset":0,"length":4}]"#,
            "~~gone~~",
        );
        check(
            "run: ls -l ok",
            r#"[{"type":"pre","offset":5,"length":5,"language":"sh"}]"#,
            "run: \n```sh\nls -l\n```\n ok",
        );
        check(
            "a\nb\nc",
            r#"[{"type":"blockquote","offset":0,"length":3}]"#,
            "> a\n> b\nc",
        );
        check(
            "a `b",
            r#"[{"type":"code","offset":0,"length":4}]"#,
            "``a `b``",
        );
        check(
            "one two",
            r#"[{"type":"bold","offset":0,"length":4}]"#,
            "**one** two",
        );
        check(
            "@ann #x",
            r#"[{"type":"mention","offset":0,"length":4},{"type":"hashtag","offset":5,"length":2}]"#,
            "@ann #x",
        );
    }

    #[test]
    fn entities_that_do_not_fit_are_passed_by() {
        for bad in [
            r#"[{"type":"bold","offset":1,"length":1}]"#,
            r#"[{"type":"bold","offset":0,"length":1}]"#,
            r#"[{"type":"bold","offset":0,"length":99}]"#,
            r#"[{"type":"bold","offset":18446744073709551615,"length":2}]"#,
            r#"[{"type":"bold","offset":2,"length":0}]"#,
            r#"[{"type":"wobble","offset":0,"length":2}]"#,
            r#"[{"type":"text_link","offset":0,"length":2}]"#,
        ] {
            check("😀x", bad, "😀x");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_letter_survives(
            text in "[a-z😀ü \n]{0,24}",
            raw in proptest::collection::vec((0usize..6, 0usize..26, 0usize..26), 0..6),
        ) {
            let kinds = ["bold", "italic", "code", "pre", "blockquote", "strikethrough"];
            let entities: Vec<Entity> = raw
                .into_iter()
                .map(|(kind, offset, length)| Entity {
                    kind: kinds[kind].to_owned(), offset, length, url: None, language: None, user: None,
                })
                .collect();
            let letters = |text: &str| text.chars().filter(|one| one.is_alphabetic() || *one == '😀').collect::<String>();
            proptest::prop_assert_eq!(letters(&markdown(&text, &entities)), letters(&text));
        }
    }
}
