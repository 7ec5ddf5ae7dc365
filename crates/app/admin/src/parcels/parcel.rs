//! A parcel as the page shows it: a row of the list, and the whole of it.

use chat::{Body, Op};
use outbox::view::verbs;
use outbox::{MessageRow, PartRow, PartState, Verb, meaning};
use waybill::{MessageId, Origin};

use crate::kind::{self, Look};
use crate::parcels::stamp::{Shown, Stamp};
use crate::parcels::timeline::{self, Step};
use crate::parcels::wanted::Chosen;
use crate::view::file_url;

/// Longest summary of a parcel, in characters.
const SUMMARY: usize = 110;
/// Words of a part that are shown at once, in characters; the rest can be opened.
const LEAD: usize = 280;
/// Largest picture that is shown small beside its name, in bytes.
const THUMBNAIL: u64 = 8 << 20;

/// A state in a few words, with its class in the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Badge {
    pub(crate) words: &'static str,
    pub(crate) class: &'static str,
    /// As programs and the command line call it.
    pub(crate) name: &'static str,
}

pub(crate) fn badge(state: PartState) -> Badge {
    let (words, class) = match state {
        PartState::Queued => ("Waiting", "wait"),
        PartState::Sending => ("On its way", "wait"),
        PartState::Retry => ("Again later", "wait"),
        PartState::Unknown => ("No answer", "warn"),
        PartState::Held => ("Held for you", "warn"),
        PartState::Sent => ("There", "good"),
        PartState::Failed => ("Given up", "bad"),
        PartState::Expired => ("Too old", "bad"),
        PartState::Cancelled => ("Taken back", "plain"),
        PartState::Superseded => ("Replaced", "plain"),
    };
    Badge {
        words,
        class,
        name: state.name(),
    }
}

/// A line of the list.
pub(crate) struct Row {
    pub(crate) url: String,
    pub(crate) current: bool,
    pub(crate) badge: Badge,
    pub(crate) words: String,
    pub(crate) to: String,
    pub(crate) kind: &'static str,
    pub(crate) profile: String,
    pub(crate) made: Stamp,
    /// What keeps it from arriving, if something does.
    pub(crate) trouble: Option<String>,
    pub(crate) until: Option<Stamp>,
}

impl Row {
    pub(crate) fn of(row: &MessageRow, chosen: &Chosen, open: Option<MessageId>) -> Self {
        // The part that gives the whole its state.
        let telling = row.parts.iter().find(|part| part.state != PartState::Sent);
        Self {
            url: chosen.at(&format!("/outbox/{}", row.id)),
            current: open == Some(row.id),
            badge: badge(row.state()),
            words: summary(row),
            to: row.waybill.chat().to_string(),
            kind: meaning::of_kind(row.kind),
            profile: row.waybill.profile().to_string(),
            made: Stamp::new(row.created_at, Shown::Ago),
            trouble: telling.and_then(|part| Some(part.fault.as_ref()?.text.clone())),
            until: telling
                .filter(|part| matches!(part.state, PartState::Retry | PartState::Unknown))
                .map(|part| Stamp::new(part.next_at, Shown::Until)),
        }
    }
}

/// The first words, or the files' names.
fn summary(row: &MessageRow) -> String {
    let mut words = String::new();
    for part in &row.parts {
        let piece = match &part.op {
            Op::Text(body) | Op::Question { body, .. } => body.text().to_owned(),
            Op::File { artifact, .. } => kind::shown_name(&artifact.name),
        };
        for word in piece.split_whitespace() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
        }
        if words.chars().count() > SUMMARY {
            break;
        }
    }
    shortened(&words, SUMMARY).unwrap_or(words)
}

/// The first characters, if there are more.
fn shortened(text: &str, most: usize) -> Option<String> {
    let (end, _) = text.char_indices().nth(most)?;
    Some(format!("{}…", text.get(..end)?.trim_end()))
}

/// What can be done, as a button.
pub(crate) struct Action {
    pub(crate) verb: &'static str,
    pub(crate) words: String,
    /// What has to be thought of first.
    pub(crate) confirm: Option<&'static str>,
    pub(crate) class: &'static str,
}

/// A file of a part.
pub(crate) struct Attached {
    pub(crate) name: String,
    pub(crate) size: String,
    pub(crate) url: String,
    pub(crate) picture: bool,
}

/// A part with its life.
pub(crate) struct Part {
    pub(crate) n: u32,
    pub(crate) what: &'static str,
    pub(crate) badge: Badge,
    pub(crate) lead: String,
    /// All its words, where the lead is not all.
    pub(crate) whole: Option<String>,
    pub(crate) forgotten: bool,
    pub(crate) file: Option<Attached>,
    pub(crate) notes: Vec<&'static str>,
    pub(crate) steps: Vec<Step>,
    pub(crate) actions: Vec<Action>,
}

/// A parcel with all that is known of it.
pub(crate) struct Parcel {
    pub(crate) id: MessageId,
    pub(crate) badge: Badge,
    pub(crate) meaning: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) to: String,
    pub(crate) to_url: String,
    pub(crate) profile: String,
    pub(crate) origin: String,
    pub(crate) source: String,
    pub(crate) turn: Option<String>,
    pub(crate) made: Stamp,
    pub(crate) expires: Stamp,
    pub(crate) parts: Vec<Part>,
    /// For all parts at once, where several can do the same.
    pub(crate) actions: Vec<Action>,
}

