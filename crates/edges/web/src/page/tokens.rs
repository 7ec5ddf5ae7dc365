//! One pass over a page's tokens.

use std::sync::atomic::{AtomicBool, Ordering};

use html5gum::{DefaultEmitter, EndTag, HtmlString, Spanned, StartTag, Token, Tokenizer};
use url::Url;

use super::element::{Element, element, is_around, is_void};
use super::open::{Open, Shown, Stack};
use super::writer::{Gap, Writer};

/// Whether what stands around the matter is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    LeftOut,
    Shown,
}

/// What a pass found.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Where in the text its `main` and its articles stand.
    pub(super) mains: Vec<(usize, usize)>,
    pub(super) articles: Vec<(usize, usize)>,
    pub(super) cut: bool,
}

/// Longest title in characters.
const TITLE: usize = 300;
/// Longest address that is shown in a text: longer ones are states of programs.
const ADDRESS: usize = 500;
/// Longest description of a picture in characters.
const ALT: usize = 300;
/// Articles of one page that are told apart.
const REGIONS: usize = 1_000;

/// Goes through a page. `None` if `stop` was set meanwhile.
pub(super) fn pass(html: &str, base: &Url, around: Around, stop: &AtomicBool) -> Option<Pass> {
    let mut emitter = DefaultEmitter::default();
    // Scripts and titles hold no tags, whatever looks like one.
    emitter.naively_switch_states(true);
    let mut reading = Reading::at(base, around);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        if reading.writer.is_full() {
            break;
        }
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => reading.start(&tag),
            Token::EndTag(tag) => reading.end(&tag),
            Token::String(text) => reading.words(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    Some(reading.finish())
}

struct Reading {
    base: Url,
    around: Around,
    stack: Stack,
    writer: Writer,
    title: String,
    in_title: bool,
    /// The address of the link that is open.
    link: Option<String>,
    /// Whether the row that is open has a cell with something in it.
    filled: bool,
    /// Where regions began that are open.
    main: Option<usize>,
    article: Option<usize>,
    mains: Vec<(usize, usize)>,
    articles: Vec<(usize, usize)>,
}

type Attribute<'a> = Option<&'a Spanned<HtmlString, ()>>;

fn attribute<'a>(tag: &'a StartTag<()>, name: &[u8]) -> Attribute<'a> {
    tag.attributes.get(name)
}

fn text_of(attribute: Attribute<'_>) -> String {
    attribute.map_or_else(String::new, |value| {
        String::from_utf8_lossy(value).trim().to_owned()
    })
}

impl Reading {
    fn at(base: &Url, around: Around) -> Self {
        Self {
            base: base.clone(),
            around,
            stack: Stack::default(),
            writer: Writer::default(),
            title: String::new(),
            in_title: false,
            link: None,
            filled: false,
            main: None,
            article: None,
            mains: Vec::new(),
            articles: Vec::new(),
        }
    }

    fn finish(mut self) -> Pass {
        while let Some(open) = self.stack.pop() {
            self.closed(&open);
        }
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let (text, cut) = self.writer.finish();
        Pass {
            title: (!title.is_empty()).then_some(title),
            text,
            mains: self.mains,
            articles: self.articles,
            cut,
        }
    }

    fn words(&mut self, text: &str) {
        if self.in_title {
            self.title.extend(text.chars().take(TITLE));
            return;
        }
        if self.stack.skips() {
            return;
        }
        if !text.trim().is_empty() {
            self.filled = true;
        }
        self.writer.words(text);
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        let element = element(name);
        for _ in 0..self.stack.implied_by(element) {
            self.close();
        }
        let shown = self.shown(tag, element);
        let indent = self.writer.indent();
        // The first one, and not the one of a drawing.
        self.in_title = element == Element::Title && !self.stack.skips() && self.title.is_empty();
        if shown == Shown::Yes && !self.stack.skips() {
            self.opened(tag, element);
        }
        if !is_void(name) {
            self.stack.push(element, name, shown, indent);
        }
    }

