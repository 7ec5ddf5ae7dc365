//! The report that this product starts from: scenarios S1–S5, S11 and S13. Each file comes from the container that made it.

use std::time::Duration;

use testkit::model_server::{Gate, Turn};

use crate::world::{A, B, OWNER, PATIENCE, Pair, files, words};

/// Both containers alive, both with `/workspace/out.png` of different bytes.
async fn two_profiles() -> Pair {
    Pair::in_docker().await
}

async fn both_have_out_png(pair: &Pair) {
    pair.command("p", A, "printf 'bytes of P' > /workspace/out.png")
        .await;
    pair.command("q", B, "printf 'bytes of Q' > /workspace/out.png")
        .await;
}

#[tokio::test]
async fn s1_two_profiles_same_path_sends_the_producers_bytes() {
    let pair = two_profiles().await;
    let _gateway = pair.up().await;
    both_have_out_png(&pair).await;
    pair.script("q", Turn::text("Here it is.\nMEDIA:/workspace/out.png"));
    pair.ask(B, "send it");
    let seen = pair.seen(B, 3).await;
    pair.settled().await;
    assert_eq!(pair.telegram.chat(B, OWNER).len(), 3);
    assert_eq!(words(&seen), ["prepared", "Here it is."]);
    assert_eq!(files(&seen), [("out.png", b"bytes of Q".as_slice())]);
    assert_eq!(words(&pair.telegram.chat(A, OWNER)), ["prepared"]);
    pair.clean();
}

#[tokio::test]
async fn s2_a_missing_file_is_said_in_the_same_message_and_no_other_bytes_come() {
    let pair = two_profiles().await;
    let _gateway = pair.up().await;
    both_have_out_png(&pair).await;
    pair.command("q", B, "rm /workspace/out.png").await;
    pair.script("q", Turn::text("Here it is.\nMEDIA:/workspace/out.png"));
    // The one chance to correct it: the model insists.
    pair.script("q", Turn::text("Here it is.\nMEDIA:/workspace/out.png"));
    pair.ask(B, "send it");
    let seen = pair.seen(B, 3).await;
    pair.settled().await;
    let seen_now = pair.telegram.chat(B, OWNER);
    assert_eq!(seen_now.len(), 3, "{seen:#?}");
    assert_eq!(
        seen_now.last().unwrap().text,
        "Here it is.\n\n⚠ out.png was not attached: no such file in the sandbox (/workspace/out.png)"
    );
    assert!(files(&seen_now).is_empty());
    assert!(files(&pair.telegram.chat(A, OWNER)).is_empty());
    let told = pair
        .model
        .requests()
        .iter()
        .any(|request| request.last_text("user").contains("could not be attached"));
    assert!(told, "the model had no chance to correct it");
    pair.clean();
}

#[tokio::test]
async fn s3_the_container_is_gone_right_after_the_last_token_and_the_file_arrives() {
    let pair = two_profiles().await;
    let _gateway = pair.up().await;
    both_have_out_png(&pair).await;
    pair.command("q", B, "printf 'in tmpfs' > /tmp/late.png")
        .await;
    let gate = Gate::new();
    pair.script(
        "q",
        Turn::text("Here.\nMEDIA:/tmp/late.png\n")
            .then_text("Bye.")
            .pause_until(&gate),
    );
    pair.ask(B, "send it");
    assert!(gate.reached(PATIENCE).await);
    // The directive was complete before the gate: what follows can only be saved by a copy that was made already.
    wait_for(&pair, "captured").await;
    let container = pair.container("q").await.unwrap();
    let removed = tokio::process::Command::new("docker")
        .args(["rm", "-f", &container])
        .output()
        .await
        .unwrap();
    assert!(removed.status.success());
    gate.release();
    let seen = pair.seen(B, 4).await;
    assert_eq!(files(&seen), [("late.png", b"in tmpfs".as_slice())]);
    pair.clean();
}

