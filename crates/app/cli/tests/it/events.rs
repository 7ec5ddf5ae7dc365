//! Events as the gateway meets them again, or never well: restarts, poison, groups that move.

use serde_json::json;
use testkit::model_server::{Gate, Turn};
use testkit::telegram::Said;

use crate::world::{A, B, OWNER, PATIENCE, Pair, words};

#[tokio::test]
async fn c05_02_what_was_answered_before_a_kill_is_not_answered_again() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    for (asked, answer, count) in [("a", "one", 1), ("b", "two", 2), ("c", "three", 3)] {
        pair.script("p", Turn::text(answer));
        pair.ask(A, asked);
        pair.seen(A, count).await;
    }
    pair.ask(A, "/new");
    pair.seen(A, 4).await;
    pair.settled().await;
    gateway.kill().await;
    // As after a lost offset: the platform hands everything out again.
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("four"));
    pair.ask(A, "d");
    pair.script("p", Turn::text("five"));
    pair.ask(A, "e");
    let seen = pair.seen(A, 6).await;
    pair.settled().await;
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 6);
    assert_eq!(words(&seen).get(4..), Some(["four", "five"].as_slice()));
    // One `/new` alone, and nothing that was said after it is missing.
    assert_eq!(pair.told_model(), ["d", "e"]);
    assert_eq!(pair.model.requests().len(), 5);
    pair.clean();
}

#[tokio::test]
async fn c05_04_an_event_that_ends_the_process_is_put_aside_and_the_next_one_is_answered() {
    for failpoint in ["I1", "I2"] {
        let pair = Pair::in_processes().await;
        let gateway = pair.up_to(failpoint).await;
        pair.ask(A, "poison");
        gateway.died().await;
        for _again in 0..2 {
            pair.start_and_die(failpoint).await;
        }
        let _gateway = pair.up().await;
        pair.script("p", Turn::text("hello"));
        pair.ask(A, "hi");
        let seen = pair.seen(A, 1).await;
        assert_eq!(words(&seen), ["hello"], "{failpoint}");
        assert_eq!(pair.told_model(), ["hi"], "{failpoint}");
        assert_eq!(pair.noticed("put aside").await, 1, "{failpoint}");
        pair.clean();
    }
}

#[tokio::test]
async fn c05_04_what_runs_and_waits_beside_a_poisoned_event_is_answered() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up_to("I1@4").await;
    let gate = Gate::new();
    pair.script("q", Turn::text("on").pause_until(&gate));
    pair.ask(B, "first");
    assert!(gate.reached(PATIENCE).await);
    pair.ask(B, "waits");
    pair.ask(B, "/whoami");
    pair.seen(B, 1).await;
    pair.settled().await;
    // Long enough for none of the short lives to come to an answer.
    pair.model
        .always("answer", std::time::Duration::from_secs(2));
    pair.ask(A, "poison");
    gateway.died().await;
    for _again in 0..2 {
        pair.start_and_die("I1").await;
    }
    let _gateway = pair.up().await;
    let seen = pair.seen(B, 3).await;
    pair.settled().await;
    assert_eq!(words(&seen).get(1..), Some(["answer", "answer"].as_slice()));
    assert_eq!(pair.told_model(), ["first", "waits"]);
    assert_eq!(pair.noticed("put aside").await, 1);
    assert_eq!(pair.telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_panic_in_a_turn_ends_it_with_a_sentence_and_the_line_goes_on() {
    // Beside a tool, and outside the turn's own guard.
    for failpoint in ["C2!panic", "C3!panic"] {
        let pair = Pair::in_processes().await;
        let gateway = pair.up_to(failpoint).await;
        pair.script("p", Turn::tool("terminal", json!({ "command": "true" })));
        pair.script("p", Turn::text("done"));
        pair.ask(A, "first");
        let seen = pair.seen(A, 1).await;
        let said = words(&seen).concat();
        assert!(
            said.contains("made a mistake in this turn"),
            "{failpoint}: {said}"
        );
        pair.script("p", Turn::text("two"));
        if pair.model.turns_left() > 1 {
            pair.script("p", Turn::text("two"));
        }
        pair.ask(A, "second");
        pair.seen(A, 2).await;
        pair.settled().await;
        gateway.kill().await;
        let _gateway = pair.up().await;
        pair.settled().await;
        assert_eq!(pair.telegram.chat(A, OWNER).len(), 2, "{failpoint}");
        pair.clean();
    }
}

#[tokio::test]
async fn a_panic_at_the_beginning_of_a_turn_that_does_not_come_again_costs_nothing() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up_to("I2!panic").await;
    pair.script("p", Turn::text("hello"));
    pair.ask(A, "hi");
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["hello"]);
    pair.clean();
}

