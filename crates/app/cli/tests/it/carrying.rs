//! Other forms, placeholders, and what nobody knows: D1, D2, D5 on everything that is not a short text.

use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::model_server::Turn;
use testkit::telegram::{Call, Gate, Rule, Trouble, Visible};

use crate::world::{A, B, OWNER, Pair, files, words};

/// A picture that is one: 1 × 1 pixels.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// More than goes directly.
const BIG: usize = 1_500_000;

async fn big_file(pair: &Pair) {
    pair.command(
        "p",
        A,
        &format!("head -c {BIG} /dev/zero | tr '\\0' 'x' > big.txt"),
    )
    .await;
}

fn send_big(pair: &Pair) {
    pair.script("p", Turn::text("MEDIA:/workspace/big.txt"));
    pair.ask(A, "send it");
}

/// Waits until the chat shows what it has to, and no parcel is open.
async fn shows(pair: &Pair, what: &str, holds: impl Fn(&[Visible]) -> bool) -> Vec<Visible> {
    pair.telegram
        .until(what, |telegram| holds(&telegram.chat(A, OWNER)))
        .await
        .unwrap();
    pair.settled().await;
    pair.telegram.chat(A, OWNER)
}

fn has_file(seen: &[Visible]) -> bool {
    seen.iter().any(|message| message.file.is_some())
}

#[tokio::test]
async fn a_photo_that_the_platform_refuses_comes_as_a_document() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.command("p", A, &format!("echo {PIXEL} | base64 -d > chart.png"))
        .await;
    pair.telegram.script(
        Rule::on("sendPhoto").always(),
        Trouble::BadRequest("PHOTO_INVALID_DIMENSIONS".to_owned()),
    );
    pair.script("p", Turn::text("MEDIA:/workspace/chart.png"));
    pair.ask(A, "show it");
    let seen = shows(&pair, "the picture", has_file).await;
    assert_eq!(files(&seen).len(), 1);
    assert_eq!(files(&seen)[0].0, "chart.png");
    assert_eq!(pair.telegram.calls_of("sendPhoto").len(), 1);
    assert_eq!(pair.telegram.calls_of("sendDocument").len(), 1);
    assert!(!words(&seen).iter().any(|text| text.contains('⚠')));
    pair.clean();
}

#[tokio::test]
async fn words_whose_formatting_is_refused_come_without_it() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.telegram.script(
        Rule::on("sendMessage")
            .when(|call| *call.param("entities") != Value::Null)
            .always(),
        Trouble::BadRequest("can't parse entities".to_owned()),
    );
    pair.script("p", Turn::text("This is **important**."));
    pair.ask(A, "say it");
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["This is important."]);
    pair.settled().await;
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 1);
    pair.clean();
}

#[tokio::test]
async fn d2_a_big_file_whose_answer_is_lost_is_there_once_and_unmarked() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    big_file(&pair).await;
    pair.telegram
        .script(Rule::on("editMessageMedia"), Trouble::AcceptThenDrop);
    send_big(&pair);
    let seen = shows(&pair, "the file", has_file).await;
    assert_eq!(files(&seen).len(), 1);
    let message = seen.iter().find(|message| message.file.is_some()).unwrap();
    assert_eq!(message.file.as_ref().unwrap().bytes.len(), BIG);
    assert!(!message.text.contains('↻'), "{}", message.text);
    assert_eq!(seen.len(), 2, "{seen:#?}");
    assert_eq!(pair.telegram.calls_of("editMessageMedia").len(), 2);
    assert!(pair.telegram.calls_of("sendDocument").is_empty());
    pair.clean();
}

#[tokio::test]
async fn d2_a_lost_answer_to_a_placeholder_leaves_an_empty_one_at_worst() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    big_file(&pair).await;
    let placeholder = |call: &Call| {
        call.param("text")
            .as_str()
            .is_some_and(|text| text.contains("big.txt"))
    };
    pair.telegram.script(
        Rule::on("sendMessage").when(placeholder),
        Trouble::AcceptThenDrop,
    );
    send_big(&pair);
    let seen = shows(&pair, "the file", has_file).await;
    assert_eq!(files(&seen).len(), 1);
    let left: Vec<&Visible> = seen
        .iter()
        .filter(|message| message.file.is_none() && message.text.contains("big.txt"))
        .collect();
    assert_eq!(left.len(), 1, "{seen:#?}");
    assert!(left[0].text.contains("on its way"), "{}", left[0].text);
    pair.clean();
}

#[tokio::test]
async fn a_placeholder_that_somebody_deleted_does_not_take_the_file_along() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    big_file(&pair).await;
    pair.telegram.script(
        Rule::on("editMessageMedia").always(),
        Trouble::BadRequest("message to edit not found".to_owned()),
    );
    send_big(&pair);
    let seen = shows(&pair, "the file", has_file).await;
    assert_eq!(files(&seen).len(), 1);
    assert_eq!(pair.telegram.calls_of("sendDocument").len(), 1);
    assert!(
        !words(&seen).iter().any(|text| text.contains("on its way")),
        "{seen:#?}"
    );
    pair.clean();
}

