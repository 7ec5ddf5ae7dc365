//! What a program that wants to get further would try.

use crate::world::World;

#[test]
fn a_name_that_leads_inside_is_refused_and_nothing_is_dialled() {
    let world = World::new(&["inside.org:80", "inside.org:443"]);
    for (address, never) in [
        ("10.0.0.5", false),
        ("127.0.0.1", false),
        ("192.168.1.1", false),
        ("100.64.0.1", false),
        ("::1", false),
        ("fd00::5", false),
        ("::ffff:10.0.0.5", false),
        ("64:ff9b::10.0.0.5", false),
        ("2002:0a00:0005::1", false),
        ("169.254.169.254", true),
        ("::ffff:169.254.169.254", true),
        ("fe80::1", true),
        ("0.0.0.0", true),
        ("fd00:ec2::254", true),
        ("168.63.129.16", true),
    ] {
        world.name("inside.org", &[&[address]]);
        for asked in ["CONNECT inside.org:443", "GET http://inside.org/"] {
            let answer = world.say(&format!("{asked} HTTP/1.1\r\n\r\n"));
            let sentence = if never {
                "metadata address, which no sandbox reaches"
            } else {
                "leads to a private network"
            };
            assert!(
                answer.starts_with("HTTP/1.1 403 ") && answer.contains(sentence),
                "{address}: {answer}"
            );
            assert!(!answer.contains(address), "{answer}");
        }
    }
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn of_a_name_with_addresses_inside_and_outside_only_the_outer_ones_are_dialled() {
    let world = World::new(&["mixed.org:443"]);
    world.name("mixed.org", &[&["127.0.0.1", "93.184.215.14", "10.0.0.1"]]);
    let _server = world.server("127.0.0.1:443");
    let answer = world.say("CONNECT mixed.org:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert_eq!(world.dialled(), ["93.184.215.14:443"]);
}

#[test]
fn a_name_server_that_changes_its_mind_changes_nothing() {
    let world = World::new(&["rebind.org:80"]);
    world.name("rebind.org", &[&["93.184.215.14"], &["127.0.0.1"]]);
    let _inside = world.server("127.0.0.1:80");
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send("GET http://rebind.org/ HTTP/1.1\r\n\r\n");
    let mut there = server.taken();
    there.head();
    there.send("HTTP/1.1 204 No Content\r\n\r\n");
    client.head();
    client.send("GET http://rebind.org/ HTTP/1.1\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 403 "));
    assert_eq!(world.looked_up().len(), 2);
    assert_eq!(world.dialled(), ["93.184.215.14:80"]);
}

#[test]
fn an_address_inside_is_reached_only_if_the_owner_wrote_that_very_address() {
    let world = World::new(&[
        "10.0.0.5:5432",
        "[fd00::5]:80",
        "*.0.0.1:80",
        "169.254.169.254:80",
        "[::ffff:169.254.169.254]:80",
    ]);
    let _database = world.server("10.0.0.5:5432");
    let _page = world.server("[fd00::5]:80");
    let _this = world.server("127.0.0.1:80");
    let _metadata = world.server("169.254.169.254:80");
    for (asked, status) in [
        ("10.0.0.5:5432", "200"),
        ("[fd00:0::5]:80", "200"),
        ("10.0.0.5:80", "403"),
        ("[::ffff:10.0.0.5]:5432", "403"),
        ("127.0.0.1:80", "403"),
        ("169.254.169.254:80", "403"),
        ("[::ffff:169.254.169.254]:80", "403"),
        ("[::ffff:a9fe:a9fe]:80", "403"),
    ] {
        let mut client = world.client();
        client.send(&format!("CONNECT {asked} HTTP/1.1\r\n\r\n"));
        let head = client.head();
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{asked}: {head}"
        );
    }
    assert_eq!(world.dialled(), ["10.0.0.5:5432", "[fd00::5]:80"]);
    assert_eq!(world.looked_up(), Vec::<String>::new());
}

