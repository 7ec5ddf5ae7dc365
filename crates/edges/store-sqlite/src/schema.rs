//! The schema and its steps: `PRAGMA user_version` counts how many were taken.

use std::path::Path;

use rusqlite::Connection;

use crate::error::OpenError;

/// "TDGS": marks the file as this gateway's.
pub(crate) const APPLICATION: i32 = 0x5444_4753;

/// The steps, oldest first. A step that was released is never changed.
const STEPS: &[&str] = &[
    include_str!("../schema/0001_first.sql"),
    include_str!("../schema/0002_delivery.sql"),
    include_str!("../schema/0003_care.sql"),
    include_str!("../schema/0004_inbox.sql"),
    include_str!("../schema/0005_artifacts.sql"),
    include_str!("../schema/0006_last_words.sql"),
    include_str!("../schema/0007_ledger.sql"),
    include_str!("../schema/0008_api.sql"),
    include_str!("../schema/0009_plan.sql"),
    include_str!("../schema/0010_compaction.sql"),
];

/// The first schema with the table `meta`.
pub(crate) const WITH_META: i64 = 3;

/// The newest schema known.
pub(crate) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// The schema of an open database.
pub(crate) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings the database to the newest schema, each step in a transaction of its own.
pub(crate) fn migrate(db: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let from = version(db).map_err(|source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    })?;
    migrate_with(db, STEPS, from).map_err(|(to, source)| OpenError::Migration {
        path: path.to_owned(),
        to,
        source,
    })
}

fn migrate_with(
    db: &mut Connection,
    steps: &[&str],
    from: i64,
) -> Result<(), (i64, rusqlite::Error)> {
    for (sql, to) in steps.iter().zip(1_i64..).filter(|(_, to)| *to > from) {
        let step = || {
            let transaction =
                db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            transaction.execute_batch(sql)?;
            transaction.pragma_update(None, "user_version", to)?;
            transaction.commit()
        };
        let mut step = step;
        step().map_err(|error| (to, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_leaves_the_schema_before_it() {
        let mut db = Connection::open_in_memory().unwrap();
        let steps = ["CREATE TABLE a(x)", "CREATE TABLE b(x); CREATE TABLE a(x)"];
        let (to, _error) = migrate_with(&mut db, &steps, 0).unwrap_err();
        assert_eq!(to, 2);
        assert_eq!(version(&db).unwrap(), 1);
        assert!(db.execute("INSERT INTO a VALUES(1)", []).is_ok());
        assert!(
            db.execute("INSERT INTO b VALUES(1)", []).is_err(),
            "half a step must not stay"
        );
    }

    #[test]
    fn steps_that_were_taken_are_not_taken_again() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate_with(&mut db, &["CREATE TABLE a(x)"], 0).unwrap();
        migrate_with(&mut db, &["CREATE TABLE a(x)", "CREATE TABLE b(x)"], 1).unwrap();
        assert_eq!(version(&db).unwrap(), 2);
    }
}