#[tokio::test]
async fn c07_13_a_command_that_a_kill_interrupted_is_not_repeated() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "echo ran >> ledger; touch began; sleep 600" }),
        ),
    );
    pair.ask(A, "do it once");
    pair.made("p", "began").await;
    pair.settled().await;
    gateway.kill().await;
    pair.script("p", Turn::text("It may have run; I did not repeat it."));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 1).await;
    pair.settled().await;
    assert_eq!(words(&seen), ["It may have run; I did not repeat it."]);
    let result = pair.model.requests().last().unwrap().last_text("tool");
    assert!(result.contains("interrupted"), "{result}");
    let ledger = std::fs::read_to_string(pair.workspace("p").join("ledger")).unwrap();
    assert_eq!(ledger, "ran\n");
    pair.clean();
}

#[tokio::test]
async fn c07_13_a_turn_that_is_killed_again_and_again_ends_with_a_sentence() {
    let pair = Pair::in_processes().await;
    pair.script(
        "p",
        Turn::tool("terminal", json!({ "command": "echo ran >> ledger" })),
    );
    for _life in 0..4 {
        let gate = Gate::new();
        pair.script("p", Turn::text("on").pause_until(&gate));
        let gateway = pair.up().await;
        if pair.model.requests().is_empty() {
            pair.ask(A, "do it");
        }
        assert!(gate.reached(PATIENCE).await);
        pair.settled().await;
        gateway.kill().await;
    }
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 1).await;
    let said = words(&seen).concat();
    assert!(
        said.contains("restarted in the middle of this turn"),
        "{said}"
    );
    let ledger = std::fs::read_to_string(pair.workspace("p").join("ledger")).unwrap();
    assert_eq!(ledger, "ran\n");
    pair.clean();
}

#[tokio::test]
async fn c07_07_an_answer_comes_where_it_was_asked_for_also_after_a_restart() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let gate = Gate::new();
    pair.script("p", Turn::text("on").pause_until(&gate));
    pair.ask(A, "a long report");
    assert!(gate.reached(PATIENCE).await);
    pair.script("q", Turn::text("quick"));
    pair.ask(B, "a question");
    pair.seen(B, 1).await;
    pair.settled().await;
    gateway.kill().await;
    pair.script("p", Turn::text("the report"));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 1).await;
    pair.settled().await;
    assert_eq!(words(&seen), ["the report"]);
    assert_eq!(words(&pair.telegram.chat(B, OWNER)), ["quick"]);
    pair.clean();
}

const OLD: i64 = -45;
const NEW: i64 = -1_009_000_000_001;

fn in_group(pair: &Pair, group: i64, text: &str) {
    pair.telegram.say(
        A,
        Said::text(&format!("/ask@bot_a {text}"))
            .entities(json!([{ "type": "bot_command", "offset": 0, "length": 10 }]))
            .by(OWNER, "Owner")
            .in_group(group),
    );
}

async fn seen_in(pair: &Pair, group: i64, count: usize) -> Vec<String> {
    let waited = pair
        .telegram
        .until("an answer in the group", |telegram| {
            telegram.chat(A, group).len() >= count
        })
        .await;
    let seen = pair.telegram.chat(A, group);
    assert!(waited.is_ok(), "{seen:?}");
    words(&seen).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn c05_07_a_group_that_becomes_a_supergroup_goes_on_with_its_conversation() {
    for reversed in [false, true] {
        let pair = Pair::in_processes().await;
        pair.home.write_config(
            &std::fs::read_to_string(pair.home.path().join("tidings.toml"))
                .unwrap()
                .replace(
                    "[channels.b]",
                    &format!("[channels.a.groups]\nallow = [{OLD}]\n[channels.b]"),
                ),
        );
        let gateway = pair.up().await;
        pair.telegram.open_chat(A, OLD);
        pair.telegram.open_chat(A, NEW);
        pair.script("p", Turn::text("one"));
        in_group(&pair, OLD, "first");
        assert_eq!(seen_in(&pair, OLD, 1).await, ["one"]);
        let mut sides = vec![
            (OLD, "migrate_to_chat_id", NEW),
            (NEW, "migrate_from_chat_id", OLD),
        ];
        if reversed {
            sides.reverse();
        }
        for (chat, field, other) in sides {
            let service = Said::other().by(OWNER, "Owner").in_group(chat);
            pair.telegram.say(A, service.with(field, json!(other)));
        }
        pair.script("p", Turn::text("two"));
        in_group(&pair, NEW, "second");
        assert_eq!(seen_in(&pair, NEW, 1).await, ["two"]);
        let told = pair.told_model();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].contains("first") && told[1].contains("second"),
            "{told:?}"
        );
        pair.settled().await;
        gateway.kill().await;
        let _gateway = pair.up().await;
        pair.script("p", Turn::text("three"));
        in_group(&pair, NEW, "third");
        assert_eq!(seen_in(&pair, NEW, 2).await, ["two", "three"]);
        assert_eq!(pair.told_model().len(), 3);
        assert_eq!(pair.noticed(&NEW.to_string()).await, 1);
        pair.clean();
    }
}
