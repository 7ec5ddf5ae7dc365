//! Servers that speak too much, or not the protocol.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tool::{ToolError, Toolbox as _};

use crate::server::{Calculator, OLD};
use crate::world::{Answers, Service, World, program, service};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_too_large_costs_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let old = || Calculator {
        revisions: OLD,
        ..Calculator::default()
    };
    let streams = Service::start(old(), Answers::Streams).await;
    let json = Service::start(old(), Answers::Json).await;
    let world = World::of(vec![
        program("program", "new", folder.path(), &[]),
        service("streams", streams.address),
        service("json", json.address),
    ]);
    for name in ["streams", "json"] {
        world.ready(name).await;
        let told = world.call(&format!("{name}__larger")).await.unwrap_err();
        assert!(
            matches!(&told, ToolError::Failed(text) if text.contains("larger than 16 MB")),
            "{name}: {told}"
        );
        assert_eq!(world.add(name).await.unwrap(), "42");
    }
    // In a pipe nobody knows where the next message begins: the program is started again.
    world.ready("program").await;
    let told = world.call("program__larger").await.unwrap_err();
    assert!(
        matches!(&told, ToolError::Away { cause, .. } if cause.contains("more than 16 MB")),
        "{told}"
    );
    world.ready("program").await;
    assert_eq!(world.add("program").await.unwrap(), "42");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_do_not_speak_the_protocol_are_away_with_their_last_words() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::of(vec![
        program("garbage", "garbage", folder.path(), &[]),
        program("flood", "flood", folder.path(), &[]),
        program("calc", "new", folder.path(), &[]),
    ]);
    let cause = world.away("garbage").await;
    assert!(cause.contains("it said: my key is"), "{cause}");
    assert!(!cause.contains("very-secret-key"), "{cause}");
    let cause = world.away("flood").await;
    assert!(cause.contains("more than 16 MB"), "{cause}");
    world.ready("calc").await;
    assert_eq!(world.add("calc").await.unwrap(), "42");
    world.stop().await;
}

/// Whether all of a request has come.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    body.len() >= length.map_or(0, |length| length.trim().parse().unwrap())
}

/// Answers every request with the same bytes.
async fn same(answer: &'static str) -> (std::net::SocketAddr, JoinSet<()>) {
    // Nobody shall come again over a connection that is about to be closed.
    let answer: Arc<str> = answer
        .replacen("\r\n", "\r\nconnection: close\r\n", 1)
        .into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let answer = Arc::clone(&answer);
            connections.spawn(async move {
                // The whole request is read first, and what comes after the answer, too: a connection that is closed over unread
                // bytes is reset, and takes the answer along.
                let mut request = Vec::new();
                while !is_whole(&request) {
                    if stream.read_buf(&mut request).await.unwrap_or_default() == 0 {
                        return;
                    }
                }
                stream
                    .write_all(answer.as_bytes())
                    .await
                    .unwrap_or_default();
                stream.shutdown().await.unwrap_or_default();
                while stream.read_buf(&mut request).await.unwrap_or_default() > 0 {}
            });
        }
    });
    (address, serving)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_that_do_not_speak_the_protocol_are_away_for_a_reason() {
    for (answer, words) in [
        (
            "HTTP/1.1 401 x\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n",
            "wants a login",
        ),
        ("HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n", "HTTP 404"),
        (
            "HTTP/1.1 301 x\r\nlocation: https://example.org/\r\ncontent-length: 0\r\n\r\n",
            "HTTP 301",
        ),
        ("HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n", "HTTP 503"),
        (
            "HTTP/1.1 200 x\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
            "text/html",
        ),
        (
            "HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
            "not of the protocol",
        ),
        (
            "HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
            "broke",
        ),
        ("no HTTP at all\r\n\r\n", "broke"),
    ] {
        let (address, _serving) = same(answer).await;
        let mut options = service("odd", address);
        options.name = "odd".to_owned();
        let world = World::of(vec![options]);
        let cause = world.away("odd").await;
        assert!(cause.contains(words), "{answer:?}: {cause}");
        assert!(!cause.contains(&address.port().to_string()), "{cause}");
        assert!(world.servers.tools().is_empty());
        world.stop().await;
    }
}
