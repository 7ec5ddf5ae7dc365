//! The listener, its connections, and each request of them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use sandbox::Destination;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::answer::{self, Body};
use crate::ask::{Asked, asked};
use crate::dial::{Fault, dial};
use crate::forward::forward;
use crate::idle::{Pulse, Watched};
use crate::outside::{Outside, System};

/// Rest after the listener gave no connection, usually for want of file descriptors.
const REST: Duration = Duration::from_millis(100);

/// What one sandbox may take, and all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at once, over all of the sandbox's listeners; a further one waits until one ends. Each takes two file
    /// descriptors of the gateway.
    pub connections: usize,
    /// Connections at once of all sandboxes together, so that the gateway's own files can still be opened: Linux allows a
    /// process that asks for them 4,096 (`INR_OPEN_MAX`) unless it was told otherwise.
    pub together: usize,
    /// Bytes of a request's head; at least 8,192.
    pub head: usize,
    /// For a head to arrive whole.
    pub head_within: Duration,
    /// For the name and the connection together.
    pub connect_within: Duration,
    /// A connection on which nothing moves for so long is closed.
    pub idle: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 128,
            together: 1024,
            head: 16 << 10,
            head_within: Duration::from_secs(30),
            connect_within: Duration::from_secs(10),
            idle: Duration::from_secs(300),
        }
    }
}

/// Refused destinations that are told in the log, of each proxy; more are told to the program alone.
const TOLD: usize = 32;

/// Makes proxies, one for each sandbox.
#[derive(Clone)]
pub struct Proxy {
    outside: Arc<dyn Outside>,
    bounds: Bounds,
    together: Arc<Semaphore>,
    /// What each sandbox has of its own, as long as it has a listener or a connection.
    sandboxes: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

impl Default for Proxy {
    fn default() -> Self {
        Self::new(Arc::new(System), Bounds::default())
    }
}

/// A running proxy. Dropped, it stops at once and its tunnels are closed.
#[derive(Debug)]
#[must_use = "the proxy ends when this is dropped"]
pub struct Guard {
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// A proxy with other names, another network or other bounds than the usual.
    #[must_use]
    pub fn new(outside: Arc<dyn Outside>, bounds: Bounds) -> Self {
        Self {
            outside,
            bounds,
            together: Arc::new(Semaphore::new(bounds.together)),
            sandboxes: Arc::default(),
        }
    }

    /// The places of a sandbox, which its listeners share.
    fn places(&self, sandbox: &str) -> Arc<Semaphore> {
        let mut all = self
            .sandboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, places| places.strong_count() > 0);
        if let Some(places) = all.get(sandbox).and_then(Weak::upgrade) {
            return places;
        }
        let places = Arc::new(Semaphore::new(self.bounds.connections));
        all.insert(sandbox.to_owned(), Arc::downgrade(&places));
        places
    }

    /// Serves a sandbox on its listener: what `allow` covers may be reached, nothing else. Has to be called within a Tokio runtime,
    /// which then does the work. Who can connect to the listener is not asked for a name: give it a place that this
    /// sandbox alone can reach. `sandbox` names whose it is: all listeners of one name have [`Bounds::connections`] together.
    ///
    /// # Errors
    /// If the listener can't be watched.
    pub fn serve(
        &self,
        listener: std::net::TcpListener,
        sandbox: &str,
        allow: Vec<Destination>,
    ) -> io::Result<Guard> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let gate = Arc::new(Gate {
            outside: Arc::clone(&self.outside),
            bounds: self.bounds,
            allow,
            told: Mutex::default(),
        });
        let mut accepting = JoinSet::new();
        let places = Places {
            own: self.places(sandbox),
            together: Arc::clone(&self.together),
        };
        accepting.spawn(accept(listener, gate, places));
        Ok(Guard {
            _accepting: accepting,
        })
    }
}

/// What every connection of one sandbox is judged by.
struct Gate {
    outside: Arc<dyn Outside>,
    bounds: Bounds,
    allow: Vec<Destination>,
    /// Refused, and told in the log.
    told: Mutex<HashSet<Destination>>,
}

/// Where a connection finds its place.
struct Places {
    own: Arc<Semaphore>,
    together: Arc<Semaphore>,
}

impl Places {
    /// One of the sandbox's own first: who has none left takes none of the others'.
    async fn take(&self) -> Option<[OwnedSemaphorePermit; 2]> {
        let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
        let of_all = Arc::clone(&self.together).acquire_owned().await.ok()?;
        Some([own, of_all])
    }
}

