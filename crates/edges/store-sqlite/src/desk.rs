//! A connection as jobs see it: statements are kept prepared, results are read to their end.

use std::cell::{Cell, RefCell};

use outbox::{Pass, Turnstile};
use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use waybill::{AccountId, ChatKey, Timestamp};

use crate::error::Trouble;

/// What a job works on, inside its transaction.
pub(crate) struct Desk<'a> {
    db: &'a Connection,
    woke: Cell<bool>,
    turnstile: Option<&'a dyn Turnstile>,
    /// Chats for which a place was taken: given back if the job is not committed.
    taken: RefCell<Vec<ChatKey>>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(db: &'a Connection) -> Self {
        Self {
            db,
            woke: Cell::new(false),
            turnstile: None,
            taken: RefCell::default(),
        }
    }

    /// With what says whether attempts may begin.
    pub(crate) fn with_turnstile(mut self, turnstile: Option<&'a dyn Turnstile>) -> Self {
        self.turnstile = turnstile;
        self
    }

    /// Free places of an account, and when its windows open.
    pub(crate) fn room(&self, account: &AccountId, now: Timestamp) -> (usize, Option<Timestamp>) {
        self.turnstile
            .map_or((usize::MAX, None), |turnstile| turnstile.room(account, now))
    }

    /// Asks for an attempt.
    pub(crate) fn pass(&self, chat: &ChatKey, now: Timestamp) -> Pass {
        let pass = self
            .turnstile
            .map_or(Pass::Go, |turnstile| turnstile.pass(chat, now));
        if pass == Pass::Go {
            self.taken.borrow_mut().push(chat.clone());
        }
        pass
    }

    /// Takes one pass back.
    pub(crate) fn undo(&self, chat: &ChatKey) {
        let mut taken = self.taken.borrow_mut();
        if let Some(place) = taken.iter().rposition(|one| one == chat) {
            taken.swap_remove(place);
            if let Some(turnstile) = self.turnstile {
                turnstile.undo(chat);
            }
        }
    }

    /// The passes that were taken, for whoever knows whether they were committed.
    pub(crate) fn take_passes(&self) -> Vec<ChatKey> {
        self.taken.take()
    }

    /// Runs a statement; returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize, Trouble> {
        Ok(self.db.prepare_cached(sql)?.execute(params)?)
    }

    /// Inserts a row; returns its number.
    pub(crate) fn insert(&self, sql: &str, params: impl Params) -> Result<i64, Trouble> {
        Ok(self.db.prepare_cached(sql)?.insert(params)?)
    }

    /// The first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Trouble> {
        Ok(self
            .db
            .prepare_cached(sql)?
            .query_row(params, read)
            .optional()?)
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Trouble> {
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement
            .query_map(params, read)?
            .collect::<rusqlite::Result<Vec<T>>>()?;
        Ok(rows)
    }

    /// Notes that a claim may find something that it would not have found before.
    pub(crate) fn wake(&self) {
        self.woke.set(true);
    }

    pub(crate) fn woke(&self) -> bool {
        self.woke.get()
    }
}
