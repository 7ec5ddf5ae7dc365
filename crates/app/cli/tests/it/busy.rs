//! T2: a message arrives while a turn runs. It waits, joins or interrupts, as configured, and is never lost.

use serde_json::json;
use testkit::model_server::{Gate, Match, Turn};

use crate::world::{A, Gateway, PATIENCE, Pair, words};

async fn pair(busy: &str) -> Pair {
    let pair = Pair::in_processes().await;
    pair.set(&format!("busy = \"{busy}\""));
    pair
}

/// A command that writes down that it ran, and ends when the test says so.
fn long_command() -> Turn {
    Turn::tool(
        "terminal",
        json!({ "command": "echo ran >> ledger; touch began; while [ ! -e go ]; do sleep 0.02; done; echo over" }),
    )
}

fn let_go(pair: &Pair) {
    std::fs::write(pair.workspace("p").join("go"), "").unwrap();
}

/// The gateway says how many wait. Whatever was asked before is in line by then.
async fn wait_behind(pair: &Pair, waiting: usize) -> String {
    let before = pair.telegram.chat(A, crate::world::OWNER).len();
    pair.ask(A, "/status");
    let seen = pair.seen(A, before + 1).await;
    let said = seen.last().unwrap().text.clone();
    let expected = format!("A turn is running; {waiting} more waiting.");
    assert!(said.contains(&expected), "{said}");
    said
}

#[tokio::test]
async fn t2_queue_messages_wait_for_their_turns_also_across_a_kill() {
    let pair = pair("queue").await;
    let gateway = pair.up().await;
    let gate = Gate::new();
    pair.script("p", Turn::text("on").pause_until(&gate));
    pair.ask(A, "first");
    assert!(gate.reached(PATIENCE).await);
    pair.ask(A, "second");
    pair.ask(A, "third");
    let status = wait_behind(&pair, 2).await;
    pair.settled().await;
    gateway.kill().await;
    for text in ["one", "two", "three"] {
        pair.script("p", Turn::text(text));
    }
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 4).await;
    pair.settled().await;
    assert_eq!(words(&seen), [status.as_str(), "one", "two", "three"]);
    assert_eq!(pair.told_model(), ["first", "second", "third"]);
    pair.clean();
}

#[tokio::test]
async fn t2_interrupt_the_running_turn_stops_and_the_new_message_is_answered() {
    let pair = pair("interrupt").await;
    let gateway = pair.up().await;
    pair.script("p", long_command());
    pair.ask(A, "first");
    pair.made("p", "began").await;
    // A command stops nothing but what it is for.
    pair.ask(A, "/whoami");
    pair.seen(A, 1).await;
    pair.script("p", Turn::text("two"));
    pair.ask(A, "second");
    let seen = pair.seen(A, 3).await;
    assert_eq!(
        words(&seen).get(1..),
        Some(["⏹ Stopped.", "two"].as_slice())
    );
    assert_eq!(pair.told_model(), ["first", "second"]);
    pair.settled().await;
    gateway.kill().await;
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("three"));
    pair.ask(A, "third");
    let seen = pair.seen(A, 4).await;
    pair.settled().await;
    assert_eq!(words(&seen).last(), Some(&"three"));
    assert_eq!(pair.told_model(), ["first", "second", "third"]);
    pair.clean();
}

#[tokio::test]
async fn t2_interrupt_killed_before_the_stopped_turn_ended_both_ends_come_once() {
    let pair = pair("interrupt").await;
    let gateway = pair.up_to("C3").await;
    pair.script("p", long_command());
    pair.ask(A, "first");
    pair.made("p", "began").await;
    pair.ask(A, "second");
    gateway.died().await;
    // It may be asked for a moment before the second message stops it again.
    let never = Gate::new();
    let first = Turn::text("on and on").pause_until(&never);
    let alone = Match::Where(std::sync::Arc::new(|body| {
        !body.to_string().contains("second")
    }));
    pair.model.push_for(alone, first);
    pair.model
        .push_for(Match::LastUser("second".to_owned()), Turn::text("two"));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    let seen_at_last = pair.telegram.chat(A, crate::world::OWNER);
    assert_eq!(seen.len(), seen_at_last.len());
    assert_eq!(words(&seen), ["⏹ Stopped.", "two"]);
    assert_eq!(pair.told_model(), ["first", "second"]);
    pair.clean();
}

