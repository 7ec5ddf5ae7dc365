//! `tidings sandboxes stop` and `reap`.

use std::process::ExitCode;

use serde_json::json;
use settings::{Environment, Home};

use super::list::{driver_name, object, tell_away};
use super::{Needs, with};
use crate::exit::Failure;
use crate::printable::printable;

/// Ends one sandbox with all that runs in it.
pub(crate) fn stop(
    home: &Home,
    id: &str,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let stopped = with(home, environment, Needs::Nothing, async |sandboxes| {
        sandboxes
            .stop(id)
            .await
            .map_err(|error| Failure::Failed(error.to_string()))
    })?;
    if as_json {
        println!("{}", json!({ "stopped": object(&stopped) }));
    } else {
        println!(
            "{} is ended with all that ran in it; its workspace and home stay, and the next command makes it anew",
            printable(&stopped.key)
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends those whose lease is over. Exit code 1 if a driver that was looked for could not be asked.
pub(crate) fn reap(
    home: &Home,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let looked = with(home, environment, Needs::Nothing, async |sandboxes| {
        Ok(sandboxes.reap().await)
    })?;
    for one in &looked.standing {
        if as_json {
            println!("{}", object(one));
        } else {
            println!(
                "{} ({}) is ended",
                printable(&one.key),
                driver_name(one.driver)
            );
        }
    }
    if looked.standing.is_empty() {
        eprintln!("no lease is over");
    }
    tell_away(&looked);
    Ok(ExitCode::SUCCESS)
}
