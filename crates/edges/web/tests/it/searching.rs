//! Search engines, each as its own documentation has it.

use serde_json::json;
use tidings_web::{Engine, Search};
use tool::Web as _;
use waybill::Secret;

use crate::site::Site;

fn search(site: &Site, engine: Engine) -> Search {
    Search {
        engine,
        url: Some(format!("http://{}/", site.at)),
        key: (engine != Engine::Searxng).then(|| Secret::new("very-secret-key".to_owned())),
    }
}

const JSON: (&str, &str) = ("content-type", "application/json");

fn path(engine: Engine) -> &'static str {
    match engine {
        Engine::Searxng | Engine::Tavily => "/search",
        Engine::Brave => "/res/v1/web/search",
    }
}

#[tokio::test]
async fn every_engine_is_asked_in_its_own_words() {
    let hit = |text: &str| {
        json!({
            "url": "https://a.example/", "title": " A\n title ", text: "some <strong>words</strong>  of it", "more": [1],
        })
    };
    for (engine, answer) in [
        (
            Engine::Searxng,
            json!({ "query": "x", "results": [hit("content"), { "url": "javascript:x" }, { "title": "no url" }] }),
        ),
        (
            Engine::Brave,
            json!({ "type": "search", "web": { "results": [hit("description")] } }),
        ),
        (
            Engine::Tavily,
            json!({ "results": [hit("content")], "answer": null }),
        ),
    ] {
        let site = Site::start().await;
        site.says(path(engine), 200, &[JSON], answer.to_string().as_bytes());
        let web = site.web_with(Some(search(&site, engine)));
        assert!(web.searches());
        let hits = web.search(" rust &\n tokio ", 7).await.unwrap();
        assert_eq!(hits.len(), 1, "{engine:?}");
        assert_eq!(hits[0].title, "A title");
        assert_eq!(hits[0].address, "https://a.example/");
        assert_eq!(hits[0].snippet, "some words of it");
        let asked = site.asked().remove(0);
        let (line, rest) = asked.split_once("\r\n").unwrap();
        assert!(!line.contains("secret"), "{line}");
        match engine {
            Engine::Searxng => {
                assert_eq!(line, "GET /search?q=rust+%26+tokio&format=json HTTP/1.1")
            }
            Engine::Brave => {
                assert_eq!(
                    line,
                    "GET /res/v1/web/search?q=rust+%26+tokio&count=7&text_decorations=false HTTP/1.1"
                );
                assert!(
                    rest.contains("x-subscription-token: very-secret-key\r\n"),
                    "{rest}"
                );
            }
            Engine::Tavily => {
                assert_eq!(line, "POST /search HTTP/1.1");
                assert!(
                    rest.contains("authorization: Bearer very-secret-key\r\n"),
                    "{rest}"
                );
                let body = rest.split("\r\n\r\n").nth(1).unwrap();
                let body: serde_json::Value = serde_json::from_str(body).unwrap();
                assert_eq!(
                    body,
                    json!({ "query": "rust & tokio", "max_results": 7, "search_depth": "basic" })
                );
            }
        }
    }
}

#[tokio::test]
async fn what_went_wrong_says_what_to_do_and_holds_no_key() {
    for (engine, status, words) in [
        (Engine::Searxng, 403, "search.formats"),
        (Engine::Searxng, 404, "search_url"),
        (Engine::Searxng, 429, "again in 7 seconds"),
        (Engine::Brave, 401, "search_key"),
        (Engine::Brave, 422, "search_key"),
        (Engine::Brave, 429, "asked too often"),
        (Engine::Tavily, 401, "search_key"),
        (Engine::Tavily, 432, "quota"),
        (Engine::Tavily, 500, "out of order"),
        (Engine::Tavily, 200, "no list of hits"),
    ] {
        let site = Site::start().await;
        let echo = b"<p>your key very-secret-key is wrong";
        site.says(path(engine), status, &[("retry-after", "7")], echo);
        let told = site
            .web_with(Some(search(&site, engine)))
            .search("x", 5)
            .await
            .unwrap_err()
            .to_string();
        assert!(told.contains(words), "{engine:?} {status}: {told}");
        assert!(!told.contains("very-secret"), "{told}");
    }
}

#[tokio::test]
async fn an_engine_that_is_not_set_up_says_what_is_missing() {
    let site = Site::start().await;
    let bare = |engine| Search {
        engine,
        url: None,
        key: None,
    };
    for (search, words) in [
        (bare(Engine::Searxng), "search_url"),
        (bare(Engine::Brave), "search_key"),
        (bare(Engine::Tavily), "search_key"),
        (
            Search {
                url: Some("nonsense".to_owned()),
                ..bare(Engine::Searxng)
            },
            "search_url",
        ),
    ] {
        let told = site
            .web_with(Some(search))
            .search("x", 5)
            .await
            .unwrap_err()
            .to_string();
        assert!(told.contains(words), "{told}");
    }
    let none = site.web();
    assert!(!none.searches());
    assert!(none.search("x", 5).await.is_err());
    let empty = site.web_with(Some(search(&site, Engine::Searxng)));
    assert!(empty.search("  ", 5).await.is_err());
    assert_eq!(site.asked().len(), 0);
}
