//! What stands on the machines, for whoever looks after it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sandbox::{Driver, Keeper, SandboxError, SandboxKey, Standing, State};
use tokio::task::JoinSet;
use tokio::time::timeout;
use waybill::{Timestamp, label};

use crate::facts::Facts;
use crate::failure::printable;
use crate::files::hear;
use crate::line::{BOOT, with_arguments};
use crate::machine::{Machine, Over};
use crate::{SshSandbox, scripts};

/// How long folders may be measured; after it they are listed without their sizes.
const MEASURING: Duration = Duration::from_secs(20);

/// The key of a folder that does not say whose it is.
const UNKNOWN: &str = "unknown";

/// Most bytes of the answer.
const ANSWER: usize = 4 << 20;

/// Most processes that are named for one sandbox.
const PROCESSES: usize = 100;

#[async_trait]
impl Keeper for SshSandbox {
    /// The folders on all known machines, and what runs in them. A machine that can't be asked is named in the log; if none can be
    /// asked, that is an error that names one of them.
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let mut looks = JoinSet::new();
        for (place, machine) in self.machines().into_iter().enumerate() {
            looks.spawn(async move { (place, look(&machine).await) });
        }
        let mut looks = looks.join_all().await;
        looks.sort_by_key(|(place, _)| *place);
        gathered(looks.into_iter().map(|(_, looked)| looked))
    }

    async fn stop(&self, id: &str) -> Result<(), SandboxError> {
        let none = || {
            SandboxError::Failed(format!(
                "there is no sandbox '{id}' on the machines that are known"
            ))
        };
        let machines = self.machines();
        let (machine, name) = machines
            .iter()
            .find_map(|machine| Some((machine, id.strip_prefix(&prefix(machine))?)))
            .ok_or_else(none)?;
        let there = look(machine).await?;
        if !there.iter().any(|standing| standing.id == id) {
            return Err(none());
        }
        let connection = machine.connection().await?;
        let ended = connection.watch.order(&format!("TIDINGS_SANDBOX=@{name}@"));
        if ended.await {
            Ok(())
        } else {
            Err(SandboxError::Failed(format!(
                "not everything in '{id}' could be ended; look on that machine what holds it"
            )))
        }
    }

    /// Nothing: between commands nothing runs there that a lease could end, and the folders are people's work.
    async fn reap(&self, _now: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        Ok(Vec::new())
    }
}

/// One machine that can't be asked does not hide what the others say.
fn gathered(
    looks: impl Iterator<Item = Result<Vec<Standing>, SandboxError>>,
) -> Result<Vec<Standing>, SandboxError> {
    let (mut all, mut asked, mut failed) = (Vec::new(), false, None);
    for look in looks {
        match look {
            Ok(there) => {
                asked = true;
                all.extend(there);
            }
            Err(error) => {
                tracing::warn!("sandboxes of one machine are not shown: {error}");
                failed = failed.or(Some(error));
            }
        }
    }
    match failed {
        Some(error) if !asked => Err(error),
        _ => Ok(all),
    }
}

/// What the id of a machine's sandboxes begins with.
fn prefix(machine: &Machine) -> String {
    format!("{}:{}/", machine.name, machine.remote.folder)
}

async fn look(machine: &Arc<Machine>) -> Result<Vec<Standing>, SandboxError> {
    let ask = async |disk: &str| {
        let lines = |facts: &Facts, mark: &str| {
            let script = with_arguments(scripts::STANDING, &[&facts.folder, disk]);
            Ok(vec![format!(
                "export TIDINGS_EXEC={mark} LC_ALL=C\n{script}"
            )])
        };
        let process = machine.launch(Over::Shared, None, &lines).await?;
        hear(process, &[], ANSWER).await
    };
    let answer = match timeout(MEASURING, ask("disk")).await {
        Ok(answer) => answer?,
        Err(_elapsed) => match timeout(MEASURING, ask("")).await {
            Ok(answer) => answer?,
            Err(_elapsed) => None,
        },
    };
    let answer = answer.ok_or_else(|| {
        SandboxError::Failed(format!(
            "{} did not say in time what stands there",
            machine.name
        ))
    })?;
    Ok(parse(&String::from_utf8_lossy(answer.all()), machine))
}

