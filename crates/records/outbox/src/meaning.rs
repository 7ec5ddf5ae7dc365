//! What states, faults and kinds mean, in a person's words. `../docs/outbox.md` says the same with more room.

use crate::{MessageKind, PartState, Verb};

/// What a state means, and what happens next.
#[must_use]
pub fn of_state(state: PartState) -> &'static str {
    match state {
        PartState::Queued => "Waits for its turn; it is sent by itself.",
        PartState::Sending => "On its way now.",
        PartState::Retry => "It was refused for now; it is sent again at its time.",
        PartState::Unknown => {
            "No answer came, so it may have arrived; it is looked into or sent again by itself."
        }
        PartState::Held => {
            "Nobody can find out whether it arrived. It waits for you: send it again, or say that it arrived."
        }
        PartState::Sent => "It is there.",
        PartState::Failed => "It was given up.",
        PartState::Expired => "It was too old to be sent.",
        PartState::Cancelled => "It was taken back before it was sent.",
        PartState::Superseded => "A newer one stands in its place.",
    }
}

/// What an attempt's outcome means: `sent`, `step`, `crashed`, or a fault's kind ([`chat::FaultKind::name`]); none for a word
/// that is none of these.
#[must_use]
pub fn of_outcome(outcome: &str) -> Option<&'static str> {
    Some(match outcome {
        "sent" => "It arrived.",
        "step" => {
            "A first step is done: a placeholder or an upload is there, and its content follows."
        }
        "crashed" => "The gateway itself failed on it; it is tried again, at most three times.",
        "not_sent" => {
            "Nothing left this machine: the platform's name was not found, or no connection could be made. Look at the network; it is tried again by itself."
        }
        "throttled" => "The platform asked to wait. It is sent again as soon as it may.",
        "temp_reject" => {
            "The platform has trouble of its own. It is tried again with growing waits."
        }
        "perm_item" => {
            "The platform does not take this content. Sending the same again won't help: ask for it in another form."
        }
        "perm_chat" => {
            "The chat is gone, or closed to us: the bot was removed or blocked. Open the chat again from the other side, then send it again."
        }
        "perm_account" => {
            "The account's login does not work. Renew its token in tidings.toml; what waits goes then."
        }
        "moved" => "The chat lives elsewhere now; it is sent there.",
        "duplicate" => "The platform had it already.",
        "no_change" => "Nothing was left to change: it is there already.",
        "unknown" => {
            "It left, and no answer came back: it may have arrived, or not. Look into the chat before you send it again."
        }
        _ => return None,
    })
}

/// What a message is for, as a noun.
#[must_use]
pub fn of_kind(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Reply => "answer",
        MessageKind::Cron => "scheduled report",
        MessageKind::Task => "task's result",
        MessageKind::Notice => "notice",
        MessageKind::Operator => "your own message",
    }
}

/// Why a part that stands there is left as it is; none where the verb can be done ([`Verb::applied`]).
#[must_use]
pub fn of_refusal(verb: Verb, state: PartState) -> Option<&'static str> {
    use PartState::{
        Cancelled, Expired, Failed, Held, Queued, Retry, Sending, Sent, Superseded, Unknown,
    };
    match (verb, state) {
        (Verb::Retry, Queued | Retry | Unknown | Held | Failed | Expired | Cancelled)
        | (Verb::Cancel, Queued | Retry | Unknown | Held)
        | (Verb::MarkSent, Retry | Unknown | Held | Failed | Expired) => None,
        (Verb::Retry, Sending) => Some("it is on its way right now"),
        (Verb::Retry, Sent) => Some("it has arrived; to say it twice, send a new message"),
        (Verb::Cancel, Sending) => Some("it is on its way and can't be taken back"),
        (Verb::Cancel, Sent) => Some("it has arrived already"),
        (Verb::Cancel, Failed | Expired) => Some("it was given up already"),
        (Verb::Cancel | Verb::MarkSent, Cancelled) => Some("it was taken back already"),
        (Verb::MarkSent, Queued) => Some("it was not tried yet, so it can't have arrived"),
        (Verb::MarkSent, Sending) => {
            Some("it is on its way right now; how that ends is written down by itself")
        }
        (Verb::MarkSent, Sent) => Some("it counts as sent already"),
        (Verb::Retry | Verb::Cancel | Verb::MarkSent, Superseded) => {
            Some("a newer one stands in its place")
        }
    }
}
