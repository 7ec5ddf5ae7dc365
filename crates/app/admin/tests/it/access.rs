//! Who may look, and who may not.

use std::time::Duration;

use crate::admin;
use testkit::http::Ask;

use crate::world::World;

const INSIDE: [&str; 4] = [
    "/api/status",
    "/api/conversations",
    "/api/conversations/x/events",
    "/files/default/00/a.txt",
];

#[tokio::test]
async fn a_stranger_sees_the_gate_and_nothing_else() {
    let world = World::new().await;
    let page = world.send(Ask::get("/")).await;
    assert_eq!(page.status, 401);
    assert!(page.text().contains("tidings login"), "{}", page.text());
    for path in INSIDE {
        for cookie in [
            "",
            "tidings_1=x",
            &format!("tidings_{}=", world.address.port()),
        ] {
            let answer = world.send(Ask::get(path).header("cookie", cookie)).await;
            assert_eq!(
                (answer.status, answer.header("content-type")),
                (401, Some("application/json")),
                "{path}"
            );
            assert_eq!(answer.json().unwrap()["error"]["code"], "logged_out");
        }
    }
    let write = world
        .send(Ask::post("/api/conversations").json(&serde_json::json!({ "profile": "default" })))
        .await;
    assert_eq!(write.status, 401);
    assert_eq!(world.send(Ask::get("/health")).await.text(), "ok");
    assert_eq!(world.send(Ask::get("/ready")).await.status, 200);
}

#[tokio::test]
async fn a_login_link_works_once() {
    let world = World::new().await;
    let link = world.link().await;
    // A program that only looks whether the link is there does not use it up.
    assert_eq!(world.send(Ask::head(&link)).await.status, 204);
    let open = Ask::get(&link);
    let first = world.send(open.clone()).await;
    assert_eq!((first.status, first.header("location")), (303, Some("/")));
    let cookie = first.header("set-cookie").unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let second = world.send(open).await;
    assert_eq!(second.status, 401);
    assert!(second.header("set-cookie").is_none());
    assert!(second.text().contains("can’t be used any more"));

    let cookie = cookie.split(';').next().unwrap();
    let page = world.send(Ask::get("/").header("cookie", cookie)).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("id=\"composer\""));
}

#[tokio::test]
async fn a_link_and_a_session_grow_old() {
    let world = World::new().await;
    let link = world.link().await;
    world.clock.advance(admin::LINK_LIVES);
    assert_eq!(world.send(Ask::get(link)).await.status, 401);

    let cookie = world.log_in().await;
    world.clock.advance(Duration::from_secs(29 * 24 * 3600));
    assert_eq!(
        world
            .send(Ask::get("/api/status").header("cookie", &cookie))
            .await
            .status,
        200
    );
    world.clock.advance(Duration::from_secs(2 * 24 * 3600));
    assert_eq!(
        world
            .send(Ask::get("/api/status").header("cookie", &cookie))
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn after_logging_out_the_old_cookie_opens_nothing() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    assert_eq!(
        world
            .send(Ask::post("/logout").header("cookie", &cookie))
            .await
            .status,
        204
    );
    assert_eq!(
        world
            .send(Ask::get("/api/status").header("cookie", &cookie))
            .await
            .status,
        401
    );
    let get = world
        .send(Ask::get("/logout").header("cookie", &cookie))
        .await;
    assert_eq!(get.status, 405);
}

#[tokio::test]
async fn a_rebound_name_reaches_nothing() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let port = world.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1:1".to_owned(),
        String::new(),
    ] {
        for path in ["/", "/health", "/api/status", &world.link().await] {
            let answer = world
                .send(
                    Ask::get(path)
                        .header("host", &host)
                        .header("cookie", &cookie),
                )
                .await;
            assert_eq!(answer.status, 421, "{host} {path}");
            assert!(answer.header("set-cookie").is_none());
        }
    }
    let ours = world.send(
        Ask::get("/api/status")
            .header("host", format!("localhost:{port}"))
            .header("cookie", &cookie),
    );
    assert_eq!(ours.await.status, 200);
}

#[tokio::test]
async fn another_page_changes_nothing_although_the_cookie_comes_along() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let say = format!("/api/conversations/{conversation}/messages");
    let body = serde_json::json!({ "id": "m1", "text": "hi" });
    for origin in [
        "https://evil.example",
        "http://localhost:8080",
        "null",
        "http://127.0.0.1",
    ] {
        let post = Ask::post(&say)
            .header("cookie", &cookie)
            .header("origin", origin)
            .json(&body);
        assert_eq!(world.send(post).await.status, 403, "{origin}");
        let stream = Ask::get(format!("/api/conversations/{conversation}/events"));
        assert_eq!(
            world
                .send(stream.header("cookie", &cookie).header("origin", origin))
                .await
                .status,
            403,
            "{origin}"
        );
        let out = Ask::post("/logout")
            .header("cookie", &cookie)
            .header("origin", origin);
        assert_eq!(world.send(out).await.status, 403, "{origin}");
    }
    let sister = Ask::get("/api/conversations")
        .header("cookie", &cookie)
        .header("sec-fetch-site", "same-site");
    assert_eq!(world.send(sister).await.status, 403);
    assert!(world.heard().is_empty());

    let own = format!("http://{}", world.address);
    let post = Ask::post(&say)
        .header("cookie", &cookie)
        .header("origin", own)
        .json(&body);
    assert_eq!(world.send(post).await.status, 202);
}

#[tokio::test]
async fn pages_load_nothing_from_elsewhere_and_hold_no_inline_script() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    for (name, page) in [
        ("gate", world.send(Ask::get("/")).await),
        (
            "chat",
            world.send(Ask::get("/").header("cookie", &cookie)).await,
        ),
    ] {
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        let text = page.text();
        for forbidden in [
            "<script>",
            " style=",
            " onclick=",
            "<style",
            "http://",
            "https://",
        ] {
            assert!(!text.contains(forbidden), "{name} has {forbidden}");
        }
        for part in text.split('"').filter(|part| part.starts_with("/assets/")) {
            let asset = world.send(Ask::get(part)).await;
            assert_eq!(asset.status, 200, "{part}");
            assert!(
                asset.header("cache-control").unwrap().contains("immutable"),
                "{part}"
            );
        }
    }
}

#[tokio::test]
async fn a_page_that_looks_does_not_keep_the_gateway_from_stopping() {
    let mut world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let ask =
        Ask::get(format!("/api/conversations/{conversation}/events")).header("cookie", &cookie);
    let mut stream = ask.listen(world.address).await.unwrap();
    stream.until("idle").await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), world.stop())
        .await
        .unwrap();
    assert_eq!(stream.next().await.unwrap(), None);
}