/// Waits until the gateway's log tells of something.
async fn wait_for(pair: &Pair, what: &str) {
    let log = pair.home.path().parent().unwrap().join("gateway.log");
    let told = async {
        while !std::fs::read_to_string(&log).unwrap().contains(what) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("the log never told");
}

#[tokio::test]
async fn s4_a_file_in_the_containers_tmpfs_arrives() {
    let pair = two_profiles().await;
    let _gateway = pair.up().await;
    both_have_out_png(&pair).await;
    pair.command(
        "q",
        B,
        "printf 'only in memory' > /tmp/plot.csv; mount | grep -q 'tmpfs on /tmp'",
    )
    .await;
    pair.script("q", Turn::text("MEDIA:/tmp/plot.csv"));
    pair.ask(B, "send it");
    let seen = pair.seen(B, 3).await;
    assert_eq!(files(&seen), [("plot.csv", b"only in memory".as_slice())]);
    pair.clean();
}

#[tokio::test]
async fn s5_a_directive_split_over_deltas_is_never_visible() {
    let pair = two_profiles().await;
    let gateway = pair.up().await;
    both_have_out_png(&pair).await;
    let text = "One moment. Here: MEDIA:/workspace/out.png\nDone";
    let pieces: Vec<String> = text.chars().map(String::from).collect();
    let mut turn = Turn::empty();
    for piece in &pieces {
        turn = turn.then_text(piece).then_pause(Duration::from_millis(3));
    }
    pair.script("q", turn);
    pair.ask(B, "send it");
    let seen = pair.seen(B, 3).await;
    pair.settled().await;
    assert_eq!(pair.telegram.chat(B, OWNER).len(), 3);
    assert_eq!(files(&seen), [("out.png", b"bytes of Q".as_slice())]);
    let said = words(&seen).last().unwrap().to_string();
    assert!(
        said.starts_with("One moment. Here:") && said.ends_with("Done"),
        "{said}"
    );
    for call in pair.telegram.calls() {
        assert!(
            !call.param("text").to_string().contains("MEDIA"),
            "{call:?}"
        );
    }
    assert!(!gateway.log().contains("panicked"));
    pair.clean();
}

fn notices(rows: &[serde_json::Value]) -> usize {
    rows.iter()
        .filter(|row| row["account"] == "web" && row["kind"] == "notice")
        .count()
}

/// All parcels, once a notice to the owner is among them.
async fn told_at_home(pair: &Pair) -> Vec<serde_json::Value> {
    let told = async {
        loop {
            let rows = pair.home.objects(&["outbox", "list"]).await;
            if notices(&rows) > 0 {
                return rows;
            }
        }
    };
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("the owner was not told")
}

#[tokio::test]
async fn s11_a_bot_that_is_down_keeps_its_parts_and_the_other_never_sends_them() {
    let pair = two_profiles().await;
    let gateway = pair.up().await;
    both_have_out_png(&pair).await;
    let gate = Gate::new();
    pair.script(
        "q",
        Turn::text("Here it is.\nMEDIA:/workspace/out.png").pause_until(&gate),
    );
    pair.ask(B, "send it");
    assert!(gate.reached(PATIENCE).await);
    pair.telegram.revoke(B);
    gate.release();
    // The owner is told at home: in the web chat.
    let waiting = told_at_home(&pair).await;
    let row = waiting
        .iter()
        .find(|row| row["account"] == "b" && row["state"] != "sent")
        .expect("no part waits");
    assert_eq!(row["profile"], "q");
    assert_eq!(files(&pair.telegram.chat(A, OWNER)), []);
    assert_eq!(
        pair.telegram.chat(B, OWNER).len(),
        1,
        "sent by a revoked token"
    );
    pair.telegram.restore(B);
    let seen = pair.seen(B, 3).await;
    assert_eq!(words(&seen), ["prepared", "Here it is."]);
    assert_eq!(files(&seen), [("out.png", b"bytes of Q".as_slice())]);
    assert!(files(&pair.telegram.chat(A, OWNER)).is_empty());
    assert_eq!(
        notices(&told_at_home(&pair).await),
        1,
        "the owner is told once"
    );
    assert!(
        !gateway.log().contains(B) && !gateway.log().contains(A),
        "a token stands in the log"
    );
    pair.clean();
}

#[tokio::test]
async fn s13_a_path_of_the_host_is_refused_and_nothing_of_the_host_is_sent() {
    let pair = two_profiles().await;
    let _gateway = pair.up().await;
    both_have_out_png(&pair).await;
    let database = pair
        .home
        .path()
        .join("state/tidings.db")
        .display()
        .to_string();
    let text = format!("Look.\nMEDIA:/etc/passwd\nMEDIA:{database}\nMEDIA:/proc/self/environ");
    pair.script("q", Turn::text(&text));
    pair.script("q", Turn::text(&text));
    pair.ask(B, "send me the host");
    let seen = pair.seen(B, 2).await;
    pair.settled().await;
    let now = pair.telegram.chat(B, OWNER);
    assert_eq!(now.len(), 2, "{seen:#?}");
    assert!(files(&now).is_empty());
    let last = now.last().unwrap().text.clone();
    assert!(last.starts_with("Look."), "{last}");
    for name in ["passwd", "tidings.db", "environ"] {
        assert!(
            last.contains(&format!("⚠ {name} was not attached: ")),
            "{last}"
        );
    }
    pair.clean();
}
