use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, Stream};
use tidings_net::{Multipart, NetError};
use tokio::sync::mpsc;

use crate::server::{Server, client, client_with, head, take};

fn pieces(all: &'static [&'static str]) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::iter(all).map(|piece| Ok(Bytes::from_static(piece.as_bytes())))
}

async fn taking() -> (Server, mpsc::UnboundedReceiver<(String, String)>) {
    let (give, taken) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream| {
        let give = give.clone();
        async move {
            let (head, body) = take(&mut stream).await;
            give.send((head, String::from_utf8(body).unwrap())).unwrap();
        }
    })
    .await;
    (server, taken)
}

#[tokio::test]
async fn a_form_arrives_with_its_length_and_its_names() {
    let (server, mut taken) = taking().await;
    let form = Multipart::new().text("chat_id", "42").file(
        "photo",
        "Bericht \"ü\"\r\n.txt",
        "text/plain",
        10,
        pieces(&["hello", "world"]),
    );
    let length = form.length();
    let answer = client()
        .post(&server.url)
        .multipart(form)
        .send()
        .await
        .unwrap();
    assert_eq!(
        answer.json_limited::<serde_json::Value>(100).await.unwrap(),
        serde_json::json!({})
    );
    let (head, body) = taken.recv().await.unwrap();
    assert!(
        head.contains(&format!("content-length: {length}\r\n")),
        "{head}"
    );
    assert!(!head.contains("transfer-encoding"), "{head}");
    let boundary = head
        .split_once("boundary=")
        .unwrap()
        .1
        .lines()
        .next()
        .unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n42\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"Bericht %22ü%22%0D%0A.txt\"\r\nContent-Type: text/plain\r\n\r\nhelloworld\r\n\
         --{boundary}--\r\n"
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn two_forms_have_different_boundaries() {
    let (server, mut taken) = taking().await;
    let mut boundaries = Vec::new();
    for _ in 0..2 {
        client()
            .post(&server.url)
            .multipart(Multipart::new().text("a", "b"))
            .send()
            .await
            .unwrap();
        boundaries.push(
            taken
                .recv()
                .await
                .unwrap()
                .1
                .lines()
                .next()
                .unwrap()
                .to_owned(),
        );
    }
    assert_ne!(boundaries.first(), boundaries.last());
}

#[tokio::test]
async fn a_file_that_breaks_while_it_is_read_never_arrived() {
    let broken = || {
        stream::iter([
            Ok(Bytes::from_static(b"abc")),
            Err(io::Error::other("the disk is gone")),
        ])
    };
    let (server, _taken) = taking().await;
    for form in [
        Multipart::new().file("f", "f", "text/plain", 10, broken()),
        Multipart::new().file("f", "f", "text/plain", 10, pieces(&["abc"])),
        Multipart::new().file("f", "f", "text/plain", 2, pieces(&["abc"])),
    ] {
        let told = client()
            .post(&server.url)
            .multipart(form)
            .send()
            .await
            .unwrap_err();
        assert!(matches!(told, NetError::Source { .. }), "{told:?}");
        assert!(!told.may_have_arrived());
    }
}

#[tokio::test]
async fn an_upload_that_moves_is_not_silence() {
    let (server, mut taken) = taking().await;
    let slow = stream::iter(0..12).then(|_| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(Bytes::from_static(b"x"))
    });
    let answer = client_with(Duration::from_millis(400))
        .post(&server.url)
        .stream("text/plain", 12, slow)
        .send()
        .await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(taken.recv().await.unwrap().1, "x".repeat(12));
}

#[tokio::test]
async fn an_upload_that_nobody_takes_is_not_read_ahead() {
    const PIECE: usize = 64 * 1024;
    let server = Server::start(|mut stream| async move {
        head(&mut stream).await;
        std::future::pending().await
    })
    .await;
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    let endless = stream::repeat_with(move || {
        count.fetch_add(PIECE, Ordering::SeqCst);
        Ok(Bytes::from(vec![0; PIECE]))
    });
    let told = client()
        .post(&server.url)
        .stream("video/mp4", 1 << 30, endless)
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::Timeout { .. }), "{told:?}");
    // The rest of what was taken waits in the sockets of the kernel.
    assert!(taken.load(Ordering::SeqCst) < 32 << 20, "{taken:?}");
}
