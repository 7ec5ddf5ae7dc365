//! Bodies, read whole and bounded together: a picture comes inside a request, so a request may be large.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, header};
use tokio::sync::SemaphorePermit;

use super::{Desk, Refusal};

/// Largest body, in bytes: some pictures, in base64.
pub(crate) const LARGEST: usize = 20 << 20;
/// What all bodies that are in memory at once may take, in kilobytes.
pub(crate) const BUDGET: usize = 128 << 10;
/// Longest wait for a place, and for the whole body.
const PATIENCE: Duration = Duration::from_secs(60);

/// A body, and its share of the budget while it is in memory.
pub(crate) struct Read<'a> {
    pub(crate) bytes: Bytes,
    pub(crate) _share: SemaphorePermit<'a>,
}

/// Reads a body.
pub(crate) async fn read<'a>(
    desk: &'a Desk,
    headers: &HeaderMap,
    body: Body,
) -> Result<Read<'a>, Refusal> {
    let too_large = || Refusal::too_large("the request is larger than 20 MB");
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let size = match announced {
        Some(size) if size > LARGEST => return Err(too_large()),
        Some(size) => size,
        None => LARGEST,
    };
    let share = u32::try_from(size.div_ceil(1_024).max(1)).unwrap_or(u32::MAX);
    let reading = async {
        let share = desk
            .budget
            .acquire_many(share)
            .await
            .map_err(|_closed| Refusal::unavailable("the gateway stops"))?;
        let bytes = to_bytes(body, LARGEST).await.map_err(|error| {
            let inner = std::error::Error::source(&error);
            if inner.is_some_and(|inner| inner.to_string().contains("length limit")) {
                too_large()
            } else {
                Refusal::malformed(format!("the request broke off: {error}"))
            }
        })?;
        Ok(Read {
            bytes,
            _share: share,
        })
    };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .unwrap_or_else(|_late| {
            Err(Refusal::unavailable(
                "the request did not come in time, or too many large ones came at once",
            ))
        })
}