    fn end(&mut self, tag: &EndTag<()>) {
        let name: &[u8] = &tag.name;
        let element = element(name);
        self.in_title = false;
        if element == Element::Break && !self.stack.skips() {
            self.writer.line_break();
        }
        for _ in 0..self.stack.ended_by(name, element).unwrap_or_default() {
            self.close();
        }
    }

    fn close(&mut self) {
        let skipped = self.stack.skips();
        if let Some(open) = self.stack.pop()
            && !skipped
        {
            self.closed(&open);
        }
    }

    fn shown(&self, tag: &StartTag<()>, element: Element) -> Shown {
        if matches!(element, Element::Unread | Element::Title) {
            return Shown::No;
        }
        // The head of an article belongs to it.
        let inside = || {
            let matter = |open| matches!(open, Element::Main | Element::Article);
            self.stack.inside(matter)
        };
        let around = element == Element::Around
            || (element == Element::Header && !inside())
            || attribute(tag, b"role").is_some_and(|role| is_around(role));
        if (around && self.around == Around::LeftOut) || is_hidden(tag) {
            Shown::No
        } else {
            Shown::Yes
        }
    }

    fn opened(&mut self, tag: &StartTag<()>, element: Element) {
        if !element.is_inline() {
            self.break_link();
        }
        match element {
            Element::Main => {
                self.block();
                self.main.get_or_insert(self.writer.len());
            }
            Element::Article => {
                self.block();
                self.article.get_or_insert(self.writer.len());
            }
            Element::Paragraph
            | Element::Table
            | Element::Terms
            | Element::Bullets
            | Element::Numbers => self.block(),
            Element::Around | Element::Header | Element::Block => {
                self.writer.gap(Gap::Line);
                if attribute(tag, b"role").is_some_and(|role| role.as_slice() == b"main") {
                    self.main.get_or_insert(self.writer.len());
                }
            }
            Element::Heading(level) => {
                self.block();
                let signs = "#".repeat(usize::from(level));
                self.writer.mark(&format!("{signs} "));
            }
            Element::Item => self.item(),
            Element::Term => self.block(),
            Element::Meaning => {
                self.writer.gap(Gap::Line);
                self.writer.mark(": ");
                self.writer.push_indent("  ");
            }
            Element::Quote => {
                self.block();
                self.writer.push_indent("> ");
            }
            Element::Preformatted => self.writer.begin_preformatted(),
            Element::Row => {
                self.writer.next_row();
                self.filled = false;
            }
            Element::Cell if self.filled => self.writer.next_cell(),
            Element::Link => self.begin_link(tag),
            Element::Code => {
                self.writer.open('`');
            }
            Element::Image => self.image(tag),
            Element::Break => self.writer.line_break(),
            Element::Rule => self.writer.rule(),
            Element::Base => {
                if let Some(base) = self.address(attribute(tag, b"href")) {
                    self.base = base;
                }
            }
            Element::Cell | Element::Inline | Element::Unread | Element::Title => {}
        }
    }

    fn closed(&mut self, open: &Open) {
        if !open.element.is_inline() {
            self.break_link();
        }
        self.writer.cut_indent(open.indent);
        match open.element {
            Element::Main => {
                self.block();
                self.end_main();
            }
            Element::Article => {
                self.block();
                let outermost = !self.stack.inside(|open| open == Element::Article);
                if outermost && let Some(from) = self.article.take() {
                    region(&mut self.articles, from, self.writer.len());
                }
            }
            Element::Table => {
                self.writer.next_row();
                self.block();
            }
            Element::Paragraph
            | Element::Quote
            | Element::Terms
            | Element::Bullets
            | Element::Numbers => self.block(),
            Element::Row => self.writer.next_row(),
            Element::Heading(_) => {
                self.writer.unmark();
                self.block();
            }
            Element::Item | Element::Meaning => {
                self.writer.unmark();
                self.writer.gap(Gap::Line);
            }
            Element::Around | Element::Header | Element::Block | Element::Term => {
                self.writer.gap(Gap::Line);
            }
            Element::Preformatted => self.writer.end_preformatted(),
            Element::Link => self.end_link(),
            Element::Code => {
                if self.writer.close('`') {
                    self.writer.attach("`");
                }
            }
            Element::Cell
            | Element::Inline
            | Element::Unread
            | Element::Title
            | Element::Image
            | Element::Break
            | Element::Rule
            | Element::Base => {}
        }
    }

