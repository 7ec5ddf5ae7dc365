//! The courier's loop.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chat::{Activity, ChatAdapter, Descriptor, Preview};
use outbox::{
    Claimed, Claims, HealthSink, HomeChat, OutboxStore, Outlet, Tally, Turnstile, Waiting,
};
use sandbox::BlobStore;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use waybill::{AccountId, ChatKey, Clock, Ids, Timestamp};

use crate::age::Readings;
use crate::attempt::Attempts;
use crate::gates::Gates;
use crate::show::{self, Show};

/// Every configured account's adapter.
pub type Channels = Arc<HashMap<AccountId, Arc<dyn ChatAdapter>>>;

/// How the courier works.
#[derive(Clone)]
pub struct Options {
    /// This installation's id, for the keys of notices.
    pub install: String,
    /// Most attempts in flight at once.
    pub in_flight: usize,
    /// Where the owner of a profile reads what can't be told elsewhere.
    pub home: HomeChat,
    /// How accounts fare.
    pub health: HealthSink,
}

/// Longest sleep of the loop: a wake-up that was missed costs at most this.
const LONGEST_SLEEP: Duration = Duration::from_secs(2);
/// How long the attempts in flight may take to end when the courier is told to stop.
const FINISH: Duration = Duration::from_secs(10);
/// How long after that the next part of a lane is still begun.
const LAST_START: Duration = Duration::from_secs(5);
/// How often it is looked for parts that were set aside because their rows are damaged.
const ASIDES: Duration = Duration::from_secs(60);
/// Wait after the store failed.
const STORE_REST: Duration = Duration::from_secs(1);

/// The service.
pub struct Courier {
    attempts: Arc<Attempts>,
    store: Arc<dyn OutboxStore>,
    clock: Arc<dyn Clock>,
    in_flight: usize,
    channels: Channels,
    handle: CourierHandle,
    carried: mpsc::UnboundedReceiver<Vec<Claimed>>,
    shows: Vec<(Arc<dyn ChatAdapter>, mpsc::Receiver<Show>)>,
}

/// The courier as others see it; cheap to clone.
#[derive(Clone)]
pub struct CourierHandle {
    channels: Channels,
    carry: mpsc::UnboundedSender<Vec<Claimed>>,
    shows: Arc<HashMap<AccountId, mpsc::Sender<Show>>>,
}

impl Outlet for CourierHandle {
    fn descriptor(&self, account: &AccountId) -> Option<Descriptor> {
        self.channels
            .get(account)
            .map(|adapter| adapter.descriptor().clone())
    }

    fn carry(&self, claimed: Vec<Claimed>) {
        if !claimed.is_empty() && self.carry.send(claimed).is_err() {
            // The loop has ended; the rows are `sending` and the next start takes them up as unknown.
            tracing::warn!("the courier has stopped; parts wait for the next start");
        }
    }

    fn preview(&self, chat: &ChatKey, preview: Preview) {
        self.show(chat, Show::Preview(chat.clone(), preview));
    }

    fn activity(&self, chat: &ChatKey, activity: Activity) {
        self.show(chat, Show::Activity(chat.clone(), activity));
    }
}

impl CourierHandle {
    /// Best effort: a channel that can't keep up misses a frame, never a part.
    fn show(&self, chat: &ChatKey, show: Show) {
        if let Some(sender) = self.shows.get(&chat.account)
            && sender.try_send(show).is_err()
        {
            tracing::debug!(account = %chat.account, "a preview frame was dropped");
        }
    }
}

impl Courier {
    /// Builds the service.
    #[must_use]
    pub fn new(
        options: Options,
        store: Arc<dyn OutboxStore>,
        blobs: Arc<dyn BlobStore>,
        channels: Channels,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        let (carry, carried) = mpsc::unbounded_channel();
        let mut senders = HashMap::new();
        let mut shows = Vec::new();
        for (account, adapter) in channels.iter() {
            let (sender, receiver) = mpsc::channel(show::QUEUE);
            senders.insert(account.clone(), sender);
            shows.push((Arc::clone(adapter), receiver));
        }
        let handle = CourierHandle {
            channels: Arc::clone(&channels),
            carry,
            shows: Arc::new(senders),
        };
        let in_flight = options.in_flight.max(1);
        let gates = Arc::new(Gates::new(Arc::clone(&channels)));
        store.use_turnstile(Arc::clone(&gates) as Arc<dyn Turnstile>);
        let attempts = Arc::new(Attempts {
            install: options.install,
            home: options.home,
            health: options.health,
            store: Arc::clone(&store),
            blobs,
            channels: Arc::clone(&channels),
            gates,
            readings: Readings::new(clock.now()),
            clock: Arc::clone(&clock),
            ids,
        });
        Self {
            attempts,
            store,
            clock,
            in_flight,
            channels,
            handle,
            carried,
            shows,
        }
    }

    /// The courier as others see it.
    #[must_use]
    pub fn handle(&self) -> CourierHandle {
        self.handle.clone()
    }

    /// How attempts ended since the start, for metrics.
    #[must_use]
    pub fn tally(&self) -> Arc<dyn Tally> {
        Arc::clone(&self.attempts.gates) as Arc<dyn Tally>
    }

