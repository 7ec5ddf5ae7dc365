//! A server on loopback that does to the wire exactly what a test says.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tidings_net::{Client, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

pub(crate) struct Server {
    pub(crate) url: String,
    connections: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start<F, Done>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> Done + Send + 'static,
        Done: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/bot1:SECRET/x", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream));
            }
        });
        Self {
            url,
            connections,
            _task: task,
        }
    }

    /// Answers with these bytes; then the connection is closed, or kept open in silence.
    pub(crate) async fn answering(bytes: &'static str, then: Then) -> Self {
        Self::start(move |mut stream| async move {
            head(&mut stream).await;
            stream.write_all(bytes.as_bytes()).await.unwrap();
            match then {
                Then::Close => {}
                Then::Hang => std::future::pending().await,
            }
        })
        .await
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Then {
    Close,
    Hang,
}

/// Reads up to the empty line; returns the head and what came after it.
pub(crate) async fn head(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut seen = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the client closed before its request was whole");
        seen.extend_from_slice(&piece[..read]);
        if let Some(at) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = seen.split_off(at + 4);
            return (String::from_utf8(seen).unwrap(), rest);
        }
    }
}

/// Reads a whole request with a Content-Length and answers 200.
pub(crate) async fn take(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (head, mut body) = head(stream).await;
    let length: usize = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap();
    while body.len() < length {
        let mut piece = vec![0; 65536];
        let read = stream.read(&mut piece).await.unwrap();
        if read == 0 {
            return (head, body);
        }
        body.extend_from_slice(&piece[..read]);
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        .await
        .unwrap();
    (head, body)
}

pub(crate) fn client() -> Client {
    client_with(Duration::from_millis(300))
}

pub(crate) fn client_with(read_timeout: Duration) -> Client {
    Client::new(Options {
        connect_timeout: Duration::from_millis(300),
        read_timeout,
        ..Options::default()
    })
    .unwrap()
}
