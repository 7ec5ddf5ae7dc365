//! The one way out of a sandbox without a network: a proxy that the gateway serves inside the sandbox's own loopback.

use std::fmt;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use sandbox::{Destination, Network, SandboxError, SandboxKey, SandboxSpec};

/// A proxy that lets through to named destinations and nowhere else.
pub trait Egress: Send + Sync {
    /// Serves a listener until what is returned is dropped.
    ///
    /// The listener is bound inside a sandbox and does not block; connections that are made through it come from commands of
    /// that sandbox alone. What the proxy itself connects to, it reaches from the gateway's own network. `sandbox` is whose it
    /// is, for bounds that a sandbox has as a whole: each of its commands has a listener of its own.
    fn serve(
        &self,
        listener: TcpListener,
        sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync>;
}

/// A proxy that is wanted, and then served.
#[derive(Default)]
pub(crate) struct Way {
    wanted: Option<(Arc<dyn Egress>, SandboxKey, Vec<Destination>)>,
    served: Option<Box<dyn Send + Sync>>,
}

impl fmt::Debug for Way {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Way")
            .field("wanted", &self.wanted.is_some())
            .field("served", &self.served.is_some())
            .finish()
    }
}

impl Way {
    /// The way that a spec asks for; none if it names no destination, or has the machine's network anyway.
    pub(crate) fn of(
        key: &SandboxKey,
        spec: &SandboxSpec,
        egress: Option<&Arc<dyn Egress>>,
    ) -> Result<Self, SandboxError> {
        if spec.allow.is_empty() || spec.network == Network::Bridge {
            return Ok(Self::default());
        }
        let Some(egress) = egress else {
            return Err(SandboxError::Unavailable(
                "this gateway has no egress proxy for the process sandbox, so nothing was run: remove `allow` from the \
                 sandbox's network, or set driver = \"docker\""
                    .to_owned(),
            ));
        };
        Ok(Self {
            wanted: Some((Arc::clone(egress), key.clone(), spec.allow.clone())),
            served: None,
        })
    }

    /// Must the launcher hand over a listener?
    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.is_some()
    }

    /// Serves a listener that was handed over, once; any other is closed.
    pub(crate) fn open(&mut self, listener: OwnedFd) {
        let Some((egress, key, allow)) = self.wanted.take() else {
            return;
        };
        let listener = TcpListener::from(listener);
        match listener.set_nonblocking(true) {
            Ok(()) => self.served = Some(egress.serve(listener, &key, allow)),
            Err(error) => tracing::warn!(%error, "a sandbox's way out can't be served"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Way;
    use sandbox::SandboxError;

    fn spec(network: sandbox::Network, allow: &[&str]) -> sandbox::SandboxSpec {
        sandbox::SandboxSpec {
            driver: sandbox::Driver::Process,
            image: String::new(),
            mounts: Vec::new(),
            env: Default::default(),
            secret_env: Default::default(),
            network,
            allow: allow.iter().map(|text| text.parse().unwrap()).collect(),
            remote: None,
            limits: sandbox::Limits::default(),
        }
    }

    fn key() -> sandbox::SandboxKey {
        "profile:work".parse().unwrap()
    }

    #[test]
    fn a_list_that_nobody_can_keep_is_refused_and_not_widened() {
        let refused = Way::of(
            &key(),
            &spec(sandbox::Network::None, &["example.org:443"]),
            None,
        );
        assert!(
            matches!(&refused, Err(SandboxError::Unavailable(text)) if text.contains("allow")),
            "{refused:?}"
        );
        assert!(
            !Way::of(&key(), &spec(sandbox::Network::None, &[]), None)
                .unwrap()
                .is_wanted()
        );
    }
}
