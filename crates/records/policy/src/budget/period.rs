//! Days and months, in UTC: a profile's people may live anywhere, and a bill has one time.

use jiff::civil::Date;
use jiff::tz::Offset;
use waybill::Timestamp;

/// The day and the month of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    /// When the day began.
    pub day: Timestamp,
    /// When the next one begins.
    pub next_day: Timestamp,
    /// When the month began.
    pub month: Timestamp,
    /// When the next one begins.
    pub next_month: Timestamp,
}

impl Periods {
    /// Those in which a moment lies.
    #[must_use]
    pub fn of(now: Timestamp) -> Self {
        let today = Offset::UTC.to_datetime(now).date();
        let midnight = |date: Date| Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok();
        // Time has ends: nothing is before the first moment that can be written, and nothing after the last.
        let begin = |date| midnight(date).unwrap_or(Timestamp::MIN);
        let after = |date: Date| date.tomorrow().ok().and_then(midnight);
        let after = |date| after(date).unwrap_or(Timestamp::MAX);
        Self {
            day: begin(today),
            next_day: after(today),
            month: begin(today.first_of_month()),
            next_month: after(today.last_of_month()),
        }
    }
}
