//! Markdown to HTML for our own web page.
//!
//! The words come from a model, which may have read them anywhere: raw HTML is shown as text, links lead to http, https and
//! mailto alone, and nothing is loaded from elsewhere (a picture's address can carry words out without a click).

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::rich::{options, safe_address};

const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Renders markdown as HTML that is safe to put into a page.
///
/// Tags are only: p, h1–h6, blockquote, pre, code, ul, ol, li, table, thead, tbody, tr, th, td, em, strong, del, a, br, hr.
#[must_use]
pub fn to_html(markdown: &str) -> String {
    let mut page = Page::default();
    for event in Parser::new_ext(markdown, options()) {
        page.event(event);
    }
    page.html
}

#[derive(Debug, Default)]
struct Page {
    html: String,
    /// The closing tags of the links that are open; empty where a link was refused.
    links: Vec<&'static str>,
    columns: Vec<Alignment>,
    column: usize,
    in_head: bool,
    has_body: bool,
    /// Where a picture's words begin, and its address.
    picture: Option<(usize, String)>,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(words)
            | Event::Html(words)
            | Event::InlineHtml(words)
            | Event::InlineMath(words)
            | Event::DisplayMath(words)
            | Event::FootnoteReference(words) => escape(&words, &mut self.html),
            Event::Code(words) => {
                self.html.push_str("<code>");
                escape(&words, &mut self.html);
                self.html.push_str("</code>");
            }
            Event::SoftBreak | Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(done) => self.html.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.html.push_str("<p>"),
            Tag::Heading { level, .. } => self.write(format_args!("<{level}>")),
            Tag::BlockQuote(_) => self.html.push_str("<blockquote>\n"),
            Tag::CodeBlock(CodeBlockKind::Indented) => self.html.push_str("<pre><code>"),
            Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
                let language: String = info
                    .chars()
                    .take_while(|sign| {
                        sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '+' | '#' | '.')
                    })
                    .take(40)
                    .collect();
                if language.is_empty() {
                    self.html.push_str("<pre><code>");
                } else {
                    self.write(format_args!("<pre><code class=\"language-{language}\">"));
                }
            }
            Tag::List(None) => self.html.push_str("<ul>\n"),
            Tag::List(Some(1)) => self.html.push_str("<ol>\n"),
            Tag::List(Some(first)) => self.write(format_args!("<ol start=\"{first}\">\n")),
            Tag::Item => self.html.push_str("<li>"),
            Tag::Table(columns) => {
                self.columns = columns;
                self.has_body = false;
                self.html.push_str("<table>\n");
            }
            Tag::TableHead => {
                self.in_head = true;
                self.column = 0;
                self.html.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                if !self.has_body {
                    self.has_body = true;
                    self.html.push_str("<tbody>\n");
                }
                self.html.push_str("<tr>");
            }
            Tag::TableCell => {
                let name = self.cell();
                let class = match self.columns.get(self.column) {
                    Some(Alignment::Right) => " class=\"right\"",
                    Some(Alignment::Center) => " class=\"center\"",
                    Some(Alignment::Left | Alignment::None) | None => "",
                };
                self.column += 1;
                self.write(format_args!("<{name}{class}>"));
            }
            Tag::Emphasis => self.html.push_str("<em>"),
            Tag::Strong => self.html.push_str("<strong>"),
            Tag::Strikethrough => self.html.push_str("<del>"),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.link(&dest_url);
                self.picture = Some((self.html.len(), dest_url.to_string()));
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

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.html.push_str("</p>\n"),
            TagEnd::Heading(level) => self.write(format_args!("</{level}>\n")),
            TagEnd::BlockQuote(_) => self.html.push_str("</blockquote>\n"),
            TagEnd::CodeBlock => self.html.push_str("</code></pre>\n"),
            TagEnd::List(true) => self.html.push_str("</ol>\n"),
            TagEnd::List(false) => self.html.push_str("</ul>\n"),
            TagEnd::Item => self.html.push_str("</li>\n"),
            TagEnd::Table => {
                if self.has_body {
                    self.html.push_str("</tbody>");
                }
                self.html.push_str("</table>\n");
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.html.push_str("</tr></thead>\n");
            }
            TagEnd::TableRow => self.html.push_str("</tr>\n"),
            TagEnd::TableCell => {
                let name = self.cell();
                self.write(format_args!("</{name}>"));
            }
            TagEnd::Emphasis => self.html.push_str("</em>"),
            TagEnd::Strong => self.html.push_str("</strong>"),
            TagEnd::Strikethrough => self.html.push_str("</del>"),
            TagEnd::Link => self.close_link(),
            TagEnd::Image => {
                if let Some((at, address)) = self.picture.take()
                    && self.html.len() == at
                {
                    escape(&address, &mut self.html);
                }
                self.close_link();
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn cell(&self) -> &'static str {
        if self.in_head { "th" } else { "td" }
    }

    fn link(&mut self, address: &str) {
        // A picture in a link would nest two; the outer one counts.
        if self.links.iter().all(|close| close.is_empty()) && safe_address(address, &SCHEMES) {
            self.html.push_str("<a href=\"");
            escape(address, &mut self.html);
            self.html
                .push_str("\" rel=\"noopener noreferrer\" target=\"_blank\">");
            self.links.push("</a>");
        } else {
            self.links.push("");
        }
    }

    fn close_link(&mut self) {
        self.html.push_str(self.links.pop().unwrap_or_default());
    }

    fn write(&mut self, words: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        self.html.write_fmt(words).unwrap_or_default();
    }
}

fn escape(words: &str, into: &mut String) {
    for sign in words.chars() {
        match sign {
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '&' => into.push_str("&amp;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            _ => into.push(sign),
        }
    }
}
