//! Whether an event is let in.

use std::collections::BTreeSet;

use chat::{Inbound, InboundKind, Place, SenderId};
use waybill::ProfileId;

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
}

impl Rules {
    fn knows(&self, sender: &SenderId) -> bool {
        self.owner.contains(sender) || self.allow.contains(sender)
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

/// Decides on an event, before any download and any model call. `route` is the profile that the configuration names for the
/// chat; without one nothing is admitted.
#[must_use]
pub fn admit(rules: &Rules, route: Option<&ProfileId>, event: &Inbound) -> Verdict {
    let ignore = |reason: &str| Verdict::Ignore(reason.to_owned());
    if event.sender.bot {
        return ignore("written by a program");
    }
    if event.kind == InboundKind::Edit {
        return ignore("an edit; edited messages are not answered again");
    }
    if !rules.knows(&event.sender.id) {
        return ignore("the sender is not on the account's list");
    }
    match event.place {
        Place::Direct => {}
        Place::Group { .. } if !rules.groups.contains(event.chat.conversation.as_str()) => {
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
    use waybill::{Anchor, ChatKey, Conversation, Timestamp};

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
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn rules() -> Rules {
        Rules {
            owner: [SenderId::new("1")].into(),
            allow: [SenderId::new("2")].into(),
            groups: ["-100".to_owned()].into(),
            require_mention: true,
        }
    }

    fn admitted(rules: &Rules, event: &Inbound) -> bool {
        let work = "work".parse().unwrap();
        admit(rules, Some(&work), event) == Verdict::Admit(work.clone())
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
    fn edits_programs_and_unrouted_chats_are_ignored() {
        let mut edit = event("1", Place::Direct);
        edit.kind = InboundKind::Edit;
        assert!(!admitted(&rules(), &edit));
        let mut program = event("1", Place::Direct);
        program.sender.bot = true;
        assert!(!admitted(&rules(), &program));
        assert!(matches!(
            admit(&rules(), None, &event("1", Place::Direct)),
            Verdict::Ignore(_)
        ));
    }
}
