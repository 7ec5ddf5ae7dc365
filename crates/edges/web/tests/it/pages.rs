//! Pages, texts and files.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tool::{ToolError, Web as _};

use crate::site::{Does, Site};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const HTML: (&str, &str) = ("content-type", "text/html");

#[tokio::test]
async fn a_page_is_read_with_its_title_and_the_address_where_it_was_found() {
    let site = Site::start().await;
    site.says("/old", 301, &[("location", "/new/page")], b"");
    let html = b"<title>Gr\xfc\xdfe</title><p>Hello <a href=more>more</a>".as_slice();
    let headers = [
        ("content-type", "text/html; charset=iso-8859-1"),
        ("content-encoding", "gzip"),
    ];
    site.says("/new/page", 200, &headers, &gzip(html));
    let page = site.web().fetch(&site.url("/old")).await.unwrap();
    assert_eq!(page.address, site.url("/new/page"));
    assert_eq!(page.title.as_deref(), Some("Grüße"));
    assert_eq!(
        page.text,
        format!("Hello [more]({})", site.url("/new/more"))
    );
    assert_eq!((page.mime.as_str(), page.cut), ("text/html", false));
    let head = site.asked().remove(0);
    assert!(
        head.contains("accept-encoding: gzip, deflate\r\n"),
        "{head}"
    );
    assert!(
        head.contains("user-agent: Mozilla/5.0 (compatible; tidings/"),
        "{head}"
    );
}

#[tokio::test]
async fn texts_come_as_they_are() {
    let site = Site::start().await;
    for (kind, body) in [
        ("application/json", "{\"a\": [1, 2]}"),
        ("text/plain; charset=utf-8", "<b>ü</b>"),
        ("application/rss+xml", "<rss><item/></rss>"),
        ("text/csv", "a;b"),
    ] {
        site.says("/x", 200, &[("content-type", kind)], body.as_bytes());
        let page = site.web().fetch(&site.url("/x")).await.unwrap();
        assert_eq!(page.text, body);
        assert_eq!(page.title, None);
    }
    site.says("/x", 200, &[], b"<!doctype html><p>hi");
    assert_eq!(site.web().fetch(&site.url("/x")).await.unwrap().text, "hi");
    site.says("/x", 200, &[], b"just words");
    assert_eq!(
        site.web().fetch(&site.url("/x")).await.unwrap().text,
        "just words"
    );
    site.says("/x", 204, &[], b"");
    assert_eq!(site.web().fetch(&site.url("/x")).await.unwrap().text, "");
}

#[tokio::test]
async fn a_file_is_named_and_not_read() {
    let site = Site::start().await;
    // If its body were read, the page would never come.
    let head =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\ncontent-length: 99999\r\n\r\n%PDF";
    site.does("/a.pdf", Does::Stops(head.to_vec()));
    let page = site.web().fetch(&site.url("/a.pdf")).await.unwrap();
    assert_eq!(
        (page.mime.as_str(), page.text.as_str()),
        ("application/pdf", "")
    );
    site.says(
        "/b",
        200,
        &[("content-type", "application/octet-stream")],
        b"\0\x01\x02",
    );
    let page = site.web().fetch(&site.url("/b")).await.unwrap();
    assert_eq!(
        (page.mime.as_str(), page.text.as_str()),
        ("application/octet-stream", "")
    );
}

#[tokio::test]
async fn a_file_is_fetched_whole_or_not_at_all() {
    let site = Site::start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let headers = [
        ("content-type", "image/png"),
        ("content-disposition", "attachment; filename=\"a b.png\""),
    ];
    site.says("/x", 200, &headers, &bytes);
    let web = site.web();
    let got = web.download(&site.url("/x"), 10_000).await.unwrap();
    assert_eq!(
        (got.file.name.as_str(), got.file.mime.as_str()),
        ("a b.png", "image/png")
    );
    assert_eq!(got.file.bytes, bytes);
    let told = web.download(&site.url("/x"), 9_999).await.unwrap_err();
    assert!(
        told.to_string().contains("larger than 9999 bytes"),
        "{told}"
    );
    site.says(
        "/bomb",
        200,
        &[("content-encoding", "gzip")],
        &gzip(&vec![0; 1 << 20]),
    );
    let told = web.download(&site.url("/bomb"), 9_999).await.unwrap_err();
    assert!(
        told.to_string().contains("larger than 9999 bytes"),
        "{told}"
    );
    site.does(
        "/half",
        Does::Answers(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec()),
    );
    assert!(web.download(&site.url("/half"), 9_999).await.is_err());
}

