//! What a monitor reads.

use std::time::Duration;

use outbox::PartState;
use testkit::http::Ask;
use waybill::Clock as _;

use crate::shelf::{parcel, text};
use crate::world::{POISONED, World};

async fn lines(world: &World) -> Vec<String> {
    let answer = world.send(Ask::get("/metrics")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    answer.text().lines().map(str::to_owned).collect()
}

/// Labels have no order.
fn has(lines: &[String], name: &str, labels: &[&str], value: &str) -> bool {
    lines.iter().any(|line| {
        let Some((head, told)) = line.rsplit_once(' ') else {
            return false;
        };
        let (bare, inside) = head.split_once('{').unwrap_or((head, ""));
        bare == name
            && told == value
            && inside.matches('=').count() == labels.len()
            && labels.iter().all(|label| inside.contains(label))
    })
}

#[tokio::test]
async fn a_monitor_reads_how_queues_and_accounts_stand() {
    let world = World::new().await;
    let now = world.clock.now();
    let parts = vec![
        text(1, PartState::Retry, "secret words"),
        text(2, PartState::Queued, "more"),
    ];
    world
        .shelf
        .put(parcel(1, "default", "bot:998877", now, parts));
    world.shelf.wait(
        "bot",
        Some(now + Duration::from_secs(99)),
        Some(now + Duration::from_secs(1)),
    );
    world.shelf.tally("bot", "sent", 7);
    world.shelf.tally("bot", "throttled", 2);
    world.clock.advance(Duration::from_secs(9));
    let lines = lines(&world).await;
    let bot = "account=\"bot\"";
    for (name, labels, value) in [
        ("tidings_outbox_open", vec![bot, "state=\"retry\""], "1"),
        ("tidings_outbox_open", vec![bot, "state=\"queued\""], "1"),
        ("tidings_outbox_open", vec![bot, "state=\"held\""], "0"),
        (
            "tidings_outbox_open",
            vec!["account=\"quiet\"", "state=\"held\""],
            "0",
        ),
        ("tidings_outbox_oldest_age_seconds", vec![bot], "9.0"),
        (
            "tidings_outbox_attempts_total",
            vec![bot, "outcome=\"sent\""],
            "7",
        ),
        (
            "tidings_outbox_attempts_total",
            vec![bot, "outcome=\"throttled\""],
            "2",
        ),
        ("tidings_account_up", vec![bot], "1"),
        ("tidings_account_up", vec!["account=\"quiet\""], "0"),
        (
            "tidings_account_waits_seconds",
            vec![bot, "why=\"throttled\""],
            "90.0",
        ),
        (
            "tidings_account_waits_seconds",
            vec![bot, "why=\"resting\""],
            "0.0",
        ),
        ("tidings_inbox_put_aside", vec![], &POISONED.to_string()),
        ("process_start_time_seconds", vec![], "1767225600.0"),
    ] {
        assert!(
            has(&lines, name, &labels, value),
            "{name} {labels:?} {value}: {lines:#?}"
        );
    }
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(
        has(&lines, "tidings_build_info", &[&version], "1"),
        "{lines:#?}"
    );
    let all = lines.join("\n");
    assert!(!all.contains("998877") && !all.contains("secret"), "{all}");
}

#[tokio::test]
async fn every_number_is_told_in_the_documentation() {
    let told = include_str!("../../../../../docs/metrics.md");
    let world = World::new().await;
    for line in lines(&world).await {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let name = rest.split(' ').next().unwrap();
            assert!(told.contains(&format!("`{name}")), "{name} is not told");
        }
    }
}

#[tokio::test]
async fn a_rebound_name_reads_no_metrics_and_a_closed_store_says_so() {
    let world = World::new().await;
    let rebound = Ask::get("/metrics").header("host", "evil.example");
    assert_eq!(world.send(rebound).await.status, 421);
    world.shelf.break_down(true);
    assert_eq!(world.send(Ask::get("/metrics")).await.status, 503);
}

#[tokio::test]
async fn another_page_can_not_have_the_metrics_read() {
    let world = World::new().await;
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "http://localhost:8080"),
    ] {
        let foreign = Ask::get("/metrics").header(name, value);
        assert_eq!(world.send(foreign).await.status, 403, "{value}");
    }
    for site in ["none", "same-origin"] {
        let own = Ask::get("/metrics").header("sec-fetch-site", site);
        assert_eq!(world.send(own).await.status, 200, "{site}");
    }
}

#[tokio::test]
async fn who_asks_all_the_time_does_not_have_the_store_read_all_the_time() {
    let world = World::new().await;
    let begun = tokio::time::Instant::now();
    lines(&world).await;
    // What would be another answer each time.
    world.shelf.break_down(true);
    let mut same = 0;
    while world.send(Ask::get("/metrics")).await.status == 200 {
        same += 1;
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it is never read again"
        );
    }
    assert!(same > 0, "each question was a reading");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    world.shelf.break_down(false);
    lines(&world).await;
}

#[tokio::test]
async fn a_monitor_reads_what_models_were_used_for_and_how_much_is_left() {
    let world = World::new().await;
    let lines = lines(&world).await;
    let (profile, model) = ("profile=\"default\"", "model=\"far/model\"");
    let (day, month) = ("period=\"day\"", "period=\"month\"");
    for (name, labels, value) in [
        ("tidings_model_calls_total", vec![profile, model], "12"),
        (
            "tidings_model_calls_unpriced_total",
            vec![profile, model],
            "0",
        ),
        ("tidings_model_cost_usd_total", vec![profile, model], "1.6"),
        (
            "tidings_model_tokens_total",
            vec![profile, model, "kind=\"fresh\""],
            "100000",
        ),
        (
            "tidings_model_tokens_total",
            vec![profile, model, "kind=\"cached\""],
            "300000",
        ),
        (
            "tidings_model_tokens_total",
            vec![profile, model, "kind=\"output\""],
            "12000",
        ),
        ("tidings_spent_usd", vec![profile, day], "1.6"),
        ("tidings_spent_usd", vec![profile, month], "3.2"),
        ("tidings_spent_limit_usd", vec![profile, day], "2.0"),
        ("tidings_spent_limit_usd", vec![profile, month], "40.0"),
    ] {
        assert!(
            has(&lines, name, &labels, value),
            "{name} {labels:?} {value}\n{lines:#?}"
        );
    }
}
