//! Allow, ask, or deny.

use serde::{Deserialize, Serialize};

use super::{Action, Context, Reach};

/// What a turn has read by now. It only grows; whatever was read stays in the model's mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Labels {
    /// Text of somebody who has no say here: the web, other programs' results, people who are not the owner in a group, what
    /// was forwarded or quoted, files of others.
    #[serde(default)]
    pub untrusted: bool,
    /// What is nobody else's business: files, memory, earlier conversations, other programs' results.
    #[serde(default)]
    pub private: bool,
}

impl Labels {
    /// Nothing.
    pub const NONE: Self = Self {
        untrusted: false,
        private: false,
    };
    /// Text of others.
    pub const UNTRUSTED: Self = Self {
        untrusted: true,
        private: false,
    };
    /// Private data.
    pub const PRIVATE: Self = Self {
        untrusted: false,
        private: true,
    };
    /// Both.
    pub const BOTH: Self = Self {
        untrusted: true,
        private: true,
    };

    /// These and those.
    #[must_use]
    pub fn with(self, more: Self) -> Self {
        Self {
            untrusted: self.untrusted || more.untrusted,
            private: self.private || more.private,
        }
    }
}

/// The owner's word on a kind of action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// It is done, unless text of others and private data have met.
    Allow,
    /// The person is asked each time.
    Ask,
    /// It is never done.
    Deny,
}

/// The owner's words on each kind, as in `[profiles.NAME.approvals]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approvals {
    /// Messages to other chats.
    pub send: Rule,
    /// Tools of other programs that may change something; [`Rule::Deny`]: those that read, too.
    pub mcp: Rule,
    /// What later conversations read.
    pub memory: Rule,
    /// The web.
    pub web: Rule,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            send: Rule::Ask,
            mcp: Rule::Ask,
            memory: Rule::Allow,
            web: Rule::Allow,
        }
    }
}

/// Why somebody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Because {
    /// The owner wants to be asked for this kind.
    Rule,
    /// This turn has read text of others and private data: the one could want the other.
    Tainted,
}

/// Why it is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The owner's word.
    Rule,
    /// It has to be asked for, and nobody is there.
    Nobody,
    /// It can't be told who is there.
    UnknownContext,
    /// Nobody gave the tool a rule.
    NoRule,
}

impl Why {
    /// For the model, and through it for the person.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Rule => "the owner's settings do not allow it ([approvals] in tidings.toml)",
            Self::Nobody => {
                "it needs somebody's approval, and nobody can be asked here; ask the person to do it in a chat with me"
            }
            Self::UnknownContext => "it can't be told who asked for it, so it is not done",
            Self::NoRule => "this tool has no rule, so it is not used",
        }
    }

    /// Its name, for the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Nobody => "nobody",
            Self::UnknownContext => "unknown_context",
            Self::NoRule => "no_rule",
        }
    }
}

/// What to do about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Do it.
    Allow,
    /// Ask first.
    Ask(Because),
    /// Don't.
    Deny(Why),
}

/// Decides. Unknown contexts and unknown tools are refused, and nobody is taken to have said yes who can't be asked.
#[must_use]
pub fn decide(
    action: &Action,
    labels: Labels,
    context: Context,
    approvals: &Approvals,
) -> Decision {
    let rule = match action {
        Action::Inside => return Decision::Allow,
        Action::Unknown { .. } => return Decision::Deny(Why::NoRule),
        // That there is a network, or are no walls, is the owner's word already.
        Action::Run(Reach::Network | Reach::NoWalls) => Rule::Allow,
        Action::Fetch { .. } | Action::Search => approvals.web,
        Action::Send { .. } => approvals.send,
        Action::Change { .. } => approvals.mcp,
        Action::Read { .. } if approvals.mcp == Rule::Deny => Rule::Deny,
        Action::Read { .. } => Rule::Allow,
        Action::Remember => approvals.memory,
        Action::Schedule | Action::Configure => Rule::Ask,
    };
    let because = match (context, rule) {
        (Context::Unknown, _) => return Decision::Deny(Why::UnknownContext),
        (_, Rule::Deny) => return Decision::Deny(Why::Rule),
        _ if tainted(action, labels) => Because::Tainted,
        (_, Rule::Allow) => return Decision::Allow,
        (_, Rule::Ask) => Because::Rule,
    };
    if context.has_somebody() {
        Decision::Ask(because)
    } else {
        Decision::Deny(Why::Nobody)
    }
}

/// Untrusted, private and external, all three at once.
fn tainted(action: &Action, labels: Labels) -> bool {
    labels.untrusted && (labels.private || action.reads_private()) && action.leaves()
}

#[cfg(test)]
mod tests {
    use super::super::Seen;
    use super::*;