#[tokio::test]
async fn d1_an_edit_that_is_told_to_wait_waits_also_across_a_restart() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    big_file(&pair).await;
    pair.telegram
        .script(Rule::on("editMessageMedia"), Trouble::Flood(6));
    send_big(&pair);
    pair.telegram
        .until("the refused edit", |telegram| {
            telegram.calls_of("editMessageMedia").len() == 1
        })
        .await
        .unwrap();
    let refused = pair.telegram.calls_of("editMessageMedia")[0].at;
    let stored = async {
        loop {
            let rows = pair
                .home
                .objects(&["outbox", "list", "--state", "retry"])
                .await;
            if !rows.is_empty() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), stored)
        .await
        .unwrap();
    gateway.kill().await;
    let _gateway = pair.up().await;
    let seen = shows(&pair, "the file", has_file).await;
    assert_eq!(files(&seen).len(), 1);
    let again = pair.telegram.calls_of("editMessageMedia")[1].at;
    assert!(
        again.duration_since(refused) >= Duration::from_secs(6),
        "after {:?}",
        again.duration_since(refused)
    );
    assert!(
        !seen.iter().any(|message| message.text.contains('↻')),
        "{seen:#?}"
    );
    pair.clean();
}

#[tokio::test]
async fn a_very_long_answer_goes_by_placeholders_and_reads_once() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.telegram
        .script(Rule::on("editMessageText").nth(2), Trouble::AcceptThenDrop);
    let text: Vec<String> = (1..=2_500).map(|number| format!("line {number}")).collect();
    pair.script("p", Turn::text(&text.join("\n")));
    pair.ask(A, "count");
    let whole = |seen: &[Visible]| {
        let lines: Vec<String> = words(seen).join("\n").lines().map(str::to_owned).collect();
        lines == text
    };
    let seen = shows(&pair, "all lines, each once", whole).await;
    assert!(seen.len() >= 4);
    pair.clean();
}

#[tokio::test]
async fn what_nobody_knows_is_held_where_the_owner_wants_it_and_the_chat_goes_on() {
    let pair = Pair::in_processes().await;
    let path = pair.home.path().join("tidings.toml");
    let config = std::fs::read_to_string(&path).unwrap();
    let config = config.replace(
        "kind = \"telegram\"\n",
        "kind = \"telegram\"\nwhen_unknown = \"hold\"\n",
    );
    pair.home.write_config(&config);
    let _gateway = pair.up().await;
    pair.telegram
        .script(Rule::on("sendMessage"), Trouble::AcceptThenDrop);
    pair.script("p", Turn::text("pay 100"));
    pair.ask(A, "pay");
    pair.script("p", Turn::text("second"));
    pair.telegram
        .until("the first attempt", |telegram| {
            telegram.calls_of("sendMessage").len() == 1
        })
        .await
        .unwrap();
    pair.ask(A, "and now?");
    let seen = pair.seen(A, 2).await;
    assert_eq!(words(&seen), ["pay 100", "second"]);
    pair.settled().await;
    let held = pair
        .home
        .objects(&["outbox", "list", "--state", "held"])
        .await;
    assert_eq!(held.len(), 1, "{held:#?}");
    let notices = pair.home.objects(&["outbox", "list"]).await;
    let told = notices
        .iter()
        .find(|row| row["account"] == "web" && row["kind"] == "notice")
        .expect("the owner was not told");
    assert_eq!(told["state"], "sent");
    let id = held[0]["id"].as_str().unwrap();
    let output = pair.home.run(&["outbox", "retry", id]).await;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let seen = pair.seen(A, 3).await;
    assert!(
        words(&seen)[2].contains('↻') && words(&seen)[2].contains("pay 100"),
        "{seen:#?}"
    );
    pair.settled().await;
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 3);
    pair.clean();
}

#[tokio::test]
async fn d5_a_bot_whose_calls_hang_holds_up_no_other_bot() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let never = Gate::default();
    pair.telegram.script(
        Rule::on("sendMessage")
            .when(|call| call.token == A)
            .always(),
        Trouble::Hold(never.clone()),
    );
    for number in 1..=10 {
        pair.script("p", Turn::text(&format!("stuck {number}")));
    }
    pair.ask(A, "hello?");
    pair.telegram
        .until("the stuck call", |telegram| {
            !telegram.calls_of("sendMessage").is_empty()
        })
        .await
        .unwrap();
    let began = Instant::now();
    for number in 1..=3 {
        pair.script("q", Turn::text(&format!("answer {number}")));
        pair.ask(B, "hi");
        pair.seen(B, number).await;
    }
    assert_eq!(
        words(&pair.telegram.chat(B, OWNER)),
        ["answer 1", "answer 2", "answer 3"]
    );
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "held up: a stuck call is given up after a minute"
    );
}
