//! `tidings sandboxes list`.

use std::process::ExitCode;

use gateway::Looked;
use outbox::when;
use sandbox::{Driver, Standing, State, size_text};
use serde_json::{Value, json};
use settings::{Environment, Home};
use waybill::{Clock, Timestamp};

use super::{Needs, with};
use crate::exit::Failure;
use crate::outbox::Paint;
use crate::outbox::table::{PAGE, cell, cut};
use crate::printable::printable;

/// Signs of a long id that are shown: they are enough to name it.
const ID: usize = 12;
/// Longest id that is shown whole.
const SHORT: usize = 24;
/// Widest column of keys.
const KEY: usize = 28;

/// Lists what stands.
pub(crate) fn list(
    home: &Home,
    as_json: bool,
    paint: Paint,
    environment: &dyn Environment,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    let looked = with(home, environment, Needs::Nothing, async |sandboxes| {
        Ok(sandboxes.look().await)
    })?;
    if as_json {
        for one in &looked.standing {
            println!("{}", object(one));
        }
        tell_away(&looked);
        return Ok(ExitCode::SUCCESS);
    }
    if looked.standing.is_empty() {
        eprintln!("no sandbox stands; the next command of an agent makes one");
    } else {
        for line in table(&looked.standing, paint, clock.now()) {
            println!("{line}");
        }
    }
    tell_away(&looked);
    Ok(ExitCode::SUCCESS)
}

/// Which drivers could not be asked: what is not listed may stand there.
pub(super) fn tell_away(looked: &Looked) {
    for (driver, reason) in &looked.away {
        eprintln!(
            "{} sandboxes could not be asked for: {}",
            driver_name(*driver),
            printable(reason)
        );
    }
}

/// As the file writes it.
pub(super) fn driver_name(driver: Driver) -> String {
    match json!(driver) {
        Value::String(name) => name,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            String::new()
        }
    }
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Stopped => "stopped",
    }
}

/// A sandbox's object, as the HTTP API gives it too.
pub(super) fn object(one: &Standing) -> Value {
    let processes: Vec<Value> = one
        .processes
        .iter()
        .map(|(pid, command)| json!({ "pid": pid, "command": command }))
        .collect();
    json!({
        "id": one.id,
        "profile": one.profile,
        "key": one.key,
        "driver": one.driver,
        "made_of": one.made_of,
        "state": state_name(one.state),
        "since": one.since,
        "lease": one.lease,
        "disk": one.disk,
        "memory": one.memory,
        "processes": processes,
    })
}

/// As much of an id as names it.
fn shown(id: &str) -> String {
    let most = if id.chars().count() > SHORT {
        ID
    } else {
        SHORT
    };
    id.chars().take(most).collect()
}

/// A line for each, and one below it for each process.
fn table(standing: &[Standing], paint: Paint, now: Timestamp) -> Vec<String> {
    let ids = standing.iter().map(|one| shown(&one.id).chars().count());
    let widest = ids.max().unwrap_or(0);
    let row = |cells: [&str; 7]| {
        let [id, key, driver, state, lease, memory, disk] = cells;
        let text = format!(
            "{} {} {} {} {} {} {}",
            cell(id, widest),
            cell(key, KEY),
            cell(driver, 7),
            cell(state, 7),
            cell(lease, 10),
            cell(memory, 9),
            cut(disk, 9)
        );
        text.trim_end().to_owned()
    };
    let head = row([
        "ID", "SANDBOX", "DRIVER", "STATE", "LEASE", "MEMORY", "DISK",
    ]);
    let mut lines = vec![paint.faint(&head)];
    for one in standing {
        let id = shown(&one.id);
        let size = |bytes: Option<u64>| bytes.map_or_else(|| "–".to_owned(), size_text);
        let lease = match one.lease {
            None => "–".to_owned(),
            Some(at) if at <= now => "over".to_owned(),
            Some(at) => when::ago(at, now),
        };
        lines.push(row([
            &id,
            &one.key,
            &driver_name(one.driver),
            state_name(one.state),
            &lease,
            &size(one.memory),
            &size(one.disk),
        ]));
        lines.extend(
            one.processes
                .iter()
                .map(|(pid, command)| paint.faint(&cut(&format!("  {pid} {command}"), PAGE))),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_the_page_whatever_runs_in_a_sandbox() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let evil = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nwords".repeat(20);
        let one = Standing {
            id: "a".repeat(64),
            profile: None,
            key: format!("session:work:{evil}"),
            driver: Driver::Docker,
            made_of: evil.clone(),
            state: State::Running,
            since: None,
            lease: Some(at(600)),
            disk: Some(1 << 40),
            memory: None,
            processes: vec![(u32::MAX, evil)],
        };
        let lines = table(&[one], Paint::Plain, at(0));
        assert_eq!(lines.len(), 3);
        for line in &lines {
            assert!(line.chars().count() <= PAGE, "{line}");
            assert!(
                !line
                    .chars()
                    .any(|sign| sign.is_control() || sign == '\u{202e}'),
                "{line:?}"
            );
        }
        assert!(
            lines[1].starts_with("aaaaaaaaaaaa session:work:") && lines[1].contains("in 10 min"),
            "{lines:?}"
        );
    }
}
