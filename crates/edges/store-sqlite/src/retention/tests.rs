//! Searches look at their stretch of a table and at what their rows hang on, and changes at their row: at nothing else.

use rusqlite::Connection;

fn plan(sql: &str) -> Vec<String> {
    let mut db = Connection::open_in_memory().unwrap();
    crate::schema::migrate(&mut db, std::path::Path::new("memory")).unwrap();
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let params = statement.parameter_count();
    let rows = statement
        .query_map(rusqlite::params_from_iter(vec![1; params]), |row| {
            row.get(3)
        })
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn no_search_and_no_change_reads_a_whole_table() {
    let searches = [
        super::words::FITS,
        super::messages::FITS,
        super::events::WORDS,
        super::events::EVENTS,
        super::conversations::TURNS,
        super::conversations::ENTRIES,
        super::collect::NAMED,
    ];
    let changes = [
        super::words::FORGET,
        super::words::LINES,
        super::events::FORGET,
        super::events::DELETE,
    ];
    let deletes = super::messages::DELETES
        .into_iter()
        .chain(super::conversations::DELETES);
    for sql in searches.into_iter().chain(changes).chain(deletes) {
        let steps = plan(sql);
        let long = |step: &&String| {
            // The few turns that run have an index of their own.
            (step.starts_with("SCAN") && !step.ends_with("turn_running"))
                || step.contains("TEMP B-TREE")
        };
        assert_eq!(steps.iter().find(long), None, "{sql}: {steps:#?}");
    }
}
