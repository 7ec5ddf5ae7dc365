//! A process that is killed while it commits: what it had acknowledged is there.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use outbox::{ListFilter, OutboxStore as _, PartState};
use session::{InboxStore as _, NewEvent};
use tidings_store_sqlite::Store;
use tokio::task::JoinSet;

use crate::place::{Place, id, message, now, options, settled};

/// Writers at once in the child, so that it dies inside a group too.
const WRITERS: u32 = 6;

/// Not a test by itself: the child of the test below, which tells it over stdin where to write and from which number on.
#[test]
#[ignore = "the child of another test"]
fn the_child_that_writes_until_it_is_killed() {
    let mut told = String::new();
    std::io::stdin().read_to_string(&mut told).unwrap();
    let Some((first, folder)) = told.trim().split_once(' ') else {
        return;
    };
    let (first, folder): (u32, PathBuf) = (first.parse().unwrap(), folder.into());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(&options(&folder)).unwrap();
        let mut tasks = JoinSet::new();
        for writer in 0..WRITERS {
            let store = store.clone();
            tasks.spawn(async move {
                for number in (first + writer..).step_by(WRITERS as usize) {
                    let event = NewEvent {
                        key: number.to_string(),
                        raw: String::new(),
                        parsed: Ok(None),
                    };
                    let account = "tg".parse().unwrap();
                    store
                        .accept(&account, vec![event], Some(number.to_string()), now())
                        .await
                        .unwrap();
                    store
                        .enqueue(vec![message(number, number % 50)], now())
                        .await
                        .unwrap();
                    let mut out = std::io::stdout().lock();
                    out.write_all(format!("\nstored {number}\n").as_bytes())
                        .unwrap();
                    out.flush().unwrap();
                }
            });
        }
        while tasks.join_next().await.is_some() {}
    });
}

/// Lets a child write from `first` on; kills it after `acknowledged` answers; returns what it acknowledged.
fn killed_after(place: &Place, first: u32, acknowledged: usize) -> Vec<u32> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::the_child_that_writes_until_it_is_killed",
            "--ignored",
            "--nocapture",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = format!("{first} {}", place.folder.path().display());
    child
        .stdin
        .take()
        .unwrap()
        .write_all(told.as_bytes())
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let number =
        |line: std::io::Result<String>| line.unwrap().strip_prefix("stored ")?.parse::<u32>().ok();
    let mut stored: Vec<u32> = lines
        .by_ref()
        .filter_map(number)
        .take(acknowledged)
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had said before it died counts too.
    stored.extend(lines.filter_map(number));
    assert!(
        stored.len() >= acknowledged,
        "the child wrote only {stored:?}"
    );
    stored
}

#[tokio::test]
async fn what_was_acknowledged_before_kill_9_is_there_and_the_file_is_whole() {
    let place = Place::new();
    let mut all: Vec<u32> = Vec::new();
    for round in 0..5_u32 {
        let first = round * 100_000;
        let stored = killed_after(&place, first, 20 + 13 * round as usize);
        all.extend(stored);

        let store = Store::open(&place.options()).unwrap();
        assert_eq!(
            store.check().await.unwrap(),
            Vec::<String>::new(),
            "round {round}"
        );
        for number in &all {
            let row = store.show(id(*number)).await.unwrap();
            assert!(
                row.is_some(),
                "message {number} was acknowledged and is gone"
            );
            let event = NewEvent {
                key: number.to_string(),
                raw: String::new(),
                parsed: Ok(None),
            };
            let (_, counts) = store
                .accept(&"tg".parse().unwrap(), vec![event], None, now())
                .await
                .unwrap();
            assert_eq!(
                counts.repeated, 1,
                "event {number} was acknowledged and is gone"
            );
        }
        // What was on the wire is unknown now, and nothing is `sending` any more.
        store.recover(now(), settled()).await.unwrap();
        let sending = ListFilter {
            state: Some(PartState::Sending),
            ..ListFilter::default()
        };
        assert!(store.list(sending).await.unwrap().is_empty());
        let claimed = store.claim(now(), 1_000).await.unwrap().parts;
        // Lanes whose first message was stored and not yet acknowledged may be there besides.
        assert!(claimed.len() >= lanes(&all), "each lane has its head");
        store.close().await.unwrap();
    }
}

fn lanes(numbers: &[u32]) -> usize {
    numbers
        .iter()
        .map(|number| number % 50)
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}
