//! A sandbox as programs read it, and what all keepers say together.

use std::time::Duration;

use sandbox::{Driver, Logbook, Ran, Standing, State};
use serde::Serialize;
use tokio::time::timeout;
use waybill::Timestamp;

use crate::router::Surface;

/// Longest that a keeper is waited for: an engine that hangs must not hide the others.
const PATIENCE: Duration = Duration::from_secs(10);

/// What runs in a sandbox.
#[derive(Debug, Serialize)]
pub(crate) struct Process {
    pub(super) pid: u32,
    pub(super) command: String,
}

/// A command that ran in it.
#[derive(Debug, Serialize)]
pub(crate) struct Command {
    pub(super) at: Timestamp,
    /// In milliseconds.
    pub(super) took: u128,
    pub(super) command: String,
    pub(super) output: String,
    pub(super) failed: bool,
}

impl From<Ran> for Command {
    fn from(ran: Ran) -> Self {
        Self {
            at: ran.at,
            took: ran.took.as_millis(),
            command: ran.command,
            output: ran.output,
            failed: ran.failed,
        }
    }
}

/// One sandbox.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    pub(super) id: String,
    pub(super) profile: Option<String>,
    pub(super) key: String,
    pub(super) driver: Driver,
    pub(super) made_of: String,
    pub(super) state: &'static str,
    pub(super) since: Option<Timestamp>,
    pub(super) lease: Option<Timestamp>,
    pub(super) disk: Option<u64>,
    pub(super) memory: Option<u64>,
    pub(super) processes: Vec<Process>,
    /// The last ones, the oldest first.
    pub(super) commands: Vec<Command>,
}

impl View {
    fn of(standing: Standing, logbook: &dyn Logbook) -> Self {
        Self {
            profile: standing.profile.map(|profile| profile.to_string()),
            driver: standing.driver,
            state: match standing.state {
                State::Running => "running",
                State::Stopped => "stopped",
            },
            commands: logbook
                .of(&standing.key)
                .into_iter()
                .map(Command::from)
                .collect(),
            id: standing.id,
            key: standing.key,
            made_of: standing.made_of,
            since: standing.since,
            lease: standing.lease,
            disk: standing.disk,
            memory: standing.memory,
            processes: standing
                .processes
                .into_iter()
                .map(|(pid, command)| Process { pid, command })
                .collect(),
        }
    }
}

/// What stands, and why some of it may be missing.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Looked {
    pub(super) sandboxes: Vec<View>,
    pub(super) away: Vec<String>,
    /// What takes long just now.
    pub(super) under_way: Vec<String>,
}

/// Asks every keeper.
pub(super) async fn look(surface: &Surface) -> Looked {
    let mut looked = Looked::default();
    for keeper in &surface.options.keepers {
        looked.under_way.extend(keeper.under_way());
        match timeout(PATIENCE, keeper.standing()).await {
            Ok(Ok(standing)) => {
                looked.away.extend(keeper.away());
                looked.sandboxes.extend(
                    standing
                        .into_iter()
                        .map(|one| View::of(one, surface.options.logbook.as_ref())),
                );
            }
            Ok(Err(error)) => looked.away.push(error.to_string()),
            Err(_late) => looked
                .away
                .push("one kind of sandboxes did not answer in time".to_owned()),
        }
    }
    looked
}
