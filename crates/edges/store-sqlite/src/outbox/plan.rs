//! The outbox's questions are answered by indexes alone, however much has piled up.

use rusqlite::Connection;

use super::{claim, lane};

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
fn claims_scan_nothing_and_sort_nothing() {
    for sql in [claim::DUE_LANES, lane::HEAD] {
        let steps = plan(sql);
        assert_eq!(steps.len(), 1, "{sql}: {steps:?}");
        assert!(
            steps[0].starts_with("SEARCH") && steps[0].contains("USING"),
            "{sql}: {steps:?}"
        );
    }
    assert!(plan(claim::DUE_LANES)[0].contains("lane_ready (account=? AND ready_at<?)"));
    assert!(plan(lane::HEAD)[0].contains("part_open (lane=?)"));
}

#[test]
fn only_the_few_accounts_are_scanned() {
    for sql in [claim::OPEN_ACCOUNTS, lane::NEXT_DUE] {
        let steps = plan(sql);
        let scans: Vec<_> = steps
            .iter()
            .filter(|step| step.starts_with("SCAN"))
            .collect();
        assert!(
            scans
                .iter()
                .all(|step| *step == "SCAN account" || *step == "SCAN a"),
            "{sql}: {steps:?}"
        );
        assert!(
            !steps.iter().any(|step| step.contains("TEMP B-TREE")),
            "{sql}: {steps:?}"
        );
    }
    assert!(
        plan(lane::NEXT_DUE)
            .iter()
            .any(|step| step.contains("lane_ready"))
    );
}

#[test]
fn what_a_start_takes_up_is_found_by_its_index() {
    for (sql, index) in [
        (crate::inbox::OPEN_ROWS, "inbox_open"),
        (crate::session::RUNNING_TURNS, "turn_running"),
        (super::settle::SENDING, "part_sending"),
    ] {
        let steps = plan(sql);
        assert_eq!(steps.len(), 1, "{sql}: {steps:?}");
        assert!(steps[0].contains(index), "{sql}: {steps:?}");
    }
}
