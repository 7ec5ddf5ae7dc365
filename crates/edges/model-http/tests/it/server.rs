//! A server that gives prepared answers, one for each connection, and keeps what it was asked.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What it says to one request.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    status: u16,
    headers: Vec<(String, String)>,
    pieces: Vec<String>,
    cut: bool,
}

impl Said {
    /// A stream of a kind, in small pieces.
    pub(crate) fn stream(kind: &str, stream: &str) -> Self {
        let all: Vec<char> = stream.chars().collect();
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            pieces: all.chunks(50).map(|piece| piece.iter().collect()).collect(),
            cut: false,
        }
    }

    pub(crate) fn status(status: u16, body: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self {
            status,
            headers: headers.collect(),
            pieces: vec![body.to_owned()],
            cut: false,
        }
    }

    /// The connection is cut before the end of the body.
    pub(crate) fn cut(mut self) -> Self {
        self.cut = true;
        self
    }
}

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Said>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut answers: VecDeque<Said> = answers.into_iter().collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(answer) = answers.pop_front() {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = BufReader::new(stream);
                let one = read(&mut stream).await;
                kept.lock().unwrap().push(one);
                write(&mut stream, &answer).await;
            }
        });
        Self {
            url,
            asked,
            _tasks: tasks,
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Asked {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length: usize = headers.get("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    Asked {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap(),
    }
}

async fn write(stream: &mut BufReader<TcpStream>, answer: &Said) {
    let mut head = format!(
        "HTTP/1.1 {} X\r\nconnection: close\r\ntransfer-encoding: chunked\r\n",
        answer.status
    );
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream
        .write_all(format!("{head}\r\n").as_bytes())
        .await
        .unwrap();
    for piece in answer.pieces.iter().filter(|piece| !piece.is_empty()) {
        let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
        // A client that has heard enough may be gone.
        if stream.write_all(chunk.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
    if !answer.cut {
        drop(stream.write_all(b"0\r\n\r\n").await);
        drop(stream.flush().await);
    }
}