#[tokio::test]
async fn a_page_without_end_and_a_bomb_are_cut() {
    let site = Site::start().await;
    let long = "<p>word word word</p>".repeat(400_000);
    site.says("/long", 200, &[HTML], long.as_bytes());
    site.says(
        "/bomb",
        200,
        &[("content-type", "text/plain"), ("content-encoding", "gzip")],
        &gzip(&vec![b'x'; 20 << 20]),
    );
    let web = site.web();
    for path in ["/long", "/bomb"] {
        let page = web.fetch(&site.url(path)).await.unwrap();
        assert!(page.cut, "{path}");
        assert!(page.text.len() <= 5 << 20, "{path}: {}", page.text.len());
    }
}

#[tokio::test]
async fn an_answer_without_end_is_read_to_the_limit_and_no_further() {
    let site = Site::start().await;
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n";
    site.does("/endless", Does::GoesOn(head.to_vec()));
    let web = site.web();
    let page = web.fetch(&site.url("/endless")).await.unwrap();
    assert!(page.cut && page.text.starts_with("word word word"));
    // What waits in the system's buffers was written as well.
    assert!(site.poured() < 30 << 20, "{}", site.poured());
    let told = web
        .download(&site.url("/endless"), 100_000)
        .await
        .unwrap_err();
    assert!(
        told.to_string().contains("larger than 100000 bytes"),
        "{told}"
    );
    assert!(site.poured() < 60 << 20, "{}", site.poured());
}

#[tokio::test]
async fn what_went_wrong_is_said() {
    let site = Site::start().await;
    site.says("/gone", 410, &[], b"");
    site.says("/secret", 403, &[], b"");
    site.says("/busy", 429, &[], b"");
    site.says("/broken", 502, &[], b"");
    site.says("/nowhere", 302, &[], b"");
    site.says("/packed", 200, &[HTML, ("content-encoding", "br")], b"xx");
    site.does(
        "/half",
        Does::Answers(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\nhalf".to_vec(),
        ),
    );
    site.does("/silent", Does::Stops(Vec::new()));
    site.does(
        "/slow",
        Does::Stops(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\nhalf".to_vec(),
        ),
    );
    let web = site.web();
    for (path, words) in [
        ("/none", "answered 404: there is nothing"),
        ("/gone", "answered 410: there is nothing"),
        ("/secret", "not to programs"),
        ("/busy", "asked too often"),
        ("/broken", "out of order"),
        ("/nowhere", "leads on without saying where"),
        ("/packed", "packed as 'br'"),
        ("/half", "connection broke"),
        ("/silent", "did not answer within"),
        ("/slow", "did not answer within"),
    ] {
        let told = web.fetch(&site.url(path)).await;
        let Err(ToolError::Failed(why)) = &told else {
            panic!("{path}: {told:?}");
        };
        assert!(why.contains(words), "{path}: {why}");
        assert!(!why.contains(path), "{why}");
    }
    let told = web.fetch("http://unknown.example/").await.unwrap_err();
    assert!(told.to_string().contains("name is not known"), "{told}");
}

#[tokio::test]
async fn reading_on_asks_nobody_again() {
    let site = Site::start().await;
    site.says("/x", 200, &[HTML], b"<p>one");
    let web = site.web();
    let first = web.fetch(&site.url("/x")).await.unwrap();
    site.says("/x", 200, &[HTML], b"<p>two");
    assert_eq!(web.fetch(&site.url("/x")).await.unwrap(), first);
    assert_eq!(site.asked().len(), 1);
    assert_eq!(site.web().fetch(&site.url("/x")).await.unwrap().text, "two");
}

#[tokio::test]
async fn a_page_that_is_given_up_leaves_its_place_free() {
    let site = Site::start().await;
    site.does("/silent", Does::Stops(Vec::new()));
    site.says("/x", 200, &[HTML], b"<p>one");
    let web = site.web();
    for _ in 0..40 {
        let url = site.url("/silent");
        let fetch = web.fetch(&url);
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(5), fetch)
                .await
                .is_err()
        );
    }
    assert_eq!(web.fetch(&site.url("/x")).await.unwrap().text, "one");
}
