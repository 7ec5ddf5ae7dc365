//! Markdown to plain text with spans.
//!
//! Start at [`rich()`]; [`builder`] keeps the text and its spans, [`table`] draws tables.

mod builder;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::{markdown as tests_markdown, valid as tests_valid};

use chat::{RichText, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use builder::Builder;
use table::Table;

/// The markdown that we understand, one set for every rendering.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Whether a link may lead there: only addresses that a person can open without harm.
pub(crate) fn safe_address(address: &str, schemes: &[&str]) -> bool {
    address.split_once(':').is_some_and(|(scheme, rest)| {
        !rest.is_empty() && schemes.iter().any(|safe| scheme.eq_ignore_ascii_case(safe))
    }) && !address.contains(|sign: char| sign.is_control())
}

const SCHEMES: [&str; 4] = ["http", "https", "mailto", "tg"];

/// Renders markdown as plain text with spans.
///
/// Headings become bold lines, bullets `• `, tables a monospaced block (or groups of lines where they are wide), pictures
/// links, rules `———`. Raw HTML and whatever is no markup stays as it was written. Links lead only to http, https, mailto
/// and tg; others keep their words.
#[must_use]
pub fn rich(markdown: &str) -> RichText {
    let mut renderer = Renderer::default();
    for event in Parser::new_ext(markdown, options()) {
        renderer.event(event);
    }
    renderer.builder.finish()
}

/// A list that is open: the next number, or `None` for bullets.
#[derive(Debug, Clone, Copy)]
struct List {
    number: Option<u64>,
}

#[derive(Debug, Default)]
struct Renderer {
    builder: Builder,
    lists: Vec<List>,
    /// Openings of spans, in order of their tags; `None` where a tag gives no span.
    open: Vec<Option<(usize, Style)>>,
    table: Option<Table>,
    /// A list's marker was just written: its first paragraph follows on the same line.
    after_marker: bool,
    /// The word that a picture stands for, if it has none of its own.
    picture: Option<(usize, String)>,
}

impl Renderer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => self.words(&words),
            Event::Code(words) => {
                if self.table.is_some() {
                    self.words(&words);
                } else {
                    let at = self.builder.open();
                    self.words(&words);
                    self.builder.close(at, Style::Code);
                }
            }
            Event::SoftBreak | Event::HardBreak => match &mut self.table {
                Some(table) => table.words(" "),
                None => self.builder.line_break(),
            },
            Event::Rule => {
                self.block();
                self.builder.words("———");
            }
            Event::TaskListMarker(done) => self.words(if done { "☑ " } else { "☐ " }),
        }
    }

    fn words(&mut self, words: &str) {
        self.after_marker = false;
        match &mut self.table {
            Some(table) => table.words(words),
            None => self.builder.words(words),
        }
    }

    /// A block begins: away from the one before it.
    fn block(&mut self) {
        if !std::mem::take(&mut self.after_marker) {
            let lines = if self.lists.is_empty() { 2 } else { 1 };
            self.builder.lines(lines);
        }
    }

    fn push(&mut self, style: Style) {
        let at = self.builder.open();
        self.open.push(Some((at, style)));
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { .. } => {
                self.block();
                self.push(Style::Bold);
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.builder.due();
                self.push(Style::Quote);
                self.after_marker = true;
            }
            Tag::CodeBlock(kind) => {
                self.block();
                let language = match kind {
                    CodeBlockKind::Indented => None,
                    CodeBlockKind::Fenced(info) => info
                        .split([' ', ',', '\t', '{'])
                        .next()
                        .filter(|word| !word.is_empty())
                        .map(str::to_owned),
                };
                self.builder.due();
                self.builder.verbatim(true);
                self.push(Style::Pre(language));
            }
            Tag::List(number) => {
                if self.lists.is_empty() {
                    self.block();
                }
                self.lists.push(List { number });
            }
            Tag::Item => {
                self.builder.lines(1);
                let depth = self.lists.len().saturating_sub(1);
                let marker = match self.lists.last_mut() {
                    Some(List {
                        number: Some(number),
                    }) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    Some(List { number: None }) | None => "• ".to_owned(),
                };
                self.builder.indent("  ".repeat(depth));
                self.builder.words(&marker);
                self.builder.indent("  ".repeat(depth + 1));
                self.after_marker = true;
            }
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.row();
                }
            }
            Tag::TableCell => {
                if let Some(table) = &mut self.table {
                    table.cell();
                }
            }
            Tag::Emphasis => self.push(Style::Italic),
            Tag::Strong => self.push(Style::Bold),
            Tag::Strikethrough => self.push(Style::Strike),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.picture = Some((self.builder.open(), dest_url.to_string()));
                self.link(&dest_url);
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn link(&mut self, address: &str) {
        if safe_address(address, &SCHEMES) {
            self.push(Style::Link(address.to_owned()));
        } else {
            self.open.push(None);
        }
    }

    fn pop(&mut self) {
        if let Some((at, style)) = self.open.pop().flatten()
            && self.table.is_none()
        {
            self.builder.close(at, style);
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_)
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link => self.pop(),
            TagEnd::BlockQuote(_) => {
                self.after_marker = false;
                self.pop();
            }
            TagEnd::CodeBlock => {
                self.builder.trim_newline();
                self.builder.verbatim(false);
                self.pop();
            }
            TagEnd::Image => {
                if let Some((at, address)) = self.picture.take()
                    && self.table.is_none()
                    && self.builder.open() == at
                {
                    self.builder.words(&address);
                }
                self.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.builder.indent("  ".repeat(self.lists.len()));
            }
            TagEnd::Item => {
                self.after_marker = false;
                self.builder
                    .indent("  ".repeat(self.lists.len().saturating_sub(1)));
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    table.draw(&mut self.builder);
                }
            }
            TagEnd::Paragraph
            | TagEnd::HtmlBlock
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }
}
