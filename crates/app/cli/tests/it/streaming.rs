//! Large files go through a gateway that stays small.

use testkit::http::Ask;
use testkit::model_server::Turn;
use testkit::telegram::Telegram;

use crate::world::{A, Gateway, OWNER, Pair, files};

/// Bytes of the upload.
const UPLOAD: usize = 200 << 20;
/// What bots may send, a little less.
const ATTACHED: usize = 47_000_000;
/// How much a gateway may grow meanwhile.
const GROWTH: u64 = 16 << 20;

/// The most memory that the gateway had in hand since it was last asked, in bytes.
fn peak(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes << 10
}

/// Begins to count anew (`proc(5)`, clear_refs 5).
fn reset(gateway: &Gateway) -> u64 {
    std::fs::write(format!("/proc/{}/clear_refs", gateway.pid()), "5").unwrap();
    peak(gateway)
}

fn assert_small(gateway: &Gateway, before: u64, what: &str) {
    let grown = peak(gateway).saturating_sub(before);
    assert!(
        grown < GROWTH,
        "{what}: the gateway grew by {} KB",
        grown >> 10
    );
}

#[tokio::test]
async fn files_far_larger_than_the_gateway_pass_through_it() {
    let pair = Pair::in_processes().await;
    let file = pair.home.path().join("tidings.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let large = config.replace(
        "[defaults]",
        "[defaults]\nlimits.attachment_bytes = \"300m\"",
    );
    std::fs::write(&file, large).unwrap();
    let gateway = pair.up().await;

    let cookie = gateway.log_in().await;
    let ask = |ask: Ask| ask.header("cookie", cookie.clone());
    let origin = format!("http://{}", gateway.address());
    let made = ask(Ask::post("/api/conversations"))
        .header("origin", origin.clone())
        .json(&serde_json::json!({ "profile": "p" }))
        .send(gateway.address())
        .await
        .unwrap()
        .json()
        .unwrap();
    let id = made["id"].as_str().unwrap_or_else(|| panic!("{made}"));
    let before = reset(&gateway);
    let sent = ask(Ask::post(format!(
        "/api/conversations/{id}/files?name=big.bin"
    )))
    .header("origin", origin)
    .body(vec![7; UPLOAD])
    .send(gateway.address())
    .await
    .unwrap();
    assert_eq!(sent.status, 201, "{}", sent.text());
    assert_small(&gateway, before, "an upload");
    let url = sent.json().unwrap()["url"].as_str().unwrap().to_owned();
    let before = reset(&gateway);
    let got = ask(Ask::get(url)).send(gateway.address()).await.unwrap();
    assert_eq!(got.body.len(), UPLOAD);
    assert_small(&gateway, before, "a download");
    drop(got);

    pair.command("p", A, &format!("truncate -s {ATTACHED} big.bin"))
        .await;
    let before = reset(&gateway);
    pair.script("p", Turn::text("MEDIA:/workspace/big.bin"));
    pair.ask(A, "send it");
    let whole = |telegram: &Telegram| {
        let seen = telegram.chat(A, OWNER);
        files(&seen)
            .iter()
            .any(|(_, bytes)| bytes.len() == ATTACHED)
    };
    pair.telegram.until("the whole file", whole).await.unwrap();
    assert_small(&gateway, before, "a file for a bot's chat");
    pair.clean();
}
