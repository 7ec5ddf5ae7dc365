//! A sink that a test holds.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chat::{Accepted, Event, Fault, Inbound, InboundSink, SinkError};
use tokio::sync::Semaphore;
use waybill::AccountId;

#[derive(Default)]
struct Book {
    events: Vec<Event>,
    keys: HashSet<String>,
    cursor: Option<String>,
    health: Vec<Result<(), Fault>>,
    asked: usize,
    refuse: usize,
}

/// Keeps what is handed to it; can be told to fail, or to take its time. Clones share it.
#[derive(Clone)]
pub struct Sink {
    book: Arc<Mutex<Book>>,
    open: Arc<Semaphore>,
}

impl Default for Sink {
    fn default() -> Self {
        let sink = Self {
            book: Arc::default(),
            open: Arc::new(Semaphore::new(0)),
        };
        sink.open.close();
        sink
    }
}

impl Sink {
    /// Takes nothing until [`Sink::release`].
    #[must_use]
    pub fn held() -> Self {
        Self {
            book: Arc::default(),
            open: Arc::new(Semaphore::new(0)),
        }
    }

    /// Takes everything from now on.
    pub fn release(&self) {
        self.open.close();
    }

    /// Fails the next `times` times.
    pub fn refuse(&self, times: usize) {
        self.book().refuse = times;
    }

    /// How often events were handed over, with success or not.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.book().asked
    }

    /// What was stored, oldest first, without repeats.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.book().events.clone()
    }

    /// What could be read of it.
    #[must_use]
    pub fn inbound(&self) -> Vec<Inbound> {
        let events = self.events();
        events
            .into_iter()
            .filter_map(|event| event.parsed.ok().flatten())
            .collect()
    }

    /// The words of what could be read.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.inbound()
            .into_iter()
            .map(|inbound| inbound.text)
            .collect()
    }

    /// What was told of the account's health.
    #[must_use]
    pub fn health(&self) -> Vec<Result<(), Fault>> {
        self.book().health.clone()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl InboundSink for Sink {
    async fn accept(
        &self,
        _account: &AccountId,
        events: Vec<Event>,
        cursor: Option<String>,
    ) -> Result<Accepted, SinkError> {
        self.book().asked += 1;
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
        let mut book = self.book();
        if book.refuse > 0 {
            book.refuse -= 1;
            return Err(SinkError("the test says no".to_owned()));
        }
        let mut accepted = Accepted::default();
        for event in events {
            if book.keys.insert(event.key.clone()) {
                accepted.fresh += 1;
                book.events.push(event);
            } else {
                accepted.repeated += 1;
            }
        }
        if cursor.is_some() {
            book.cursor = cursor;
        }
        Ok(accepted)
    }

    async fn cursor(&self, _account: &AccountId) -> Result<Option<String>, SinkError> {
        Ok(self.book().cursor.clone())
    }

    fn health(&self, _account: &AccountId, state: Result<(), Fault>) {
        self.book().health.push(state);
    }
}
