//! Parts per second through claim and settlement, beside the same two transactions as bare SQL on the same disk; and the
//! recovery of many open parts. `cargo xtask bench` runs it and takes its lines: `what<TAB>figure<TAB>beside`.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use chat::{Body, Op, Receipt, RichText, Way, WhenUnknown};
use futures_util::future::join_all;
use outbox::{
    Claimed, Crash, Decision, MessageKind, NewMessage, NewPart, OutboxStore, Settlement, key,
};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use testkit::clock::CountingIds;
use tidings_store_sqlite::{Options, Store};
use waybill::{ChatKey, Conversation, MessageId, ProfileScope, Timestamp, Waybill};

/// Bytes of text in a part (outbox theory E.2: 400 B payload).
const WORDS: usize = 400;
/// How long each side of a comparison runs.
const STRETCH: Duration = Duration::from_secs(2);
/// Turns that both sides take, so that a busy moment of the machine falls on both.
const ROUNDS: usize = 3;

fn now() -> anyhow::Result<Timestamp> {
    Timestamp::from_second(1_800_000_000).context("a time")
}

fn message(ids: &CountingIds, lane: usize, number: usize) -> anyhow::Result<NewMessage> {
    let chat = ChatKey::new(
        "bot".parse().map_err(anyhow::Error::msg)?,
        Conversation::new(format!("{lane}")).map_err(anyhow::Error::msg)?,
    );
    let profile = "work".parse().map_err(anyhow::Error::msg)?;
    let source = format!("bench:{lane}:{number}");
    Ok(NewMessage {
        id: MessageId::fresh(ids),
        waybill: Waybill::operator(&ProfileScope::enter(profile), chat),
        kind: MessageKind::Reply,
        parts: vec![NewPart {
            op: Op::Text(Body::Rich(RichText::plain("x".repeat(WORDS)))),
            way: Way::Direct,
            key: key::part_key("bench", &source, 0, 1, 0),
        }],
        source,
        ordinal: 0,
        when_unknown: WhenUnknown::Repeat,
        replaces: None,
        created_at: now()?,
        expires_at: Timestamp::MAX,
    })
}

fn options(folder: &Path) -> Options {
    Options {
        database: folder.join("state").join("tidings.db"),
        blobs: folder.join("blobs"),
    }
}

/// A database with so many lanes of so many parts; what was claimed at birth is given back by a restart.
async fn filled(folder: &Path, lanes: usize, each: usize) -> anyhow::Result<()> {
    let store = Store::open(&options(folder))?;
    let ids = CountingIds::default();
    for number in 0..each {
        let messages: Vec<NewMessage> = (0..lanes)
            .map(|lane| message(&ids, lane, number))
            .collect::<anyhow::Result<_>>()?;
        store.enqueue(messages, now()?).await?;
    }
    store.close().await?;
    Ok(())
}

fn settlement(part: &Claimed, at: Timestamp) -> Settlement {
    Settlement {
        message: part.message,
        part: part.part,
        attempt: part.attempt,
        at,
        fault: None,
        crash: Crash::No,
        decision: Decision::Sent {
            receipt: Receipt::new("4711"),
        },
        plainer: None,
        notice: None,
    }
}

/// Parts per second of the store: claims, settles all of a batch side by side, goes on with what the settlements claimed.
async fn through_the_store(folder: &Path, batch: usize, stretch: Duration) -> anyhow::Result<f64> {
    let store = Store::open(&options(folder))?;
    let now = now()?;
    store.recover(now, std::collections::HashMap::new()).await?;
    let began = Instant::now();
    let mut parts = 0_usize;
    let mut claimed = Vec::new();
    while began.elapsed() < stretch {
        if claimed.len() < batch {
            let claims = store.claim(now, batch - claimed.len()).await?;
            claimed.extend(claims.parts);
        }
        anyhow::ensure!(!claimed.is_empty(), "the lanes ran dry: fill in more");
        let settled = join_all(
            claimed
                .iter()
                .map(|part| store.settle(settlement(part, now))),
        )
        .await;
        parts += claimed.len();
        claimed.clear();
        for next in settled {
            claimed.extend(next?);
        }
    }
    let rate = parts as f64 / began.elapsed().as_secs_f64();
    store.close().await?;
    Ok(rate)
}

/// The same as bare SQL: one transaction claims the heads of `batch` lanes, one writes their ends down.
fn as_bare_sql(folder: &Path, batch: usize, stretch: Duration) -> anyhow::Result<f64> {
    let db = Connection::open(options(folder).database)?;
    db.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = ON;")?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(64);
    let at = now()?.as_millisecond();
    db.execute(
        "UPDATE part SET state = 'queued' WHERE state = 'sending'",
        [],
    )?;
    db.execute(
        "UPDATE lane SET ready_at = ?1 WHERE EXISTS (SELECT 1 FROM part WHERE lane = lane.id AND state = 'queued')",
        [at],
    )?;
    let began = Instant::now();
    let mut parts = 0_usize;
    while began.elapsed() < stretch {
        let claimed = bare_claim(&db, batch, at)?;
        anyhow::ensure!(!claimed.is_empty(), "the lanes ran dry: fill in more");
        bare_settle(&db, &claimed, at)?;
        parts += claimed.len();
    }
    Ok(parts as f64 / began.elapsed().as_secs_f64())
}