    fn block(&mut self) {
        self.writer.gap(Gap::Blank);
    }

    fn end_main(&mut self) {
        if let Some(from) = self.main.take() {
            region(&mut self.mains, from, self.writer.len());
        }
    }

    fn item(&mut self) {
        self.writer.gap(Gap::Line);
        let mark = match self.stack.list() {
            Some(list) if list.element == Element::Numbers => {
                list.count = list.count.saturating_add(1);
                format!("{}. ", list.count)
            }
            _ => "- ".to_owned(),
        };
        self.writer.mark(&mark);
        self.writer.push_indent("  ");
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        let href = attribute(tag, b"href");
        // A place on the same page is where the reader is already.
        if href.is_some_and(|href| href.starts_with(b"#")) {
            return;
        }
        if let Some(address) = self.address(href)
            && address.as_str().len() <= ADDRESS
            && self.writer.open('[')
        {
            self.link = Some(address.into());
        }
    }

    /// A link does not go on over the end of a block, unless its words are still to come.
    fn break_link(&mut self) {
        if !self.writer.awaits('[') {
            self.end_link();
        }
    }

    fn end_link(&mut self) {
        if let Some(address) = self.link.take()
            && self.writer.close('[')
        {
            self.writer.attach(&format!("]({address})"));
        }
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let alt: String = text_of(attribute(tag, b"alt")).chars().take(ALT).collect();
        if alt.is_empty() {
            return;
        }
        self.filled = true;
        match self.address(attribute(tag, b"src")) {
            Some(address) if self.link.is_none() && address.as_str().len() <= ADDRESS => {
                self.writer.words(&format!("![{alt}]({address})"));
            }
            _ => self.writer.words(&alt),
        }
    }

    /// An address of the web; no scripts, no mail, nothing that is written into the page.
    fn address(&self, written: Attribute<'_>) -> Option<Url> {
        let written: &[u8] = written?;
        if written.len() > ADDRESS {
            return None;
        }
        let address = self.base.join(&String::from_utf8_lossy(written)).ok()?;
        matches!(address.scheme(), "http" | "https").then_some(address)
    }
}

fn region(regions: &mut Vec<(usize, usize)>, from: usize, to: usize) {
    if regions.len() < REGIONS {
        regions.push((from, to));
    }
}

/// Whether nobody sees it: what is written for the model alone is no part of the page.
fn is_hidden(tag: &StartTag<()>) -> bool {
    let hides = |value: Attribute<'_>, what: &[u8]| {
        value.is_some_and(|value| value.eq_ignore_ascii_case(what))
    };
    if attribute(tag, b"hidden").is_some() || hides(attribute(tag, b"aria-hidden"), b"true") {
        return true;
    }
    let Some(style) = attribute(tag, b"style") else {
        return false;
    };
    let style: String = String::from_utf8_lossy(style)
        .chars()
        .filter(|sign| !sign.is_whitespace())
        .take(2_000)
        .collect::<String>()
        .to_ascii_lowercase();
    style.split(';').any(|rule| {
        let rule = rule.trim_end_matches("!important");
        matches!(
            rule,
            "display:none" | "visibility:hidden" | "opacity:0" | "font-size:0" | "font-size:0px"
        )
    })
}
