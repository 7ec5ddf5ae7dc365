//! What an upload has done so far, seen from the waiting side.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    moved: Instant,
    broken: Option<String>,
}

impl Progress {
    pub(crate) fn begun() -> Self {
        Self(Arc::new(Mutex::new(State {
            moved: Instant::now(),
            broken: None,
        })))
    }

    pub(crate) fn moved(&self) {
        self.with(|state| state.moved = Instant::now());
    }

    pub(crate) fn last_moved(&self) -> Instant {
        self.with(|state| state.moved)
    }

    pub(crate) fn broke(&self, cause: String) {
        self.with(|state| state.broken = Some(cause));
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.with(|state| state.broken.clone())
    }

    fn with<T>(&self, see: impl FnOnce(&mut State) -> T) -> T {
        see(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
