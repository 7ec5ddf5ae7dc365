//! Several models, small windows, and what people see of them.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::model_server::Turn;

use crate::world::{A, B, Pair, words};

/// More lines of the configuration.
fn add(pair: &Pair, lines: &str) {
    let path = pair.home.path().join("tidings.toml");
    let config = std::fs::read_to_string(path).unwrap();
    pair.home.write_config(&format!("{config}\n{lines}"));
}

/// The first model of profile `p` has another one behind it.
fn with_a_fallback(pair: &Pair) {
    let path = pair.home.path().join("tidings.toml");
    let config = std::fs::read_to_string(path).unwrap();
    let config = config.replace(
        "model = \"fake/p\"\n",
        "model = \"fake/p\"\nfallback = [\"fake/spare\"]\n",
    );
    pair.home.write_config(&config);
}

fn models_asked(pair: &Pair) -> Vec<String> {
    let requests = pair.model.requests();
    let model = |body: &Value| body["model"].as_str().unwrap().to_owned();
    requests
        .iter()
        .map(|request| model(&request.body))
        .collect()
}

#[tokio::test]
async fn the_next_model_answers_and_the_first_one_rests() {
    let pair = Pair::in_processes().await;
    with_a_fallback(&pair);
    let _gateway = pair.up().await;
    let busy = "{\"error\":{\"message\":\"overloaded\"}}";
    pair.script("p", Turn::status(503, busy, &[]));
    pair.script("p", Turn::status(503, busy, &[]));
    pair.script("spare", Turn::text("The spare one speaks."));
    pair.ask(A, "hi");
    let seen = pair.seen(A, 1).await;
    assert_eq!(
        words(&seen),
        [
            "The spare one speaks.\n\nℹ fake failed: HTTP 503: overloaded; fake/spare answered instead."
        ]
    );
    pair.script("spare", Turn::text("Still here."));
    pair.ask(A, "and now?");
    let seen = pair.seen(A, 2).await;
    assert_eq!(words(&seen).last(), Some(&"Still here."));
    assert_eq!(models_asked(&pair), ["p", "p", "spare", "spare"]);
    pair.clean();
}

#[tokio::test]
async fn a_long_conversation_becomes_notes_that_survive_a_restart() {
    let pair = Pair::in_processes().await;
    add(&pair, "[providers.fake.models.p]\ncontext_tokens = 16000\n");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    pair.model.answer_by(move |body| {
        kept.lock().unwrap().push(body.to_string());
        let system = body["messages"][0]["content"].to_string();
        if system.contains("You keep the notes") {
            Turn::text("They like herons.")
        } else {
            Turn::text("Noted.")
        }
    });
    let gateway = pair.up().await;
    let long = "a few more words of mine. ".repeat(140);
    for number in 1..=12 {
        pair.ask(A, &format!("Number {number}. {long}"));
        pair.seen(A, number).await;
    }
    // So that nothing is on the wire, and comes again.
    pair.settled().await;
    gateway.kill().await;
    let _gateway = pair.up().await;
    pair.ask(A, "What do they like?");
    let seen = pair.seen(A, 13).await;
    assert!(
        words(&seen).iter().all(|words| *words == "Noted."),
        "{seen:?}"
    );
    let asked = asked.lock().unwrap().clone();
    for request in &asked {
        // A token has three characters or more.
        assert!(request.len() < 3 * 16_000, "{}", request.len());
    }
    let last = asked.last().unwrap();
    assert!(
        last.contains("They like herons.") && !last.contains("Number 1."),
        "{last}"
    );

    pair.ask(A, "/context");
    let seen = pair.seen(A, 14).await;
    let context = words(&seen).last().unwrap().to_string();
    assert!(
        context.contains("fake/p") && context.contains("of 16,000 tokens"),
        "{context}"
    );
    assert!(
        context.contains("notes on what was said before"),
        "{context}"
    );
    pair.clean();
}

#[tokio::test]
async fn t4_ten_megabytes_of_output_and_the_conversation_goes_on() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "yes 0123456789 | head -c 10000000" }),
        ),
    );
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "wc -c tool-results/* | tail -1; head -c 5 tool-results/*" }),
        ),
    );
    pair.script("p", Turn::text("That was long."));
    pair.ask(A, "go");
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["That was long."]);
    let last = pair.model.requests().last().unwrap().clone();
    let results: Vec<String> = last
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        results[0].len() < 5_000 && results[0].contains("/workspace/tool-results/"),
        "{}",
        results[0]
    );
    assert!(results[1].contains("01234"), "{}", results[1]);
    pair.clean();
}

#[tokio::test]
async fn a_cap_that_is_reached_ends_in_a_sentence_and_holds_over_a_restart() {
    let pair = Pair::in_processes().await;
    add(
        &pair,
        "[providers.fake.models.p]\nusd_per_million_input = 1.0\nusd_per_million_output = 1.0\n\
         [profiles.p.limits]\nusd_per_day = 2.0\n",
    );
    let gateway = pair.up().await;
    pair.script("p", Turn::text("One dollar.").usage(1_000_000, 0));
    pair.script("p", Turn::text("Two dollars.").usage(1_000_000, 0));
    pair.ask(A, "one");
    let seen = pair.seen(A, 1).await;
    assert_eq!(
        words(&seen),
        ["One dollar.\n\nℹ 50 % of today's money is spent: $1.00 of $2.00 (usd_per_day)."]
    );
    pair.ask(A, "two");
    pair.seen(A, 2).await;
    // So that nothing is on the wire, and comes again.
    pair.settled().await;
    gateway.kill().await;
    let _gateway = pair.up().await;
    pair.ask(A, "three");
    let seen = pair.seen(A, 3).await;
    let said = words(&seen).last().unwrap().to_string();
    assert!(
        said.starts_with("⚠ I stopped: ") && said.contains("$2.00 of $2.00"),
        "{said}"
    );
    assert_eq!(pair.model.requests().len(), 2, "no call is made");
    // Another profile has its own money.
    pair.script("q", Turn::text("I am free."));
    pair.ask(B, "and you?");
    assert_eq!(words(&pair.seen(B, 1).await), ["I am free."]);
    let used = pair.home.objects(&["usage"]).await;
    assert!(
        used.iter()
            .any(|row| row.to_string().contains("\"fake/p\"")),
        "{used:?}"
    );
    pair.clean();
}
