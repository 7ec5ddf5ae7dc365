//! Between values and columns.

use std::fmt::Display;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use waybill::Timestamp;

use crate::error::Trouble;

/// Milliseconds for a column. "For ever" lies in a second that can't be read back from milliseconds: it loses that second.
pub(crate) fn ms(at: Timestamp) -> i64 {
    at.as_millisecond().min(Timestamp::MAX.as_second() * 1_000)
}

pub(crate) fn time(row: impl ToString, ms: i64) -> Result<Timestamp, Trouble> {
    Timestamp::from_millisecond(ms).map_err(|error| Trouble::unreadable(row, error))
}

pub(crate) fn number(row: impl ToString, value: i64) -> Result<u32, Trouble> {
    u32::try_from(value).map_err(|error| Trouble::unreadable(row, error))
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, Trouble> {
    serde_json::to_string(value)
        .map_err(|error| Trouble::refused(format!("a value can't be written: {error}")))
}

pub(crate) fn read<T: DeserializeOwned>(row: impl ToString, text: &str) -> Result<T, Trouble> {
    serde_json::from_str(text).map_err(|error| Trouble::unreadable(row, error))
}

pub(crate) fn parse<T>(row: impl ToString, text: &str) -> Result<T, Trouble>
where
    T: FromStr,
    T::Err: Display,
{
    text.parse()
        .map_err(|error: T::Err| Trouble::unreadable(row, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_ever_can_be_read_back() {
        for at in [Timestamp::MAX, Timestamp::MIN, Timestamp::UNIX_EPOCH] {
            let back = time("row", ms(at)).unwrap();
            assert!(
                back.duration_since(at).abs() < jiff::SignedDuration::from_secs(1),
                "{at}: {back}"
            );
        }
    }
}
