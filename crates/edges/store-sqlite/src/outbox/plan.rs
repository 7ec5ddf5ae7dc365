//! The outbox's questions are answered by indexes alone, however much has piled up.

use rusqlite::Connection;

use outbox::{ListFilter, PartState};
use waybill::AccountId;

use super::{aside, claim, gathering, lane, list};

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
fn the_part_that_goes_next_is_found_by_keys_alone() {
    let steps = plan(claim::CANDIDATE);
    assert!(
        steps
            .iter()
            .all(|step| step.starts_with("SEARCH") || step.starts_with("CORRELATED")),
        "{steps:?}"
    );
    assert!(
        steps.iter().any(|step| step.contains("part_open (lane=?)")),
        "{steps:?}"
    );
}

#[test]
fn only_the_few_accounts_are_scanned() {
    assert_eq!(plan(claim::ACCOUNTS), ["SCAN account"]);
    for sql in [claim::NEXT_READY, claim::FIRST_READY] {
        let steps = plan(sql);
        assert_eq!(steps.len(), 1, "{sql}: {steps:?}");
        assert!(steps[0].contains("lane_ready"), "{sql}: {steps:?}");
    }
    let steps = plan(gathering::NEXT_DUE);
    assert!(
        steps.len() == 1 && steps[0].contains("gathering_due"),
        "{steps:?}"
    );
    let steps = plan(gathering::DUE);
    assert!(
        steps.iter().all(|step| !step.starts_with("SCAN")),
        "{steps:?}"
    );
}

#[test]
fn parts_that_wait_for_the_owner_are_found_by_their_index() {
    let steps = plan(aside::UNTOLD);
    assert!(
        steps
            .iter()
            .all(|step| !step.starts_with("SCAN p") || step.contains("part_held")),
        "{steps:?}"
    );
}

#[test]
fn what_a_start_takes_up_is_found_by_its_index() {
    for (sql, index) in [
        (crate::inbox::OPEN_ROWS, "inbox_open"),
        (crate::session::RUNNING_TURNS, "turn_running"),
        (super::settle::SENDING, "part_sending"),
        (super::doubt::OPEN_LANES, "part_open"),
    ] {
        let steps = plan(sql);
        assert_eq!(steps.len(), 1, "{sql}: {steps:?}");
        assert!(steps[0].contains(index), "{sql}: {steps:?}");
    }
}

#[test]
fn lists_read_no_more_than_what_they_ask_for() {
    let account = || AccountId::parse("tg").ok();
    let conversation = || Some("1".to_owned());
    for (account, conversation) in [
        (account(), conversation()),
        (None, conversation()),
        (account(), None),
        (None, None),
    ] {
        let states = PartState::ALL.into_iter().map(Some).chain([None]);
        for state in states {
            let few = state.is_some_and(|state| state != PartState::Sent);
            if !few && conversation.is_none() {
                continue;
            }
            let steps = plan(&list::question(&ListFilter {
                state,
                account: account.clone(),
                conversation: conversation.clone(),
                ..ListFilter::default()
            }));
            let by_index = |step: &String| {
                let narrow = ["part_open", "part_held", "part_over"];
                let whole = step.starts_with("SCAN") && !narrow.iter().any(|of| step.contains(of));
                !whole && !step.contains("TEMP B-TREE")
            };
            assert!(steps.iter().all(by_index), "{state:?}: {steps:?}");
            assert!(
                steps[0].contains("m USING INTEGER PRIMARY KEY (rowid=?)"),
                "{state:?}: {steps:?}"
            );
            let index = match state {
                Some(PartState::Held) => "part_held",
                Some(state) if state.blocks_lane() => "part_open",
                Some(PartState::Sent) | None => "sqlite_autoindex_part_2",
                Some(_) => "part_over",
            };
            assert!(
                steps.iter().any(|step| step.contains(index)),
                "{state:?}: {steps:?}"
            );
        }
    }
}
