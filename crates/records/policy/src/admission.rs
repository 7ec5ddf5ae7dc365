//! Whether an event is let in.

use std::collections::BTreeSet;

use chat::{Inbound, InboundKind, Place, SenderId};
use waybill::{ChatKey, ProfileId};

use crate::CommandSpec;

/// What the owner said about an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// The owner's ids.
    pub owner: BTreeSet<SenderId>,
    /// Others who may talk.
    pub allow: BTreeSet<SenderId>,
    /// Groups in which to answer.
    pub groups: BTreeSet<String>,
    /// Whether in groups only what is meant for us is answered.
    pub require_mention: bool,
    /// What a word with a slash in front is.
    pub slash: Slash,
}

/// What a word with a slash in front is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Slash {
    /// A command, if it is one's name.
    #[default]
    Command,
    /// A word like any other: a program passes on what people wrote, and none of them may steer the gateway.
    Word,
}

impl Rules {
    /// The command that a message is, if it is one on this account.
    #[must_use]
    pub fn command(&self, text: &str) -> Option<&'static CommandSpec> {
        match self.slash {
            Slash::Command => crate::find(text),
            Slash::Word => None,
        }
    }

    /// Whoever speaks as the chat itself has its id, and had its former ones.
    fn knows(&self, event: &Inbound, former: &[ChatKey]) -> bool {
        let known = |id: &SenderId| self.owner.contains(id) || self.allow.contains(id);
        let as_chat = event.sender.id.as_str() == event.chat.conversation.as_str();
        known(&event.sender.id)
            || as_chat
                && former
                    .iter()
                    .any(|chat| known(&SenderId::new(chat.conversation.as_str())))
    }

    fn answers_in(&self, chat: &ChatKey, former: &[ChatKey]) -> bool {
        std::iter::once(chat)
            .chain(former)
            .any(|chat| self.groups.contains(chat.conversation.as_str()))
    }
}

/// What to do with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It goes to this profile.
    Admit(ProfileId),
    /// Nothing happens, for this reason.
    Ignore(String),
}

/// Decides on what somebody wrote, before any download and any model call. `former` are the ids that the chat had before: what
/// the owner said of one of them holds. `route` is the profile that the configuration names for the chat; without one nothing is
/// admitted.
#[must_use]
pub fn admit(
    rules: &Rules,
    former: &[ChatKey],
    route: Option<&ProfileId>,
    event: &Inbound,
) -> Verdict {
    let ignore = |reason: &str| Verdict::Ignore(reason.to_owned());
    if event.sender.bot {
        return ignore("written by a program");
    }
    match &event.kind {
        InboundKind::Message => {}
        // It may turn ordinary words into a command, or only seem to: the platform sends an edit for other changes, too.
        InboundKind::Edit if crate::find(&event.text).is_some() => {
            return ignore("an edit never runs a command");
        }
        InboundKind::Edit => {}
        InboundKind::Moved { .. } => return ignore("nobody's words"),
        // Its question knows who may answer.
        InboundKind::Tap { .. } => return ignore("a tap is no message"),
    }
    if !rules.knows(event, former) {
        return ignore("the sender is not on the account's list");
    }
    match event.place {
        Place::Direct => {}
        Place::Group { .. } if !rules.answers_in(&event.chat, former) => {
            return ignore("the group is not on the account's list");
        }
        Place::Group { addressed: false } if rules.require_mention => {
            return ignore("not meant for us");
        }
        Place::Group { .. } => {}
    }
    if event.text.trim().is_empty() && event.files.is_empty() {
        return ignore("nothing in it");
    }
    match route {
        Some(profile) => Verdict::Admit(profile.clone()),
        None => ignore("no profile is configured for this chat"),
    }
}

#[cfg(test)]
mod tests {
    use chat::{InboundFile, Sender};
    use waybill::{Anchor, Conversation, Timestamp};

    use super::*;

