//! A running gateway: what the owner reads of it, and how it comes to rest.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use sandbox::SandboxPort;
use settings::Home;
use store_sqlite::Store;
use waybill::{AccountId, Ids, ProfileId};

use crate::HomeLock;
use crate::care;
use crate::sandboxes::Drivers;
use crate::status::Walls;
use crate::supervisor::Stage;

/// How long listeners, intake, courier and store may take to stop.
const HALT: Duration = Duration::from_secs(12);

/// What the owner reads when it runs.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Where it listens.
    pub address: SocketAddr,
    /// Where it should have listened, if that was taken.
    pub instead_of: Option<SocketAddr>,
    /// The one-time login link.
    pub login: String,
    /// Each profile and its model.
    pub profiles: Vec<(ProfileId, String)>,
    /// Each account and its kind.
    pub channels: Vec<(AccountId, String)>,
    /// What was left out, and why.
    pub left_out: Vec<(String, String)>,
}

/// Services in the order in which they stop.
pub(crate) struct Stages {
    pub(crate) listeners: Stage,
    pub(crate) intake: Stage,
    pub(crate) turns: Stage,
    pub(crate) servers: Stage,
    pub(crate) courier: Stage,
}

/// A running gateway.
pub struct Running {
    pub(crate) summary: Summary,
    pub(crate) stages: Stages,
    pub(crate) sandboxes: Vec<(ProfileId, Arc<dyn SandboxPort>)>,
    pub(crate) drivers: Drivers,
    pub(crate) store: Store,
    pub(crate) home: Home,
    pub(crate) ids: Arc<dyn Ids>,
    /// How long turns may go on.
    pub(crate) grace: Duration,
    pub(crate) ready: Arc<AtomicBool>,
    pub(crate) walls: Walls,
    pub(crate) _lock: HomeLock,
}

impl Running {
    /// What the owner reads.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Which walls the sandboxes of each profile have, in a sentence for the owner. Looks at the machine.
    pub async fn walls(&self) -> Vec<(ProfileId, String)> {
        // Side by side: another machine that does not answer hides no other.
        let looking = self.sandboxes.iter().map(async |(profile, port)| {
            let sentence = match port.describe().await {
                Ok(sentence) => sentence,
                Err(error) => format!("none: {error}"),
            };
            self.walls.seen(profile, &sentence);
            (profile.clone(), sentence)
        });
        join_all(looking).await
    }

    /// Waits until a service ends by itself, which it should not; says which.
    pub async fn failed(&mut self) -> String {
        tokio::select! {
            name = self.stages.listeners.first_end() => name,
            name = self.stages.intake.first_end() => name,
            name = self.stages.turns.first_end() => name,
            name = self.stages.servers.first_end() => name,
            name = self.stages.courier.first_end() => name,
        }
    }

    /// Stops in order: listeners, intake, turns (with their grace), courier (which finishes what is on the wire), store.
    pub async fn stop(self) {
        self.ready.store(false, Ordering::Relaxed);
        self.stages.listeners.halt(HALT).await;
        self.stages.intake.halt(HALT).await;
        self.stages.turns.halt(self.grace + HALT).await;
        self.stages.servers.halt(HALT).await;
        // Commands of turns that were cut off are killed inside their containers.
        if tokio::time::timeout(HALT, self.drivers.docker.settle())
            .await
            .is_err()
        {
            tracing::warn!("commands of turns that were cut off may still run in their containers");
        }
        self.stages.courier.halt(HALT).await;
        care::renew(&self.home, &self.store, self.ids.as_ref()).await;
        if let Err(error) = self.store.close().await {
            tracing::error!(%error, "the store did not close cleanly; the next start recovers it");
        }
    }
}
