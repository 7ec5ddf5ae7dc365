//! The slash commands: one table for help, menus and dispatch.

/// What a command does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum While {
    /// It is done at once.
    Now,
    /// It ends the running turn first.
    Stops,
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
    /// Tells who the sender is.
    WhoAmI,
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
        help: "what you can say here",
    },
    CommandSpec {
        command: Command::New,
        name: "new",
        aliases: &["reset"],
        meanwhile: While::Stops,
        help: "begin a new conversation",
    },
    CommandSpec {
        command: Command::Stop,
        name: "stop",
        aliases: &["cancel"],
        meanwhile: While::Stops,
        help: "stop what is running",
    },
    CommandSpec {
        command: Command::Status,
        name: "status",
        aliases: &[],
        meanwhile: While::Now,
        help: "profile, model and what is running",
    },
    CommandSpec {
        command: Command::WhoAmI,
        name: "whoami",
        aliases: &["id"],
        meanwhile: While::Now,
        help: "your id and this chat's id, for the configuration",
    },
];

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
}
