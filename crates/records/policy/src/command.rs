//! The slash commands: one table for help, menus and dispatch.

use chat::{Inbound, Place};

use crate::Rules;

/// What a command does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum While {
    /// It is done at once.
    Now,
    /// It ends the running turn first.
    Stops,
}

/// Who may use a command, of those who are heard at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Everybody.
    Anyone,
    /// Whose chat it is: everybody in a chat of their own; in a group the account's owner alone.
    ChatsOwner,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Lists the commands.
    Help,
    /// Forgets the conversation and begins another.
    New,
    /// Stops the running turn.
    Stop,
    /// Tells what is going on.
    Status,
    /// Tells what fills the model's window.
    Context,
    /// Tells who the sender is.
    WhoAmI,
    /// Lists what did not arrive in this chat, or tells one parcel's life.
    Outbox,
    /// Sends a parcel of this chat again.
    Resend,
    /// Says yes to what the agent asks for.
    Approve,
    /// Says no.
    Deny,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandSpec {
    /// Which.
    pub command: Command,
    /// Its name, without the slash.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it does while a turn runs.
    pub meanwhile: While,
    /// Who may use it.
    pub who: Who,
    /// What may stand after its name, for help: `ID`, `[ID]`; empty if nothing.
    pub argument: &'static str,
    /// One line for help.
    pub help: &'static str,
}

/// Every command.
pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        command: Command::Help,
        name: "help",
        aliases: &["start", "commands"],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "",
        help: "what you can say here",
    },
    CommandSpec {
        command: Command::New,
        name: "new",
        aliases: &["reset"],
        meanwhile: While::Stops,
        who: Who::Anyone,
        argument: "",
        help: "begin a new conversation",
    },
    CommandSpec {
        command: Command::Stop,
        name: "stop",
        aliases: &["cancel"],
        meanwhile: While::Stops,
        who: Who::Anyone,
        argument: "",
        help: "stop what is running",
    },
    CommandSpec {
        command: Command::Status,
        name: "status",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "",
        help: "profile, model and what is running",
    },
    CommandSpec {
        command: Command::Context,
        name: "context",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "",
        help: "what fills the model's window here",
    },
    CommandSpec {
        command: Command::WhoAmI,
        name: "whoami",
        aliases: &["id"],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "",
        help: "your id and this chat's id, for the configuration",
    },
    CommandSpec {
        command: Command::Outbox,
        name: "outbox",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "[ID]",
        help: "what was promised here and did not arrive yet; with an id, one parcel's life",
    },
    CommandSpec {
        command: Command::Resend,
        name: "resend",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::ChatsOwner,
        argument: "ID",
        help: "send a parcel of this chat again",
    },
    CommandSpec {
        command: Command::Approve,
        name: "approve",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "[ID] [conversation]",
        help: "say yes to what I ask for; with `conversation`, to all of that kind in this conversation",
    },
    CommandSpec {
        command: Command::Deny,
        name: "deny",
        aliases: &[],
        meanwhile: While::Now,
        who: Who::Anyone,
        argument: "[ID] [REASON]",
        help: "say no to what I ask for",
    },
];

impl CommandSpec {
    /// Whether whoever wrote the event may use the command there.
    #[must_use]
    pub fn allows(&self, rules: &Rules, event: &Inbound) -> bool {
        match (self.who, event.place) {
            (Who::Anyone, _) | (Who::ChatsOwner, Place::Direct) => true,
            (Who::ChatsOwner, Place::Group { .. }) => rules.owner.contains(&event.sender.id),
        }
    }
}

/// What stands after a command's name, without blanks around it.
#[must_use]
pub fn argument(text: &str) -> &str {
    text.trim()
        .split_once(char::is_whitespace)
        .map_or("", |(_name, rest)| rest.trim())
}

/// The command that a message is, if its first word is one: `/help`, `/help@bot`. Other messages that begin with a slash
/// (a path, say) are ordinary words.
#[must_use]
pub fn find(text: &str) -> Option<&'static CommandSpec> {
    let word = text.trim().strip_prefix('/')?.split_whitespace().next()?;
    let name = word.split('@').next()?.to_ascii_lowercase();
    COMMANDS
        .iter()
        .find(|spec| spec.name == name || spec.aliases.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_by_its_name_and_a_path_is_no_command() {
        assert_eq!(find("/help").map(|spec| spec.command), Some(Command::Help));
        assert_eq!(
            find(" /NEW@my_bot now").map(|spec| spec.command),
            Some(Command::New)
        );
        assert_eq!(find("/etc/passwd"), None);
        assert_eq!(find("please /stop"), None);
        assert_eq!(find("/"), None);
    }

    #[test]
    fn what_follows_a_command_is_its_argument() {
        for (text, after) in [
            ("/outbox", ""),
            (" /outbox@my_bot \n", ""),
            ("/outbox  msg_1 ", "msg_1"),
            ("/resend\nmsg_1 now", "msg_1 now"),
        ] {
            assert_eq!(argument(text), after);
        }
    }

    #[test]
    fn no_two_commands_share_a_name() {
        let mut names = std::collections::BTreeSet::new();
        for spec in COMMANDS {
            for name in spec.aliases.iter().chain([&spec.name]) {
                assert!(names.insert(*name), "{name}");
            }
        }
    }
}
