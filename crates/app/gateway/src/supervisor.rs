//! Running services: named, their panics caught, stopped in order.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Services that start and stop together.
pub(crate) struct Stage {
    name: &'static str,
    pub(crate) stop: CancellationToken,
    tasks: JoinSet<String>,
}

/// Wait before a listener that ended badly listens again.
const AGAIN: Duration = Duration::from_secs(5);

impl Stage {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Runs a service. If it ends before it is told to, the gateway has to end.
    pub(crate) fn spawn<F>(&mut self, name: impl Into<String>, service: F)
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        let name = name.into();
        self.tasks.spawn(async move {
            match AssertUnwindSafe(service).catch_unwind().await {
                Ok(Ok(())) => tracing::debug!(service = name, "ended"),
                Ok(Err(error)) => tracing::error!(service = name, error, "ended with an error"),
                Err(_panic) => tracing::error!(service = name, "panicked"),
            }
            name
        });
    }

    /// Runs something that may fail alone: when it ends or panics, it begins again after a rest.
    pub(crate) fn spawn_again<F, S>(&mut self, name: impl Into<String>, mut service: S)
    where
        F: Future<Output = String> + Send,
        S: FnMut() -> F + Send + 'static,
    {
        let name = name.into();
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            loop {
                let ended = tokio::select! {
                    () = stop.cancelled() => return name,
                    ended = AssertUnwindSafe(service()).catch_unwind() => ended,
                };
                let reason = ended.unwrap_or_else(|_panic| "it panicked".to_owned());
                tracing::error!(service = name, reason, "ended; it begins again in a moment");
                tokio::select! {
                    () = stop.cancelled() => return name,
                    () = tokio::time::sleep(AGAIN) => {}
                }
            }
        });
    }

    /// Waits for a service that ends by itself; for ever if there is none.
    pub(crate) async fn first_end(&mut self) -> String {
        match self.tasks.join_next().await {
            Some(ended) => ended.unwrap_or_else(|error| error.to_string()),
            None => std::future::pending().await,
        }
    }

    /// Tells the services to end and waits for them; what is not done by then is cut off, which is as safe as a crash.
    pub(crate) async fn halt(mut self, within: Duration) {
        self.stop.cancel();
        let ended = tokio::time::timeout(within, async {
            while self.tasks.join_next().await.is_some() {}
        })
        .await;
        if ended.is_err() {
            tracing::warn!(
                stage = self.name,
                left = self.tasks.len(),
                "services were cut off"
            );
            self.tasks.shutdown().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_listener_that_panics_listens_again_and_others_never_notice() {
        let (sender, mut beginnings) = tokio::sync::mpsc::unbounded_channel();
        let mut stage = Stage::new("test");
        stage.spawn_again("flaky", move || {
            let sender = sender.clone();
            async move {
                sender.send(()).unwrap();
                panic!("flaky");
            }
        });
        for _ in 0..3 {
            beginnings.recv().await.unwrap();
        }
        stage.halt(Duration::from_secs(1)).await;
    }

    #[tokio::test]
    async fn a_service_that_panics_is_told_by_its_name() {
        let mut stage = Stage::new("test");
        stage.spawn("courier", async { panic!("boom") });
        assert_eq!(stage.first_end().await, "courier");
    }
}