#[test]
fn an_address_in_disguise_is_not_on_any_list() {
    let world = World::new(&["example.org:80", "10.0.0.5:80"]);
    for disguise in [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "localhost",
        "localhost.",
        "0",
        "167772165",
        "0xa000005",
        "012.0.0.5",
        "10.5",
    ] {
        for asked in [
            format!("CONNECT {disguise}:80"),
            format!("GET http://{disguise}/"),
        ] {
            let answer = world.say(&format!("{asked} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 403 "), "{asked}: {answer}");
        }
    }
    assert_eq!(world.looked_up(), Vec::<String>::new());
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn even_on_the_list_an_address_in_disguise_is_judged_as_what_it_is() {
    let world = World::new(&["0x7f000001:80", "2130706433:80", "localhost:80"]);
    for name in ["0x7f000001", "2130706433", "localhost"] {
        world.name(name, &[&["127.0.0.1"]]);
        let answer = world.say(&format!("GET http://{name}/ HTTP/1.1\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    }
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn an_address_with_two_readings_is_refused_before_it_is_judged() {
    let world = World::new(&["example.org:443", "example.org:80"]);
    world.name("example.org", &[&["93.184.215.14"]]);
    for asked in [
        "CONNECT example.org:443@evil.net:443",
        "CONNECT user@example.org:443",
        "CONNECT http://example.org:443",
        "CONNECT example.org:99999",
        "CONNECT example.org",
        "CONNECT example.org:443/..",
        "CONNECT example.org:443#@evil.net:443",
        "GET http://example.org@evil.net/",
        "GET http://example.org:80@evil.net/",
        "GET http://user:word@example.org/",
        "GET http://example.org%2eevil.net/",
        "GET http://example.org\\@evil.net/",
        "GET https://example.org/",
        "GET /",
        "GET http:///example.org/",
        "GET //example.org/",
        "GET http://example.org%00.evil.net/",
        "GET gopher://example.org/",
    ] {
        let answer = world.say(&format!("{asked} HTTP/1.1\r\nHost: example.org\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{asked}: {answer}");
    }
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn a_tunnel_request_with_a_body_or_two_hosts_is_refused() {
    let world = World::new(&["example.org:443", "example.org:80"]);
    world.name("example.org", &[&["93.184.215.14"]]);
    for request in [
        "CONNECT example.org:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
        "CONNECT example.org:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\nHost: evil.net\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\nHost: evil.net\r\n\r\n",
        "POST http://example.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST http://example.org/ HTTP/1.1\r\nContent-Length: +1\r\n\r\na",
        "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST http://example.org/ HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nX: a\r\n folded\r\n\r\n",
        "GET http://example.org/ HTTP/1.1\r\nX: a\0b\r\n\r\n",
    ] {
        let answer = world.say(request);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
    }
    assert_eq!(world.dialled(), Vec::<String>::new());
}

#[test]
fn a_request_with_two_lengths_arrives_as_one_message_with_one() {
    let world = World::new(&["example.org:80"]);
    world.name("example.org", &[&["93.184.215.14"]]);
    let server = world.server("93.184.215.14:80");
    for framing in [
        "Content-Length: 30\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 30\r\n",
    ] {
        let mut client = world.client();
        client.send(&format!(
            "POST http://example.org/ HTTP/1.1\r\n{framing}\r\n2\r\nok\r\n0\r\n\r\nGET http://evil.net/ HTTP/1.1\r\n\r\n"
        ));
        let mut there = server.taken();
        let head = there.head().to_lowercase();
        assert!(
            head.contains("transfer-encoding: chunked") && !head.contains("content-length"),
            "{head}"
        );
        assert_eq!(there.until("0\r\n\r\n"), "2\r\nok\r\n0\r\n\r\n");
        there.send("HTTP/1.1 204 No Content\r\n\r\n");
        assert!(client.rest().starts_with("HTTP/1.1 204 "));
        assert_eq!(there.rest(), "", "nothing of the second request arrives");
    }
}

#[test]
fn a_redirect_to_metadata_is_handed_on_and_not_followed() {
    let world = World::new(&["example.org:80"]);
    world.name("example.org", &[&["93.184.215.14"]]);
    let server = world.server("93.184.215.14:80");
    let mut client = world.client();
    client.send("GET http://example.org/ HTTP/1.1\r\n\r\n");
    let mut there = server.taken();
    there.head();
    there.send("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n");
    assert!(
        client
            .head()
            .contains("http://169.254.169.254/latest/meta-data/")
    );
    client.send("GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\n\r\n");
    assert!(client.head().starts_with("HTTP/1.1 403 "));
    assert_eq!(world.dialled(), ["93.184.215.14:80"]);
}
