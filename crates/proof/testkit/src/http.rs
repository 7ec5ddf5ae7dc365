//! A small HTTP client of its own over a bare connection, so that a test sees what is really on the wire.
//!
//! One request per connection, no redirects followed, no cookies kept: what a test wants, it says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// Longest wait for anything. Long, since many tests may share few cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request to be sent.
#[derive(Debug, Clone)]
pub struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers in order, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, dechunked.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name (small letters).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// The body is no JSON; the error shows it.
    pub fn json(&self) -> anyhow::Result<serde_json::Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("no JSON ({}): {}", self.status, self.text()))
    }
}

impl Ask {
    /// A GET.
    #[must_use]
    pub fn get(path: impl Into<String>) -> Self {
        Self::with_method("GET", path)
    }

    /// A HEAD.
    #[must_use]
    pub fn head(path: impl Into<String>) -> Self {
        Self::with_method("HEAD", path)
    }

    /// A POST with nothing in it.
    #[must_use]
    pub fn post(path: impl Into<String>) -> Self {
        Self::with_method("POST", path)
    }

    fn with_method(method: &str, path: impl Into<String>) -> Self {
        Self {
            method: method.to_owned(),
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// With a header. `Host` replaces the one that would be sent otherwise.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// With bytes.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = bytes.into();
        self
    }

    /// With JSON.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Self {
        self.header("content-type", "application/json")
            .body(value.to_string())
    }

    fn opening(&self, to: SocketAddr) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head += &format!("Host: {to}\r\n");
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", self.body.len());
        head
    }

    async fn open(&self, to: SocketAddr) -> anyhow::Result<(Reader, OwnedWriteHalf)> {
        let (read, mut write) = TcpStream::connect(to).await?.into_split();
        write.write_all(self.opening(to).as_bytes()).await?;
        Ok((
            Reader {
                input: BufReader::new(read),
                chunked: false,
                left: Some(0),
            },
            write,
        ))
    }

    /// Sends it and reads the whole answer.
    ///
    /// # Errors
    /// Nobody answered, in time, with HTTP.
    pub async fn send(self, to: SocketAddr) -> anyhow::Result<Answer> {
        let exchange = async {
            let (mut reader, mut write) = self.open(to).await?;
            // A server may answer before it has read all; that answer is what the test wants to see.
            let (sent, answer) = tokio::join!(write.write_all(&self.body), reader.answer());
            answer.map_err(|error| {
                if sent.is_err() {
                    error.context("while the body was refused")
                } else {
                    error
                }
            })
        };
        tokio::time::timeout(PATIENCE, exchange)
            .await
            .context("no answer in time")?
    }

    /// Sends it and listens to the stream of events that comes back.
    ///
    /// # Errors
    /// The answer is no stream of events.
    pub async fn listen(self, to: SocketAddr) -> anyhow::Result<EventStream> {
        let opening = async {
            let (mut reader, mut write) = self.open(to).await?;
            write.write_all(&self.body).await?;
            let (status, headers) = reader.head().await?;
            if status != 200
                || !headers
                    .iter()
                    .any(|(name, value)| name == "content-type" && value == "text/event-stream")
            {
                bail!("no stream of events: {status} {headers:?}");
            }
            Ok(EventStream {
                reader,
                pending: Vec::new(),
                ready: VecDeque::new(),
                _open: write,
            })
        };
        tokio::time::timeout(PATIENCE, opening)
            .await
            .context("no answer in time")?
    }
}

#[derive(Debug)]
struct Reader {
    input: BufReader<OwnedReadHalf>,
    chunked: bool,
    /// Bytes that are still to come; `None` for "until the connection ends".
    left: Option<usize>,
}

impl Reader {
    async fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        if self.input.read_line(&mut line).await? == 0 {
            bail!("the connection was closed");
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    async fn head(&mut self) -> anyhow::Result<(u16, Vec<(String, String)>)> {
        let first = self.line().await?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .with_context(|| format!("no status in '{first}'"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let find = |name: &str| {
            headers
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        self.chunked = find("transfer-encoding") == Some("chunked");
        self.left = match status {
            204 | 304 => Some(0),
            _ => find("content-length").and_then(|length| length.parse().ok()),
        };
        Ok((status, headers))
    }

    /// The next bytes of the body; `None` at its end.
    async fn piece(&mut self) -> anyhow::Result<Option<Vec<u8>>> {
        if self.chunked {
            let size = usize::from_str_radix(&self.line().await?, 16)?;
            let mut bytes = vec![0; size];
            self.input.read_exact(&mut bytes).await?;
            self.line().await?;
            return Ok((size > 0).then_some(bytes));
        }
        let most = self.left.unwrap_or(usize::MAX).min(64 << 10);
        let mut bytes = vec![0; most];
        let read = self.input.read(&mut bytes).await?;
        bytes.truncate(read);
        self.left = self.left.map(|left| left - read);
        Ok((read > 0).then_some(bytes))
    }

    async fn answer(&mut self) -> anyhow::Result<Answer> {
        let (status, headers) = self.head().await?;
        let mut body = Vec::new();
        while (self.chunked || self.left != Some(0))
            && let Some(piece) = self.piece().await?
        {
            body.extend(piece);
        }
        Ok(Answer {
            status,
            headers,
            body,
        })
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamEvent {
    /// Its id, where it has one.
    pub id: Option<String>,
    /// Its type.
    pub event: String,
    /// Its data.
    pub data: String,
}

/// A stream of server-sent events; comments are passed over.
#[derive(Debug)]
pub struct EventStream {
    reader: Reader,
    pending: Vec<u8>,
    ready: VecDeque<StreamEvent>,
    _open: OwnedWriteHalf,
}

impl EventStream {
    /// The next event; `None` when the stream has ended.
    ///
    /// # Errors
    /// Nothing came in time.
    pub async fn next(&mut self) -> anyhow::Result<Option<StreamEvent>> {
        tokio::time::timeout(PATIENCE, self.read())
            .await
            .context("no event in time")?
    }

    /// Reads on until an event of this type comes, passing over others.
    ///
    /// # Errors
    /// The stream ended, or nothing came in time.
    pub async fn until(&mut self, event: &str) -> anyhow::Result<StreamEvent> {
        loop {
            let found = self
                .next()
                .await?
                .with_context(|| format!("the stream ended before '{event}'"))?;
            if found.event == event {
                return Ok(found);
            }
        }
    }

    async fn read(&mut self) -> anyhow::Result<Option<StreamEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(piece) = self.reader.piece().await? else {
                return Ok(None);
            };
            self.pending.extend(piece);
            while let Some(end) = self.pending.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.pending.drain(..end + 2).collect();
                self.ready.extend(parse(&String::from_utf8_lossy(&block)));
            }
        }
    }
}

fn parse(block: &str) -> Option<StreamEvent> {
    let mut event = StreamEvent {
        id: None,
        event: String::new(),
        data: String::new(),
    };
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = Some(value.to_owned()),
            "event" => event.event = value.to_owned(),
            "data" => event.data += value,
            _ => {}
        }
    }
    (!event.event.is_empty() || !event.data.is_empty()).then_some(event)
}
