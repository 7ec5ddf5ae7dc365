//! C05-20: an edited message is an edit. It runs nothing; while the message waits it takes its place, later it is news.

use testkit::model_server::{Gate, Turn};
use testkit::telegram::{Injected, Said};

use crate::world::{A, OWNER, PATIENCE, Pair, words};

fn say(pair: &Pair, text: &str) -> Injected {
    pair.telegram.say(A, Said::text(text).by(OWNER, "Owner"))
}

fn edit(pair: &Pair, of: Injected, text: &str) {
    let edit = Said::text(text).by(OWNER, "Owner").edits(of.message_id);
    pair.telegram.say(A, edit);
}

/// A command of the gateway's own: what came before it is decided on when its answer is there.
async fn fence(pair: &Pair) {
    let before = pair.telegram.chat(A, OWNER).len();
    pair.ask(A, "/whoami");
    pair.seen(A, before + 1).await;
}

#[tokio::test]
async fn an_edit_of_a_message_that_waits_changes_it_also_across_a_kill() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let gate = Gate::new();
    pair.script("p", Turn::text("on").pause_until(&gate));
    pair.ask(A, "first");
    assert!(gate.reached(PATIENCE).await);
    let second = say(&pair, "make it gren");
    pair.ask(A, "third");
    edit(&pair, second, "make it green");
    // The platform sends an edit for other changes, too.
    edit(&pair, second, "make it green");
    // And one that would run a command if it were new.
    edit(&pair, second, "/new");
    fence(&pair).await;
    pair.settled().await;
    gateway.kill().await;
    for text in ["one", "two", "three"] {
        pair.script("p", Turn::text(text));
    }
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 4).await;
    pair.settled().await;
    assert_eq!(
        words(&seen).get(1..),
        Some(["one", "two", "three"].as_slice())
    );
    assert_eq!(pair.told_model(), ["first", "make it green", "third"]);
    pair.clean();
}

#[tokio::test]
async fn an_edit_after_the_answer_is_told_to_the_agent_and_one_of_nothing_is_not() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("Done in gren."));
    let said = say(&pair, "make it gren");
    pair.seen(A, 1).await;
    edit(&pair, said, "make it gren");
    pair.script("p", Turn::text("Done in green."));
    edit(&pair, said, "make it green");
    let seen = pair.seen(A, 2).await;
    edit(&pair, said, "make it green");
    fence(&pair).await;
    assert_eq!(words(&seen), ["Done in gren.", "Done in green."]);
    let told = pair.told_model();
    assert_eq!(told.len(), 2);
    assert!(
        told[1].contains("changed an earlier message") && told[1].ends_with("make it green"),
        "{told:?}"
    );
    assert_eq!(pair.model.requests().len(), 2);
    pair.clean();
}

#[tokio::test]
async fn an_old_command_that_is_edited_runs_no_second_time() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let command = say(&pair, "/new");
    pair.seen(A, 1).await;
    pair.script("p", Turn::text("one"));
    pair.ask(A, "first");
    pair.seen(A, 2).await;
    edit(&pair, command, "/new");
    fence(&pair).await;
    pair.script("p", Turn::text("two"));
    pair.ask(A, "second");
    pair.seen(A, 4).await;
    assert_eq!(pair.told_model(), ["first", "second"]);
    pair.clean();
}
