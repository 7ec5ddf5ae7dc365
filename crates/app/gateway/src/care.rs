//! Care for the home while the gateway runs: the owner is told when its database was put back, is damaged, or has no room.
//!
//! The store finds out and keeps the bytes in order; here is who is told, once, and what is not taken meanwhile.

mod storage;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use outbox::StoreError;
use settings::Home;
use store_sqlite::{Ballast, Entered, OpenError, Stock, Store};
use tokio_util::sync::CancellationToken;
use waybill::{Clock, Ids};

use crate::StartError;
use crate::health::Crier;

pub(crate) use storage::Storage;

/// How often it is looked whether there is room again, and whether what could not be told can be told now.
const BETWEEN: Duration = Duration::from_secs(60);
/// How often a running gateway begins another generation: an older copy that is put back after a crash is noticed.
const GENERATION: Duration = Duration::from_secs(3_600);

fn ballast(home: &Home) -> Ballast {
    Ballast::new(&home.state().join("ballast"), Ballast::BYTES)
}

/// On a disk that is full already the ballast goes first: a start that fails tells nobody. The home is locked by now.
pub(crate) fn make_way(home: &Home) {
    match ballast(home).make_way(Ballast::START) {
        Ok(true) => tracing::error!(
            "the disk is full; the ballast was let go so that the gateway can start"
        ),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "whether there is room for a start could not be seen"),
    }
}

/// Begins a generation: says whether the database is the one that was left.
pub(crate) async fn enter(
    home: &Home,
    store: &Store,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<Entered, StartError> {
    let file = home.state().join("generation");
    let entered = store.enter(&file, ids, clock.now()).await;
    entered.map_err(|error| {
        if error.is_full() {
            let path = home.database();
            return OpenError::Full { path }.into();
        }
        error.into()
    })
}

/// Ends the generation, at a clean stop and each hour before it.
pub(crate) async fn renew(home: &Home, store: &Store, ids: &dyn Ids) {
    if let Err(error) = store.renew(&home.state().join("generation"), ids).await {
        tracing::warn!(%error, "the generation was not renewed; a copy of the database that is put back may go unnoticed");
    }
}

/// Looks after the home's disk and database, and tells the owner.
pub(crate) struct Caretaker {
    pub(crate) home: Home,
    pub(crate) store: Store,
    pub(crate) storage: Storage,
    pub(crate) crier: Arc<Crier>,
    pub(crate) ids: Arc<dyn Ids>,
    /// How the database was found.
    pub(crate) entered: Entered,
}

/// Something to tell, and under which name: the same name is told once, however often it is tried.
struct Word {
    source: String,
    sentence: String,
    /// What follows when it was told.
    then: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Nothing,
    /// The store forgets that it was put back.
    RestoreIsKnown,
}

/// When to try again what could not be told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Retry {
    Now,
    Later,
}

impl Caretaker {
    /// Works until it is told to stop.
    pub(crate) async fn run(self, stop: CancellationToken) {
        self.store.keep_ballast(ballast(&self.home));
        let mut untold = Vec::new();
        untold.extend(self.put_back());
        let check = self.store.quick_check();
        tokio::pin!(check);
        let mut checked = false;
        let mut again = tokio::time::interval(BETWEEN);
        again.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let first = tokio::time::Instant::now() + GENERATION;
        let mut renewal = tokio::time::interval_at(first, GENERATION);
        renewal.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            // What could not be told waits for the tick: trying at once what just failed would go on for ever.
            let (word, retry) = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.store.disk_full() => (self.full(), Retry::Later),
                // The first tick comes at once.
                _ = again.tick() => (self.restock().await, Retry::Now),
                found = &mut check, if !checked => {
                    checked = true;
                    (self.found(found), Retry::Later)
                }
                _ = renewal.tick() => {
                    renew(&self.home, &self.store, self.ids.as_ref()).await;
                    (None, Retry::Later)
                }
            };
            if word.is_some() || retry == Retry::Now {
                untold.extend(word);
                untold = self.tell(untold).await;
            }
        }
    }

    fn word(&self, about: &str, sentence: String) -> Word {
        let name = self.ids.uuid().simple();
        Word {
            source: format!("care:{about}:{name}"),
            sentence,
            then: Then::Nothing,
        }
    }

    fn put_back(&self) -> Option<Word> {
        let Entered::PutBack { generation } = &self.entered else {
            return None;
        };
        Some(Word {
            source: format!("care:restored:{generation}"),
            sentence: "⚠ The database was put back from a copy. What was waiting to be sent when the copy was made may have \
                       arrived since: it is sent again only as far as that is known to be safe, or with a mark. Turns that \
                       ran then were ended, and their people were told. What came after the copy is not known here any more."
                .to_owned(),
            then: Then::RestoreIsKnown,
        })
    }

    fn full(&self) -> Option<Word> {
        if !self.storage.fill() {
            return None;
        }
        tracing::error!("degraded: the disk is full; files are not taken until there is room");
        Some(self.word(
            "full",
            format!(
                "⚠ The disk that holds {} is full. {} that were kept for this were let go, so that words still get through for \
                 a while; files are not taken from the page. Free some space, then all goes on by itself within a minute.",
                self.home.path().display(),
                sandbox::size_text(Ballast::BYTES),
            ),
        ))
    }

    async fn restock(&self) -> Option<Word> {
        match self.store.restock().await {
            Ok(Stock::Kept) if self.storage.has_room() => {
                tracing::info!("there is room on the disk again");
                let sentence = "✓ There is room on the disk again; files are taken.";
                Some(self.word("room", sentence.to_owned()))
            }
            Ok(Stock::Kept) => None,
            Ok(Stock::NoRoom) => self.full(),
            Err(error) => {
                tracing::error!(%error, "the ballast can't be made");
                None
            }
        }
    }

    fn found(&self, found: Result<Vec<String>, StoreError>) -> Option<Word> {
        let wrong = match found {
            Ok(wrong) => wrong,
            Err(error) => {
                tracing::error!(%error, "the database could not be looked through");
                return None;
            }
        };
        let Some(first) = wrong.first() else {
            tracing::info!("the database was looked through; it is whole");
            return None;
        };
        for finding in &wrong {
            tracing::error!(
                finding,
                "degraded: the database is damaged; it was left as it is"
            );
        }
        self.storage.damaged(first);
        Some(self.word(
            "damage",
            format!(
                "⚠ The database {} is damaged: {first}. Nothing was changed in it. Stop the gateway, keep a copy of the folder, \
                 and put the database back from a backup (docs/backup.md).",
                self.home.database().display(),
            ),
        ))
    }

    /// Returns what could not be told, to be tried again.
    async fn tell(&self, words: Vec<Word>) -> Vec<Word> {
        let mut untold = Vec::new();
        for word in words {
            let told = self.crier.tell_owner(&word.source, &word.sentence).await;
            let done = match (told, word.then) {
                (Ok(()), Then::RestoreIsKnown) => self.store.told_of_restore().await,
                (told, _) => told,
            };
            if let Err(error) = done {
                tracing::error!(%error, "the owner could not be told; it is tried again");
                untold.push(word);
            }
        }
        untold
    }
}
