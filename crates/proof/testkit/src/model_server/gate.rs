//! A point at which a stream waits for the test.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// A gate inside a stream: shut until the test opens it. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Ends>);

#[derive(Debug)]
struct Ends {
    open: watch::Sender<bool>,
    reached: watch::Sender<usize>,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(Ends {
            open: watch::Sender::new(false),
            reached: watch::Sender::new(0),
        }))
    }
}

impl Gate {
    /// A shut gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets every stream pass, now and later.
    pub fn release(&self) {
        self.0.open.send_replace(true);
    }

    /// Waits until a stream stands at the gate (all that came before it was sent); `false` if `within` passed before.
    pub async fn reached(&self, within: Duration) -> bool {
        let mut reached = self.0.reached.subscribe();
        matches!(
            tokio::time::timeout(within, reached.wait_for(|count| *count > 0)).await,
            Ok(Ok(_))
        )
    }

    pub(super) async fn pass(&self) {
        self.0.reached.send_modify(|count| *count += 1);
        let mut open = self.0.open.subscribe();
        // The sender lives in self, so the wait ends only by opening.
        if open.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
