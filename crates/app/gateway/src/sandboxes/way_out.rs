//! The one proxy of all drivers: what a sandbox without a network may reach, it reaches through this.

use std::net::TcpListener;

use egress::Proxy;
use sandbox::{Destination, SandboxKey};
use tokio::runtime::Handle;

/// Serves sandboxes' listeners on the runtime that it was made in.
pub(super) struct WayOut {
    proxy: Proxy,
    runtime: Handle,
}

impl WayOut {
    /// On this runtime.
    pub(super) fn here() -> Self {
        Self {
            proxy: Proxy::default(),
            runtime: Handle::current(),
        }
    }

    /// If it can't be served, nothing can be reached: the listener is closed.
    fn open(
        &self,
        listener: TcpListener,
        sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync> {
        let _entered = self.runtime.enter();
        match self.proxy.serve(listener, &sandbox.to_string(), allow) {
            Ok(guard) => Box::new(guard),
            Err(error) => {
                tracing::error!(%error, "a sandbox's way out could not be opened; it reaches nothing");
                Box::new(())
            }
        }
    }
}

impl sandbox_docker::Egress for WayOut {
    fn serve(
        &self,
        listener: TcpListener,
        sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync> {
        self.open(listener, sandbox, allow)
    }
}

impl sandbox_process::Egress for WayOut {
    fn serve(
        &self,
        listener: TcpListener,
        sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync> {
        self.open(listener, sandbox, allow)
    }
}
