//! Delivery when a platform refuses: D3, D5, long answers.

use testkit::model_server::Turn;
use testkit::telegram::{Rule, Trouble};

use crate::world::{A, B, OWNER, Pair, words};

#[tokio::test]
async fn a_long_answer_comes_in_order_and_whole() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let text: Vec<String> = (1..=1_500).map(|number| format!("line {number}")).collect();
    pair.script("p", Turn::text(&text.join("\n")));
    pair.ask(A, "count");
    pair.seen(A, 4).await;
    pair.settled().await;
    let seen = pair.telegram.chat(A, OWNER);
    let joined = words(&seen).join("\n");
    let lines: Vec<&str> = joined.lines().collect();
    assert_eq!(lines.len(), 1_500);
    assert!(
        lines
            .iter()
            .zip(1..)
            .all(|(line, number)| *line == format!("line {number}"))
    );
    pair.clean();
}

#[tokio::test]
async fn d3_a_part_refused_for_good_is_told_and_the_others_come_once() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.command("p", A, "printf 1 > one.txt; printf 2 > two.txt")
        .await;
    let refused =
        |call: &testkit::telegram::Call| call.uploads.iter().any(|upload| upload.name == "one.txt");
    pair.telegram.script(
        Rule::on("sendDocument").when(refused).always(),
        Trouble::BadRequest("wrong file identifier".to_owned()),
    );
    pair.script(
        "p",
        Turn::text("Both.\nMEDIA:/workspace/one.txt\nMEDIA:/workspace/two.txt"),
    );
    pair.ask(A, "send both");
    pair.seen(A, 4).await;
    pair.settled().await;
    let seen = pair.telegram.chat(A, OWNER);
    let shown = words(&seen);
    assert_eq!(shown.iter().filter(|text| **text == "Both.").count(), 1);
    assert_eq!(
        seen.iter().filter(|message| message.file.is_some()).count(),
        1
    );
    let notice = shown
        .iter()
        .find(|text| text.contains("one.txt could not be delivered"))
        .expect("nobody was told");
    assert!(notice.contains("wrong file identifier"), "{notice}");
    assert_eq!(
        pair.telegram.calls_of("sendDocument").len(),
        2,
        "a refused part was sent again"
    );
    assert_eq!(
        pair.home
            .objects(&["outbox", "list", "--state", "failed"])
            .await
            .len(),
        1
    );
    pair.clean();
}

#[tokio::test]
async fn d5_a_chat_that_is_closed_does_not_slow_another_and_the_owner_learns_of_it_at_home() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.telegram.script(
        Rule::on("sendMessage")
            .when(|call| call.token == A)
            .always(),
        Trouble::Forbidden("bot was blocked by the user".to_owned()),
    );
    pair.script("p", Turn::text("nobody reads this"));
    pair.ask(A, "hi");
    pair.script("q", Turn::text("hello"));
    pair.ask(B, "hi");
    let seen = pair.seen(B, 1).await;
    assert_eq!(words(&seen), ["hello"]);
    pair.settled().await;
    let rows = pair.home.objects(&["outbox", "list"]).await;
    let notice = rows
        .iter()
        .find(|row| row["account"] == "web" && row["kind"] == "notice")
        .expect("the owner was not told");
    assert_eq!(notice["state"], "sent");
    assert_eq!(notice["profile"], "p");
    pair.clean();
}
