//! Brave Search: `GET /res/v1/web/search` (API reference, 2026: `count` up to 20, `q` up to 400 characters and 50 words).

use net::Client;
use serde::Deserialize;
use tool::{Hit, ToolError};

use super::{Search, answer};

const USUAL: &str = "https://api.search.brave.com";
const MOST: usize = 20;
const WORDS: usize = 50;

#[derive(Deserialize)]
struct Answer {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

pub(super) async fn search(
    client: &Client,
    search: &Search,
    query: &str,
    most: usize,
) -> Result<Vec<Hit>, ToolError> {
    let mut url = search.at(Some(USUAL), "/res/v1/web/search")?;
    let words: Vec<&str> = query.split(' ').take(WORDS).collect();
    url.query_pairs_mut()
        .append_pair("q", &words.join(" "))
        .append_pair("count", &most.clamp(1, MOST).to_string())
        .append_pair("text_decorations", "false");
    let request = client
        .get(url.as_str())
        .secret_header("x-subscription-token", search.key()?);
    let answer: Answer = answer(search, request, |status| match status {
        // It says 422 to a key of another shape.
        422 => Some("it refused the key or the query: the owner has to look at `search_key`"),
        _ => None,
    })
    .await?;
    let found = answer.web.map(|web| web.results).unwrap_or_default();
    Ok(found
        .into_iter()
        .map(|found| Hit {
            title: found.title.unwrap_or_default(),
            address: found.url,
            snippet: found.description.unwrap_or_default(),
        })
        .collect())
}
