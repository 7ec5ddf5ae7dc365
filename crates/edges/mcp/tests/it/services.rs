//! What goes over the wire to a service.

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use waybill::Secret;

use crate::world::{World, service};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_owners_headers_go_with_every_request_and_the_protocols_own_stay_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut options = service("api", listener.local_addr().unwrap());
    if let mcp::Reach::Address(address) = &mut options.reach {
        address.headers = vec![
            (
                "Authorization".to_owned(),
                Secret::new("Bearer very-secret-key".to_owned()),
            ),
            ("X-Team".to_owned(), Secret::new("blue".to_owned())),
        ];
    }
    let world = World::of(vec![options]);
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
    }
    let request = String::from_utf8(request).unwrap().to_lowercase();
    assert!(request.starts_with("post /mcp "), "{request}");
    for header in [
        "authorization: bearer very-secret-key\r\n",
        "x-team: blue\r\n",
        "accept: application/json, text/event-stream\r\n",
        "content-type: application/json\r\n",
        "mcp-protocol-version: ",
    ] {
        assert!(request.contains(header), "{header}: {request}");
    }
    world.stop().await;
}