impl Parcel {
    pub(crate) fn of(row: &MessageRow) -> Self {
        let chat = row.waybill.chat();
        let in_chat = Chosen {
            chat: chat.to_string(),
            ..Chosen::default()
        };
        Self {
            id: row.id,
            badge: badge(row.state()),
            meaning: standing(row),
            kind: meaning::of_kind(row.kind),
            to: chat.to_string(),
            to_url: in_chat.at("/outbox"),
            profile: row.waybill.profile().to_string(),
            origin: origin(row.waybill.origin()),
            source: format!("{} #{}", row.source, row.ordinal),
            turn: row.waybill.turn().map(|turn| turn.to_string()),
            made: Stamp::clock(row.created_at),
            expires: Stamp::clock(row.expires_at),
            parts: row.parts.iter().map(|part| Part::of(row, part)).collect(),
            actions: for_all(&row.parts),
        }
    }
}

/// How the whole stands and what to do, in a sentence or two.
fn standing(row: &MessageRow) -> &'static str {
    let state = row.state();
    let telling = row.parts.iter().find(|part| part.state == state);
    let fault = telling.and_then(|part| part.fault.as_ref());
    match (state, fault) {
        (PartState::Retry | PartState::Failed, Some(fault)) => {
            meaning::of_outcome(fault.kind.name()).unwrap_or(meaning::of_state(state))
        }
        _ => meaning::of_state(state),
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Chat(chat) => format!("a message in {chat}"),
        Origin::Operator => "the gateway or its owner".to_owned(),
        Origin::Cron { .. } | Origin::Child { .. } | Origin::Api { .. } => origin.to_string(),
    }
}

impl Part {
    fn of(row: &MessageRow, part: &PartRow) -> Self {
        let words = match &part.op {
            Op::Text(body) | Op::Question { body, .. } => body.text(),
            Op::File { caption, .. } => caption.as_ref().map_or("", Body::text),
        };
        let lead = shortened(words, LEAD);
        Self {
            n: part.n,
            what: match part.op.name() {
                "text" => "Words",
                "photo" => "Photo",
                "voice" => "Voice note",
                _ => "Document",
            },
            badge: badge(part.state),
            whole: lead.is_some().then(|| words.to_owned()),
            lead: lead.unwrap_or_else(|| words.to_owned()),
            forgotten: part.forgotten,
            file: part.op.artifact().map(|artifact| Attached {
                name: kind::shown_name(&artifact.name),
                size: sandbox::size_text(artifact.blob.size),
                url: file_url(artifact),
                picture: kind::look(&artifact.blob.mime) == Look::Image
                    && artifact.blob.size <= THUMBNAIL,
            }),
            notes: notes(part),
            steps: timeline::of(row, part),
            actions: verbs(part.state)
                .map(|verb| action(verb, button(verb, part), confirm(verb, [part])))
                .collect(),
        }
    }
}

fn notes(part: &PartRow) -> Vec<&'static str> {
    let mut notes = Vec::new();
    if part.rendition > 0 {
        notes.push("Sent in a plainer form: the first one was refused.");
    }
    if part.may_be_repeat {
        notes.push("May be seen twice: an attempt before got no answer.");
    }
    notes
}

fn button(verb: Verb, part: &PartRow) -> String {
    match verb {
        Verb::Retry if part.attempts.is_empty() => "Send now",
        Verb::Retry if part.state == PartState::Retry => "Try again now",
        Verb::Retry => "Send again",
        Verb::Cancel => "Cancel",
        Verb::MarkSent => "It arrived",
    }
    .to_owned()
}

fn action(verb: Verb, words: String, confirm: Option<&'static str>) -> Action {
    Action {
        verb: verb.name(),
        words,
        confirm,
        class: match verb {
            Verb::Retry => "main",
            Verb::Cancel | Verb::MarkSent => "other",
        },
    }
}

/// Whether an attempt of it may have arrived without our knowing.
fn may_be_there(part: &PartRow) -> bool {
    let open_end = |outcome: Option<&str>| matches!(outcome, None | Some("unknown" | "crashed"));
    part.may_be_repeat
        || matches!(part.state, PartState::Unknown | PartState::Held)
        || part
            .attempts
            .iter()
            .any(|attempt| open_end(attempt.outcome.as_deref()))
}

fn confirm<'a>(verb: Verb, parts: impl IntoIterator<Item = &'a PartRow>) -> Option<&'static str> {
    match verb {
        Verb::Retry => parts.into_iter().any(may_be_there).then_some(
            "An attempt got no answer, so this may be there already and be seen twice. Look into the chat first.",
        ),
        Verb::MarkSent => {
            Some("It counts as arrived then, and is not sent any more. Look into the chat first.")
        }
        Verb::Cancel => None,
    }
}

fn for_all(parts: &[PartRow]) -> Vec<Action> {
    Verb::ALL
        .into_iter()
        .filter_map(|verb| {
            let able: Vec<&PartRow> = parts
                .iter()
                .filter(|part| verb.applied(part.state).is_some())
                .collect();
            let words = match verb {
                Verb::Retry => format!("Send {} parts now", able.len()),
                Verb::Cancel => format!("Cancel {} parts", able.len()),
                Verb::MarkSent => format!("All {} arrived", able.len()),
            };
            (able.len() > 1).then(|| action(verb, words, confirm(verb, able)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), None);
        assert_eq!(shortened("äöü", 2).as_deref(), Some("äö…"));
        assert_eq!(shortened("a b", 2).as_deref(), Some("a…"));
    }
}