/// The key of a folder `PROFILE/NAME`, if it is the one that the folder is made for: commands without walls can write there.
fn believed(name: &str, key: &str) -> Option<SandboxKey> {
    let key: SandboxKey = key.parse().ok()?;
    let (profile, own) = name.split_once('/')?;
    (key.profile().as_str() == profile && label::name(&key.to_string()) == own).then_some(key)
}

fn parse(text: &str, machine: &Machine) -> Vec<Standing> {
    let mut running: HashMap<&str, Vec<(u32, String)>> = HashMap::new();
    for line in text.lines() {
        let mut fields = line.splitn(4, ' ');
        if let (Some("run"), Some(name), Some(pid), Some(command)) = (fields.next(), fields.next(), fields.next(), fields.next())
            && let Ok(pid) = pid.parse()
            // Our own shells and walls are no news.
            && !command.contains(BOOT)
        {
            running
                .entry(name.trim_end_matches('@'))
                .or_default()
                .push((pid, printable(command)));
        }
    }
    text.lines()
        .filter_map(|line| {
            let mut fields = line.strip_prefix("box ")?.splitn(4, ' ');
            let name = fields.next()?;
            let made = fields.next()?.parse::<i64>().ok();
            let size = fields.next()?.parse::<u64>().ok();
            let key = believed(name, fields.next()?);
            let mut processes = running.remove(name).unwrap_or_default();
            processes.truncate(PROCESSES);
            Some(Standing {
                id: match &key {
                    Some(_) => format!("{}{name}", prefix(machine)),
                    None => format!("{}{}", prefix(machine), printable(name)),
                },
                profile: key.as_ref().map(|key| key.profile().clone()),
                key: key.map_or_else(|| UNKNOWN.to_owned(), |key| key.to_string()),
                driver: Driver::Ssh,
                made_of: machine.name.clone(),
                state: if processes.is_empty() {
                    State::Stopped
                } else {
                    State::Running
                },
                since: made.and_then(|seconds| Timestamp::from_second(seconds).ok()),
                lease: None,
                disk: size.map(|kilobytes| kilobytes << 10),
                memory: None,
                processes,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use sandbox::{Remote, SandboxError};
    use waybill::Secret;

    use super::{gathered, parse};
    use crate::machine::Machine;

    fn machine() -> Machine {
        Machine::new(Remote {
            host: "h".to_owned(),
            port: 22,
            user: "u".to_owned(),
            key: Secret::new(String::new()),
            host_key: String::new(),
            folder: "boxes".to_owned(),
        })
    }

    #[test]
    fn a_folder_that_a_command_made_or_relabelled_is_not_shown_as_another_profiles() {
        let text = "box work/profile.work 1767225600 12 profile:work\n\
                    box work/profile.work2 1767225600 12 profile:work2\n\
                    box work/profile.boss 1767225600 12 profile:work\n\
                    box boss/profile.work 1767225600 12 profile:work\n\
                    box x/\u{1b}[2J 1767225600 12 \u{1b}[2J\n\
                    run work/profile.work@ 7 sleep\u{1b}[2J 9\n";
        let all = parse(text, &machine());
        let keys: Vec<&str> = all.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(
            keys,
            ["profile:work", "unknown", "unknown", "unknown", "unknown"]
        );
        let profiles: Vec<bool> = all.iter().map(|one| one.profile.is_some()).collect();
        assert_eq!(profiles, [true, false, false, false, false]);
        assert_eq!(
            all.first().unwrap().processes,
            [(7, "sleep[2J 9".to_owned())]
        );
        assert!(all.iter().all(|one| !one.id.contains('\u{1b}')));
    }

    #[test]
    fn one_machine_that_is_off_hides_no_other() {
        let off = || Err(SandboxError::Unavailable("it is off".to_owned()));
        let here = || {
            Ok(parse(
                "box work/profile.work 1 1 profile:work\n",
                &machine(),
            ))
        };
        let all = gathered([off(), here(), off()].into_iter()).unwrap();
        assert_eq!(all.len(), 1);
        assert!(gathered([off(), Ok(Vec::new())].into_iter()).is_ok());
        assert!(gathered([off(), off()].into_iter()).is_err());
        assert_eq!(gathered([].into_iter()).unwrap(), []);
    }
}
