//! What the keeper asks of the store, and when.

use async_trait::async_trait;
use session::{Shrunk, Step};
use testkit::clock::ManualClock;

use super::*;

const DAY: Duration = Duration::from_secs(86_400);

/// A store with so many rows for each chore, that writes down what it was asked.
#[derive(Default)]
struct Asked {
    left: Mutex<BTreeMap<&'static str, u64>>,
    steps: Mutex<Vec<(Chore, Cutoffs, i64)>>,
    passes: Mutex<Vec<Timestamp>>,
}

#[async_trait]
impl RetentionStore for Asked {
    async fn tidy(&self, chore: Chore, cutoffs: &Cutoffs, after: i64) -> Result<Step, StoreError> {
        self.steps
            .lock()
            .unwrap()
            .push((chore, cutoffs.clone(), after));
        let mut all = self.left.lock().unwrap();
        let left = all.entry(chore.name()).or_default();
        let rows = (*left).min(500);
        *left -= rows;
        let next = (rows > 0).then_some(after + 500);
        Ok(Step { rows, next })
    }

    async fn collect(&self, before: Timestamp) -> Result<Collected, StoreError> {
        self.passes.lock().unwrap().push(before);
        Ok(Collected {
            removed: 2,
            freed: 10,
            kept: 3,
            bytes: 30,
            failed: 0,
        })
    }

    async fn shrink(&self) -> Result<Shrunk, StoreError> {
        Ok(Shrunk::default())
    }
}

/// Lets the keeper do what it can do without time.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

struct World {
    store: Arc<Asked>,
    clock: Arc<ManualClock>,
    tallies: Tallies,
    task: tokio::task::JoinSet<String>,
}

impl World {
    async fn new(left: &[(&'static str, u64)]) -> Self {
        let store = Arc::new(Asked {
            left: Mutex::new(left.iter().copied().collect()),
            ..Asked::default()
        });
        let clock = Arc::new(ManualClock::default());
        let tallies = Tallies::default();
        let keeper = Keeper {
            store: store.clone(),
            retention: Retention {
                sent: 30 * DAY,
                words: 3 * DAY,
                dead: 31 * DAY,
                inbox: 7 * DAY,
                ignored: DAY,
                blob_grace: 2 * DAY,
                conversations: None,
            },
            homes: BTreeSet::new(),
            clock: clock.clone(),
            tallies: tallies.clone(),
        };
        let mut task = tokio::task::JoinSet::new();
        task.spawn(async move { keeper.run().await });
        settle().await;
        Self {
            store,
            clock,
            tallies,
            task,
        }
    }

    /// Both clocks go on, as on a machine whose clock runs evenly.
    async fn pass(&self, time: Duration) {
        let mut left = time;
        while !left.is_zero() {
            // As fine as the rests between steps; nobody rests for long.
            let fine = if time > 2 * EVERY { 500 } else { 20 };
            let step = left.min(Duration::from_millis(fine));
            self.clock.advance(step);
            tokio::time::advance(step).await;
            settle().await;
            left -= step;
        }
    }

    fn messages(&self) -> u64 {
        let rows = self.tallies.counts().rows;
        let found = rows.iter().find(|(name, _)| *name == "messages");
        found.map_or(0, |(_, count)| *count)
    }

    fn steps(&self) -> usize {
        self.store.steps.lock().unwrap().len()
    }

    fn passes(&self) -> usize {
        self.store.passes.lock().unwrap().len()
    }
}

#[tokio::test(start_paused = true)]
async fn each_thing_is_kept_as_long_as_the_owner_said() {
    let world = World::new(&[]).await;
    let start = world.clock.now();
    world.pass(EVENLY).await;
    let steps = world.store.steps.lock().unwrap().clone();
    let chores: Vec<Chore> = steps.iter().map(|(chore, _, _)| *chore).collect();
    assert_eq!(chores, Chore::ALL);
    let now = start + EVENLY;
    let cutoffs = &steps[0].1;
    assert_eq!(
        (cutoffs.sent, cutoffs.dead),
        (now - 30 * DAY, now - 31 * DAY)
    );
    assert_eq!(
        (cutoffs.words, cutoffs.events),
        (now - 3 * DAY, now - 7 * DAY)
    );
    assert_eq!((cutoffs.ignored, cutoffs.conversations), (now - DAY, None));
    assert_eq!(*world.store.passes.lock().unwrap(), [now - 2 * DAY]);
    let counts = world.tallies.counts();
    assert_eq!(
        (counts.removed, counts.freed, counts.kept, counts.bytes),
        (2, 10, 3, 30)
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_backlog_goes_in_small_steps_a_few_each_minute() {
    let world = World::new(&[("messages", 30_000)]).await;
    world.pass(EVENLY - Duration::from_secs(1)).await;
    world.pass(Duration::from_secs(10)).await;
    assert_eq!(world.messages(), u64::from(STEPS - 1) * 500);
    world.pass(EVERY).await;
    assert_eq!(world.messages(), 30_000);
    let done = world.steps();
    world.pass(10 * EVERY).await;
    assert_eq!(world.steps(), done, "the walk is at its end");
    world.pass(WALK * EVERY).await;
    assert!(world.steps() > done, "each hour another walk begins");
    assert_eq!(world.passes(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_started_with_a_wrong_clock_loses_nothing_when_it_is_told_the_time() {
    let world = World::new(&[("messages", 10)]).await;
    // Minutes pass until it is told, and the time it then has is believed only after as many again.
    world.pass(EVENLY - EVERY).await;
    assert_eq!((world.steps(), world.passes()), (0, 0));
    world.clock.advance(365 * DAY);
    world.pass(EVENLY).await;
    assert_eq!((world.steps(), world.passes()), (0, 0));
    world.pass(EVERY + Duration::from_secs(1)).await;
    assert_eq!((world.messages(), world.passes()), (10, 1));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_now_and_then_lets_nothing_go_between() {
    let world = World::new(&[("messages", 10)]).await;
    for _ in 0..5 {
        world.clock.advance(Duration::from_secs(60));
        world.pass(EVENLY - EVERY).await;
        assert_eq!((world.steps(), world.passes()), (0, 0));
    }
    world.pass(EVENLY).await;
    assert_eq!(world.passes(), 1);
    assert!(world.task.len() == 1);
}
