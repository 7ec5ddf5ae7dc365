//! How long each kind of trouble is waited out.

use std::time::Duration;

use chat::{Fault, FaultKind};

/// Waits between tries. Each is varied by up to a fifth, so that many accounts do not come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// After the first network failure; doubled each time.
    pub network_first: Duration,
    /// Longest wait after a network failure.
    pub network_most: Duration,
    /// After the first conflict with another poller; doubled each time.
    pub conflict_first: Duration,
    /// Longest wait after a conflict.
    pub conflict_most: Duration,
    /// While the token is not accepted.
    pub revoked: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            network_first: Duration::from_secs(1),
            network_most: Duration::from_secs(30),
            conflict_first: Duration::from_secs(5),
            conflict_most: Duration::from_secs(60),
            revoked: Duration::from_secs(60),
        }
    }
}

/// What a failed round of listening means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setback {
    /// Another program polls with the same token, or has set a webhook.
    Conflict,
    /// The token is not accepted.
    Revoked,
    /// The platform named a time.
    Throttled(Duration),
    /// All else.
    Network,
}

impl Setback {
    pub(crate) fn of(fault: &Fault) -> Self {
        if fault.code.as_deref() == Some("409") {
            return Self::Conflict;
        }
        match &fault.kind {
            FaultKind::Throttled { after, .. } => Self::Throttled(*after),
            FaultKind::PermAccount => Self::Revoked,
            FaultKind::NotSent
            | FaultKind::TempReject
            | FaultKind::PermItem
            | FaultKind::PermChat
            | FaultKind::Moved { .. }
            | FaultKind::Duplicate { .. }
            | FaultKind::NoChange
            | FaultKind::Unknown => Self::Network,
        }
    }

    /// From which failure in a row on the owner is told. A network may stumble twice.
    pub(crate) fn told_from(self) -> u32 {
        match self {
            Self::Conflict | Self::Revoked => 1,
            Self::Throttled(_) | Self::Network => 3,
        }
    }
}

impl Pace {
    /// The wait after the `failures`th failure in a row (from 1). `chance` is in 0..1.
    pub(crate) fn wait(&self, setback: Setback, failures: u32, chance: f64) -> Duration {
        let doubled = |first: Duration, most: Duration| {
            let factor = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
            first.saturating_mul(factor).min(most)
        };
        let wait = match setback {
            Setback::Conflict => doubled(self.conflict_first, self.conflict_most),
            Setback::Revoked => self.revoked,
            // Never sooner than the platform said.
            Setback::Throttled(after) => return after.max(self.network_first),
            Setback::Network => doubled(self.network_first, self.network_most),
        };
        wait.mul_f64(0.8 + 0.4 * chance.clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_bounded() {
        let pace = Pace::default();
        let seconds = |setback, failures| pace.wait(setback, failures, 0.5).as_secs();
        let network: Vec<u64> = (1..8).map(|n| seconds(Setback::Network, n)).collect();
        assert_eq!(network, [1, 2, 4, 8, 16, 30, 30]);
        let conflict: Vec<u64> = (1..7).map(|n| seconds(Setback::Conflict, n)).collect();
        assert_eq!(conflict, [5, 10, 20, 40, 60, 60]);
        assert_eq!(seconds(Setback::Revoked, 1), 60);
        assert_eq!(seconds(Setback::Network, u32::MAX), 30);
    }

    #[test]
    fn the_platforms_own_time_is_never_cut() {
        let after = Duration::from_secs(149);
        for chance in [0.0, 0.5, 1.0] {
            assert!(Pace::default().wait(Setback::Throttled(after), 1, chance) >= after);
        }
    }
}