async fn accept(listener: TcpListener, gate: Arc<Gate>, places: Places) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                // Only now: a listener to which nobody connects takes no place from anybody.
                let Some(taken) = places.take().await else {
                    return;
                };
                let gate = Arc::clone(&gate);
                connections.spawn(async move {
                    connection(stream, &gate).await;
                    drop(taken);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a sandbox's connection to its proxy was not taken");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

/// A tunnel that was promised: it opens when the promise is on its way.
struct Tunnel {
    client: OnUpgrade,
    other: TcpStream,
}

/// What belongs to one connection of the sandbox, and ends with it.
#[derive(Default)]
pub(crate) struct Talk {
    tunnel: Mutex<Option<Tunnel>>,
    helpers: Mutex<JoinSet<()>>,
}

impl Talk {
    pub(crate) fn with_helpers(&self, act: impl FnOnce(&mut JoinSet<()>)) {
        act(&mut self.helpers.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn promise(&self, tunnel: Tunnel) {
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    }

    fn promised(&self) -> Option<Tunnel> {
        self.tunnel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

async fn connection(stream: TcpStream, gate: &Arc<Gate>) {
    let pulse = Arc::new(Pulse::new());
    let client = TokioIo::new(Watched::new(stream, Arc::clone(&pulse)));
    tokio::select! {
        () = converse(client, gate) => {}
        () = pulse.silence(gate.bounds.idle) => tracing::debug!("an idle connection of a sandbox was closed"),
    }
}

/// Requests one after the other, and a tunnel if the last one opened one.
async fn converse(client: TokioIo<Watched<TcpStream>>, gate: &Arc<Gate>) {
    let talk = Arc::new(Talk::default());
    let service = service_fn(|request| {
        let (gate, talk) = (Arc::clone(gate), Arc::clone(&talk));
        async move { Ok::<_, Infallible>(gate.answer(request, &talk).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(gate.bounds.head_within)
        .max_buf_size(gate.bounds.head)
        .max_header_size(gate.bounds.head)
        .half_close(true)
        .serve_connection(client, service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a sandbox's connection to its proxy broke");
    }
    if let Some(tunnel) = talk.promised() {
        tunnel.carry().await;
    }
}

impl Tunnel {
    async fn carry(mut self) {
        let carried = match self.client.await {
            Ok(client) => copy_bidirectional(&mut TokioIo::new(client), &mut self.other).await,
            Err(error) => Err(io::Error::other(error)),
        };
        if let Err(error) = carried {
            tracing::debug!(%error, "a tunnel broke");
        }
    }
}

impl Gate {
    async fn answer(&self, request: Request<Incoming>, talk: &Talk) -> Response<Body> {
        match asked(request.method(), request.uri(), request.headers()) {
            Ok(Asked::Tunnel(wanted)) => self.tunnel(request, &wanted, talk).await,
            Ok(Asked::Plain(wanted)) => self.plain(request, &wanted, talk).await,
            Err(reason) => answer::sentence(StatusCode::BAD_REQUEST, reason),
        }
    }

    async fn tunnel(
        &self,
        mut request: Request<Incoming>,
        wanted: &Destination,
        talk: &Talk,
    ) -> Response<Body> {
        match self.dial(wanted).await {
            Ok(other) => {
                talk.promise(Tunnel {
                    client: hyper::upgrade::on(&mut request),
                    other,
                });
                answer::open()
            }
            Err(fault) => self.refused(fault, wanted),
        }
    }

    async fn plain(
        &self,
        request: Request<Incoming>,
        wanted: &Destination,
        talk: &Talk,
    ) -> Response<Body> {
        let stream = match self.dial(wanted).await {
            Ok(stream) => stream,
            Err(fault) => return self.refused(fault, wanted),
        };
        match forward(request, wanted, stream, talk).await {
            Ok(response) => answer::theirs(response),
            Err(fault) => self.refused(fault, wanted),
        }
    }

    async fn dial(&self, wanted: &Destination) -> Result<TcpStream, Fault> {
        let within = self.bounds.connect_within;
        dial(self.outside.as_ref(), &self.allow, wanted, within).await
    }

    /// Host and port are all that is ever logged, and each once: who is refused may ask again as fast as it can.
    fn refused(&self, fault: Fault, wanted: &Destination) -> Response<Body> {
        let status = fault.status();
        if status == StatusCode::FORBIDDEN && self.is_news(wanted) {
            tracing::info!(to = %wanted, why = ?fault, "a sandbox was refused a connection");
        } else {
            tracing::debug!(to = %wanted, why = ?fault, "a sandbox's connection failed");
        }
        answer::sentence(status, &fault.sentence(wanted))
    }

    fn is_news(&self, wanted: &Destination) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.len() < TOLD && told.insert(wanted.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_that_asks_for_ever_fills_no_log() {
        let gate = Gate {
            outside: Arc::new(System),
            bounds: Bounds::default(),
            allow: Vec::new(),
            told: Mutex::default(),
        };
        let to = |number: usize| {
            format!("host{number}.example.org:443")
                .parse::<Destination>()
                .unwrap()
        };
        let news = (0..10_000)
            .filter(|number| gate.is_news(&to(number % 100)))
            .count();
        assert_eq!(news, TOLD);
        assert!(!gate.is_news(&to(0)));
    }
}
