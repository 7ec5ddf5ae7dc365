//! How disk and database stand, for whoever asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cheap to clone; all clones are one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Storage(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    room: Room,
    damage: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Room {
    #[default]
    Enough,
    None,
}

/// What people read whose file is not taken.
const NO_FILES: &str = "no files are taken now: the gateway's disk is full. Free some space on it, and try again in a minute";

impl Storage {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk is full; `false` if that was known.
    pub(crate) fn fill(&self) -> bool {
        std::mem::replace(&mut self.found().room, Room::None) == Room::Enough
    }

    /// There is room; `false` if that was known.
    pub(crate) fn has_room(&self) -> bool {
        std::mem::replace(&mut self.found().room, Room::Enough) == Room::None
    }

    /// The database is damaged; that does not pass by itself.
    pub(crate) fn damaged(&self, finding: &str) {
        self.found().damage = Some(finding.to_owned());
    }

    /// What is in trouble, for the owner's eyes: a name and a sentence each.
    pub(crate) fn troubles(&self) -> Vec<(&'static str, String)> {
        let found = self.found();
        let mut troubles = Vec::new();
        if found.room == Room::None {
            troubles.push(("disk", "the disk is full; files are not taken".to_owned()));
        }
        if let Some(finding) = &found.damage {
            troubles.push(("database", format!("the database is damaged: {finding}")));
        }
        troubles
    }

    /// The same in a few words, for anybody who may ask.
    pub(crate) fn degraded(&self) -> Option<String> {
        let found = self.found();
        match (found.room, found.damage.is_some()) {
            (Room::Enough, false) => None,
            (Room::None, false) => Some("the disk is full".to_owned()),
            (Room::Enough, true) => Some("the database is damaged".to_owned()),
            (Room::None, true) => Some("the disk is full, and the database is damaged".to_owned()),
        }
    }

    /// Why no file can be taken.
    pub(crate) fn no_files(&self) -> Option<String> {
        (self.found().room == Room::None).then(|| NO_FILES.to_owned())
    }
}
