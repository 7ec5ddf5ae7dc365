//! Sandboxes that nobody uses any more end.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{Driver, Keeper, SandboxError};
use sandbox_docker::DockerSandbox;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use waybill::Clock;

/// How often it is looked.
const BETWEEN: Duration = Duration::from_secs(300);

/// Ends sandboxes whose lease is over, also those that a gateway left behind which did not stop in order.
pub(crate) struct Reaper {
    pub(crate) keepers: Vec<(Driver, Arc<dyn Keeper>)>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Whose containers of an earlier life are to be taken over first; none once that is done.
    pub(crate) docker: Option<Arc<DockerSandbox>>,
}

impl Reaper {
    /// Works until it is told to stop. The first look is at once.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut again = tokio::time::interval(BETWEEN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = again.tick() => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.reap() => {}
            }
        }
    }

    async fn reap(&mut self) {
        if let Some(docker) = &self.docker
            && super::take_over(docker).await
        {
            self.docker = None;
        }
        for (driver, keeper) in &self.keepers {
            match keeper.reap(self.clock.now()).await {
                Ok(ended) => ended.iter().for_each(|one| {
                    tracing::info!(
                        id = one.id,
                        key = one.key,
                        "a sandbox that nobody used any more was ended"
                    );
                }),
                // A machine without this driver says so once, when a sandbox is asked for.
                Err(SandboxError::Unavailable(reason)) => {
                    tracing::debug!(?driver, reason, "its sandboxes can't be looked after now");
                }
                Err(error) => tracing::warn!(?driver, %error, "sandboxes could not be reaped"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use sandbox::Standing;
    use testkit::clock::ManualClock;
    use tokio::sync::mpsc;
    use waybill::Timestamp;

    use super::*;

    struct Counting(Mutex<mpsc::UnboundedSender<()>>);

    #[async_trait]
    impl Keeper for Counting {
        async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
            Ok(Vec::new())
        }

        async fn stop(&self, _: &str) -> Result<(), SandboxError> {
            Ok(())
        }

        async fn reap(&self, _: Timestamp) -> Result<Vec<Standing>, SandboxError> {
            self.0.lock().unwrap().send(()).unwrap();
            Err(SandboxError::Failed("away".into()))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn sandboxes_are_looked_after_for_ever_and_by_every_driver_even_if_one_fails() {
        let (sender, mut looks) = mpsc::unbounded_channel();
        let keeper = || Arc::new(Counting(Mutex::new(sender.clone()))) as Arc<dyn Keeper>;
        let reaper = Reaper {
            keepers: vec![(Driver::Docker, keeper()), (Driver::Process, keeper())],
            clock: Arc::new(ManualClock::default()),
            docker: None,
        };
        let stop = CancellationToken::new();
        let began = tokio::time::Instant::now();
        tokio::join!(reaper.run(stop.clone()), async {
            for _ in 0..6 {
                looks.recv().await.unwrap();
            }
            assert_eq!(began.elapsed(), 2 * BETWEEN);
            stop.cancel();
        });
    }
}