    const RULES: [Rule; 3] = [Rule::Allow, Rule::Ask, Rule::Deny];
    const LABELS: [Labels; 4] = [
        Labels::NONE,
        Labels::UNTRUSTED,
        Labels::PRIVATE,
        Labels::BOTH,
    ];

    fn actions() -> Vec<Action> {
        let text = || "x".to_owned();
        let address = || "https://a.example/".to_owned();
        vec![
            Action::Inside,
            Action::Run(Reach::Network),
            Action::Run(Reach::NoWalls),
            Action::Fetch {
                address: address(),
                seen: Seen::Before,
            },
            Action::Fetch {
                address: address(),
                seen: Seen::Never,
            },
            Action::Search,
            Action::Send { to: text() },
            Action::Read {
                tool: text(),
                seen: Seen::Before,
            },
            Action::Read {
                tool: text(),
                seen: Seen::Never,
            },
            Action::Change { tool: text() },
            Action::Remember,
            Action::Schedule,
            Action::Configure,
            Action::Unknown { tool: text() },
        ]
    }

    fn approvals() -> impl Iterator<Item = Approvals> {
        (0..81_usize).map(|number| {
            let of = |place: usize| RULES[number / 3_usize.pow(u32::try_from(place).unwrap()) % 3];
            Approvals {
                send: of(0),
                mcp: of(1),
                memory: of(2),
                web: of(3),
            }
        })
    }

    fn rule_of(action: &Action, approvals: &Approvals) -> Rule {
        match action {
            Action::Fetch { .. } | Action::Search => approvals.web,
            Action::Send { .. } => approvals.send,
            Action::Change { .. } => approvals.mcp,
            Action::Remember => approvals.memory,
            Action::Schedule | Action::Configure => Rule::Ask,
            Action::Read { .. } if approvals.mcp == Rule::Deny => Rule::Deny,
            Action::Inside | Action::Run(_) | Action::Read { .. } | Action::Unknown { .. } => {
                Rule::Allow
            }
        }
    }

    /// Every label, sink, context and setting: 4 × 14 × 6 × 81.
    #[test]
    fn the_rule_of_two_holds_for_every_label_sink_context_and_setting() {
        let mut looked_at = 0;
        for approvals in approvals() {
            for action in actions() {
                for labels in LABELS {
                    for context in Context::ALL {
                        let is = decide(&action, labels, context, &approvals);
                        let case =
                            format!("{action:?} {labels:?} {context:?} {approvals:?}: {is:?}");
                        looked_at += 1;
                        if action == Action::Inside {
                            assert_eq!(is, Decision::Allow, "{case}");
                            continue;
                        }
                        // Never without a rule, never where it can't be told who is there.
                        if matches!(action, Action::Unknown { .. }) || context == Context::Unknown {
                            assert!(matches!(is, Decision::Deny(_)), "{case}");
                            continue;
                        }
                        // The owner's no is a no.
                        let rule = rule_of(&action, &approvals);
                        if rule == Rule::Deny {
                            assert_eq!(is, Decision::Deny(Why::Rule), "{case}");
                            continue;
                        }
                        // Nobody is asked who is not there.
                        if !context.has_somebody() {
                            assert!(!matches!(is, Decision::Ask(_)), "{case}");
                        }
                        // D.4: untrusted and private and external is never done without a word.
                        let private = labels.private || action.reads_private();
                        let all_three = labels.untrusted && private && action.leaves();
                        assert_eq!(
                            is == Decision::Allow,
                            rule == Rule::Allow && !all_three,
                            "{case}"
                        );
                    }
                }
            }
        }
        assert_eq!(looked_at, 81 * 14 * 4 * 6);
    }

    /// More labels never make anything easier.
    #[test]
    fn what_was_read_only_narrows() {
        let ease = |decision| match decision {
            Decision::Allow => 2,
            Decision::Ask(_) => 1,
            Decision::Deny(_) => 0,
        };
        for approvals in approvals() {
            for action in actions() {
                for context in Context::ALL {
                    for less in LABELS {
                        for more in LABELS {
                            let with = decide(&action, less.with(more), context, &approvals);
                            let without = decide(&action, less, context, &approvals);
                            assert!(ease(with) <= ease(without), "{action:?} {less:?} {more:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn by_default_others_and_changes_are_asked_for() {
        let decide = |action| decide(&action, Labels::NONE, Context::Owner, &Approvals::default());
        let ask = Decision::Ask(Because::Rule);
        assert_eq!(decide(Action::Send { to: "x".to_owned() }), ask);
        assert_eq!(
            decide(Action::Change {
                tool: "x".to_owned()
            }),
            ask
        );
        assert_eq!(decide(Action::Remember), Decision::Allow);
        assert_eq!(decide(Action::Search), Decision::Allow);
    }
}
