//! The agents' sandboxes, as their owner sees and ends them.

use serde_json::json;
use testkit::http::Ask;

use crate::computers::EVIL;
use crate::world::World;

#[tokio::test]
async fn what_stands_is_told_and_what_can_not_be_asked_hides_nothing() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let told = world
        .send(Ask::get("/api/sandboxes").header("cookie", &cookie))
        .await;
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json().unwrap();
    let one = &told["sandboxes"][0];
    assert_eq!(
        (&one["id"], &one["state"], &one["driver"]),
        (&json!("one"), &json!("running"), &json!("docker"))
    );
    assert_eq!(one["processes"], json!([{ "pid": 7, "command": EVIL }]));
    assert_eq!(
        one["commands"],
        json!([]),
        "another sandbox's commands are told"
    );
    let ran = &told["sandboxes"][1]["commands"][0];
    assert_eq!(
        (&ran["command"], &ran["took"], &ran["failed"]),
        (&json!(EVIL), &json!(1_500), &json!(true))
    );
    assert_eq!(
        told["away"],
        json!([
            "no <engine> answers; start it",
            "ana@<far>:22 can't be reached"
        ])
    );
}

#[tokio::test]
async fn the_page_shows_what_runs_and_an_agents_command_is_never_markup() {
    let world = World::new().await;
    let stranger = world.send(Ask::get("/sandboxes")).await;
    assert_eq!(stranger.status, 401);
    assert!(!stranger.text().contains("debian"));
    let cookie = world.log_in().await;
    let page = world
        .send(Ask::get("/sandboxes").header("cookie", &cookie))
        .await;
    assert_eq!(page.status, 200);
    let html = page.text();
    for shown in [
        "<h2 id=\"name-1\">default</h2>",
        "chat:bot:7",
        "data-stop=\"one\"",
        "3 MB",
        "Runs",
        "Stopped",
        "alert(1)",
        "alert(2)",
        "[exit code 3]",
        "Last commands",
        "of bricks",
        "No sandbox stands",
    ] {
        assert_eq!(
            html.contains(shown),
            shown != "No sandbox stands",
            "{shown}: {html}"
        );
    }
    for forbidden in [
        "<script>",
        "<engine>",
        "<wall>",
        " style=",
        " onclick=",
        "<style",
    ] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[tokio::test]
async fn a_sandbox_is_ended_by_its_owner_and_by_no_other_page() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let path = "/api/sandboxes/one/stop";
    assert_eq!(world.send(Ask::post(path)).await.status, 401);
    let foreign = Ask::post(path)
        .header("cookie", &cookie)
        .header("origin", "https://evil.example");
    assert_eq!(world.send(foreign).await.status, 403);
    assert_eq!(world.computers.ended(), [""; 0]);
    let ended = world.send(Ask::post(path).header("cookie", &cookie)).await;
    assert_eq!(
        (ended.status, ended.json().unwrap()),
        (200, json!({ "stopped": "one" }))
    );
    assert_eq!(world.computers.ended(), ["one"]);
    let again = world.send(Ask::post(path).header("cookie", &cookie)).await;
    assert_eq!(again.status, 404);
    let stubborn = Ask::post("/api/sandboxes/stubborn/stop").header("cookie", &cookie);
    let stubborn = world.send(stubborn).await;
    assert_eq!(stubborn.status, 409);
    assert!(
        stubborn
            .text()
            .contains("it was not ended: the engine hangs")
    );
}