    /// Takes up what a crash left, then carries until it is told to stop. Trouble of the store is waited out.
    pub async fn run(mut self, stop: CancellationToken) {
        self.recover(&stop).await;
        let mut showing = JoinSet::new();
        for (adapter, receiver) in self.shows.drain(..) {
            showing.spawn(show::run(adapter, receiver));
        }
        tracing::debug!(accounts = self.channels.len(), "the courier carries");
        let mut flying: JoinSet<Vec<Claimed>> = JoinSet::new();
        // One look at a time, and never dropped half-way: what it claims is `sending` already.
        let freed = Arc::new(Notify::new());
        let first = Claims {
            next: Some(self.clock.now()),
            ..Claims::default()
        };
        let mut looking = Box::pin(self.look(self.in_flight, first, &freed, &stop));
        let mut asides = tokio::time::interval(ASIDES);
        asides.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let free = self.in_flight.saturating_sub(flying.len());
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(claimed) = self.carried.recv() => self.send_off(&mut flying, claimed, &stop),
                Some(ended) = flying.join_next() => {
                    match ended {
                        Ok(next) => self.send_off(&mut flying, next, &stop),
                        Err(error) => tracing::error!(%error, "an attempt's task ended badly"),
                    }
                    freed.notify_one();
                }
                _ = asides.tick() => match self.attempts.tell_of_set_aside().await {
                    Ok(claimed) => self.send_off(&mut flying, claimed, &stop),
                    Err(error) => tracing::error!(%error, "parts that were set aside can't be read"),
                },
                mut claims = &mut looking, if free > 0 => {
                    self.send_off(&mut flying, std::mem::take(&mut claims.parts), &stop);
                    let free = self.in_flight.saturating_sub(flying.len()).max(1);
                    looking.set(self.look(free, claims, &freed, &stop));
                }
            }
        }
        let claimed = looking.await.parts;
        self.finish(flying, claimed, &stop).await;
    }

    /// Before it is done nothing is claimed. A full disk at the start is waited out like one later.
    async fn recover(&self, stop: &CancellationToken) {
        let settle: HashMap<AccountId, Duration> = self
            .channels
            .iter()
            .map(|(account, adapter)| (account.clone(), adapter.descriptor().settle))
            .collect();
        loop {
            match self.store.recover(self.clock.now(), settle.clone()).await {
                Ok(found) => {
                    if found > 0 {
                        tracing::warn!(
                            found,
                            "parts were on the wire when the gateway stopped; their outcome is unknown"
                        );
                    }
                    return self.attempts.gates.open();
                }
                Err(error) => {
                    tracing::error!(%error, "what was on the wire can't be taken up yet");
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(STORE_REST) => {}
            }
        }
    }

    fn look(
        &self,
        most: usize,
        last: Claims,
        freed: &Arc<Notify>,
        stop: &CancellationToken,
    ) -> impl Future<Output = Claims> + use<> {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let gates = Arc::clone(&self.attempts.gates);
        let (freed, stop) = (Arc::clone(freed), stop.clone());
        async move {
            wait(store.as_ref(), clock.as_ref(), &last, &freed, &stop).await;
            if stop.is_cancelled() {
                return Claims::default();
            }
            let now = clock.now();
            gates.tick(now);
            claim(store.as_ref(), now, most, &stop).await
        }
    }

    fn send_off(
        &self,
        flying: &mut JoinSet<Vec<Claimed>>,
        claimed: Vec<Claimed>,
        stop: &CancellationToken,
    ) {
        for part in claimed {
            let attempts = Arc::clone(&self.attempts);
            let stop = stop.clone();
            flying.spawn(async move { attempts.carry(part, &stop).await });
        }
    }

    /// Carries the last words of turns that have just ended, and what is on the wire; what is not begun in time is given back.
    async fn finish(
        mut self,
        mut flying: JoinSet<Vec<Claimed>>,
        claimed: Vec<Claimed>,
        stop: &CancellationToken,
    ) {
        self.send_off(&mut flying, claimed, stop);
        self.carried.close();
        while let Some(claimed) = self.carried.recv().await {
            self.send_off(&mut flying, claimed, stop);
        }
        let last_start = Instant::now() + LAST_START;
        let ended = tokio::time::timeout(FINISH, async {
            while let Some(ended) = flying.join_next().await {
                let next = ended.unwrap_or_default();
                if Instant::now() < last_start {
                    self.send_off(&mut flying, next, stop);
                    continue;
                }
                for part in next {
                    self.attempts.give_back(part, stop).await;
                }
            }
        })
        .await;
        if ended.is_err() {
            tracing::warn!(
                left = flying.len(),
                "attempts were still on the wire; the next start takes them up"
            );
        }
    }
}

/// Waits until something may be due that the last look did not find.
async fn wait(
    store: &dyn OutboxStore,
    clock: &dyn Clock,
    last: &Claims,
    freed: &Notify,
    stop: &CancellationToken,
) {
    let sleep = last
        .next
        .map_or(LONGEST_SLEEP, |next| until(clock.now(), next))
        .clamp(Duration::from_millis(1), LONGEST_SLEEP);
    let place = async {
        match last.waiting {
            Waiting::Some => freed.notified().await,
            Waiting::None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = store.changed() => {}
        () = place => {}
        () = tokio::time::sleep(sleep) => {}
    }
}

/// Claims what is due.
async fn claim(
    store: &dyn OutboxStore,
    now: Timestamp,
    most: usize,
    stop: &CancellationToken,
) -> Claims {
    match store.claim(now, most).await {
        Ok(claims) => claims,
        Err(error) => {
            tracing::error!(%error, "nothing can be claimed from the outbox");
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(STORE_REST) => {}
            }
            Claims::default()
        }
    }
}

fn until(now: Timestamp, due: Timestamp) -> Duration {
    Duration::try_from(due.duration_since(now)).unwrap_or(Duration::ZERO)
}
