//! A shell that remembers where it was: each conversation's commands begin in the folder where its last one ended.
//!
//! The wrapped command says its folder at its end through the output itself, between marks that nobody can foresee, and the
//! marks are cut out before anybody reads the output. The exit code stays the command's own.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sandbox::{SandboxKey, SandboxPath};
use waybill::{SessionId, TurnScope};

/// Where the wrapped command finds the folder to begin in. Taken out of its environment before the command itself.
pub(crate) const DIRECTORY: &str = "TIDINGS_DIRECTORY";

/// Begins and ends a mark: a sign that programs have no use for.
const SIGN: u8 = 0x1e;
/// What stands between the marks where the folder is gone: no path.
const GONE: &str = "!";
/// Longest path between the marks.
const LONGEST: usize = 4096;
/// Conversations whose folder is remembered; past it an older one begins in the workspace again.
const REMEMBERED: usize = 4096;

/// Where a command begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Where the sandbox starts it.
    There,
    /// In the folder of [`DIRECTORY`]. Where that is gone nothing is run: a command that was meant for one folder does harm in
    /// another.
    Directory,
}

/// A command that says at its end where it is. It is read by itself, so that a shell that quotes a wrong one quotes nothing of
/// ours, and without the way by which we are told: what it leaves behind in the background holds nothing open.
pub(crate) fn told(command: &str, mark: &str, begin: Begin) -> String {
    format!(
        "exec 8>&1; {enter} trap '{{ printf \"\\036{mark}%s\\036\" \"${{PWD-}}\" >&8; }} 2>/dev/null || :' EXIT\n\
         {{ eval '{command}'; }} 8>&-",
        enter = enter(&format!("printf '\\036{mark}{GONE}\\036'; "), begin),
        command = command.replace('\'', "'\\''"),
    )
}

/// A command that is left alone.
pub(crate) fn begun(command: &str, begin: Begin) -> String {
    format!("{}\n{command}", enter("", begin))
}

fn enter(gone: &str, begin: Begin) -> String {
    if begin == Begin::There {
        return String::new();
    }
    format!(
        "if ! cd \"${DIRECTORY}\" 2>/dev/null; then {gone}echo \"there is no folder ${DIRECTORY} any more\"; exit 126; fi; \
         unset {DIRECTORY};"
    )
}

/// What a command said of its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// It is here now.
    At(SandboxPath),
    /// Where it should have begun is nothing any more.
    Gone,
    /// It did not say, or nothing that is a path.
    Unsaid,
}

/// Cuts the mark out of output that comes in pieces.
pub(crate) struct Cutter {
    begin: Vec<u8>,
    held: Vec<u8>,
    found: Option<Vec<u8>>,
}

impl Cutter {
    pub(crate) fn new(mark: &str) -> Self {
        let mut begin = vec![SIGN];
        begin.extend_from_slice(mark.as_bytes());
        Self {
            begin,
            held: Vec::new(),
            found: None,
        }
    }

    /// Adds a piece; returns what is the command's own by now.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let mut own = Vec::new();
        if self.found.is_some() {
            own.append(&mut self.held);
            return own;
        }
        let mut held = std::mem::take(&mut self.held);
        // All before this is the command's own.
        let mut seen = 0;
        while let Some(rest) = held.get(seen..)
            && let Some(gap) = rest.iter().position(|byte| *byte == SIGN)
        {
            let at = seen + gap;
            match self.read(held.get(at..).unwrap_or_default()) {
                Mark::Whole { path, length } => {
                    self.found = Some(path);
                    own.extend(held.drain(..at));
                    own.extend(held.into_iter().skip(length));
                    return own;
                }
                Mark::Begun => {
                    self.held = held.split_off(at);
                    return held;
                }
                Mark::None => seen = at + 1,
            }
        }
        held
    }

    /// The end: what was held back, and what was said of the folder.
    pub(crate) fn finish(self) -> (Vec<u8>, Whereabouts) {
        let said = match self.found {
            None => Whereabouts::Unsaid,
            Some(path) if path == GONE.as_bytes() => Whereabouts::Gone,
            Some(path) => String::from_utf8(path)
                .ok()
                .filter(|path| path.starts_with('/'))
                .and_then(|path| SandboxPath::parse(&path).ok())
                .map_or(Whereabouts::Unsaid, Whereabouts::At),
        };
        (self.held, said)
    }

    fn read(&self, rest: &[u8]) -> Mark {
        let Some(said) = rest.strip_prefix(self.begin.as_slice()) else {
            return if self.begin.starts_with(rest) {
                Mark::Begun
            } else {
                Mark::None
            };
        };
        match said.iter().position(|byte| *byte == SIGN) {
            Some(end) => {
                let (path, _) = said.split_at(end);
                Mark::Whole {
                    path: path.to_vec(),
                    length: self.begin.len() + end + 1,
                }
            }
            None if said.len() > LONGEST => Mark::None,
            None => Mark::Begun,
        }
    }
}

/// What stands at a sign.
enum Mark {
    Whole { path: Vec<u8>, length: usize },
    Begun,
    None,
}

/// The folder of each conversation in its sandbox.
#[derive(Default)]
pub(crate) struct Directories(Mutex<HashMap<(SessionId, SandboxKey), SandboxPath>>);

impl Directories {
    fn lock(&self) -> MutexGuard<'_, HashMap<(SessionId, SandboxKey), SandboxPath>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the conversation's next command begins; none: in the workspace.
    pub(crate) fn of(&self, scope: &TurnScope) -> Option<SandboxPath> {
        self.lock().get(&key(scope)).cloned()
    }

    /// Takes note of what a command said.
    pub(crate) fn note(&self, scope: &TurnScope, said: &Whereabouts) {
        let mut known = self.lock();
        match said {
            Whereabouts::At(path) => {
                if known.len() >= REMEMBERED
                    && let Some(one) = known.keys().next().cloned()
                {
                    known.remove(&one);
                }
                known.insert(key(scope), path.clone());
            }
            Whereabouts::Gone => {
                known.remove(&key(scope));
            }
            Whereabouts::Unsaid => {}
        }
    }
}

fn key(scope: &TurnScope) -> (SessionId, SandboxKey) {
    (scope.session().id(), scope.sandbox().clone())
}

#[cfg(test)]
mod tests;
