//! The one way out of a container without a network: a listener of the gateway on the container's own loopback.
//!
//! The container itself stays without a network. The gateway enters its network namespace for as long as it takes to
//! listen on `127.0.0.1` there, and hands the listener to whoever judges what may leave.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sandbox::{Destination, Network, SandboxError, SandboxKey, SandboxSpec};

use crate::driver::Inner;

/// Lets commands of a sandbox without a network reach what its owner allows. Commands are told of it by `HTTP_PROXY` and
/// its kin, so that it has to be an HTTP proxy that knows `CONNECT`.
pub trait Egress: Send + Sync {
    /// Serves a listener until what it returns is dropped. The listener does not block, and stands on `127.0.0.1` of the
    /// container's network namespace: whoever connects to it is a process of the sandbox. Nothing but `allow` may be
    /// reached through it. `sandbox` is whose it is, for bounds that a sandbox has as a whole.
    fn serve(
        &self,
        listener: TcpListener,
        sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync>;
}

/// The port that is taken where it is free: what a command left behind finds the proxy again after a restart of the
/// gateway.
const PORT: u16 = 3128;

/// A proxy that stands in a container.
pub(crate) struct Door {
    port: u16,
    /// The container's first process: another one means another namespace.
    pub(crate) pid: i64,
    _served: Box<dyn Send + Sync>,
}

impl Door {
    /// What tells commands of it.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let proxy = format!("http://127.0.0.1:{}", self.port);
        let mut all: Vec<(&'static str, String)> = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
        ]
        .into_iter()
        .map(|name| (name, proxy.clone()))
        .collect();
        for name in ["NO_PROXY", "no_proxy"] {
            all.push((name, "localhost,127.0.0.1".to_owned()));
        }
        all
    }
}

/// May the spec's allow list be served at all? Looked at before anything is made.
pub(crate) fn check(
    spec: &SandboxSpec,
    egress: Option<&Arc<dyn Egress>>,
) -> Result<(), SandboxError> {
    if spec.allow.is_empty() {
        return Ok(());
    }
    if spec.network != Network::None {
        return Err(SandboxError::Failed(
            "an allow list means nothing beside network = \"bridge\", which reaches everything, so nothing was run; remove one of them".to_owned(),
        ));
    }
    if egress.is_none() {
        return Err(SandboxError::Failed(
            "this gateway has no proxy to serve an allow list, so nothing was run; remove `allow` from the sandbox's settings".to_owned(),
        ));
    }
    Ok(())
}

/// Where the namespace of a running container is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its first process, as the engine numbers it.
    pub(crate) pid: i64,
    /// The namespace as the container itself names it: `net:[4026532345]`.
    pub(crate) namespace: String,
}

impl Inner {
    /// Opens the way out, if the spec has one.
    pub(crate) async fn open_door(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        place: &Place,
    ) -> Result<Option<Arc<Door>>, SandboxError> {
        check(spec, self.options.egress.as_ref())?;
        let Some(egress) = self
            .options
            .egress
            .as_ref()
            .filter(|_| !spec.allow.is_empty())
        else {
            return Ok(None);
        };
        if self.engine.is_remote() {
            return Err(closed("the Docker engine is on another machine"));
        }
        let listener = listen(place.clone()).await.map_err(|error| {
            if error.kind() == io::ErrorKind::PermissionDenied {
                closed("it is not allowed to; the gateway has to run as root for that")
            } else {
                closed(&error.to_string())
            }
        })?;
        let port = listener
            .local_addr()
            .map_err(|error| closed(&error.to_string()))?
            .port();
        Ok(Some(Arc::new(Door {
            port,
            pid: place.pid,
            _served: egress.serve(listener, key, spec.allow.clone()),
        })))
    }
}

fn closed(reason: &str) -> SandboxError {
    SandboxError::Failed(format!(
        "the allow list can't be served, so nothing was run: the gateway could not enter the container's network namespace ({reason}); \
         remove `allow` from the sandbox's settings, or set sandbox.driver = \"process\""
    ))
}

/// On a thread of its own, which ends in the container's namespace and takes nothing else there.
async fn listen(place: Place) -> io::Result<TcpListener> {
    let (done, listening) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("egress-listener".to_owned())
        .spawn(move || {
            // Nobody waits any more: the listener is dropped with the answer.
            done.send(listen_inside(&place)).unwrap_or_default();
        })?;
    listening
        .await
        .map_err(|_gone| io::Error::other("the thread ended early"))?
}

fn listen_inside(place: &Place) -> io::Result<TcpListener> {
    let namespace = File::open(format!("/proc/{}/ns/net", place.pid))?;
    // The engine may number processes otherwise than this machine: by the container's own word it is the right one.
    if format!("net:[{}]", namespace.metadata()?.ino()) != place.namespace {
        return Err(io::Error::other(
            "the engine and the gateway number processes differently: one of them runs in a container",
        ));
    }
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
        .or_else(|_taken| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::{Place, listen};

    #[tokio::test]
    async fn a_process_of_another_namespace_is_not_taken_for_the_containers() {
        let place = Place {
            pid: i64::from(std::process::id()),
            namespace: "net:[1]".to_owned(),
        };
        let error = listen(place).await.unwrap_err();
        assert!(error.to_string().contains("differently"), "{error}");
    }
}
