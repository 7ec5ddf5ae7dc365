//! Names and servers of a test, and a client that says exactly what it is told to.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use egress::{Bounds, Guard, Outside, Proxy};
use tokio::runtime::{Builder, Runtime};

/// After so long, a test that waits has failed.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// What lies outside, and what was asked of it.
#[derive(Default)]
pub(crate) struct Seen {
    /// Answers of the resolver, in turn; the last one stays.
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    servers: Mutex<HashMap<SocketAddr, SocketAddr>>,
    looked_up: Mutex<Vec<String>>,
    dialled: Mutex<Vec<SocketAddr>>,
    silent: Mutex<Vec<SocketAddr>>,
}

#[async_trait]
impl Outside for Seen {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.looked_up.lock().unwrap().push(name.to_owned());
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(name).ok_or(io::ErrorKind::NotFound)?;
        let next = answers.front().cloned().unwrap_or_default();
        if answers.len() > 1 {
            answers.pop_front();
        }
        Ok(next)
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<tokio::net::TcpStream> {
        self.dialled.lock().unwrap().push(address);
        if self.silent.lock().unwrap().contains(&address) {
            std::future::pending::<()>().await;
        }
        let server = self.servers.lock().unwrap().get(&address).copied();
        tokio::net::TcpStream::connect(server.ok_or(io::ErrorKind::ConnectionRefused)?).await
    }
}

/// A proxy with its list, and all around it.
pub(crate) struct World {
    pub(crate) proxy: SocketAddr,
    seen: Arc<Seen>,
    handle: Proxy,
    allow: Vec<sandbox::Destination>,
    guard: Option<Guard>,
    runtime: Runtime,
}

/// The sandbox of a world's own proxy.
pub(crate) const WORK: &str = "profile:work";

impl World {
    pub(crate) fn new(allow: &[&str]) -> Self {
        Self::within(allow, Bounds::default())
    }

    pub(crate) fn within(allow: &[&str], bounds: Bounds) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let seen = Arc::new(Seen::default());
        let outside: Arc<dyn Outside> = Arc::clone(&seen) as _;
        let mut world = Self {
            proxy: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            seen,
            handle: Proxy::new(outside, bounds),
            allow: allow.iter().map(|entry| entry.parse().unwrap()).collect(),
            guard: None,
            runtime,
        };
        let (proxy, guard) = world.listener_of(WORK);
        world.proxy = proxy;
        world.guard = Some(guard);
        world
    }

    /// Another listener of the same gateway, and whose sandbox it is.
    pub(crate) fn listener_of(&self, sandbox: &str) -> (SocketAddr, Guard) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let _entered = self.runtime.enter();
        let guard = self.handle.serve(listener, sandbox, self.allow.clone());
        (at, guard.unwrap())
    }

    /// The resolver's answers to a name, in turn.
    pub(crate) fn name(&self, name: &str, answers: &[&[&str]]) {
        let answers = answers
            .iter()
            .map(|answer| {
                answer
                    .iter()
                    .map(|address| address.parse().unwrap())
                    .collect()
            })
            .collect();
        self.seen
            .names
            .lock()
            .unwrap()
            .insert(name.to_owned(), answers);
    }

    /// A server at an address of the world.
    pub(crate) fn server(&self, address: &str) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let here = listener.local_addr().unwrap();
        self.seen
            .servers
            .lock()
            .unwrap()
            .insert(address.parse().unwrap(), here);
        let (sender, taken) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if sender.send(stream.unwrap()).is_err() {
                    return;
                }
            }
        });
        Server { taken }
    }

    /// Somebody who takes a connection and never answers.
    pub(crate) fn silent(&self, address: &str) {
        self.seen
            .silent
            .lock()
            .unwrap()
            .push(address.parse().unwrap());
    }

    pub(crate) fn looked_up(&self) -> Vec<String> {
        self.seen.looked_up.lock().unwrap().clone()
    }

    pub(crate) fn dialled(&self) -> Vec<String> {
        self.seen
            .dialled
            .lock()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    pub(crate) fn client(&self) -> Peer {
        Self::client_at(self.proxy)
    }

    pub(crate) fn client_at(proxy: SocketAddr) -> Peer {
        Peer::new(TcpStream::connect(proxy).unwrap())
    }

    /// Sends bytes as they are, says that no more come, and reads all that is answered.
    pub(crate) fn say(&self, bytes: &str) -> String {
        let mut client = self.client();
        client.send(bytes);
        client.no_more();
        client.rest()
    }

    pub(crate) fn stop(&mut self) {
        self.guard = None;
    }
}

/// A server that hands its connections to the test.
pub(crate) struct Server {
    taken: Receiver<TcpStream>,
}

impl Server {
    pub(crate) fn taken(&self) -> Peer {
        Peer::new(
            self.taken
                .recv_timeout(DEADLINE)
                .expect("the proxy connects"),
        )
    }
}

/// One end of a connection.
pub(crate) struct Peer(TcpStream);

impl Peer {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).unwrap();
    }

    pub(crate) fn no_more(&self) {
        self.0.shutdown(Shutdown::Write).unwrap();
    }

    /// Reads until the text ends so.
    pub(crate) fn until(&mut self, end: &str) -> String {
        let (mut read, mut byte) = (Vec::new(), [0]);
        while !read.ends_with(end.as_bytes()) {
            let count = self.0.read(&mut byte).unwrap_or_else(|error| {
                panic!("{error} after {:?}", String::from_utf8_lossy(&read))
            });
            assert_eq!(
                count,
                1,
                "the end after {:?}",
                String::from_utf8_lossy(&read)
            );
            read.extend(byte);
        }
        String::from_utf8(read).unwrap()
    }

    /// A head.
    pub(crate) fn head(&mut self) -> String {
        self.until("\r\n\r\n")
    }

    /// Reads to the end. A connection that was cut is at its end.
    pub(crate) fn rest(&mut self) -> String {
        let mut read = Vec::new();
        if let Err(error) = self.0.read_to_end(&mut read) {
            assert_eq!(
                error.kind(),
                io::ErrorKind::ConnectionReset,
                "{}",
                String::from_utf8_lossy(&read)
            );
        }
        String::from_utf8(read).unwrap()
    }
}
