//! The last commands of each sandbox, for its owner. Kept in memory: it is a look over the shoulder, not a record.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use sandbox::{Logbook, Ran, SandboxKey};

/// Commands that are kept of one sandbox.
const COMMANDS: usize = 20;
/// Sandboxes that are remembered; beyond, the one that was used longest ago is forgotten.
const SANDBOXES: usize = 256;
/// Characters that are kept of a command and of its output.
const CHARACTERS: usize = 2_000;

/// See the module. Commands and outputs come without known secrets.
#[derive(Default)]
pub(crate) struct Commands {
    ran: Mutex<HashMap<SandboxKey, VecDeque<Ran>>>,
}

impl Commands {
    /// Keeps one, its command and its output shortened: of the output, the end is what tells how it went.
    pub(crate) fn keep(&self, sandbox: &SandboxKey, mut ran: Ran) {
        ran.command = head(&ran.command);
        ran.output = tail(&ran.output);
        let mut all = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SANDBOXES && !all.contains_key(sandbox) {
            let last = |ran: &VecDeque<Ran>| ran.back().map(|ran| ran.at);
            let oldest = all.iter().min_by_key(|(_, ran)| last(ran));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                all.remove(&oldest);
            }
        }
        let own = all.entry(sandbox.clone()).or_default();
        if own.len() >= COMMANDS {
            own.pop_front();
        }
        own.push_back(ran);
    }
}

impl Logbook for Commands {
    fn of(&self, sandbox: &str) -> Vec<Ran> {
        let all = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.iter().find(|(key, _)| key.to_string() == sandbox);
        own.map_or_else(Vec::new, |(_, ran)| ran.iter().cloned().collect())
    }
}

fn head(text: &str) -> String {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn tail(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(CHARACTERS);
    if skipped == 0 {
        return text.to_owned();
    }
    let end: String = text.chars().skip(skipped).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use waybill::Timestamp;

    use super::*;

    fn ran(second: i64, command: &str, output: &str) -> Ran {
        Ran {
            at: Timestamp::from_second(second).unwrap(),
            took: Duration::from_secs(1),
            command: command.to_owned(),
            output: output.to_owned(),
            failed: false,
        }
    }

    fn key(profile: &str) -> SandboxKey {
        SandboxKey::Profile(profile.parse().unwrap())
    }

    #[test]
    fn the_owner_sees_the_last_commands_of_each_sandbox_and_of_no_other() {
        let commands = Commands::default();
        for second in 0..30 {
            commands.keep(&key("work"), ran(second, &format!("echo {second}"), ""));
        }
        commands.keep(&key("home"), ran(0, "ls", ""));
        let work = commands.of("profile:work");
        assert_eq!(work.len(), COMMANDS);
        assert_eq!(work.first().unwrap().command, "echo 10");
        assert_eq!(work.last().unwrap().command, "echo 29");
        assert_eq!(commands.of("profile:home").len(), 1);
        assert!(commands.of("profile:other").is_empty());
    }

    #[test]
    fn long_commands_keep_their_beginning_and_long_outputs_their_end() {
        let commands = Commands::default();
        commands.keep(
            &key("work"),
            ran(
                0,
                &format!("a{}", "ä".repeat(5_000)),
                &format!("{}z", "ü".repeat(5_000)),
            ),
        );
        let kept = commands.of("profile:work").remove(0);
        assert!(kept.command.starts_with('a') && kept.command.ends_with('…'));
        assert!(kept.output.starts_with('…') && kept.output.ends_with('z'));
        assert_eq!(
            (kept.command.chars().count(), kept.output.chars().count()),
            (CHARACTERS + 1, CHARACTERS + 1)
        );
    }

    #[test]
    fn of_many_sandboxes_the_one_that_was_used_longest_ago_is_forgotten() {
        let commands = Commands::default();
        for number in 0..=SANDBOXES {
            commands.keep(
                &key(&format!("p{number}")),
                ran(i64::try_from(number).unwrap(), "true", ""),
            );
        }
        assert!(commands.of("profile:p0").is_empty());
        assert_eq!(commands.of("profile:p1").len(), 1);
    }
}
