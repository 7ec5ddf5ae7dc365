//! The one writer: a thread that owns the connection and commits in groups.
//!
//! It takes what waits, runs each job under a savepoint of one transaction, commits once, and only then answers. A lone
//! job is committed at once: a group forms only of what came while the disk was busy.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use outbox::{StoreError, Turnstile};
use rusqlite::Connection;
use tokio::sync::{Notify, mpsc, oneshot};

use waybill::ChatKey;

use crate::care::Reserve;
use crate::desk::Desk;
use crate::error::{Trouble, is_full};

/// Jobs that may wait; whoever comes after them waits for a place.
const QUEUE: usize = 1_024;
/// Jobs in one transaction.
const GROUP: usize = 256;
/// Prepared statements that are kept: more than there are.
const STATEMENTS: usize = 128;

/// What says whether attempts may begin; set once, before the first claim.
pub(crate) type SharedTurnstile = Arc<OnceLock<Arc<dyn Turnstile>>>;

type Queue = mpsc::Sender<Box<dyn Job>>;

/// The way to the writer thread.
pub(crate) struct Writer {
    queue: Mutex<Option<Queue>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread. `changed` is told after each commit that a claim may profit from.
    pub(crate) fn start(
        db: Connection,
        changed: Arc<Notify>,
        turnstile: SharedTurnstile,
        reserve: Arc<Reserve>,
    ) -> std::io::Result<Self> {
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || serve(db, jobs, &changed, &turnstile, &reserve))?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Runs a job in the next transaction; returns after its commit. A caller that goes away does not take its job back.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Desk<'_>) -> Result<T, Trouble> + Send + 'static,
    {
        let queue = self
            .queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let queue = queue.ok_or(StoreError::Closed)?;
        let (answer, result) = oneshot::channel();
        let job = Box::new(Task {
            work: Some(work),
            done: None,
            answer,
        });
        queue
            .send(job)
            .await
            .map_err(|_stopped| StoreError::Closed)?;
        drop(queue);
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Lets the thread finish what waits, and gives its handle to whoever comes first.
    pub(crate) fn finish(&self) -> Option<JoinHandle<()>> {
        drop(
            self.queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        self.thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Drop for Writer {
    /// Whoever drops the last handle finds the file free: a moment, for what still waits.
    fn drop(&mut self) {
        if let Some(thread) = self.finish()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer ended in a panic");
        }
    }
}

trait Job: Send {
    /// Does the work and keeps its result. `Err`: it failed and must be rolled back.
    fn run(&mut self, desk: &Desk<'_>) -> Result<(), Broken>;
    /// Whether it found the disk full.
    fn found_full(&self) -> bool;
    /// Tells the result, now that the transaction ended.
    fn answer(self: Box<Self>, commit: Result<(), &Broken>);
}

struct Task<T, F> {
    work: Option<F>,
    done: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: FnOnce(&Desk<'_>) -> Result<T, Trouble> + Send,
{
    fn run(&mut self, desk: &Desk<'_>) -> Result<(), Broken> {
        let Some(work) = self.work.take() else {
            return Err(Broken {
                full: false,
                text: "the job ran already".to_owned(),
            });
        };
        let done = catch_unwind(AssertUnwindSafe(|| work(desk)))
            .unwrap_or_else(|_panic| {
                Err(Trouble::refused(
                    "a job of the store panicked; it was rolled back",
                ))
            })
            .map_err(StoreError::from);
        let run = match &done {
            Ok(_) => Ok(()),
            Err(error) => Err(Broken {
                full: matches!(error, StoreError::Full(_)),
                text: error.to_string(),
            }),
        };
        self.done = Some(done);
        run
    }

    fn found_full(&self) -> bool {
        matches!(self.done, Some(Err(StoreError::Full(_))))
    }

    fn answer(self: Box<Self>, commit: Result<(), &Broken>) {
        let Self { done, answer, .. } = *self;
        let result = match (done, commit) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (Some(Ok(_)) | None, Err(broken)) => Err(broken.error()),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        if answer.send(result).is_err() {
            tracing::debug!("nobody waits for a stored result any more");
        }
    }
}

/// A transaction that did not commit; everyone in it is told.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
struct Broken {
    full: bool,
    text: String,
}

impl Broken {
    fn new(error: &rusqlite::Error) -> Self {
        Self {
            full: is_full(error),
            text: error.to_string(),
        }
    }

    fn error(&self) -> StoreError {
        let source = Box::new(self.clone());
        if self.full {
            StoreError::Full(source)
        } else {
            StoreError::Failed(source)
        }
    }
}

fn serve(
    db: Connection,
    mut jobs: mpsc::Receiver<Box<dyn Job>>,
    changed: &Notify,
    turnstile: &SharedTurnstile,
    reserve: &Reserve,
) {
    while let Some(first) = jobs.blocking_recv() {
        let mut group = Vec::new();
        let turnstile = turnstile.get().map(AsRef::as_ref);
        let mut passes = Vec::new();
        let commit = commit(&db, first, &mut jobs, &mut group, turnstile, &mut passes);
        if commit.is_err() {
            undo(turnstile, passes);
        }
        if matches!(commit, Ok(true)) {
            changed.notify_one();
        }
        // Before the answers: whoever tries again finds the room that was made.
        if commit.as_ref().is_err_and(|broken| broken.full)
            || group.iter().any(|job| job.found_full())
        {
            reserve.disk_is_full();
        }
        for job in group {
            job.answer(commit.as_ref().map(|_woke| ()));
        }
    }
    if let Err((_db, error)) = db.close() {
        tracing::warn!(%error, "the database was not closed cleanly; its log is kept for the next start");
    }
}

/// Runs the first job and what waits behind it in one transaction. All of them are in `group` afterwards, run or not;
/// `true`: a claim may find more than before.
fn commit(
    db: &Connection,
    first: Box<dyn Job>,
    jobs: &mut mpsc::Receiver<Box<dyn Job>>,
    group: &mut Vec<Box<dyn Job>>,
    turnstile: Option<&dyn Turnstile>,
    passes: &mut Vec<ChatKey>,
) -> Result<bool, Broken> {
    let batch = |sql: &str| {
        let mut statement = db.prepare_cached(sql)?;
        statement.execute([]).map(|_rows| ())
    };
    let batch = |sql: &str| batch(sql).map_err(|error| Broken::new(&error));
    let mut next = Some(first);
    let mut woke = false;
    let run = (|| {
        batch("BEGIN IMMEDIATE")?;
        while next.is_some() {
            batch("SAVEPOINT job")?;
            let Some(mut job) = next.take() else { break };
            let desk = Desk::new(db).with_turnstile(turnstile);
            let run = job.run(&desk);
            group.push(job);
            match run {
                Ok(()) => {
                    passes.extend(desk.take_passes());
                    batch("RELEASE job")?;
                    woke |= desk.woke();
                }
                // A full disk or an I/O error may end the whole transaction by itself: then nothing of it is there.
                Err(broken) if db.is_autocommit() => {
                    undo(turnstile, desk.take_passes());
                    return Err(broken);
                }
                Err(_) => {
                    undo(turnstile, desk.take_passes());
                    batch("ROLLBACK TO job")?;
                    batch("RELEASE job")?;
                }
            }
            if group.len() < GROUP {
                next = jobs.try_recv().ok();
            }
        }
        if failpoint::error("C17") {
            return Err(Broken {
                full: true,
                text: "the failpoint C17 says that the disk is full".to_owned(),
            });
        }
        batch("COMMIT")
    })();
    group.extend(next);
    if let Err(broken) = run {
        tracing::error!(%broken, jobs = group.len(), "a transaction was not committed");
        if !db.is_autocommit() {
            batch("ROLLBACK")?;
        }
        return Err(broken);
    }
    Ok(woke)
}

/// Gives back the places of attempts that were not stored.
fn undo(turnstile: Option<&dyn Turnstile>, passes: Vec<ChatKey>) {
    if let Some(turnstile) = turnstile {
        for chat in passes {
            turnstile.undo(&chat);
        }
    }
}
