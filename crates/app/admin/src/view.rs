//! Entries as pages get them. The one place where markdown becomes HTML.

use chat::{Body, Choice, Op, Shape};
use sandbox::ArtifactRef;
use serde::{Deserialize, Serialize};
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

/// In which form an agent's words are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    /// HTML that is safe by construction.
    #[default]
    Html,
    /// Markdown, as the agent wrote it.
    Markdown,
}

/// An entry. A person's words are `text`, to be shown as they are; an agent's are `html` or `markdown`, as the reader asked.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    files: Vec<FileView>,
    may_be_repeat: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<QuestionView>,
    /// The id that the page gave it, if it was said just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// A question of an entry, and its answers. Whether it can be answered still comes by the events.
#[derive(Debug, Serialize)]
pub(crate) struct QuestionView {
    id: String,
    choices: Vec<Choice>,
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

/// The words as they were written.
fn source(body: &Body) -> String {
    body.text().to_owned()
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
    pub(crate) fn of(entry: &Visible, message: Option<String>, form: Form) -> Self {
        let (text, words, files, may_be_repeat) = match &entry.content {
            VisibleContent::Said { text, files } => {
                let files = files.iter().map(|one| file(one, Shape::Auto)).collect();
                (Some(text.clone()), None, files, false)
            }
            VisibleContent::Part {
                op: Op::Text(words) | Op::Question { body: words, .. },
                may_be_repeat,
            } => (None, Some(words), Vec::new(), *may_be_repeat),
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
                caption.as_ref(),
                vec![file(artifact, *shape)],
                *may_be_repeat,
            ),
        };
        let question = match &entry.content {
            VisibleContent::Part {
                op: Op::Question {
                    question, choices, ..
                },
                ..
            } => Some(QuestionView {
                id: question.clone(),
                choices: choices.clone(),
            }),
            VisibleContent::Part { .. } | VisibleContent::Said { .. } => None,
        };
        let at = entry.at.as_millisecond();
        let (html, markdown) = match form {
            Form::Html => (words.map(body), None),
            Form::Markdown => (None, words.map(source)),
        };
        Self {
            id: entry.id,
            author: entry.author,
            at,
            text,
            html,
            markdown,
            files,
            may_be_repeat,
            question,
            message,
        }
    }
}