    fn event(sender: &str, place: Place) -> Inbound {
        Inbound {
            chat: ChatKey::new("bot".parse().unwrap(), Conversation::new("-100").unwrap()),
            anchor: Anchor::new("7"),
            sender: Sender {
                id: SenderId::new(sender),
                name: Some("owner".to_owned()),
                bot: false,
            },
            place,
            kind: InboundKind::Message,
            text: "hello".to_owned(),
            files: Vec::<InboundFile>::new(),
            quoted: None,
            forwarded_from: None,
            preface: None,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn rules() -> Rules {
        Rules {
            owner: [SenderId::new("1")].into(),
            allow: [SenderId::new("2")].into(),
            groups: ["-100".to_owned()].into(),
            require_mention: true,
            slash: Slash::Command,
        }
    }

    fn admitted(rules: &Rules, event: &Inbound) -> bool {
        let work = "work".parse().unwrap();
        admit(rules, &[], Some(&work), event) == Verdict::Admit(work.clone())
    }

    #[test]
    fn a_stranger_is_not_heard_and_an_empty_list_is_nobody() {
        assert!(admitted(&rules(), &event("1", Place::Direct)));
        assert!(admitted(&rules(), &event("2", Place::Direct)));
        assert!(!admitted(&rules(), &event("3", Place::Direct)));
        assert!(!admitted(&Rules::default(), &event("1", Place::Direct)));
    }

    #[test]
    fn in_a_group_only_what_is_meant_for_us_is_heard() {
        assert!(admitted(
            &rules(),
            &event("2", Place::Group { addressed: true })
        ));
        assert!(!admitted(
            &rules(),
            &event("2", Place::Group { addressed: false })
        ));
        assert!(!admitted(
            &rules(),
            &event("3", Place::Group { addressed: true })
        ));
        let elsewhere = Rules {
            groups: BTreeSet::new(),
            ..rules()
        };
        assert!(!admitted(
            &elsewhere,
            &event("2", Place::Group { addressed: true })
        ));
    }

    #[test]
    fn an_edit_is_heard_by_the_same_rules_and_is_never_a_command() {
        let edit = |sender: &str, text: &str| Inbound {
            kind: InboundKind::Edit,
            text: text.to_owned(),
            ..event(sender, Place::Direct)
        };
        assert!(admitted(&rules(), &edit("1", "hello!")));
        assert!(!admitted(&rules(), &edit("3", "hello!")));
        assert!(!admitted(&rules(), &edit("1", "/new")));
        assert!(!admitted(&rules(), &edit("1", " /Reset@my_bot now")));
        assert!(admitted(&rules(), &edit("1", "/etc/passwd is a file")));
    }

    #[test]
    fn a_group_that_moved_is_heard_where_its_old_id_is_allowed() {
        let moved = Inbound {
            chat: ChatKey::new("bot".parse().unwrap(), Conversation::new("-200").unwrap()),
            ..event("2", Place::Group { addressed: true })
        };
        let (work, old) = (
            "work".parse().unwrap(),
            event("2", Place::Direct).chat.clone(),
        );
        let with = |former: &[ChatKey]| admit(&rules(), former, Some(&work), &moved);
        assert_eq!(with(&[old]), Verdict::Admit(work.clone()));
        assert!(matches!(with(&[]), Verdict::Ignore(_)));
    }

    #[test]
    fn what_a_program_passes_on_is_never_a_command() {
        let programs = Rules {
            slash: Slash::Word,
            ..rules()
        };
        assert!(rules().command("/new").is_some());
        assert!(programs.command("/new").is_none());
    }

    #[test]
    fn programs_and_unrouted_chats_are_ignored() {
        let mut program = event("1", Place::Direct);
        program.sender.bot = true;
        assert!(!admitted(&rules(), &program));
        assert!(matches!(
            admit(&rules(), &[], None, &event("1", Place::Direct)),
            Verdict::Ignore(_)
        ));
    }
}
