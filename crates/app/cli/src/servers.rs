//! `tidings mcp`: servers of tools, seen and accepted. A running gateway writes down how they are; the owner's word is left in the
//! home, where the gateway, or the next one, takes it.

use std::process::ExitCode;

use admin::{ToolServer, ToolServerState};
use gateway::{accept_tools, resting_servers, running_servers};
use serde_json::json;
use settings::{Environment, Home};
use waybill::ProfileId;

use crate::MINDER;
use crate::exit::Failure;
use crate::outbox::Paint;
use crate::outbox::table::cell;
use crate::printable::printable;

/// Widest column of names.
const NAME: usize = 24;

/// The command line that becomes a minder.
pub(crate) fn minder() -> Vec<String> {
    vec!["/proc/self/exe".to_owned(), MINDER.to_owned()]
}

/// Whether somebody looks how they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// The running gateway.
    Now,
    /// Nobody.
    No,
}

/// All servers. What a running gateway says needs no configuration.
fn all(home: &Home, environment: &dyn Environment) -> Result<(Vec<ToolServer>, Looked), Failure> {
    home.check()?;
    home.make()?;
    if let Some(servers) = running_servers(home) {
        return Ok((servers, Looked::Now));
    }
    let settings = settings::load(home, environment)
        .into_settings()
        .map_err(|problems| Failure::of_problems(&problems))?;
    Ok((resting_servers(home, &settings), Looked::No))
}

/// Lists servers.
pub(crate) fn list(
    home: &Home,
    as_json: bool,
    paint: Paint,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let (servers, looked) = all(home, environment)?;
    if as_json {
        servers.iter().for_each(|one| println!("{}", json!(one)));
        return Ok(ExitCode::SUCCESS);
    }
    if servers.is_empty() {
        eprintln!("no server is configured; [profiles.NAME.mcp.SERVER] in tidings.toml names one");
        return Ok(ExitCode::SUCCESS);
    }
    lines(&servers, paint)
        .iter()
        .for_each(|line| println!("{line}"));
    if looked == Looked::No {
        eprintln!("no gateway runs on this home, so nobody looks how they are");
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(servers: &[ToolServer], paint: Paint) -> Vec<String> {
    let mut lines = Vec::new();
    for one in servers {
        let state = match one.state {
            ToolServerState::Ready => paint.good("ready     "),
            ToolServerState::Connecting => paint.care("connecting"),
            ToolServerState::Away => paint.bad("away      "),
            ToolServerState::Changed => paint.bad("changed   "),
            ToolServerState::Resting => paint.faint("resting   "),
        };
        let tools = match (one.tools.len(), one.state) {
            (_, ToolServerState::Resting) => String::new(),
            (1, _) => "1 tool".to_owned(),
            (count, _) => format!("{count} tools"),
        };
        let names = format!(
            "{} {}",
            cell(one.profile.as_str(), NAME),
            cell(&one.name, NAME)
        );
        lines.push(format!("{names} {state} {tools}").trim_end().to_owned());
        lines.extend(
            one.cause
                .iter()
                .map(|cause| format!("  {}", printable(cause))),
        );
        for waiting in &one.waiting {
            lines.push(format!(
                "  {} {}",
                paint.care("waits:"),
                printable(&waiting.name)
            ));
            let words = waiting.description.lines();
            lines.extend(words.map(|line| format!("    {}", printable(line))));
        }
    }
    lines
}

/// Accepts what waits of a server.
pub(crate) fn accept(
    home: &Home,
    server: &str,
    profile: Option<&ProfileId>,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let (servers, _) = all(home, environment)?;
    let accepted = accept_tools(home, servers, profile, server)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let ToolServer {
        profile,
        name,
        waiting,
        ..
    } = accepted;
    let names: Vec<String> = waiting.into_iter().map(|one| one.name).collect();
    if as_json {
        println!(
            "{}",
            json!({ "profile": profile, "server": name, "accepted": names })
        );
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "{}",
        printable(&format!(
            "what {name} of {profile} offers is accepted: {}",
            names.join(", ")
        ))
    );
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use admin::{ToolOffer, ToolWaiting};

    use super::*;

    #[test]
    fn what_waits_is_shown_with_its_words_and_obeys_no_terminal() {
        let one = ToolServer {
            profile: ProfileId::parse("work").unwrap(),
            name: "calc".to_owned(),
            state: ToolServerState::Changed,
            cause: Some("tools are different".to_owned()),
            tries: 0,
            tools: vec![ToolOffer {
                name: "calc__sub".to_owned(),
                description: "Subtracts.".to_owned(),
                reads_only: true,
            }],
            waiting: vec![ToolWaiting {
                name: "add".to_owned(),
                description: "Adds.\nThen \u{1b}[2J steals.".to_owned(),
            }],
            question: Some("q".to_owned()),
        };
        let lines = lines(&[one], Paint::Plain);
        assert!(
            lines[0].starts_with("work") && lines[0].contains("changed"),
            "{lines:?}"
        );
        assert!(lines[0].ends_with("1 tool"), "{lines:?}");
        assert_eq!(lines[1], "  tools are different");
        assert_eq!(lines[2], "  waits: add");
        assert_eq!(lines[3], "    Adds.");
        assert!(
            lines[4].starts_with("    Then ") && !lines[4].contains('\u{1b}'),
            "{lines:?}"
        );
    }
}
