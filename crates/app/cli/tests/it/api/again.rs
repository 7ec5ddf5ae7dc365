//! Requests that come again.

use testkit::http::Ask;
use testkit::model_server::{Gate, Turn};
use tokio::io::AsyncWriteExt as _;

use super::{World, joined, question, streaming, words};

fn keyed(world: &World, text: &str, key: &str) -> Ask {
    world.asking(&question(text)).header("idempotency-key", key)
}

#[tokio::test]
async fn a_request_that_comes_again_is_answered_by_the_same_turn() {
    let world = World::new().await;
    world.model.push(Turn::text("once"));
    let first = world.send(keyed(&world, "do it", "k1")).await;
    let again = world.send(keyed(&world, "do it", "k1")).await;
    assert_eq!(first.text(), again.text());
    assert_eq!(world.model.requests().len(), 1);

    let other = world.send(keyed(&world, "do something else", "k1")).await;
    assert_eq!(other.status, 422);
    assert_eq!(
        other.json().unwrap()["error"]["code"],
        "idempotency_key_reused"
    );
    let elsewhere = keyed(&world, "do it", "k1").header("x-tidings-session", "s");
    assert_eq!(world.send(elsewhere).await.status, 422);
    assert_eq!(world.send(keyed(&world, "do it", "")).await.status, 400);
    assert_eq!(world.model.requests().len(), 1);

    // Another key is another request.
    world.model.push(Turn::text("twice"));
    let other = world.send(keyed(&world, "do it", "k2")).await;
    assert_eq!(words(&other.json().unwrap()), "twice");
}

#[tokio::test]
async fn who_hung_up_reads_the_answer_later_and_no_second_turn_runs() {
    let world = World::new().await;
    let gate = Gate::new();
    world.model.push(Turn::text("kept").pause_until(&gate));
    let body = question("think").to_string();
    let mut wire = tokio::net::TcpStream::connect(world.gateway.address())
        .await
        .unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nIdempotency-Key: k\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        world.gateway.address(),
        world.key,
        body.len()
    );
    wire.write_all(head.as_bytes()).await.unwrap();
    world.asked_model(1).await;
    drop(wire);
    gate.release();
    let later = world.send(keyed(&world, "think", "k")).await;
    assert_eq!(words(&later.json().unwrap()), "kept");
    assert_eq!(world.model.requests().len(), 1);
}

#[tokio::test]
async fn a_gateway_that_died_answers_after_its_restart() {
    let world = World::new().await;
    let gate = Gate::new();
    world.model.push(Turn::text("lost").pause_until(&gate));
    let ask = keyed(&world, "think", "k");
    let address = world.gateway.address();
    let (cut, world) = tokio::join!(ask.send(address), async {
        world.asked_model(1).await;
        // The turn goes on before the gateway says that it serves.
        world.model.push(Turn::text("found again"));
        world.restarted().await
    });
    assert!(cut.is_err(), "it was answered by a dead gateway");
    let again = world.send(keyed(&world, "think", "k")).await;
    assert_eq!(words(&again.json().unwrap()), "found again");
    // And once more, when nothing is left to be done.
    let more = world.send(keyed(&world, "think", "k")).await;
    assert_eq!(more.text(), again.text());
    let parts = world.home.objects(&["outbox", "list"]).await;
    assert_eq!(parts.len(), 1, "{parts:?}");
}

#[tokio::test]
async fn a_stream_that_comes_again_is_the_same_words() {
    let world = World::new().await;
    world.model.push(Turn::text("streamed"));
    let ask = || {
        world
            .asking(&streaming("say it"))
            .header("idempotency-key", "k")
            .listen(world.gateway.address())
    };
    let first = super::pieces(ask().await.unwrap()).await;
    let again = super::pieces(ask().await.unwrap()).await;
    assert_eq!(joined(&first), "streamed");
    assert_eq!(joined(&again), "streamed");
    assert_eq!(first[0]["id"], again[0]["id"]);
    assert_eq!(world.model.requests().len(), 1);
}
