//! Nobody holds the proxy up, and it ends when it is told to.

use std::time::Duration;

use egress::Bounds;

use crate::world::{WORK, World};

fn open(world: &World) {
    world.name("example.org", &[&["93.184.215.14"]]);
}

#[test]
fn a_head_without_end_is_refused() {
    let world = World::new(&["example.org:80"]);
    for request in [
        format!(
            "GET http://example.org/ HTTP/1.1\r\nX: {}",
            "x".repeat(20 << 10)
        ),
        format!(
            "GET http://example.org/{} HTTP/1.1\r\n\r\n",
            "x".repeat(20 << 10)
        ),
        format!(
            "GET http://example.org/ HTTP/1.1\r\n{}\r\n",
            "a: b\r\n".repeat(2_000)
        ),
    ] {
        let answer = world.say(&request);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert_eq!(world.looked_up(), Vec::<String>::new());
}

#[test]
fn a_client_that_never_ends_its_head_is_cut_off_and_others_never_notice() {
    let bounds = Bounds {
        head_within: Duration::from_millis(200),
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    let mut slow = world.client();
    slow.send("CONNECT example.org:443 HTT");
    let answer = world.say("CONNECT example.net:443 HTTP/1.1\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(!slow.rest().contains("200"));
}

#[test]
fn a_tunnel_on_which_nothing_moves_is_closed_at_both_ends() {
    let bounds = Bounds {
        idle: Duration::from_millis(300),
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    let server = world.server("93.184.215.14:443");
    let mut client = world.client();
    client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    client.head();
    let mut there = server.taken();
    assert_eq!(client.rest(), "");
    assert_eq!(there.rest(), "");
}

#[test]
fn a_server_that_does_not_answer_is_given_up_in_time() {
    let bounds = Bounds {
        connect_within: Duration::from_millis(200),
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    world.silent("93.184.215.14:443");
    let answer = world.say("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 504 ") && answer.contains("did not answer in time"),
        "{answer}"
    );
}

#[test]
fn a_connection_too_many_waits_until_one_ends() {
    let bounds = Bounds {
        connections: 2,
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    let server = world.server("93.184.215.14:443");
    let mut held: Vec<_> = (0..2)
        .map(|_| {
            let mut client = world.client();
            client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
            client.head();
            (client, server.taken())
        })
        .collect();
    let mut third = world.client();
    third.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    // Both tunnels still carry, and the third was not begun.
    for (client, there) in &mut held {
        client.send("still");
        assert_eq!(there.until("still"), "still");
    }
    assert_eq!(world.dialled().len(), 2);
    held.pop();
    assert!(third.head().starts_with("HTTP/1.1 200 "));
}

#[test]
fn the_commands_of_a_sandbox_share_its_places_and_take_none_of_anothers() {
    let bounds = Bounds {
        connections: 2,
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    let server = world.server("93.184.215.14:443");
    let connect = |mut client: crate::world::Peer| {
        client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
        client
    };
    let mut held: Vec<_> = (0..2)
        .map(|_| {
            let mut client = connect(world.client());
            client.head();
            (client, server.taken())
        })
        .collect();
    let (second, _of_the_same) = world.listener_of(WORK);
    let (other, _of_another) = world.listener_of("profile:other");
    let mut waits = connect(World::client_at(second));
    let mut goes = connect(World::client_at(other));
    assert!(goes.head().starts_with("HTTP/1.1 200 "));
    let _there = server.taken();
    assert_eq!(world.dialled().len(), 3, "a third of the same sandbox");
    held.pop();
    assert!(waits.head().starts_with("HTTP/1.1 200 "));
}

#[test]
fn listeners_to_which_nobody_connects_take_no_place_from_anybody() {
    let bounds = Bounds {
        together: 2,
        ..Bounds::default()
    };
    let world = World::within(&["example.org:443"], bounds);
    open(&world);
    let server = world.server("93.184.215.14:443");
    let idle: Vec<_> = (0..5)
        .map(|number| world.listener_of(&format!("session:work:local:{number}")))
        .collect();
    let mut last = World::client_at(idle.last().unwrap().0);
    last.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    assert!(last.head().starts_with("HTTP/1.1 200 "));
    let _there = server.taken();
}

#[test]
fn a_proxy_that_is_dropped_closes_its_tunnels_and_its_door() {
    let mut world = World::new(&["example.org:443"]);
    open(&world);
    let server = world.server("93.184.215.14:443");
    let mut client = world.client();
    client.send("CONNECT example.org:443 HTTP/1.1\r\n\r\n");
    client.head();
    let mut there = server.taken();
    world.stop();
    assert_eq!(client.rest(), "");
    assert_eq!(there.rest(), "");
    assert!(std::net::TcpStream::connect(world.proxy).is_err());
}
