use std::time::Duration;

use tidings_net::{Client, NetError, Options, Stage};
use tokio::net::TcpListener;

use crate::server::{Server, Then, client, head};

const LIMIT: u64 = 1000;

async fn body_of(server: &Server) -> Result<Vec<u8>, NetError> {
    let answer = client().get(&server.url).send().await?;
    Ok(answer.bytes_limited(LIMIT).await?.to_vec())
}

fn said_no_secret(error: &NetError) {
    assert!(
        !format!("{error} {error:?}").contains("SECRET"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_closed_port_means_that_nothing_left() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let told = client()
        .get(&format!("http://{port}/bot1:SECRET/x"))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::NotSent { .. }), "{told:?}");
    assert!(!told.may_have_arrived());
    assert!(told.to_string().contains("refused"), "{told}");
    said_no_secret(&told);
}

#[tokio::test]
async fn a_host_that_swallows_everything_means_that_nothing_left() {
    // TEST-NET-1: no packet to it is ever answered.
    let told = client()
        .get("https://192.0.2.1/bot1:SECRET/x")
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::NotSent { .. }), "{told:?}");
    said_no_secret(&told);
}

#[tokio::test]
async fn a_server_without_tls_means_that_nothing_left() {
    let server = Server::start(|mut stream| async move {
        use tokio::io::AsyncWriteExt as _;
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
    })
    .await;
    let told = client()
        .get(&server.url.replace("http://", "https://"))
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::NotSent { .. }), "{told:?}");
    said_no_secret(&told);
}

#[tokio::test]
async fn a_connection_closed_before_the_answer_is_perhaps_and_is_not_tried_again() {
    let server = Server::answering("", Then::Close).await;
    let told = client()
        .post(&server.url)
        .json(&1)
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::Ambiguous { .. }), "{told:?}");
    assert!(told.may_have_arrived());
    assert_eq!(server.connections(), 1);
    said_no_secret(&told);
}

#[tokio::test]
async fn answers_that_are_cut() {
    for cut in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
        "HTTP/1.1 200 OK\r\nContent-Le",
    ] {
        let server = Server::answering(cut, Then::Close).await;
        let told = body_of(&server).await.unwrap_err();
        assert!(
            matches!(told, NetError::Ambiguous { .. }),
            "{cut:?}: {told:?}"
        );
        said_no_secret(&told);
    }
}

#[tokio::test]
async fn an_answer_that_is_whole() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Then::Hang,
    )
    .await;
    assert_eq!(body_of(&server).await.unwrap(), b"hello");
}

#[tokio::test]
async fn silence_before_the_answer() {
    let server = Server::answering("", Then::Hang).await;
    let told = body_of(&server).await.unwrap_err();
    assert!(
        matches!(
            told,
            NetError::Timeout {
                stage: Stage::Answer,
                ..
            }
        ),
        "{told:?}"
    );
    assert!(told.may_have_arrived());
}

#[tokio::test]
async fn silence_inside_the_answer() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        Then::Hang,
    )
    .await;
    let told = body_of(&server).await.unwrap_err();
    let expected = NetError::Timeout {
        stage: Stage::Body,
        after: Duration::from_millis(300),
    };
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_answer_that_drips_meets_the_total_time() {
    let server = Server::start(|mut stream| async move {
        use tokio::io::AsyncWriteExt as _;
        head(&mut stream).await;
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        while stream.write_all(&bytes).await.is_ok() {
            bytes = b"x".to_vec();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let wait = Duration::from_millis(400);
    let answer = client()
        .get(&server.url)
        .total_timeout(wait)
        .send()
        .await
        .unwrap();
    let told = answer.bytes_limited(LIMIT).await.unwrap_err();
    assert_eq!(
        told,
        NetError::Timeout {
            stage: Stage::Body,
            after: wait
        }
    );
}

#[tokio::test]
async fn answers_over_the_limit() {
    for large in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3E9\r\n",
    ] {
        let server = Server::start(move |mut stream| async move {
            use tokio::io::AsyncWriteExt as _;
            head(&mut stream).await;
            stream.write_all(large.as_bytes()).await.unwrap();
            stream.write_all(&[b'x'; 1001]).await.unwrap();
            std::future::pending().await
        })
        .await;
        assert_eq!(
            body_of(&server).await,
            Err(NetError::TooLarge { limit: LIMIT })
        );
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let server = Server::answering(
        "HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
        Then::Hang,
    )
    .await;
    let answer = client().get(&server.url).send().await.unwrap();
    assert_eq!(
        (answer.status(), answer.header("location")),
        (302, Some("https://elsewhere.example/"))
    );
}

#[tokio::test]
async fn waiting_advice_is_read_against_the_servers_clock() {
    let server = Server::answering(
        "HTTP/1.1 429 Slow\r\nDate: Wed, 21 Oct 2026 07:27:30 GMT\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n",
        Then::Hang,
    )
    .await;
    let answer = client().get(&server.url).send().await.unwrap();
    assert_eq!(answer.retry_after(), Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn what_is_no_json_is_told_without_the_address() {
    let server = Server::answering(
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
        Then::Hang,
    )
    .await;
    let answer = client().get(&server.url).send().await.unwrap();
    let told = answer.json_limited::<u32>(LIMIT).await.unwrap_err();
    assert!(matches!(told, NetError::NotJson { .. }), "{told:?}");
    said_no_secret(&told);
}

#[tokio::test]
async fn a_header_that_http_does_not_allow_is_told_without_its_value() {
    let told = client()
        .get("https://192.0.2.1/")
        .bearer("SECRET\n")
        .send()
        .await
        .unwrap_err();
    assert!(matches!(told, NetError::Build { .. }), "{told:?}");
    said_no_secret(&told);
}

#[test]
fn a_certificate_that_is_none_is_told() {
    let junk = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec();
    let told = Client::new(Options {
        extra_roots_pem: junk,
        ..Options::default()
    });
    assert!(matches!(told, Err(NetError::Build { .. })));
}
