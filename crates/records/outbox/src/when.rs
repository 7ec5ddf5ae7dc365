//! Times and waits in plain words, for the terminal and the chat alike.

use waybill::Timestamp;

use crate::{PartRow, PartState};

/// How long ago, or in how long: `12 s ago`, `in 3 min`, `now`.
#[must_use]
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(at).as_secs();
    match seconds {
        0 => "now".to_owned(),
        1.. => format!("{} ago", span(seconds.unsigned_abs())),
        ..=-1 => format!("in {}", span(seconds.unsigned_abs())),
    }
}

/// So many seconds, rounded down to the largest unit of which there are two: `119 s`, `45 min`, `30 h`, `6 d`.
#[must_use]
pub fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

/// Where a part stands and when it goes on, to follow its name.
#[must_use]
pub fn standing(part: &PartRow, now: Timestamp) -> String {
    let next = if part.next_at > now {
        ago(part.next_at, now)
    } else {
        "as soon as its chat's turn comes".to_owned()
    };
    match part.state {
        PartState::Queued if part.next_at > now => format!("is sent {next}"),
        PartState::Queued => "waits for its chat's turn".to_owned(),
        PartState::Sending => "is on its way".to_owned(),
        PartState::Retry => format!("is tried again {next}"),
        PartState::Unknown => format!("may have arrived; goes on {next}"),
        PartState::Held => "may have arrived; waits for a decision".to_owned(),
        PartState::Sent => "arrived".to_owned(),
        PartState::Failed => "was given up".to_owned(),
        PartState::Expired => "was given up as too old".to_owned(),
        PartState::Cancelled => "was cancelled".to_owned(),
        PartState::Superseded => "was replaced by a newer one".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_now() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let now = at(1_000_000);
        for (second, told) in [
            (1_000_000, "now"),
            (999_988, "12 s ago"),
            (1_000_119, "in 119 s"),
            (1_000_120, "in 2 min"),
            (1_000_000 - 7_199, "119 min ago"),
            (1_000_000 - 7_200, "2 h ago"),
            (1_000_000 - 172_800, "2 d ago"),
        ] {
            assert_eq!(ago(at(second), now), told);
        }
    }
}
