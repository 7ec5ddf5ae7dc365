//! Formatting of what we write: spans to entities, and the mark of a repeat.

use chat::{Body, RichText, Span, Style};
use serde::Serialize;

/// Shown above what may have been shown before.
pub(crate) const MARK: &str = "↻ may be a repeat\n";

/// Kept free in every text and caption, so that [`MARK`] always fits.
pub(crate) const RESERVE: usize = 32;

/// Most entities of a message (Bot API 10.3).
const MOST: usize = 100;

/// Text and its entities, as the Bot API takes them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) entities: Vec<Entity>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Entity {
    #[serde(rename = "type")]
    kind: &'static str,
    offset: usize,
    length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
}

/// What a body says, under the mark if it may be a repeat.
pub(crate) fn words(body: Option<&Body>, may_be_repeat: bool) -> Words {
    let plain;
    let rich = match body {
        Some(Body::Rich(rich)) => rich,
        Some(Body::Markdown(text)) => {
            plain = RichText::plain(text.clone());
            &plain
        }
        None => {
            plain = RichText::default();
            &plain
        }
    };
    let (mark, shift) = if may_be_repeat {
        (MARK, MARK.encode_utf16().count())
    } else {
        ("", 0)
    };
    let text = format!("{mark}{}", rich.text);
    let text = if rich.text.is_empty() {
        text.trim_end().to_owned()
    } else {
        text
    };
    let entities = most_important(entities(rich, shift));
    Words { text, entities }
}

fn entities(rich: &RichText, shift: usize) -> Vec<Entity> {
    let size = rich.text.encode_utf16().count();
    let mut quoted_to = 0;
    let mut entities = Vec::with_capacity(rich.spans.len());
    for span in &rich.spans {
        let end = span.offset.saturating_add(span.length);
        if span.length == 0 || end > size {
            continue;
        }
        if span.style == Style::Quote {
            // Telegram has no quotations inside quotations.
            if span.offset < quoted_to {
                continue;
            }
            quoted_to = end;
        }
        entities.push(entity(span, shift));
    }
    entities
}

fn entity(span: &Span, shift: usize) -> Entity {
    let (kind, url, language) = match &span.style {
        Style::Bold => ("bold", None, None),
        Style::Italic => ("italic", None, None),
        Style::Strike => ("strikethrough", None, None),
        Style::Code => ("code", None, None),
        Style::Pre(language) => ("pre", None, language.clone()),
        Style::Quote => ("blockquote", None, None),
        Style::Link(url) => ("text_link", Some(url.clone()), None),
    };
    Entity {
        kind,
        offset: span.offset + shift,
        length: span.length,
        url,
        language,
    }
}

/// How much is lost without it; small is much.
fn rank(entity: &Entity) -> u8 {
    match entity.kind {
        "pre" => 0,
        "text_link" => 1,
        "code" => 2,
        "blockquote" => 3,
        "bold" => 4,
        "strikethrough" => 5,
        _ => 6,
    }
}

fn most_important(entities: Vec<Entity>) -> Vec<Entity> {
    if entities.len() <= MOST {
        return entities;
    }
    let mut ranked: Vec<(usize, Entity)> = entities.into_iter().enumerate().collect();
    ranked.sort_by_key(|(position, entity)| (rank(entity), *position));
    ranked.truncate(MOST);
    ranked.sort_by_key(|(position, _)| *position);
    ranked.into_iter().map(|(_, entity)| entity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(offset: usize, length: usize, style: Style) -> Span {
        Span {
            offset,
            length,
            style,
        }
    }

    fn rich(text: &str, spans: Vec<Span>) -> Body {
        Body::Rich(RichText {
            text: text.to_owned(),
            spans,
        })
    }

    #[test]
    fn a_repeat_is_marked_and_its_formatting_moves_along() {
        let body = rich("😀 now", vec![span(3, 3, Style::Bold)]);
        let said = words(Some(&body), true);
        assert_eq!(said.text, "↻ may be a repeat\n😀 now");
        let json = serde_json::to_value(&said.entities).unwrap();
        assert_eq!(
            json,
            serde_json::json!([{"type": "bold", "offset": 21, "length": 3}])
        );
        assert!(MARK.encode_utf16().count() <= RESERVE);
        assert_eq!(words(None, true).text, "↻ may be a repeat");
        assert_eq!(words(None, false), Words::default());
    }

    #[test]
    fn each_style_has_its_entity() {
        let body = rich(
            "abcdefg",
            vec![
                span(0, 1, Style::Bold),
                span(1, 1, Style::Italic),
                span(2, 1, Style::Strike),
                span(3, 1, Style::Code),
                span(4, 1, Style::Pre(Some("rust".to_owned()))),
                span(5, 1, Style::Quote),
                span(6, 1, Style::Link("https://a.example/".to_owned())),
            ],
        );
        let said = words(Some(&body), false);
        let kinds: Vec<&str> = said.entities.iter().map(|entity| entity.kind).collect();
        assert_eq!(
            kinds,
            [
                "bold",
                "italic",
                "strikethrough",
                "code",
                "pre",
                "blockquote",
                "text_link"
            ]
        );
        assert_eq!(said.entities[4].language.as_deref(), Some("rust"));
        assert_eq!(said.entities[6].url.as_deref(), Some("https://a.example/"));
    }

    #[test]
    fn spans_that_do_not_fit_are_dropped_and_quotes_do_not_nest() {
        let body = rich(
            "abc",
            vec![
                span(0, 3, Style::Quote),
                span(1, 1, Style::Quote),
                span(1, 0, Style::Bold),
                span(2, 2, Style::Bold),
            ],
        );
        assert_eq!(words(Some(&body), false).entities.len(), 1);
    }

    #[test]
    fn of_too_many_entities_the_links_and_the_code_stay() {
        let spans = (0..150)
            .map(|at| {
                span(
                    at,
                    1,
                    match at % 3 {
                        0 => Style::Italic,
                        1 => Style::Link("https://a.example/".to_owned()),
                        _ => Style::Code,
                    },
                )
            })
            .collect();
        let said = words(Some(&rich(&"x".repeat(150), spans)), false);
        assert_eq!(said.entities.len(), 100);
        assert!(said.entities.iter().all(|entity| entity.kind != "italic"));
        assert!(said.entities.is_sorted_by_key(|entity| entity.offset));
    }
}
