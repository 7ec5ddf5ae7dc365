//! A database that was put back from a copy: nobody knows what became of what it calls open.

use rusqlite::params;
use waybill::Timestamp;

use super::lane::{self, Lane};
use crate::desk::Desk;
use crate::error::Trouble;

pub(super) const OPEN_LANES: &str =
    "SELECT DISTINCT lane FROM part WHERE state IN ('queued','sending','retry','unknown')";

/// Makes every open part `unknown`, due at once and possibly a repeat; returns how many. What the platform asked a lane or
/// an account to wait for still waits.
pub(crate) fn doubt(desk: &Desk<'_>, now: Timestamp) -> Result<usize, Trouble> {
    let lanes = desk.all(OPEN_LANES, [], |row| row.get::<_, Lane>(0))?;
    let found = desk.run(
        // A carried part without a placeholder may have had one since the copy was made: nobody knows its id, so only a direct
        // repeat can carry the mark.
        "UPDATE part SET state = 'unknown', next_at = ?1, may_be_repeat = 1,
           way = CASE WHEN step IS NULL THEN 'direct' ELSE way END
         WHERE state IN ('queued','sending','retry','unknown')",
        params![crate::value::ms(now)],
    )?;
    for lane in lanes {
        lane::recompute(desk, lane)?;
    }
    Ok(found)
}