struct Bare {
    lane: i64,
    part: i64,
    attempt: i64,
}

fn bare_claim(db: &Connection, batch: usize, at: i64) -> anyhow::Result<Vec<Bare>> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let lanes: Vec<i64> = db
        .prepare_cached("SELECT id FROM lane WHERE account = 'bot' AND ready_at <= ?1 ORDER BY ready_at LIMIT ?2")?
        .query_map(params![at, i64::try_from(batch)?], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut claimed = Vec::new();
    for lane in lanes {
        let part: i64 = db
            .prepare_cached(
                "SELECT id FROM part WHERE lane = ?1 AND state IN ('queued','sending','retry','unknown') ORDER BY seq LIMIT 1",
            )?
            .query_row([lane], |row| row.get(0))?;
        let (attempts, op, waybill): (i64, String, String) = db
            .prepare_cached("SELECT p.attempts, p.op, m.waybill FROM part p JOIN message m ON m.id = p.message WHERE p.id = ?1")?
            .query_row([part], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        std::hint::black_box((op, waybill));
        let attempt = attempts + 1;
        db.prepare_cached(
            "UPDATE part SET state = 'sending', attempts = ?2, tries = ?2 WHERE id = ?1",
        )?
        .execute([part, attempt])?;
        db.prepare_cached("INSERT INTO attempt(part, n, started_at) VALUES(?1, ?2, ?3)")?
            .execute([part, attempt, at])?;
        db.prepare_cached("UPDATE lane SET ready_at = NULL WHERE id = ?1")?
            .execute([lane])?;
        claimed.push(Bare {
            lane,
            part,
            attempt,
        });
    }
    db.execute_batch("COMMIT")?;
    Ok(claimed)
}

fn bare_settle(db: &Connection, claimed: &[Bare], at: i64) -> anyhow::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    for bare in claimed {
        db.prepare_cached(
            "UPDATE attempt SET ended_at = ?3, outcome = 'sent' WHERE part = ?1 AND n = ?2",
        )?
        .execute([bare.part, bare.attempt, at])?;
        db.prepare_cached("UPDATE part SET state = 'sent', receipt = '4711' WHERE id = ?1")?
            .execute([bare.part])?;
        db.prepare_cached(
            "UPDATE lane SET ready_at = (SELECT next_at FROM part WHERE lane = ?1
               AND state IN ('queued','sending','retry','unknown') ORDER BY seq LIMIT 1) WHERE id = ?1",
        )?
        .execute([bare.lane])?;
    }
    db.execute_batch("COMMIT")?;
    Ok(())
}

async fn compare(batch: usize, quick: bool) -> anyhow::Result<()> {
    let stretch = if quick { STRETCH / 8 } else { STRETCH };
    let rounds = if quick { 1 } else { ROUNDS };
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    // So many parts a lane that none runs dry at 25,000 parts a second.
    let each = usize::try_from(stretch.as_millis())? * 25 / 64;
    for _ in 0..rounds {
        let (left, right) = (tempfile::tempdir()?, tempfile::tempdir()?);
        filled(left.path(), 64, each).await?;
        filled(right.path(), 64, each).await?;
        ours.push(through_the_store(left.path(), batch, stretch).await?);
        bare.push(as_bare_sql(right.path(), batch, stretch)?);
    }
    let (ours, bare) = (median(&mut ours), median(&mut bare));
    println!(
        "outbox, batch {batch}: parts per second through claim and settlement\t{ours:.0}/s, {:.0} % of bare SQL\tbare SQL's two transactions: {bare:.0}/s; target ≥ 90 %",
        ours / bare * 100.0
    );
    Ok(())
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

async fn recovery(parts: usize) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    filled(folder.path(), parts / 20, 20).await?;
    let began = Instant::now();
    let store = Store::open(&options(folder.path()))?;
    let found = store
        .recover(now()?, std::collections::HashMap::new())
        .await?;
    let claims = store.claim(now()?, 64).await?;
    let took = began.elapsed();
    anyhow::ensure!(claims.parts.len() == 64, "nothing was claimed");
    store.close().await?;
    println!(
        "recovery of {parts} open parts: open, {found} found sending, first 64 claims\t{:.0} ms\ttarget ≤ 1 s to the first send",
        took.as_secs_f64() * 1_000.0
    );
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    // For a look with a profiler: one batch size alone.
    let only = arguments.iter().position(|argument| argument == "--batch");
    if let Some(size) = only.and_then(|at| arguments.get(at + 1)) {
        return compare(size.parse().context("--batch takes a number")?, quick).await;
    }
    for batch in [1, 8, 64] {
        compare(batch, quick).await?;
    }
    recovery(if quick { 10_000 } else { 100_000 }).await
}
