//! Who may ask.

use serde_json::{Value, json};
use testkit::http::{Answer, Ask};
use testkit::model_server::Turn;

use super::{World, add_key, question};

fn error(answer: &Answer) -> Value {
    answer.json().unwrap()["error"].clone()
}

#[tokio::test]
async fn without_a_key_that_holds_nothing_is_answered_and_nothing_else_opens_v1() {
    let world = World::new().await;
    let cookie = world.gateway.log_in().await;
    let body = question("hi");
    let bare = || Ask::post("/v1/chat/completions").json(&body);
    for ask in [
        bare(),
        bare().header("cookie", cookie.clone()),
        bare().header("authorization", format!("Basic {}", world.key)),
        bare().header("x-api-key", world.key.clone()),
        bare().header("authorization", "Bearer tdg_0000"),
        Ask::get("/v1/models").header("cookie", cookie.clone()),
        Ask::get("/v1/nothing"),
    ] {
        let answer = world.send(ask).await;
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        let error = error(&answer);
        assert_eq!(
            (&error["code"], &error["type"]),
            (&json!("invalid_api_key"), &json!("invalid_request_error"))
        );
        assert!(error["message"].is_string() && error.get("param").is_some());
    }
    // Nor does a key open what is the owner's.
    for path in ["/api/status", "/api/conversations", "/api/outbox"] {
        assert_eq!(
            world.send(world.with_key(Ask::get(path))).await.status,
            401,
            "{path}"
        );
    }
    // A page of another place asks with nobody's key.
    let foreign = world.asking(&body).header("origin", "https://evil.example");
    let answer = world.send(foreign).await;
    assert_eq!(answer.status, 403);
    assert!(error(&answer)["message"].is_string(), "{}", answer.text());
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn a_model_is_the_profile_of_the_key() {
    let world = World::new().await;
    let listed = world
        .send(world.with_key(Ask::get("/v1/models")))
        .await
        .json()
        .unwrap();
    assert_eq!(listed["object"], "list");
    let ids: Vec<&str> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["default"]);
    let one = world
        .send(world.with_key(Ask::get("/v1/models/default")))
        .await;
    assert_eq!(one.json().unwrap()["object"], "model");
    for name in ["other", "gpt-4o", ""] {
        let mut body = question("hi");
        body["model"] = json!(name);
        let answer = world.send(world.asking(&body)).await;
        assert_eq!(answer.status, 404, "{name}");
        assert_eq!(error(&answer)["code"], "model_not_found");
    }
    assert_eq!(
        world
            .send(world.with_key(Ask::get("/v1/models/other")))
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .send(world.with_key(Ask::get("/v1/models")).header("x", "y"))
            .await
            .status,
        200
    );
    let put = world.send(world.with_key(Ask::post("/v1/models"))).await;
    assert!(matches!(put.status, 404 | 405), "{}", put.status);
    let responses = world
        .send(world.with_key(Ask::post("/v1/responses")).json(&json!({})))
        .await;
    assert_eq!(responses.status, 404);
    assert!(
        error(&responses)["message"]
            .as_str()
            .unwrap()
            .contains("/v1/chat/completions")
    );
    assert!(world.model.requests().is_empty());
}

#[tokio::test]
async fn what_is_wrong_is_named_before_anything_runs() {
    let world = World::new().await;
    for (body, status, param) in [
        (json!({ "messages": [] }), 400, json!("model")),
        (json!({ "model": "default" }), 400, json!("messages")),
        (
            json!({ "model": "default", "messages": [{ "role": "user", "content": " " }] }),
            400,
            json!("messages"),
        ),
        (
            json!({ "model": "default", "messages": [{ "role": "user", "content": "x" }], "n": 3 }),
            400,
            json!("n"),
        ),
        (json!([]), 400, json!("")),
    ] {
        let answer = world.send(world.asking(&body)).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
        assert_eq!(error(&answer)["param"], param, "{body}");
    }
    let broken = world
        .with_key(Ask::post("/v1/chat/completions"))
        .body("{\"model\":");
    assert_eq!(world.send(broken).await.status, 400);
    let bad_session = world
        .asking(&question("hi"))
        .header("x-tidings-session", "a/b");
    assert_eq!(
        error(&world.send(bad_session).await)["param"],
        "X-Tidings-Session"
    );
    let large = vec![b' '; (20 << 20) + 1];
    let large = world
        .send(
            world
                .with_key(Ask::post("/v1/chat/completions"))
                .body(large),
        )
        .await;
    assert_eq!(large.status, 413);
    assert_eq!(error(&large)["code"], "request_too_large");
    assert!(world.model.requests().is_empty());
    assert!(world.home.objects(&["outbox", "list"]).await.is_empty());
}

#[tokio::test]
async fn keys_are_made_listed_and_revoked_beside_a_running_gateway() {
    let world = World::new().await;
    let key = add_key(&world.home, "late", "other").await;
    assert!(key.starts_with("tdg_") && key.len() == 68, "{key}");
    let ask = || {
        let mut body = question("hi");
        body["model"] = json!("other");
        Ask::post("/v1/chat/completions")
            .header("authorization", format!("Bearer {key}"))
            .json(&body)
    };
    world.model.push(Turn::text("hello"));
    assert_eq!(world.send(ask()).await.status, 200);
    let listed = world.home.objects(&["api-key", "list"]).await;
    let names: Vec<&str> = listed
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["late", "program"]);
    assert!(listed[0]["last_used_at"].is_string() && listed[1]["last_used_at"].is_null());
    assert!(!format!("{listed:?}").contains(&key));

    for (arguments, says) in [
        (
            vec!["api-key", "add", "late", "--profile", "other"],
            "revoke it first",
        ),
        (
            vec!["api-key", "add", "late", "--profile", "default"],
            "choose another name",
        ),
        (
            vec!["api-key", "add", "new", "--profile", "nobody"],
            "there is no profile 'nobody'",
        ),
        (
            vec!["api-key", "revoke", "nobody"],
            "no key named 'nobody' holds",
        ),
    ] {
        let output = world.home.run(&arguments).await;
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
    assert_eq!(
        world
            .home
            .run(&["api-key", "add", "Bad Name", "-p", "default"])
            .await
            .status
            .code(),
        Some(2)
    );

    assert!(
        world
            .home
            .run(&["api-key", "revoke", "late"])
            .await
            .status
            .success()
    );
    assert_eq!(world.send(ask()).await.status, 401);
    let fresh = add_key(&world.home, "late", "other").await;
    assert_ne!(fresh, key);
    assert_eq!(world.send(ask()).await.status, 401);
    // Neither the database nor the log holds the key.
    let state = world.home.path().join("state");
    for file in std::fs::read_dir(state).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes
                .windows(fresh.len())
                .any(|part| part == fresh.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
    assert!(!world.gateway.log().contains(&key));
}

#[tokio::test]
async fn who_guesses_keys_is_slowed_down_and_nobody_else() {
    let world = World::new().await;
    let guess = |number: usize| {
        Ask::get("/v1/models").header("authorization", format!("Bearer tdg_{number}"))
    };
    let mut slowed = None;
    for number in 0..200 {
        let answer = world.send(guess(number)).await;
        if answer.status == 429 {
            slowed = Some(answer);
            break;
        }
        assert_eq!(answer.status, 401);
    }
    let slowed = slowed.expect("nobody was slowed down");
    assert!(slowed.header("retry-after").is_some());
    assert_eq!(error(&slowed)["code"], "rate_limit_exceeded");
    assert_eq!(
        world
            .send(world.with_key(Ask::get("/v1/models")))
            .await
            .status,
        200
    );
}
