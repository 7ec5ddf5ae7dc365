//! A connection as jobs see it: statements are kept prepared, results are read to their end.

use std::cell::Cell;

use rusqlite::{Connection, OptionalExtension as _, Params, Row};

use crate::error::Trouble;

/// What a job works on, inside its transaction.
pub(crate) struct Desk<'a> {
    db: &'a Connection,
    woke: Cell<bool>,
}

impl<'a> Desk<'a> {
    pub(crate) fn new(db: &'a Connection) -> Self {
        Self {
            db,
            woke: Cell::new(false),
        }
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
