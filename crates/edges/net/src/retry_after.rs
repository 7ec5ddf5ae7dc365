//! `Retry-After`, in all its forms.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Longer waits are no advice: the caller's own back-off is better.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// `date` is the server's own clock, so that ours need not agree with it.
pub(crate) fn retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    let wait = if let Ok(seconds) = value.parse::<u64>() {
        Duration::from_secs(seconds)
    } else {
        let then = moment(value)?;
        let now = moment(date?)?;
        Duration::from_millis(
            u64::try_from(then.as_millisecond() - now.as_millisecond()).unwrap_or(0),
        )
    };
    (wait <= LONGEST).then_some(wait)
}

/// Milliseconds, as some services tell beside it.
pub(crate) fn retry_after_ms(value: &str) -> Option<Duration> {
    let wait = Duration::from_millis(value.trim().parse().ok()?);
    (wait <= LONGEST).then_some(wait)
}

/// A moment as HTTP writes it (RFC 2822), or as some services do (RFC 3339).
fn moment(text: &str) -> Option<Timestamp> {
    DateTimeParser::new()
        .relaxed_weekday(true)
        .parse_timestamp(text)
        .or_else(|_no_http_date| text.trim().parse())
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_retry_after() {
        let date = Some("Wed, 21 Oct 2026 07:27:30 GMT");
        let seconds = |value| retry_after(value, date).map(|wait| wait.as_secs());
        for (value, expected) in [
            ("5", Some(5)),
            (" 7 ", Some(7)),
            ("0", Some(0)),
            ("Wed, 21 Oct 2026 07:28:00 GMT", Some(30)),
            ("Wed, 21 Oct 2026 07:00:00 GMT", Some(0)),
            ("Wed, 21 Oct 2036 07:28:00 GMT", None),
            ("2026-10-21T07:28:00Z", Some(30)),
            ("2026-10-21", None),
            ("999999", None),
            ("99999999999999999999999", None),
            ("2abc", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
        ] {
            assert_eq!(seconds(value), expected, "{value:?}");
        }
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT", None), None);
        assert_eq!(
            retry_after_ms("1500").map(|wait| wait.as_millis()),
            Some(1500)
        );
        assert_eq!(
            (retry_after_ms("-1"), retry_after_ms("99999999999")),
            (None, None)
        );
    }
}
