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
use crate::view::marked;
use crate::{SshSandbox, scripts};

/// How long folders may be measured, as a part of the time that a look has; after it they are listed without their sizes.
const MEASURING: u32 = 2;

/// The key of a folder that does not say whose it is.
const UNKNOWN: &str = "unknown";

/// Most bytes of the answer.
const ANSWER: usize = 4 << 20;

/// Most processes that are named for one sandbox.
const PROCESSES: usize = 100;

#[async_trait]
impl Keeper for SshSandbox {
    /// The folders on all known machines, and what runs in them. If none can be asked, that is an error that names them all.
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let within = self.looking;
        let mut looks = JoinSet::new();
        for (place, machine) in self.machines().into_iter().enumerate() {
            looks.spawn(async move { (place, look_within(&machine, within).await) });
        }
        let mut looks = looks.join_all().await;
        looks.sort_by_key(|(place, _)| *place);
        let looked = gathered(looks.into_iter().map(|(_, looked)| looked));
        let (standing, away) = match looked {
            Ok((standing, away)) => (Ok(standing), away),
            Err(error) => (Err(error), Vec::new()),
        };
        *self.away() = away;
        standing
    }

    fn away(&self) -> Vec<String> {
        SshSandbox::away(self).clone()
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
        let there = look_within(machine, self.looking).await?;
        if !there.iter().any(|standing| standing.id == id) {
            return Err(none());
        }
        let connection = machine.connection().await?;
        let base = format!("{}/{name}", connection.facts.folder.trim_end_matches('/'));
        let ended = connection.watch.order(&marked(&base));
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

/// What stands on the machines that can be asked, and why others can't: one does not hide what the others say.
fn gathered(
    looks: impl Iterator<Item = Result<Vec<Standing>, SandboxError>>,
) -> Result<(Vec<Standing>, Vec<String>), SandboxError> {
    let (mut all, mut asked, mut away) = (Vec::new(), false, Vec::new());
    for look in looks {
        match look {
            Ok(there) => {
                asked = true;
                all.extend(there);
            }
            Err(error) => away.push(error.to_string()),
        }
    }
    if !asked && !away.is_empty() {
        return Err(SandboxError::Unavailable(away.join("; ")));
    }
    for reason in &away {
        tracing::debug!(reason, "sandboxes of one machine are not shown");
    }
    Ok((all, away))
}

/// What the id of a machine's sandboxes begins with.
fn prefix(machine: &Machine) -> String {
    format!("{}:{}/", machine.name, machine.remote.folder)
}

async fn look_within(
    machine: &Arc<Machine>,
    within: Duration,
) -> Result<Vec<Standing>, SandboxError> {
    timeout(within, look(machine, within / MEASURING))
        .await
        .unwrap_or_else(|_late| Err(late(machine)))
}

fn late(machine: &Machine) -> SandboxError {
    SandboxError::Unavailable(format!(
        "{} did not say in time what stands there; look whether it is on and can be reached",
        machine.name
    ))
}

async fn look(machine: &Arc<Machine>, measuring: Duration) -> Result<Vec<Standing>, SandboxError> {
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
    // What the way there takes is not what measuring takes.
    machine.connection().await?;
    let answer = match timeout(measuring, ask("disk")).await {
        Ok(answer) => answer?,
        Err(_elapsed) => ask("").await?,
    };
    let answer = answer.ok_or_else(|| late(machine))?;
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
        let (all, away) = gathered([off(), here(), off()].into_iter()).unwrap();
        assert_eq!((all.len(), away.len()), (1, 2));
        assert!(away.iter().all(|reason| reason.contains("it is off")));
        let (all, away) = gathered([off(), Ok(Vec::new())].into_iter()).unwrap();
        assert_eq!((all.len(), away.len()), (0, 1));
        let none = gathered([off(), off()].into_iter()).unwrap_err();
        assert_eq!(none.to_string().matches("it is off").count(), 2);
        assert_eq!(gathered([].into_iter()).unwrap(), (Vec::new(), Vec::new()));
    }
}
