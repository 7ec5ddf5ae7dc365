//! How the servers are, written down for the command line; and the owner's word back.

use std::path::PathBuf;
use std::time::Duration;

use ::mcp::Standing;
use admin::{ToolOffer, ToolServer, ToolServerState, ToolWaiting};
use settings::{Home, Settings};
use tool::{Effect, ServerState};
use waybill::ProfileId;

use super::seen::{Files, whole};
use crate::{HomeLock, LockError};

/// Changes that come together are written together.
pub(super) const GATHER: Duration = Duration::from_millis(100);
/// Largest file that is believed.
const LARGEST: u64 = 32 << 20;

/// Why nothing was accepted. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// No profile has a server of that name.
    #[error("there is no server '{0}'; `tidings mcp list` shows those that there are")]
    Unknown(String),
    /// More than one has.
    #[error("more than one profile has a server '{server}': say which with --profile ({profiles})")]
    Several {
        /// The name.
        server: String,
        /// Whose.
        profiles: String,
    },
    /// There is nothing to say yes to.
    #[error("nothing of '{0}' waits to be accepted")]
    Nothing(String),
    /// What was seen can't be read.
    #[error("{0}")]
    Unreadable(String),
    /// The word can't be left.
    #[error("the word can't be written down: {0}")]
    File(#[source] std::io::Error),
}

fn path(home: &Home) -> PathBuf {
    home.run().join("mcp.json")
}

/// A server for its owner.
pub(super) fn shown(profile: ProfileId, standing: Standing) -> ToolServer {
    let Standing {
        name,
        state,
        tools,
        waiting,
        question,
    } = standing;
    let (state, cause, tries) = match state {
        ServerState::Connecting => (ToolServerState::Connecting, None, 0),
        ServerState::Ready { .. } => (ToolServerState::Ready, None, 0),
        ServerState::Away { cause, tries } => (ToolServerState::Away, Some(cause), tries),
        ServerState::Changed { cause } => (ToolServerState::Changed, Some(cause), 0),
    };
    ToolServer {
        profile,
        name,
        state,
        cause,
        tries,
        tools: tools
            .into_iter()
            .map(|tool| ToolOffer {
                name: tool.spec.name,
                description: tool.spec.description,
                reads_only: tool.effect == Effect::ReadOnly,
            })
            .collect(),
        waiting: waiting
            .into_iter()
            .map(|(name, waiting)| ToolWaiting {
                name,
                description: waiting.description,
            })
            .collect(),
        question,
    }
}

/// Writes down how they are. What can't be written is told in the log: the servers work without it.
pub(super) fn write(home: &Home, standing: &[(ProfileId, Standing)]) {
    let servers: Vec<ToolServer> = standing
        .iter()
        .map(|(profile, one)| shown(profile.clone(), one.clone()))
        .collect();
    let written = serde_json::to_vec(&servers)
        .map_err(std::io::Error::other)
        .and_then(|bytes| whole(&home.run(), &path(home), &bytes));
    if let Err(error) = written {
        tracing::warn!(%error, "how the servers are can't be written down");
    }
}

pub(super) fn remove(home: &Home) {
    if let Err(error) = std::fs::remove_file(path(home)) {
        tracing::debug!(%error, "how the servers were can't be taken away");
    }
}

/// Every server as a running gateway sees it; `None` if none runs on this home. Blocks for a moment.
#[must_use]
pub fn running_servers(home: &Home) -> Option<Vec<ToolServer>> {
    let running = matches!(HomeLock::take(home), Err(LockError::Taken { .. }));
    let path = path(home);
    let about = std::fs::metadata(&path).ok()?;
    if !running || about.len() > LARGEST {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Every server of the settings as it was seen last, where no gateway looks. Blocks for a moment.
#[must_use]
pub fn resting_servers(home: &Home, settings: &Settings) -> Vec<ToolServer> {
    let profiles = settings.profiles.iter();
    let servers = profiles.flat_map(|(id, profile)| {
        profile.mcp.keys().map(|name| {
            let known = Files::of(home, id).read(name);
            let cause = known.as_ref().err().cloned();
            let known = known.ok().flatten().unwrap_or_default();
            ToolServer {
                profile: id.clone(),
                name: name.clone(),
                state: ToolServerState::Resting,
                cause,
                tries: 0,
                tools: Vec::new(),
                question: (!known.waiting.is_empty()).then(|| known.question()),
                waiting: known
                    .waiting
                    .into_iter()
                    .map(|(name, waiting)| ToolWaiting {
                        name,
                        description: waiting.description,
                    })
                    .collect(),
            }
        })
    });
    servers.collect()
}

/// Says yes to all that waits of one of these servers. The running gateway takes the word in a moment, or the next one when it starts. Blocks for
/// a moment.
///
/// # Errors
/// [`AcceptError`].
pub fn accept_tools(
    home: &Home,
    servers: Vec<ToolServer>,
    profile: Option<&ProfileId>,
    server: &str,
) -> Result<ToolServer, AcceptError> {
    let mut named: Vec<ToolServer> = servers
        .into_iter()
        .filter(|one| one.name == server && profile.is_none_or(|profile| one.profile == *profile))
        .collect();
    if named.len() > 1 {
        // Where only one asks, that one is meant.
        let asking = named.iter().filter(|one| one.question.is_some()).count();
        if asking != 1 {
            let profiles: Vec<&str> = named.iter().map(|one| one.profile.as_str()).collect();
            return Err(AcceptError::Several {
                server: server.to_owned(),
                profiles: profiles.join(", "),
            });
        }
        named.retain(|one| one.question.is_some());
    }
    let Some(meant) = named.pop() else {
        return Err(AcceptError::Unknown(server.to_owned()));
    };
    let Some(question) = &meant.question else {
        return Err(match meant.cause {
            Some(cause) if meant.state == ToolServerState::Resting => {
                AcceptError::Unreadable(cause)
            }
            Some(_) | None => AcceptError::Nothing(server.to_owned()),
        });
    };
    Files::of(home, &meant.profile)
        .leave_answer(server, question)
        .map_err(AcceptError::File)?;
    Ok(meant)
}
