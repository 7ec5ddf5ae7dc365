//! Entries as pages get them. The one place where markdown becomes HTML.

use chat::{Body, Op, Shape};
use sandbox::ArtifactRef;
use serde::Serialize;
use session::{Visible, VisibleAuthor, VisibleContent};

use crate::kind::{self, Look};

/// A file of an entry.
#[derive(Debug, Serialize)]
pub(crate) struct FileView {
    name: String,
    size: u64,
    mime: String,
    look: Look,
    url: String,
}

/// An entry. A person's words are `text`, to be shown as they are; an agent's are `html`, safe by construction.
#[derive(Debug, Serialize)]
pub(crate) struct EntryView {
    id: i64,
    author: VisibleAuthor,
    /// Milliseconds since 1970.
    at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    files: Vec<FileView>,
    may_be_repeat: bool,
    /// The id that the page gave it, if it was said just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Markdown as HTML that can't do anything.
pub(crate) fn html(markdown: &str) -> String {
    markup::to_html(markdown)
}

/// Plain text as HTML.
fn plain(text: &str) -> String {
    let escaped = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    format!("<p class=\"plain\">{escaped}</p>")
}

fn body(body: &Body) -> String {
    match body {
        Body::Markdown(markdown) => html(markdown),
        Body::Rich(rich) => plain(&rich.text),
    }
}

/// Where a file can be fetched.
pub(crate) fn file_url(file: &ArtifactRef) -> String {
    format!(
        "/files/{}/{}/{}",
        file.profile,
        file.blob.hash,
        kind::percent(&kind::shown_name(&file.name))
    )
}

fn file(file: &ArtifactRef, shape: Shape) -> FileView {
    let look = match shape {
        Shape::Document => Look::Card,
        Shape::Auto | Shape::Photo | Shape::Voice => kind::look(&file.blob.mime),
    };
    FileView {
        name: kind::shown_name(&file.name),
        size: file.blob.size,
        mime: file.blob.mime.clone(),
        look,
        url: file_url(file),
    }
}

impl EntryView {
    pub(crate) fn of(entry: &Visible, message: Option<String>) -> Self {
        let (text, html, files, may_be_repeat) = match &entry.content {
            VisibleContent::Said { text, files } => {
                let files = files.iter().map(|one| file(one, Shape::Auto)).collect();
                (Some(text.clone()), None, files, false)
            }
            VisibleContent::Part {
                op: Op::Text(words),
                may_be_repeat,
            } => (None, Some(body(words)), Vec::new(), *may_be_repeat),
            VisibleContent::Part {
                op:
                    Op::File {
                        artifact,
                        shape,
                        caption,
                    },
                may_be_repeat,
            } => (
                None,
                caption.as_ref().map(body),
                vec![file(artifact, *shape)],
                *may_be_repeat,
            ),
        };
        let at = entry.at.as_millisecond();
        Self {
            id: entry.id,
            author: entry.author,
            at,
            text,
            html,
            files,
            may_be_repeat,
            message,
        }
    }
}
