//! The listener, its connections, and each request of them.

use std::collections::HashSet;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
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
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::answer::{self, Body};
use crate::ask::{Asked, asked};
use crate::dial::{Fault, dial};
use crate::forward::forward;
use crate::idle::{Pulse, Watched};
use crate::outside::{Outside, System};

/// Rest after the listener gave no connection, usually for want of file descriptors.
const REST: Duration = Duration::from_millis(100);

/// What one sandbox may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections at once; a further one waits until one ends.
    pub connections: usize,
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
            connections: 64,
            head: 16 << 10,
            head_within: Duration::from_secs(30),
            connect_within: Duration::from_secs(10),
            idle: Duration::from_secs(300),
        }
    }
}

/// Connections of all sandboxes together; each takes two file descriptors of the gateway.
const TOGETHER: usize = 256;
/// Refused destinations that are told in the log, of each proxy; more are told to the program alone.
const TOLD: usize = 32;

/// Makes proxies, one for each sandbox.
#[derive(Clone)]
pub struct Proxy {
    outside: Arc<dyn Outside>,
    bounds: Bounds,
    together: Arc<Semaphore>,
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
            together: Arc::new(Semaphore::new(TOGETHER)),
        }
    }

    /// Serves a sandbox on its listener: what `allow` covers may be reached, nothing else. Has to be called within a Tokio runtime,
    /// which then does the work. Who can connect to the listener is not asked for a name: give it a place that this
    /// sandbox alone can reach.
    ///
    /// # Errors
    /// If the listener can't be watched.
    pub fn serve(
        &self,
        listener: std::net::TcpListener,
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
        accepting.spawn(accept(listener, gate, Arc::clone(&self.together)));
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

async fn accept(listener: TcpListener, gate: Arc<Gate>, together: Arc<Semaphore>) {
    let places = Arc::new(Semaphore::new(gate.bounds.connections));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok(of_all) = Arc::clone(&together).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let gate = Arc::clone(&gate);
                connections.spawn(async move {
                    connection(stream, &gate).await;
                    drop((place, of_all));
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
