//! How long a server that failed is left alone.

use std::time::Duration;

use crate::Limits;

/// The rest after so many failures in a row: doubled each time up to a bound, and anywhere in its second half, so that servers that
/// fell together do not come back together. `random` is any number.
pub(crate) fn rest(tries: u32, limits: &Limits, random: u32) -> Duration {
    let doubled = limits
        .first_rest
        .saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1).min(31)));
    let whole = doubled.min(limits.longest_rest);
    let half = whole / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// A number that nobody can foresee; the longest rest where the system has none.
pub(crate) fn random() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_up_to_five_minutes_and_never_gives_up() {
        let limits = Limits::default();
        for (tries, least, most) in [
            (0, 0.5, 1.0),
            (1, 0.5, 1.0),
            (2, 1.0, 2.0),
            (5, 8.0, 16.0),
            (9, 128.0, 256.0),
            (10, 150.0, 300.0),
            (1_000, 150.0, 300.0),
            (u32::MAX, 150.0, 300.0),
        ] {
            let bounds = [0, u32::MAX].map(|random| rest(tries, &limits, random).as_secs_f64());
            assert_eq!(bounds, [least, most], "{tries}");
        }
    }
}
