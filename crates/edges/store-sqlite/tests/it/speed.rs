//! Figures, for whoever asks: `cargo nextest run -p tidings-store-sqlite --run-ignored only speed --no-capture`.

use std::io::Write as _;
use std::time::{Duration, Instant};

use chat::Receipt;
use outbox::{Decision, OutboxStore as _, Settlement};
use tidings_store_sqlite::Store;
use tokio::task::JoinSet;

use crate::place::{Place, message, now};

fn tell(what: &str, count: u32, took: Duration) {
    let each = took.as_secs_f64() * 1_000.0 / f64::from(count);
    let line = format!(
        "{what}: {:.0}/s, {each:.2} ms each\n",
        f64::from(count) / took.as_secs_f64()
    );
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

#[test]
#[ignore = "a measurement"]
fn fdatasync_alone() {
    let place = Place::new();
    let mut file = std::fs::File::create(place.folder.path().join("log")).unwrap();
    let began = Instant::now();
    for _ in 0..200 {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
    }
    tell("fdatasync of 4 KiB", 200, began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn commits_one_by_one_and_in_groups() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let began = Instant::now();
    for number in 0..200 {
        store
            .enqueue(vec![message(number, number)], now())
            .await
            .unwrap();
    }
    tell(
        "enqueue with claim at birth, one by one",
        200,
        began.elapsed(),
    );
    for together in [8, 64, 256] {
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for task in 0..together {
            let store = store.clone();
            tasks.spawn(async move {
                for step in 0..20 {
                    let number = together * 10_000 + task * 100 + step;
                    store
                        .enqueue(vec![message(number, number)], now())
                        .await
                        .unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        tell(
            &format!("enqueue, {together} at once"),
            together * 20,
            began.elapsed(),
        );
    }
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn receipts_that_claim_the_next_part() {
    for lanes in [1, 64] {
        let place = Place::new();
        let store = Store::open(&place.options()).unwrap();
        let messages = (0..lanes * 40).map(|n| message(n, n % lanes)).collect();
        let claimed = store.enqueue(messages, now()).await.unwrap();
        let began = Instant::now();
        let mut tasks = JoinSet::new();
        for first in claimed {
            let store = store.clone();
            tasks.spawn(async move {
                let mut next = vec![first];
                while let Some(part) = next.pop() {
                    let settlement = Settlement {
                        message: part.message,
                        part: part.part,
                        attempt: part.attempt,
                        at: now(),
                        fault: None,
                        decision: Decision::Sent {
                            receipt: Receipt::new("1"),
                        },
                        notice: None,
                    };
                    next = store.settle(settlement).await.unwrap();
                }
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
        tell(
            &format!("receipt with the next claim, {lanes} lanes"),
            lanes * 40,
            began.elapsed(),
        );
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn a_hundred_thousand_open_parts_at_start() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    for batch in 0..100 {
        let messages = (0..1_000)
            .map(|n| message(batch * 1_000 + n, n * 5))
            .collect();
        store.enqueue(messages, now()).await.unwrap();
    }
    store.close().await.unwrap();
    let began = Instant::now();
    let store = Store::open(&place.options()).unwrap();
    tell("open, 100,000 open parts", 1, began.elapsed());
    let found = store.recover(now()).await.unwrap();
    tell(
        &format!("open and recover {found} of 100,000 open parts"),
        1,
        began.elapsed(),
    );
    let claimed = store.claim(now(), 64).await.unwrap();
    tell(
        &format!("until {} were claimed", claimed.len()),
        1,
        began.elapsed(),
    );
    let began = Instant::now();
    for _ in 0..50 {
        store.next_due().await.unwrap();
    }
    tell("next_due", 50, began.elapsed());
    store.close().await.unwrap();
}
