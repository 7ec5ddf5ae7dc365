//! Servers of tools, as their owner sees and accepts them.

use std::sync::Mutex;

use crate::admin::{ToolOffer, ToolServer, ToolServerState, ToolServers, ToolWaiting};
use serde_json::json;
use waybill::ProfileId;

use testkit::http::Ask;

use crate::world::World;

/// A server whose tool changed; the yes is taken once.
#[derive(Default)]
pub(crate) struct Switchboard {
    accepted: Mutex<Vec<String>>,
}

/// What a server that means harm says of its tool.
const EVIL: &str = "Adds.</pre><script>alert(9)</script>";

impl ToolServers for Switchboard {
    fn standing(&self) -> Vec<ToolServer> {
        vec![ToolServer {
            profile: "default".parse().unwrap(),
            name: "calc".to_owned(),
            state: ToolServerState::Changed,
            cause: Some("tools are different: <b>add</b>".to_owned()),
            tries: 0,
            tools: vec![ToolOffer {
                name: "calc__sub".to_owned(),
                description: "Subtracts.".to_owned(),
                reads_only: true,
            }],
            waiting: vec![ToolWaiting {
                name: "add".to_owned(),
                description: EVIL.to_owned(),
            }],
            question: Some("abc".to_owned()),
        }]
    }

    fn accept(&self, profile: &ProfileId, server: &str, question: &str) -> Result<(), String> {
        if question != "abc" {
            return Err("what calc offers changed again".to_owned());
        }
        self.accepted
            .lock()
            .unwrap()
            .push(format!("{profile}/{server}"));
        Ok(())
    }
}

#[tokio::test]
async fn the_page_shows_what_waits_and_a_servers_words_are_never_markup() {
    let world = World::new().await;
    let stranger = world.send(Ask::get("/servers")).await;
    assert_eq!(stranger.status, 401);
    assert!(!stranger.text().contains("calc"));
    let cookie = world.log_in().await;
    let page = world
        .send(Ask::get("/servers").header("cookie", &cookie))
        .await;
    assert_eq!(page.status, 200);
    let html = page.text();
    for shown in [
        "calc",
        "Changed",
        "alert(9)",
        "calc__sub",
        "only reads, it says",
        "data-question=\"abc\"",
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    for forbidden in ["<script>", "<b>add", " style=", " onclick=", "<style"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[tokio::test]
async fn what_waits_is_accepted_by_its_owner_for_what_was_shown_and_by_no_other_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let path = "/api/mcp/default/calc/accept";
    let yes = json!({ "question": "abc" });
    assert_eq!(world.send(Ask::post(path).json(&yes)).await.status, 401);
    let foreign = Ask::post(path)
        .json(&yes)
        .header("cookie", &cookie)
        .header("origin", "https://evil.example");
    assert_eq!(world.send(foreign).await.status, 403);
    let stale = Ask::post(path)
        .json(&json!({ "question": "old" }))
        .header("cookie", &cookie);
    assert_eq!(world.send(stale).await.status, 409);
    assert!(world.switchboard.accepted.lock().unwrap().is_empty());
    let other = Ask::post("/api/mcp/default/none/accept")
        .json(&yes)
        .header("cookie", &cookie);
    assert_eq!(world.send(other).await.status, 404);
    let accepted = world
        .send(Ask::post(path).json(&yes).header("cookie", &cookie))
        .await;
    assert_eq!(
        (accepted.status, accepted.json().unwrap()),
        (200, json!({ "accepted": "calc" }))
    );
    assert_eq!(
        *world.switchboard.accepted.lock().unwrap(),
        ["default/calc"]
    );
    let listed = world
        .send(Ask::get("/api/mcp").header("cookie", &cookie))
        .await;
    assert_eq!(listed.json().unwrap()["servers"][0]["state"], "changed");
}
