//! What is done while the trace is taken: a store at work as the gateway uses it, and a line for each call that returned.
//!
//! Several workers side by side, so that commits come in groups; several lives of the process, so that a log is made,
//! wrapped, folded into the database and taken away. Start reading at [`run`].

mod make;
mod worker;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use outbox::OutboxStore as _;
use store_sqlite::{DiskBlobs, Store};
use tokio::task::JoinSet;
use waybill::{Ids, Timestamp};

use crate::check::{generation, options};
use crate::dice::Dice;
use crate::fact::{self, Fact};
use worker::Worker;

/// Workers at once.
const WORKERS: u64 = 4;
/// Calls of one worker in one life.
const CALLS: usize = 16;
/// Lives.
const LIVES: u64 = 3;

/// When the work begins: 2026-01-01T00:00:00Z, in milliseconds.
pub const BEGINNING: i64 = 1_767_225_600_000;

/// How often SQLite waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// As the store has it.
    Full,
    /// At checkpoints only: acknowledged rows are lost.
    Normal,
}

/// What the work depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// All choices come from it; what runs side by side may still come in another order.
    pub seed: u64,
    /// How often SQLite waits for the disk.
    pub synchronous: Synchronous,
    /// The log is folded into the database when it has so many pages; none: as SQLite has it (1,000).
    pub checkpoint: Option<u32>,
}

/// A time that moves with each call, and ids that count: nothing in a recording depends on the hour.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn now(&self) -> anyhow::Result<Timestamp> {
        let count = self.0.fetch_add(1, Ordering::SeqCst);
        Ok(Timestamp::from_millisecond(
            BEGINNING + i64::try_from(count)?,
        )?)
    }
}

impl Ids for Counter {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::SeqCst) + 1))
    }
}

/// Says what is acknowledged: in one `write`, so that the trace has it in one place.
pub(crate) fn say(facts: &[Fact]) -> anyhow::Result<()> {
    let mut line = fact::line(facts)?;
    line.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}

/// Works on a store in an empty folder, life after life, and says what was acknowledged.
///
/// # Errors
/// If the store refused anything: the work is such that a sound store takes all of it.
pub fn run(folder: &Path, plan: Plan) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(lives(folder, plan))
}

async fn lives(folder: &Path, plan: Plan) -> anyhow::Result<()> {
    let mut settings = Vec::new();
    if plan.synchronous == Synchronous::Normal {
        settings.push(("synchronous", 1));
    }
    if let Some(pages) = plan.checkpoint {
        settings.push(("wal_autocheckpoint", i64::from(pages)));
    }
    let counter = Arc::new(Counter::default());
    let mut dice = Dice::new(plan.seed);
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|number| Worker::new(number, dice.roll(), Arc::clone(&counter)))
        .collect::<anyhow::Result<_>>()?;
    for _life in 0..LIVES {
        let store = Store::open_tuned(&options(folder), &settings)?;
        // Before the database's first commit: bytes keep their promise without it.
        if let (Some(worker), Some(blobs)) = (workers.first_mut(), store.blobs()) {
            worker.bytes(blobs).await?;
        }
        let file = generation(folder);
        store.enter(&file, &*counter, counter.now()?).await?;
        store.recover(counter.now()?, HashMap::new()).await?;
        let mut tasks = JoinSet::new();
        for worker in workers.drain(..) {
            tasks.spawn(one(worker, store.clone()));
        }
        while let Some(worker) = tasks.join_next().await {
            workers.push(worker??);
        }
        // Not every end is a clean one.
        if dice.percent(50) {
            store.renew(&file, &*counter).await?;
        }
        store.close().await?;
    }
    Ok(())
}

async fn one(mut worker: Worker, store: Store) -> anyhow::Result<Worker> {
    let blobs: DiskBlobs = store
        .blobs()
        .cloned()
        .ok_or_else(|| anyhow::anyhow!("the store has no place for bytes"))?;
    worker.start();
    for _ in 0..CALLS {
        worker.call(&store, &blobs).await?;
    }
    Ok(worker)
}
