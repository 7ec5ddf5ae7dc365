//! No process outlives its time or its caller.

use std::sync::Arc;
use std::time::Duration;

use bollard::query_parameters::KillContainerOptions;
use tokio::time::{Instant, sleep};

use crate::driver::Inner;
use crate::scripts;
use crate::sentence::Failure;

/// How long the marked processes may take to die before their container is killed.
const GENTLE: Duration = Duration::from_millis(2500);

/// One round of killing.
const ROUND: Duration = Duration::from_secs(2);

/// How long a request to start, whose caller is gone, may still start something.
const LATE_START: Duration = Duration::from_secs(2);

/// Held while a process may run. Dropped, it kills the process and all that it started.
pub(crate) struct Leash {
    inner: Arc<Inner>,
    container: String,
    exec: String,
    mark: String,
    held: bool,
}

impl Leash {
    pub(crate) fn new(inner: &Arc<Inner>, container: &str, exec: &str, mark: &str) -> Self {
        Self {
            inner: Arc::clone(inner),
            container: container.to_owned(),
            exec: exec.to_owned(),
            mark: mark.to_owned(),
            held: true,
        }
    }

    /// The process has ended.
    pub(crate) fn release(mut self) {
        self.held = false;
    }

    /// Kills and waits. If the waiting is dropped, the killing goes on.
    pub(crate) async fn pull(mut self) {
        self.inner
            .kill(&self.container, &self.exec, &self.mark)
            .await;
        self.held = false;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if !self.held {
            return;
        }
        // Without a runtime the process of the gateway itself is ending.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let inner = Arc::clone(&self.inner);
        let (container, exec, mark) =
            (self.container.clone(), self.exec.clone(), self.mark.clone());
        let killing = async move { inner.kill(&container, &exec, &mark).await };
        self.inner.killers.spawn_on(killing, &runtime);
    }
}

impl Inner {
    /// Kills all that bears a mark; if that does not end it (no process can be started, or they multiply), the container.
    pub(crate) async fn kill(&self, container: &str, exec: &str, mark: &str) {
        if self.kill_marked(container, exec, mark).await {
            return;
        }
        tracing::warn!(container, "a command could not be killed; its container is");
        self.kill_container(container).await;
    }

    /// Kills all that bears a mark; says whether nothing of it is left.
    pub(crate) async fn kill_marked(&self, container: &str, exec: &str, mark: &str) -> bool {
        let began = Instant::now();
        while began.elapsed() < GENTLE {
            let said = self.quick(container, scripts::KILL, mark, ROUND).await;
            if matches!(said, Err(Failure::Gone)) {
                return true;
            }
            let clear = said.is_ok_and(|said| said.starts_with(b"clear"));
            match self.exec_state(exec).await {
                Ok((false, Some(_))) if clear => return true,
                Ok((false, None)) if clear && began.elapsed() > LATE_START => return true,
                Err(Failure::Gone) if clear => return true,
                Ok(_) | Err(_) => sleep(Duration::from_millis(50)).await,
            }
        }
        false
    }

    pub(crate) async fn kill_container(&self, container: &str) {
        let Ok(docker) = self.engine.docker().await else {
            return;
        };
        let killed = self
            .engine
            .ask(docker.kill_container(container, None::<KillContainerOptions>))
            .await;
        if let Err(Failure::Other(error)) = killed {
            tracing::error!(container, "a container could not be killed: {error}");
        }
    }
}
