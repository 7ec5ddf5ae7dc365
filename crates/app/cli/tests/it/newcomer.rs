//! The first minutes: N1, N3, N4, and what the command line answers.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::http::Ask;

use crate::world::{Gateway, Home, PATIENCE, tidings};

/// Says something in a new web conversation; returns the conversation's id.
async fn say(gateway: &Gateway, cookie: &str, text: &str) -> String {
    let opened = Ask::post("/api/conversations")
        .header("cookie", cookie)
        .json(&json!({ "profile": "default" }))
        .send(gateway.address())
        .await
        .unwrap();
    assert!(opened.status < 300, "{}", opened.text());
    let id = opened.json().unwrap()["id"].as_str().unwrap().to_owned();
    let said = Ask::post(format!("/api/conversations/{id}/messages"))
        .header("cookie", cookie)
        .json(&json!({ "id": format!("client-{id}"), "text": text, "files": [] }))
        .send(gateway.address())
        .await
        .unwrap();
    assert!(said.status < 300, "{}", said.text());
    id
}

async fn until(gateway: &Gateway, cookie: &str, id: &str, holds: impl Fn(&str) -> bool) -> Value {
    let look = async {
        loop {
            let answer = Ask::get(format!("/api/conversations/{id}/messages"))
                .header("cookie", cookie)
                .send(gateway.address())
                .await
                .unwrap();
            if holds(&answer.text()) {
                return answer.json().unwrap();
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, look)
        .await
        .unwrap_or_else(|_late| panic!("it never came: {}", gateway.log()))
}

#[tokio::test]
async fn n1_with_no_account_anywhere_a_chat_answers_runs_a_command_and_delivers_a_picture() {
    let home = Home::new();
    let gateway = Gateway::start(&home, &[("DOCKER_HOST", "unix:///nowhere/docker.sock")]).await;
    let mode = std::fs::metadata(home.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    let cookie = gateway.log_in().await;
    let id = say(&gateway, &cookie, "Draw me a chart of 3, 5, 8").await;
    let messages = until(&gateway, &cookie, &id, |text| {
        text.contains("chart.png") && text.contains("/files/")
    })
    .await;
    let text = messages.to_string();
    let path = text
        .split('"')
        .find(|part| part.starts_with("/files/"))
        .unwrap();
    let picture = Ask::get(path)
        .header("cookie", &cookie)
        .send(gateway.address())
        .await
        .unwrap();
    assert_eq!(picture.status, 200);
    assert!(
        picture.body.starts_with(b"\x89PNG"),
        "{} bytes",
        picture.body.len()
    );
    assert_eq!(picture.header("content-type"), Some("image/png"));
    let stranger = Ask::get(path).send(gateway.address()).await.unwrap();
    assert_ne!(stranger.status, 200);
}

#[tokio::test]
async fn the_login_link_works_once() {
    let home = Home::new();
    let gateway = Gateway::start(&home, &[]).await;
    gateway.log_in().await;
    let (_, path) = gateway
        .login()
        .split_once(&gateway.address().to_string())
        .unwrap();
    let again = Ask::get(path).send(gateway.address()).await.unwrap();
    assert!(again.header("set-cookie").is_none());
    let fresh = home.run(&["login"]).await;
    assert!(
        fresh.status.success(),
        "{}",
        String::from_utf8_lossy(&fresh.stderr)
    );
    let link = String::from_utf8(fresh.stdout).unwrap();
    let (_, path) = link
        .trim()
        .split_once(&gateway.address().to_string())
        .unwrap();
    let answer = Ask::get(path).send(gateway.address()).await.unwrap();
    assert!(answer.header("set-cookie").is_some());
    assert!(
        !gateway.log().contains("token="),
        "a login token stands in the log"
    );
}

#[tokio::test]
async fn n3_a_typo_is_told_with_file_line_column_and_the_nearest_key() {
    let home = Home::new();
    home.write_config("[profiles.default]\nmodle = \"demo\"\n");
    for arguments in [["config", "check"].as_slice(), ["up"].as_slice()] {
        let output = home.run(arguments).await;
        assert_eq!(output.status.code(), Some(78), "{arguments:?}");
        let all = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(all.contains("tidings.toml:2:1: "), "{all}");
        assert!(all.contains("modle") && all.contains("'model'"), "{all}");
    }
}

#[tokio::test]
async fn n4_without_docker_and_with_docker_asked_for_the_person_is_told_what_to_do() {
    let home = Home::new();
    home.write_config("[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"docker\" }\n");
    let gateway = Gateway::start(&home, &[("DOCKER_HOST", "unix:///nowhere/docker.sock")]).await;
    let cookie = gateway.log_in().await;
    let id = say(&gateway, &cookie, "run `id`").await;
    let messages = until(&gateway, &cookie, &id, |text| {
        text.contains("/nowhere/docker.sock")
    })
    .await;
    let text = messages.to_string();
    assert!(!text.contains("uid="), "it ran on the host: {text}");
}

#[tokio::test]
async fn a_home_that_others_can_read_is_refused_with_the_command_that_helps() {
    let home = Home::new();
    home.write_config("");
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = home.run(&["up"]).await;
    assert_eq!(output.status.code(), Some(78));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("chmod"), "{said}");
}

#[tokio::test]
async fn a_second_gateway_on_the_same_home_is_refused_by_name() {
    let home = Home::new();
    let gateway = Gateway::start(&home, &[]).await;
    let output = home.run(&["up", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(&gateway.pid().to_string()), "{said}");
}

#[tokio::test]
async fn a_port_that_is_taken_moves_to_the_next_and_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let home = Home::new();
    home.write_config(&format!("[gateway]\nlisten = \"{address}\"\n"));
    let gateway = Gateway::start_on(&home, None, &[]).await;
    assert_ne!(gateway.address().port(), address.port());
    assert_eq!(gateway.summary["instead_of"], address.to_string());
    let health = Ask::get("/health").send(gateway.address()).await.unwrap();
    assert_eq!(health.status, 200);
    // Asked for by hand, an address is taken as it is or refused.
    let other = Home::new();
    let output = other.run(&["up", "--listen", &address.to_string()]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains(&address.to_string())
    );
}

#[tokio::test]
async fn the_command_line_answers_programs_and_people() {
    let version = tidings().arg("--version").output().await.unwrap();
    assert!(
        String::from_utf8(version.stdout)
            .unwrap()
            .starts_with("tidings ")
    );
    let wrong = tidings().arg("nonsense").output().await.unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let home = Home::new();
    home.write_config("[profiles.work]\nmodel = \"demo\"\n");
    let rows = home.objects(&["config", "show"]).await;
    assert!(rows.iter().any(|row| row["key"] == "profiles.work.model"
        && row["value"].as_str().unwrap().contains("demo")));
    let schema = home.run(&["config", "schema"]).await;
    assert!(
        serde_json::from_slice::<Value>(&schema.stdout)
            .unwrap()
            .is_object()
    );
    let path = home.run(&["config", "path"]).await;
    assert!(
        String::from_utf8(path.stdout)
            .unwrap()
            .trim()
            .ends_with("tidings.toml")
    );
}
