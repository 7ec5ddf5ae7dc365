//! Answers to what a running turn has asked: taps, `/approve` and `/deny`, and plain words.
//!
//! The rule for plain words: a message that runs no command, was not forwarded, has no file and came just now answers the agent's
//! own question (`ask`), if one is open in its chat that its sender may answer, and if it would only wait otherwise: where the
//! account's `busy` is `interrupt` it must answer a message (a reply of the platform's own). An approval is never given by plain
//! words.

use chat::{Activity, Inbound, InboundKind};
use session::{Admission, Answer, Answered, Answering, Busy, Came, InboxRow, Lasting};

use crate::service::Intake;

impl Intake {
    /// Gives a tap to its question. What it came to is told to whoever tapped, and nobody else.
    pub(crate) fn tapped(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        token: &str,
        tap: &str,
    ) -> Admission {
        let answered = self.give(
            row,
            inbound,
            Answer::Tap {
                token: token.to_owned(),
            },
        );
        let (says, over) = match answered {
            Answered::Taken(says) => (says, None),
            Answered::Refused(says) => (says, None),
            Answered::Over(says) => (says, Some(inbound.anchor.clone())),
            Answered::Nothing => (
                "There is nothing to answer.".to_owned(),
                Some(inbound.anchor.clone()),
            ),
        };
        tracing::info!(
            account = %row.account, sender = inbound.sender.id.as_str(), chat = %inbound.chat, says, "a tap"
        );
        let id = tap.to_owned();
        self.outlet
            .activity(&inbound.chat, Activity::Tapped { id, says, over });
        Admission::Tell {
            messages: Vec::new(),
        }
    }

    /// The answer to `/approve` and `/deny`.
    pub(crate) fn approve_or_deny(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        answer: fn(&str) -> Answer,
        came: Came,
    ) -> String {
        if inbound.forwarded_from.is_some() {
            return "A forwarded message approves nothing: write it yourself.".to_owned();
        }
        if came != Came::Now {
            return "This came before the gateway was started anew: what it answers is over."
                .to_owned();
        }
        match self.give(row, inbound, answer(policy::argument(&inbound.text))) {
            Answered::Taken(says) | Answered::Over(says) | Answered::Refused(says) => says,
            Answered::Nothing => "Nothing waits for an approval here.".to_owned(),
        }
    }

    /// Whether a message is the answer to an open question; then the turn has it.
    pub(crate) fn is_answer(
        &self,
        row: &InboxRow,
        inbound: &Inbound,
        busy: Busy,
        came: Came,
    ) -> bool {
        let only_waits = match busy {
            Busy::Queue | Busy::Steer => true,
            Busy::Interrupt => inbound.quoted.is_some(),
        };
        let plain = inbound.kind == InboundKind::Message
            && inbound.forwarded_from.is_none()
            && inbound.files.is_empty()
            && !inbound.text.trim().is_empty();
        if !only_waits || !plain || came != Came::Now {
            return false;
        }
        let words = Answer::Words(inbound.text.trim().to_owned());
        matches!(self.give(row, inbound, words), Answered::Taken(_))
    }

    fn give(&self, row: &InboxRow, inbound: &Inbound, answer: Answer) -> Answered {
        self.answers(Answering {
            chat: inbound.chat.clone(),
            sender: inbound.sender.clone(),
            at: row.at,
            answer,
        })
    }
}

/// `/approve [ID] [conversation]`.
pub(crate) fn approve(argument: &str) -> Answer {
    let (mut id, mut lasting) = (None, Lasting::Once);
    for word in argument.split_whitespace() {
        if word.eq_ignore_ascii_case("conversation") {
            lasting = Lasting::Conversation;
        } else if id.is_none() {
            id = Some(bare(word));
        }
    }
    Answer::Approve { id, lasting }
}

/// `/deny [ID] [REASON]`: a first word that looks like an id is one.
pub(crate) fn deny(argument: &str) -> Answer {
    let (first, rest) = argument
        .split_once(char::is_whitespace)
        .unwrap_or((argument, ""));
    let id = bare(first);
    let looks = id.len() == 5
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (id.bytes().any(|byte| byte.is_ascii_digit())
            || id.bytes().all(|byte| byte.is_ascii_uppercase()));
    let (id, reason) = if looks {
        (Some(id), rest)
    } else {
        (None, argument)
    };
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    Answer::Deny { id, reason }
}

/// People copy the marks of a code span along.
fn bare(word: &str) -> String {
    word.trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_be_left_out_and_a_reason_may_follow() {
        let yes = |id: Option<&str>, lasting| Answer::Approve {
            id: id.map(str::to_owned),
            lasting,
        };
        for (text, is) in [
            ("", yes(None, Lasting::Once)),
            ("K7QF2", yes(Some("K7QF2"), Lasting::Once)),
            ("`k7qf2`", yes(Some("k7qf2"), Lasting::Once)),
            ("conversation", yes(None, Lasting::Conversation)),
            (
                "K7QF2 Conversation",
                yes(Some("K7QF2"), Lasting::Conversation),
            ),
        ] {
            assert_eq!(approve(text), is, "{text}");
        }
        let no = |id: Option<&str>, reason: Option<&str>| Answer::Deny {
            id: id.map(str::to_owned),
            reason: reason.map(str::to_owned),
        };
        for (text, is) in [
            ("", no(None, None)),
            ("K7QF2", no(Some("K7QF2"), None)),
            ("K7QF2 not there", no(Some("K7QF2"), Some("not there"))),
            ("QWXYZ", no(Some("QWXYZ"), None)),
            ("never do that", no(None, Some("never do that"))),
            ("not there", no(None, Some("not there"))),
        ] {
            assert_eq!(deny(text), is, "{text}");
        }
    }
}
