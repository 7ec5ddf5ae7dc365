//! `[retention]`

use std::time::Duration;

use crate::settings::Retention;
use crate::tree::Table;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

/// The table of keys fills in what nobody said; the numbers beside the names are for a table that lacks them all the same.
pub(super) fn retention(root: &Table) -> Retention {
    let nothing = Table::default();
    let table = root.table("retention").unwrap_or(&nothing);
    let span = |key: &str, usual: u64, unit: u64| {
        let count = table.integer(key).map_or(usual, i64::unsigned_abs);
        Duration::from_secs(count.saturating_mul(unit))
    };
    Retention {
        sent: span("sent_days", 30, DAY),
        words: span("words_hours", 72, HOUR),
        dead: span("dead_days", 30, DAY),
        inbox: span("inbox_days", 7, DAY),
        ignored: span("ignored_hours", 24, HOUR),
        blob_grace: span("blob_grace_hours", 24, HOUR),
        conversations: Some(span("conversations_days", 0, DAY)).filter(|span| !span.is_zero()),
    }
}
