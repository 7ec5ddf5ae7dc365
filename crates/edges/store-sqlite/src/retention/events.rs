//! What people wrote: the words first, the keys when no platform repeats them any more.

use outbox::StoreError;
use session::{Cutoffs, Step};

use super::step;
use crate::store::Store;
use crate::value::ms;

/// Events ?1 < id <= ?2 that were handled before ?3 or ignored before ?4 and still have their words. Poisoned ones keep theirs
/// for the owner's eyes, as long as their key.
pub(super) const WORDS: &str =
    "SELECT id FROM inbox WHERE id > ?1 AND id <= ?2 AND (raw <> '' OR inbound IS NOT NULL)
    AND (state IN ('told','done') AND at < ?3 OR state = 'ignored' AND at < ?4)";

/// Events ?1 < id <= ?2 that are at their end, from before ?3.
pub(super) const EVENTS: &str = "SELECT id FROM inbox WHERE id > ?1 AND id <= ?2 AND at < ?3
    AND state IN ('told','done','ignored','poisoned')";

pub(super) const FORGET: &str = "UPDATE inbox SET raw = '', inbound = NULL WHERE id = ?1";
pub(super) const DELETE: &str = "DELETE FROM inbox WHERE id = ?1";

pub(super) async fn tidy_words(
    store: &Store,
    cutoffs: &Cutoffs,
    after: i64,
) -> Result<Step, StoreError> {
    let moments = vec![ms(cutoffs.words), ms(cutoffs.ignored)];
    step(store, "inbox", WORDS, after, moments, |desk, event| {
        desk.run(FORGET, [event])
    })
    .await
}

pub(super) async fn tidy(store: &Store, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError> {
    let moments = vec![ms(cutoffs.events)];
    step(store, "inbox", EVENTS, after, moments, |desk, event| {
        desk.run(DELETE, [event])
    })
    .await
}