/// A running command, and two messages that want to join its turn.
async fn two_want_to_join(pair: &Pair, failpoint: Option<&str>) -> (Gateway, String) {
    let gateway = match failpoint {
        Some(failpoint) => pair.up_to(failpoint).await,
        None => pair.up().await,
    };
    pair.script("p", long_command());
    pair.ask(A, "make it");
    pair.made("p", "began").await;
    pair.ask(A, "in blue");
    pair.ask(A, "and larger");
    let status = wait_behind(pair, 2).await;
    (gateway, status)
}

/// Both are in the conversation, once, in order, right behind the result.
fn both_joined_once(pair: &Pair) {
    let told = pair.told_model();
    let (first, joined) = told.split_first().unwrap();
    assert_eq!(first, "make it");
    let joined = joined.concat();
    assert_eq!(joined.matches("in blue").count(), 1, "{joined}");
    assert_eq!(joined.matches("and larger").count(), 1, "{joined}");
    assert!(
        joined.find("in blue") < joined.find("and larger"),
        "{joined}"
    );
    assert!(joined.contains("while you were working"), "{joined}");
}

#[tokio::test]
async fn t2_steer_messages_join_the_running_turn_with_the_tools_result() {
    let pair = pair("steer").await;
    let (_gateway, status) = two_want_to_join(&pair, None).await;
    pair.script("p", Turn::text("Large and blue."));
    let_go(&pair);
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(words(&seen), [status.as_str(), "Large and blue."]);
    both_joined_once(&pair);
    let last = pair.model.requests().last().unwrap().clone();
    let roles: Vec<String> = last
        .messages()
        .iter()
        .map(|message| message["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    // They were answered with it: nothing of them is left.
    pair.script("p", Turn::text("You are welcome."));
    pair.ask(A, "thanks");
    pair.seen(A, 3).await;
    assert_eq!(pair.model.requests().len(), 3);
    pair.clean();
}

#[tokio::test]
async fn t2_steer_a_message_that_finds_no_result_is_the_next_turn() {
    let pair = pair("steer").await;
    let _gateway = pair.up().await;
    let gate = Gate::new();
    pair.script("p", Turn::text("one").pause_until(&gate));
    pair.ask(A, "first");
    assert!(gate.reached(PATIENCE).await);
    pair.ask(A, "second");
    let status = wait_behind(&pair, 1).await;
    pair.script("p", Turn::text("two"));
    gate.release();
    let seen = pair.seen(A, 3).await;
    assert_eq!(words(&seen), [status.as_str(), "one", "two"]);
    assert_eq!(pair.told_model(), ["first", "second"]);
    pair.clean();
}

#[tokio::test]
async fn t2_steer_killed_while_they_wait_they_join_after_the_restart() {
    let pair = pair("steer").await;
    let (gateway, status) = two_want_to_join(&pair, None).await;
    pair.settled().await;
    gateway.kill().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "touch again; while [ ! -e go ]; do sleep 0.02; done; cat ledger" }),
        ),
    );
    let _gateway = pair.up().await;
    pair.made("p", "again").await;
    wait_behind(&pair, 2).await;
    pair.script("p", Turn::text("Large and blue."));
    let_go(&pair);
    let seen = pair.seen(A, 3).await;
    pair.settled().await;
    assert_eq!(words(&seen).first(), Some(&status.as_str()));
    assert_eq!(words(&seen).last(), Some(&"Large and blue."));
    both_joined_once(&pair);
    let result = pair.model.requests().last().unwrap().last_text("tool");
    assert_eq!(result.matches("ran").count(), 1, "{result}");
    assert_eq!(pair.model.requests().len(), 3);
    pair.clean();
}

#[tokio::test]
async fn t2_steer_killed_right_after_they_joined_they_are_there_once() {
    let pair = pair("steer").await;
    let (gateway, status) = two_want_to_join(&pair, Some("I3")).await;
    let_go(&pair);
    gateway.died().await;
    pair.script("p", Turn::text("Large and blue."));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(words(&seen), [status.as_str(), "Large and blue."]);
    both_joined_once(&pair);
    assert_eq!(pair.model.requests().len(), 2);
    pair.clean();
}
