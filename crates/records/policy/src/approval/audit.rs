//! The record of every decision on something that leaves the sandbox.

use chat::SenderId;
use waybill::{Timestamp, TurnScope};

use super::{Action, Context, Fingerprint, Labels};

/// What was decided, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The rule allowed it.
    Allowed,
    /// A person had allowed it for the conversation or the turn before.
    Granted,
    /// The rule, or what nobody can be asked, forbade it.
    Denied(&'static str),
    /// A person was asked.
    Asked,
    /// They said yes.
    Approved(SenderId),
    /// They said no.
    Refused(SenderId),
    /// Nobody answered in time, or the turn ended before.
    Unanswered,
}

impl Outcome {
    /// Its name in the record.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Granted => "granted",
            Self::Denied(_) => "denied",
            Self::Asked => "asked",
            Self::Approved(_) => "approved",
            Self::Refused(_) => "refused",
            Self::Unanswered => "unanswered",
        }
    }
}

/// One decision. It holds no argument's value: those may be secret, and the fingerprint names them.
#[derive(Debug, Clone)]
pub struct Decided<'a> {
    /// When.
    pub at: Timestamp,
    /// Whose turn.
    pub scope: &'a TurnScope,
    /// What for.
    pub action: &'a Action,
    /// Which call.
    pub call: Fingerprint,
    /// What the turn had read.
    pub labels: Labels,
    /// Who was there.
    pub context: Context,
    /// What was decided.
    pub outcome: Outcome,
}

/// Where decisions are written down. Never fails the turn: who keeps it says so if it can't be kept.
pub trait Audit: Send + Sync {
    /// Writes one down.
    fn record(&self, decided: &Decided<'_>);
}
