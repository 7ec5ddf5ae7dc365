//! A client that goes where somebody else says: to the public Internet, and nowhere else.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tidings_net::{Client, Destinations, Names, NetError, Options, PlainHttp, Redirects};
use tokio::io::AsyncWriteExt as _;

use crate::server::{Server, head};

/// A name server that answers differently each time; the last answer stays.
#[derive(Debug, Default)]
struct Fickle {
    answers: Mutex<VecDeque<&'static str>>,
    asked: AtomicUsize,
}

impl Fickle {
    fn saying(answers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.iter().copied().collect()),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Names for Fickle {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 {
            answers.pop_front()
        } else {
            answers.front().copied()
        };
        Ok(vec![answer.unwrap().parse().unwrap()])
    }

    fn is_own(&self, _address: IpAddr) -> bool {
        false
    }
}

fn client(server: SocketAddr, names: Arc<Fickle>) -> Client {
    Client::new(Options {
        connect_timeout: Duration::from_secs(5),
        redirects: Redirects::Follow(5),
        plain_http: PlainHttp::Anywhere,
        destinations: Destinations::Public {
            except: vec![server],
        },
        names,
        ..Options::default()
    })
    .unwrap()
}

fn place(server: &Server) -> SocketAddr {
    let host = server.url.split('/').nth(2).unwrap();
    host.parse().unwrap()
}

/// Sends everybody on to somewhere, and closes the connection.
async fn leading_to(target: impl Fn(u16) -> String) -> Server {
    let to = Arc::new(Mutex::new(String::new()));
    let server = Server::start({
        let to = Arc::clone(&to);
        move |mut stream| {
            let to = to.lock().unwrap().clone();
            async move {
                head(&mut stream).await;
                let answer = format!(
                    "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    *to.lock().unwrap() = target(place(&server).port());
    server
}

fn is_forbidden(error: &NetError, words: &str) -> bool {
    matches!(error, NetError::Forbidden { cause } if cause.contains(words))
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    for target in [
        "http://127.0.0.2:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.2]:{port}/",
        "http://2130706434:{port}/",
        "http://169.254.169.254/latest",
        "http://router:{port}/",
        "http://localhost:{port}/",
        "http://site.example:22/",
        "http://user:pw@site.example:{port}/",
    ] {
        let server = leading_to(|port| target.replace("{port}", &port.to_string())).await;
        let at = place(&server);
        let names = Fickle::saying(&["127.0.0.1"]);
        let asked = client(at, names).get(&format!("http://site.example:{}/", at.port()));
        let told = asked.send().await.unwrap_err();
        assert!(
            matches!(told, NetError::Forbidden { .. }),
            "{target}: {told:?}"
        );
        assert!(told.may_have_arrived());
        assert_eq!(server.connections(), 1, "{target}");
    }
}

#[tokio::test]
async fn a_redirect_to_another_scheme_is_not_followed() {
    let server = leading_to(|_| "ftp://site.example/".to_owned()).await;
    let at = place(&server);
    let told = client(at, Fickle::saying(&["127.0.0.1"]))
        .get(&format!("http://site.example:{}/", at.port()))
        .send()
        .await;
    assert!(told.is_err(), "{told:?}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_between_two_hops_is_judged_again() {
    let server = leading_to(|port| format!("http://site.example:{port}/again")).await;
    let at = place(&server);
    let names = Fickle::saying(&["127.0.0.1", "127.0.0.2"]);
    let told = client(at, Arc::clone(&names))
        .get(&format!("http://site.example:{}/", at.port()))
        .send()
        .await
        .unwrap_err();
    assert!(is_forbidden(&told, "private network"), "{told:?}");
    assert_eq!((server.connections(), names.asked()), (1, 2));
}

#[tokio::test]
async fn the_connection_goes_to_the_address_that_was_judged() {
    let server = leading_to(|port| format!("http://site.example:{port}/")).await;
    let at = place(&server);
    // Whoever asked a second time would be led away.
    let names = Fickle::saying(&["127.0.0.1", "10.0.0.1"]);
    let client = Client::new(Options {
        plain_http: PlainHttp::Anywhere,
        destinations: Destinations::Public { except: vec![at] },
        names: Arc::<Fickle>::clone(&names),
        ..Options::default()
    })
    .unwrap();
    let answer = client
        .get(&format!("http://site.example:{}/", at.port()))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (answer.status(), server.connections(), names.asked()),
        (302, 1, 1)
    );
}

#[tokio::test]
async fn a_name_that_leads_into_a_private_network_is_not_connected_to() {
    let server = leading_to(|_| String::new()).await;
    let at = place(&server);
    let names = Fickle::saying(&["127.0.0.2"]);
    let told = client(at, Arc::clone(&names))
        .get(&format!("http://site.example:{}/", at.port()))
        .send()
        .await
        .unwrap_err();
    assert!(is_forbidden(&told, "private network"), "{told:?}");
    assert_eq!((server.connections(), names.asked()), (0, 1));
}

#[tokio::test]
async fn a_name_of_a_private_network_is_not_even_looked_up() {
    let at = SocketAddr::from(([127, 0, 0, 1], 1));
    let names = Fickle::saying(&["127.0.0.1"]);
    for url in [
        "http://nas.local/",
        "http://localhost/",
        "http://u@site.example/",
    ] {
        let told = client(at, Arc::clone(&names))
            .get(url)
            .send()
            .await
            .unwrap_err();
        assert!(
            matches!(told, NetError::Forbidden { .. }),
            "{url}: {told:?}"
        );
    }
    assert_eq!(names.asked(), 0);
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let server = leading_to(|port| format!("http://site.example:{port}/")).await;
    let at = place(&server);
    let told = client(at, Fickle::saying(&["127.0.0.1"]))
        .get(&format!("http://site.example:{}/", at.port()))
        .send()
        .await
        .unwrap_err();
    assert!(is_forbidden(&told, "more than 5 times"), "{told:?}");
    assert_eq!(server.connections(), 6);
}

#[tokio::test]
async fn a_proxy_before_the_guard_is_refused() {
    let built = Client::new(Options {
        destinations: Destinations::Public { except: Vec::new() },
        proxy: Some("http://127.0.0.1:3128".to_owned()),
        ..Options::default()
    });
    assert!(matches!(built, Err(NetError::Build { .. })), "{built:?}");
}
