//! From words and artifacts to a frozen message.

use chat::{Body, Choice, Descriptor, Op, Rendering, Shape, Way};
use sandbox::ArtifactRef;
use serde::{Deserialize, Serialize};
use waybill::{MessageId, Timestamp, Waybill};

use crate::{MessageKind, NewMessage, NewPart, key, not_attached};

/// A file to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The bytes.
    pub artifact: ArtifactRef,
    /// How its maker wants it shown.
    pub shape: Shape,
    /// Words under it.
    pub caption: Option<String>,
}

/// What a person should see, before it takes a channel's form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// Words, as markdown.
    pub text: String,
    /// Files, in order; they come after the words.
    pub attachments: Vec<Attachment>,
    /// Lines of the gateway itself, under the words.
    pub notes: Vec<String>,
}

/// Everything about a message but its content.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a> {
    /// The message's id.
    pub id: MessageId,
    /// This installation's id.
    pub install: &'a str,
    /// Whose it is and where it goes.
    pub waybill: &'a Waybill,
    /// What for.
    pub kind: MessageKind,
    /// What made it.
    pub source: &'a str,
    /// The how-manieth of that source.
    pub ordinal: u32,
    /// What the channel can do.
    pub descriptor: &'a Descriptor,
    /// Now.
    pub now: Timestamp,
}

/// Freezes a draft into the parts that the channel will show: words first, split by the channel's limit, then the files.
/// Files over the channel's limit become a line that says so. `None` if there is nothing to see.
#[must_use]
pub fn compose(envelope: Envelope<'_>, draft: Draft) -> Option<NewMessage> {
    let Draft {
        text,
        attachments,
        mut notes,
    } = draft;
    let mut files = Vec::new();
    for attachment in attachments {
        if attachment.artifact.blob.size > envelope.descriptor.file_out {
            let limit = sandbox::size_text(envelope.descriptor.file_out);
            notes.push(not_attached(
                &attachment.artifact.name,
                &format!("{} takes files up to {limit}", envelope.descriptor.kind),
            ));
        } else {
            files.push(attachment);
        }
    }
    let words = with_notes(&text, &notes);
    let mut ops: Vec<Op> = bodies(envelope.descriptor, &words)
        .into_iter()
        .map(Op::Text)
        .collect();
    for file in files {
        let (caption, overlong) = caption(envelope.descriptor, file.caption.as_deref());
        ops.extend(overlong.into_iter().map(Op::Text));
        let shape = shape(envelope.descriptor, &file.artifact, file.shape);
        ops.push(Op::File {
            artifact: file.artifact,
            shape,
            caption,
        });
    }
    if ops.is_empty() {
        return None;
    }
    let texts = ops.iter().filter(|op| matches!(op, Op::Text(_))).count();
    let parts = ops
        .into_iter()
        .zip(1..)
        .map(|(op, n)| NewPart {
            way: way(envelope.descriptor, &op, texts),
            op,
            key: key::part_key(envelope.install, envelope.source, envelope.ordinal, n, 0),
        })
        .collect();
    let hours = jiff::SignedDuration::from_hours(envelope.kind.most_hours());
    Some(NewMessage {
        id: envelope.id,
        waybill: envelope.waybill.clone(),
        kind: envelope.kind,
        source: envelope.source.to_owned(),
        ordinal: envelope.ordinal,
        parts,
        when_unknown: envelope.descriptor.when_unknown,
        replaces: None,
        created_at: envelope.now,
        expires_at: envelope.now.checked_add(hours).unwrap_or(Timestamp::MAX),
    })
}

/// A question, before it takes a channel's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its name; opaque.
    pub question: String,
    /// The words, as markdown; they say how to answer where there are no buttons.
    pub text: String,
    /// The answers; empty: any words will do.
    pub choices: Vec<Choice>,
    /// When no answer counts any more. A question that did not arrive by then is not shown at all.
    pub until: Timestamp,
}

/// Freezes a question; its answers stand under its last words. `None` if there is nothing to see.
#[must_use]
pub fn ask(envelope: Envelope<'_>, asked: Asked) -> Option<NewMessage> {
    let Asked {
        question,
        text,
        choices,
        until,
    } = asked;
    let draft = Draft {
        text,
        ..Draft::default()
    };
    let mut message = compose(envelope, draft)?;
    message.expires_at = message.expires_at.min(until);
    let last = message.parts.last_mut()?;
    if let Op::Text(body) = &last.op {
        last.op = Op::Question {
            body: body.clone(),
            question,
            choices,
        };
        last.way = Way::Direct;
    }
    Some(message)
}

/// What is long or heavy goes by a placeholder, where the channel has them: an answer that gets lost on the way back leaves an
/// empty one then, and not a second copy. Voice notes can't take a placeholder's place.
fn way(descriptor: &Descriptor, op: &Op, texts: usize) -> Way {
    let carried = descriptor.carrier.is_some_and(|rule| match op {
        Op::Text(_) => texts >= rule.text_parts,
        Op::Question { .. } => false,
        Op::File {
            artifact, shape, ..
        } => *shape != Shape::Voice && artifact.blob.size >= rule.file_bytes,
    });
    if carried { Way::Carried } else { Way::Direct }
}

fn with_notes(text: &str, notes: &[String]) -> String {
    let mut words = text.trim_end().to_owned();
    if !notes.is_empty() {
        if !words.is_empty() {
            words.push_str("\n\n");
        }
        words.push_str(&notes.join("\n\n"));
    }
    words
}

fn bodies(descriptor: &Descriptor, markdown: &str) -> Vec<Body> {
    if markdown.trim().is_empty() {
        return Vec::new();
    }
    match descriptor.rendering {
        Rendering::Rich => markup::split(&markup::rich(markdown), descriptor.text)
            .into_iter()
            .map(Body::Rich)
            .collect(),
        Rendering::Markdown => markup::split_markdown(markdown, descriptor.text)
            .into_iter()
            .map(Body::Markdown)
            .collect(),
    }
}

/// The caption in the channel's form; where it does not fit under a file, it becomes words before it.
fn caption(descriptor: &Descriptor, text: Option<&str>) -> (Option<Body>, Vec<Body>) {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return (None, Vec::new());
    };
    let body = match descriptor.rendering {
        Rendering::Rich => Body::Rich(markup::rich(text)),
        Rendering::Markdown => Body::Markdown(text.to_owned()),
    };
    match descriptor.caption {
        Some(limit) if limit.fits(body.text()) => (Some(body), Vec::new()),
        _ => (None, bodies(descriptor, text)),
    }
}

/// What the file becomes on this channel: pictures are photos where they may be, sound is a voice note only where it was
/// asked for and can be one; all else is a document.
fn shape(descriptor: &Descriptor, artifact: &ArtifactRef, wanted: Shape) -> Shape {
    let mime = artifact.blob.mime.as_str();
    let photo = || {
        descriptor.photo.as_ref().is_some_and(|rule| {
            artifact.blob.size > 0
                && artifact.blob.size <= rule.bytes
                && rule.types.iter().any(|known| known == mime)
        })
    };
    match wanted {
        Shape::Auto | Shape::Photo if photo() => Shape::Photo,
        Shape::Voice if descriptor.voice.iter().any(|known| known == mime) => Shape::Voice,
        Shape::Auto | Shape::Photo | Shape::Voice | Shape::Document => Shape::Document,
    }
}
