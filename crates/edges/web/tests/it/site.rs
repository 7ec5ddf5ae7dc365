//! A site on loopback that answers each path with exactly the bytes that a test gave it, and remembers what it was asked.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use net::Names;
use tidings_web::{Clients, Options, Search, Web};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the site does with a request.
#[derive(Clone)]
pub(crate) enum Does {
    /// Writes these bytes and closes.
    Answers(Vec<u8>),
    /// Writes these bytes and says nothing more.
    Stops(Vec<u8>),
    /// Writes these bytes, and then words for as long as somebody reads.
    GoesOn(Vec<u8>),
}

#[derive(Default)]
struct Book {
    answers: HashMap<String, Does>,
    asked: Vec<String>,
    /// Bytes that somebody read of answers without end.
    poured: usize,
}

pub(crate) struct Site {
    pub(crate) at: SocketAddr,
    book: Arc<Mutex<Book>>,
    _serving: JoinSet<()>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let book = Arc::new(Mutex::new(Book::default()));
        let mut serving = JoinSet::new();
        serving.spawn({
            let book = Arc::clone(&book);
            async move {
                let mut open = JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    open.spawn(serve(stream, Arc::clone(&book)));
                }
            }
        });
        Self {
            at,
            book,
            _serving: serving,
        }
    }

    /// Answers a path with a status, headers and a body.
    pub(crate) fn says(&self, path: &str, status: u16, headers: &[(&str, &str)], body: &[u8]) {
        let mut bytes = format!(
            "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\nconnection: close\r\n",
            body.len()
        );
        for (name, value) in headers {
            bytes.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut bytes = (bytes + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.does(path, Does::Answers(bytes));
    }

    pub(crate) fn does(&self, path: &str, does: Does) {
        self.book
            .lock()
            .unwrap()
            .answers
            .insert(path.to_owned(), does);
    }

    /// Requests by now, head and body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.book.lock().unwrap().asked.clone()
    }

    pub(crate) fn poured(&self) -> usize {
        self.book.lock().unwrap().poured
    }

    /// An address of the site by a name.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://site.example:{}{path}", self.at.port())
    }

    pub(crate) fn web(&self) -> Web {
        self.web_with(None)
    }

    pub(crate) fn web_with(&self, search: Option<Search>) -> Web {
        let clients = Clients::new(Options {
            except: vec![self.at],
            names: Arc::new(Everywhere(self.at.ip())),
            connect_timeout: Duration::from_secs(20),
            read_timeout: Duration::from_secs(4),
        });
        Web::new(clients.unwrap(), search)
    }
}

/// `site.example` is the site; `inside.example` is a private network; nothing else is known.
#[derive(Debug)]
struct Everywhere(IpAddr);

#[async_trait]
impl Names for Everywhere {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match name {
            "site.example" => Ok(vec![self.0]),
            "inside.example" => Ok(vec![IpAddr::from([10, 0, 0, 1])]),
            "mixed.example" => Ok(vec![IpAddr::from([10, 0, 0, 1]), self.0]),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn is_own(&self, _address: IpAddr) -> bool {
        false
    }
}

async fn serve(mut stream: TcpStream, book: Arc<Mutex<Book>>) {
    let mut seen = Vec::new();
    let head = loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        if read == 0 {
            return;
        }
        seen.extend_from_slice(&piece[..read]);
        if let Some(at) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let text = String::from_utf8(seen[..head].to_vec()).unwrap();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    while seen.len() < head + length.unwrap_or_default() {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "the body of a request was cut");
        seen.extend_from_slice(&piece[..read]);
    }
    let target = text.split(' ').nth(1).unwrap().to_owned();
    assert!(
        text.starts_with("GET /") || text.starts_with("POST /"),
        "{text}"
    );
    assert!(!text.to_ascii_lowercase().contains("\r\ncookie:"), "{text}");
    assert!(
        !text.to_ascii_lowercase().contains("\r\nreferer:"),
        "{text}"
    );
    let path = target.split('?').next().unwrap().to_owned();
    let does = {
        let mut book = book.lock().unwrap();
        book.asked.push(String::from_utf8(seen).unwrap());
        book.answers.get(&path).cloned()
    };
    // The other side may have gone when it had enough.
    match does {
        Some(Does::Answers(bytes)) => drop(stream.write_all(&bytes).await),
        Some(Does::Stops(bytes)) => {
            drop(stream.write_all(&bytes).await);
            std::future::pending::<()>().await;
        }
        Some(Does::GoesOn(bytes)) => {
            let mut going = stream.write_all(&bytes).await.is_ok();
            let words = b"<p>word word word</p>".repeat(3_000);
            while going {
                going = stream.write_all(&words).await.is_ok();
                book.lock().unwrap().poured += words.len();
            }
        }
        None => drop(
            stream
                .write_all(
                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                )
                .await,
        ),
    }
}
