//! Files in and out.

use chat::{Body, Op, Shape};
use sandbox::{ArtifactRef, Taken};
use serde_json::json;
use testkit::http::Ask;

use crate::world::{LIMIT, World, profile};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01";

#[tokio::test]
async fn an_uploaded_page_never_comes_back_as_a_page_of_ours() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    for (name, bytes) in [
        ("page.html", b"<!doctype html><script>alert(document.cookie)</script>".as_slice()),
        ("cat.png", b"<!doctype html><script>alert(1)</script>"),
        ("x.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
        ("x.svg", b"<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
        ("paper.pdf", b"%PDF-1.7 /JS (app.alert(1))"),
        ("code.js", b"alert(1)"),
        ("x.xhtml", b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'/>"),
    ] {
        let stored = world.upload(&cookie, &conversation, name, bytes).await;
        assert_eq!(stored.status, 201, "{}", stored.text());
        let url = stored.json().unwrap()["url"].as_str().unwrap().to_owned();
        // The name in the address is anybody's to choose, so it must not matter either.
        let hash = url.split('/').nth(3).unwrap();
        for url in [url.clone(), format!("/files/default/{hash}/page.html"), format!("/files/default/{hash}/cat.png")] {
            let file = world.send(Ask::get(&url).header("cookie", &cookie)).await;
            assert_eq!(file.status, 200);
            assert_eq!(file.body, bytes);
            assert_eq!(file.header("content-type"), Some("application/octet-stream"), "{url}");
            assert!(file.header("content-disposition").unwrap().starts_with("attachment;"), "{url}");
            assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(file.header("content-security-policy"), Some("sandbox; default-src 'none'"));
        }
    }
}

#[tokio::test]
async fn a_picture_is_shown_in_place_and_keeps_its_name() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let stored = world
        .upload(&cookie, &conversation, "gr%C3%BC%C3%9Fe.png", PNG)
        .await
        .json()
        .unwrap();
    assert_eq!(stored["name"], "grüße.png");
    let file = world
        .send(Ask::get(stored["url"].as_str().unwrap()).header("cookie", &cookie))
        .await;
    assert_eq!(file.header("content-type"), Some("image/png"));
    assert_eq!(
        file.header("content-disposition"),
        Some("inline; filename=\"gr__e.png\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.png")
    );
    assert_eq!(file.body, PNG);

    let part = Ask::get(stored["url"].as_str().unwrap())
        .header("cookie", &cookie)
        .header("range", "bytes=1-3");
    let part = world.send(part).await;
    assert_eq!((part.status, part.text().as_str()), (206, "PNG"));
    assert_eq!(
        part.header("content-range"),
        Some(format!("bytes 1-3/{}", PNG.len()).as_str())
    );
}

#[tokio::test]
async fn a_kept_file_is_asked_for_each_time_and_not_shown_after_the_logout() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let stored = world
        .upload(&cookie, &conversation, "a.png", PNG)
        .await
        .json()
        .unwrap();
    let url = stored["url"].as_str().unwrap();
    let ask = || Ask::get(url).header("cookie", &cookie);
    let tag = format!("\"{}\"", stored["hash"].as_str().unwrap());
    let first = world.send(ask()).await;
    assert_eq!(first.header("cache-control"), Some("private, no-cache"));
    assert_eq!(first.header("etag"), Some(tag.as_str()));
    for (known, status) in [
        (tag.clone(), 304),
        (format!("W/{tag}"), 304),
        (format!("\"other\", {tag}"), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
        (tag.trim_matches('"').to_owned(), 200),
    ] {
        let again = ask()
            .header("if-none-match", &known)
            .header("range", "bytes=500-");
        let again = world.send(again).await;
        assert_eq!(again.status, status, "{known}");
        assert_eq!(again.header("etag"), Some(tag.as_str()), "{known}");
        assert_eq!(again.header("cache-control"), Some("private, no-cache"));
        assert_eq!(again.body.is_empty(), status == 304, "{known}");
    }
    for (of, status) in [(tag.as_str(), 206), ("\"other\"", 200)] {
        let rest = ask().header("range", "bytes=1-3").header("if-range", of);
        assert_eq!(world.send(rest).await.status, status, "{of}");
    }
    let missing = url.replace(tag.trim_matches('"'), &"00".repeat(32));
    let missing = Ask::get(missing)
        .header("cookie", &cookie)
        .header("if-none-match", "*");
    assert_eq!(world.send(missing).await.status, 404);

    let out = world
        .send(Ask::post("/logout").header("cookie", &cookie))
        .await;
    assert_eq!(out.header("clear-site-data"), Some("\"cache\""));
    let after = world.send(ask().header("if-none-match", &tag)).await;
    assert_eq!(after.status, 401);
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_in_words() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let large = vec![b'x'; usize::try_from(LIMIT).unwrap() + 1];
    let refused = world
        .upload(&cookie, &conversation, "large.bin", &large)
        .await;
    assert_eq!(refused.status, 413);
    let error = refused.json().unwrap();
    assert_eq!(error["error"]["code"], "too_large");
    assert_eq!(
        error["error"]["text"],
        "large.bin is larger than 97 KB, the most that can be sent"
    );
    let just = world
        .upload(&cookie, &conversation, "just.bin", large.get(1..).unwrap())
        .await;
    assert_eq!(just.status, 201);
}

#[tokio::test]
async fn a_message_brings_its_files_along() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let stored = world
        .upload(&cookie, &conversation, "a.png", PNG)
        .await
        .json()
        .unwrap();
    let message = json!({ "id": "m1", "files": [{ "hash": stored["hash"], "name": "a.png" }] });
    assert_eq!(
        world.say(&cookie, &conversation, &message).await.status,
        202
    );
    let heard = world.heard();
    assert_eq!(
        heard[0].files[0].handle.as_str(),
        format!("default/{}", stored["hash"].as_str().unwrap())
    );
    assert_eq!(heard[0].files[0].mime.as_deref(), Some("image/png"));
    let entries = world.entries(&cookie, &conversation).await;
    assert_eq!(entries[0]["files"][0]["look"], "image");
    assert_eq!(entries[0]["files"][0]["url"], stored["url"]);

    let foreign = json!({ "id": "m2", "files": [{ "hash": "00".repeat(32), "name": "a.png" }] });
    assert_eq!(
        world.say(&cookie, &conversation, &foreign).await.status,
        404
    );
    assert_eq!(world.heard().len(), 1);
}

#[tokio::test]
async fn a_document_is_a_card_even_if_it_is_a_picture() {
    let world = World::new().await;
    let cookie = world.log_in().await;
    let conversation = world.conversation(&cookie).await;
    let blob = world.blobs.put(&profile(), "chart.png", PNG);
    let artifact = ArtifactRef {
        profile: profile(),
        blob,
        name: "../chart.png".into(),
        taken: Taken::Received,
    };
    for (key, shape) in [(1, Shape::Photo), (2, Shape::Document)] {
        let caption = Some(Body::Markdown("**Chart**".into()));
        let op = Op::File {
            artifact: artifact.clone(),
            shape,
            caption,
        };
        world.deliver(&conversation, &op, key).await.unwrap();
    }
    let entries = world.entries(&cookie, &conversation).await;
    assert_eq!(entries[0]["files"][0]["look"], "image");
    assert_eq!(entries[0]["files"][0]["name"], "chart.png");
    assert!(
        entries[0]["html"]
            .as_str()
            .unwrap()
            .contains("<strong>Chart</strong>")
    );
    assert_eq!(entries[1]["files"][0]["look"], "card");
}
