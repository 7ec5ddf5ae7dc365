//! What is allowed, arrives; what is not, is told.

use crate::world::World;

const PUBLIC: &str = "93.184.215.14";

#[test]
fn an_allowed_host_is_reached_through_a_tunnel_and_bytes_pass_both_ways() {
    let world = World::new(&["example.org:443"]);
    world.name("example.org", &[&[PUBLIC]]);
    let server = world.server("93.184.215.14:443");
    let mut client = world.client();
    client.send("CONNECT Example.ORG:443 HTTP/1.1\r\nHost: Example.ORG:443\r\n\r\nhello");
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(!head.to_lowercase().contains("content-length"), "{head}");
    let mut there = server.taken();
    assert_eq!(there.until("hello"), "hello");
    there.send("welcome");
    assert_eq!(client.until("welcome"), "welcome");
    assert_eq!(world.dialled(), ["93.184.215.14:443"]);
}

#[test]
fn a_client_that_says_no_more_still_reads_the_answer() {
    let world = World::new(&["example.org:443"]);
    world.name("example.org", &[&[PUBLIC]]);
    let server = world.server("93.184.215.14:443");
    let mut client = world.client();
    client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\nask");
    client.head();
    client.no_more();
    let mut there = server.taken();
    assert_eq!(there.rest(), "ask");
    there.send("answer");
    drop(there);
    assert_eq!(client.rest(), "answer");
}

#[test]
fn what_is_not_on_the_list_is_refused_with_the_key_to_add_it_and_its_name_is_never_looked_up() {
    let world = World::new(&["example.org:443", "*.example.com:443"]);
    for asked in [
        "CONNECT example.net:443",
        "CONNECT example.org:80",
        "CONNECT example.org:22",
        "CONNECT sub.example.org:443",
        "CONNECT badexample.org:443",
        "CONNECT example.org.evil.net:443",
        "CONNECT example.com:443",
        "CONNECT evil-example.com:443",
        "GET http://example.org/",
        "GET http://secret-in-a-name.evil.net/",
    ] {
        let answer = world.say(&format!("{asked} HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{asked}: {answer}");
    }
    let answer = world.say("CONNECT example.net:443 HTTP/1.1\r\n\r\n");
    let sentence = "\r\n\r\nexample.net:443 is not on this sandbox's allow list; the owner can add it under \
                    profiles.NAME.sandbox.allow\n";
    assert!(answer.ends_with(sentence), "{answer}");
    assert_eq!(world.looked_up(), Vec::<String>::new());
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn a_plain_request_arrives_without_what_was_meant_for_the_proxy() {
    let world = World::new(&["example.org:80"]);
    world.name("example.org", &[&[PUBLIC]]);
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send(
        "POST http://example.org/path?query HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: Basic c2VjcmV0\r\n\
         Proxy-Connection: keep-alive\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n\
         Upgrade: websocket\r\nX-Kept: yes\r\nContent-Length: 4\r\n\r\nbody",
    );
    let mut there = server.taken();
    let head = there.head().to_lowercase();
    assert!(head.starts_with("post /path?query http/1.1\r\n"), "{head}");
    assert!(
        head.contains("host: example.org\r\n") && head.contains("x-kept: yes"),
        "{head}"
    );
    for gone in [
        "evil",
        "proxy-",
        "x-hop",
        "keep-alive",
        "te:",
        "upgrade",
        "connection:",
    ] {
        assert!(!head.contains(gone), "{gone} in {head}");
    }
    assert_eq!(there.until("body"), "body");
    there.send("HTTP/1.1 201 Created\r\nConnection: X-Other\r\nX-Other: 1\r\nX-Kept: yes\r\nContent-Length: 4\r\n\r\ndone");
    let answer = client.rest();
    assert!(
        answer.starts_with("HTTP/1.1 201 Created\r\n") && answer.ends_with("\r\n\r\ndone"),
        "{answer}"
    );
    assert!(
        answer.contains("x-kept") && !answer.contains("x-other"),
        "{answer}"
    );
}

#[test]
fn an_answer_without_a_length_arrives_whole() {
    let world = World::new(&["example.org:80"]);
    world.name("example.org", &[&[PUBLIC]]);
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send("GET http://example.org HTTP/1.0\r\n\r\n");
    let mut there = server.taken();
    let head = there.head();
    assert!(head.starts_with("GET / HTTP/1.1\r\n"), "{head}");
    there.send("HTTP/1.0 200 OK\r\n\r\nto the end");
    drop(there);
    let answer = client.rest();
    assert!(answer.ends_with("\r\n\r\nto the end"), "{answer}");
}

#[test]
fn a_name_that_nobody_knows_and_a_server_that_is_not_there_are_told_apart() {
    let world = World::new(&["unknown.org:443", "example.org:443", "example.org:80"]);
    world.name("example.org", &[&[PUBLIC]]);
    let unknown = world.say("CONNECT unknown.org:443 HTTP/1.1\r\n\r\n");
    assert!(
        unknown.starts_with("HTTP/1.1 502 ") && unknown.contains("is not known"),
        "{unknown}"
    );
    let gone = world.say("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    assert!(
        gone.starts_with("HTTP/1.1 502 ") && gone.contains("can't be reached"),
        "{gone}"
    );
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send("GET http://example.org/ HTTP/1.1\r\nConnection: close\r\n\r\n");
    let mut there = server.taken();
    there.head();
    there.send("not HTTP at all\r\n\r\n");
    let broken = client.rest();
    assert!(broken.starts_with("HTTP/1.1 502 "), "{broken}");
}

#[test]
fn a_second_address_is_tried_when_the_first_one_refuses() {
    let world = World::new(&["example.org:443"]);
    world.name("example.org", &[&["2606:2800::1", PUBLIC]]);
    let _server = world.server("93.184.215.14:443");
    let mut client = world.client();
    client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 200 "));
    assert_eq!(world.dialled(), ["[2606:2800::1]:443", "93.184.215.14:443"]);
}

#[test]
fn two_requests_on_one_connection_are_two_judgements() {
    let world = World::new(&["example.org:80"]);
    world.name("example.org", &[&[PUBLIC]]);
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send("GET http://example.org/ HTTP/1.1\r\n\r\nGET http://evil.net/ HTTP/1.1\r\n\r\n");
    let mut there = server.taken();
    there.head();
    there.send("HTTP/1.1 204 No Content\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 204 "));
    assert!(client.head().starts_with("HTTP/1.1 403 "));
    assert_eq!(world.dialled(), ["93.184.215.14:80"]);
}
