//! Moments and stretches of time on the page. Without a script they are UTC; with it they are the reader's own.

use std::fmt;
use std::time::Duration;

use waybill::Timestamp;

/// How the script shows a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// "12:03:04", with the day if it is another one.
    Clock,
    /// "5 minutes ago".
    Ago,
    /// "12:03:13 (in 9 s)".
    Until,
}

/// A moment, as an element that is safe by construction: nothing in it comes from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    at: Timestamp,
    shown: Shown,
}

impl Stamp {
    pub(crate) fn new(at: Timestamp, shown: Shown) -> Self {
        Self { at, shown }
    }

    pub(crate) fn clock(at: Timestamp) -> Self {
        Self::new(at, Shown::Clock)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.shown {
            Shown::Clock => "clock",
            Shown::Ago => "ago",
            Shown::Until => "until",
        };
        write!(
            out,
            "<time datetime=\"{}\" data-as=\"{shown}\">{}</time>",
            self.at,
            self.at.strftime("%Y-%m-%d %H:%M:%S UTC")
        )
    }
}

impl askama::filters::HtmlSafe for Stamp {}

/// "0.4 s", "9 s", "3 min", "2 h", "5 days".
pub(crate) fn stretch(of: Duration) -> String {
    let seconds = of.as_secs();
    match seconds {
        0 if of.subsec_millis() < 100 => format!("{} ms", of.subsec_millis()),
        0..=9 if of.subsec_millis() >= 50 => format!("{:.1} s", of.as_secs_f64()),
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// From one moment to another; nothing if the clock went back between them.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_short_words() {
        for (millis, words) in [
            (3, "3 ms"),
            (140, "0.1 s"),
            (1_000, "1 s"),
            (1_500, "1.5 s"),
            (9_000, "9 s"),
            (61_000, "61 s"),
            (180_000, "3 min"),
            (7_200_000, "2 h"),
            (432_000_000, "5 days"),
        ] {
            assert_eq!(stretch(Duration::from_millis(millis)), words);
        }
    }

    #[test]
    fn a_moment_is_an_element_with_its_full_time() {
        let at = Timestamp::from_millisecond(1_752_750_184_000).unwrap();
        assert_eq!(
            Stamp::clock(at).to_string(),
            "<time datetime=\"2025-07-17T11:03:04Z\" data-as=\"clock\">2025-07-17 11:03:04 UTC</time>"
        );
    }
}
