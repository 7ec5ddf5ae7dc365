//! When to try again.

use std::time::Duration;

/// Tries that count before a part is given up (throttled ones don't count). So many that the longest wait is reached: with
/// jitter, 5 to 20 minutes of a platform's trouble are outlasted.
pub const MOST_TRIES: u32 = 12;

/// Attempts on which our own side crashed before a part is given up (outbox theory A.10: 3 panics).
pub const MOST_CRASHES: u32 = 3;

/// Attempts of an account in a row of which no byte left before the whole account rests (Postfix suspends a destination by the
/// same sign; one attempt probes it then).
pub const SILENT_ATTEMPTS: u32 = 5;

/// First wait.
const BASE: Duration = Duration::from_secs(1);
/// Longest wait of an interactive part.
const CAP: Duration = Duration::from_secs(300);

/// Exponential back-off with full jitter: base 1 s, doubled with each try, at most 5 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// A number that differs from part to part and from try to try, for the jitter.
    pub seed: u64,
}

impl Backoff {
    /// The wait after the `tries`-th try: between a quarter of the step and the step.
    #[must_use]
    pub fn wait(self, tries: u32) -> Duration {
        self.wait_within(tries, CAP)
    }

    /// The same with another cap.
    pub(crate) fn wait_within(self, tries: u32, cap: Duration) -> Duration {
        let step = BASE
            .saturating_mul(1 << tries.clamp(1, 12).saturating_sub(1))
            .min(cap);
        let share = splitmix(self.seed.wrapping_add(u64::from(tries))) % 1_000;
        let quarter = step / 4;
        quarter + (step - quarter).mul_f64(share as f64 / 1_000.0)
    }
}

/// SplitMix64's finaliser: spreads consecutive seeds evenly.
fn splitmix(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_stay_under_five_minutes() {
        for seed in 0..200 {
            let backoff = Backoff { seed };
            for tries in 1..40 {
                let wait = backoff.wait(tries);
                assert!(wait <= CAP && wait >= BASE / 4, "try {tries}: {wait:?}");
            }
            assert!(backoff.wait(1) <= BASE);
            assert!(backoff.wait(12) >= CAP / 4);
        }
    }
}
