//! Instants as the product writes them.

/// Milliseconds since 1970 of `2026-11-30T13:37:13.25Z`; `None` if it is no such text.
#[must_use]
pub fn milliseconds(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(|digits| digits.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut clock = clock.split(':').map(|digits| digits.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let thousandths: String = fraction.chars().chain("000".chars()).take(3).collect();
    let thousandths: i64 = thousandths.parse().ok()?;
    // Days since 1970 in the Gregorian calendar, with the year beginning in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days = 365 * shifted + shifted.div_euclid(4) - shifted.div_euclid(100)
        + shifted.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        - 1
        - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + thousandths)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn instants_are_read_to_the_millisecond() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            milliseconds("2000-02-29T12:00:00.5Z"),
            Some(951_825_600_500)
        );
        assert_eq!(
            milliseconds("2026-01-01T00:00:00.123456789Z"),
            Some(1_767_225_600_123)
        );
        assert_eq!(milliseconds("yesterday"), None);
    }
}
