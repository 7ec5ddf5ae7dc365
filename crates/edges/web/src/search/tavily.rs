//! Tavily: `POST /search` (API reference, 2026: `max_results` up to 20).

use net::Client;
use serde::Deserialize;
use serde_json::json;
use tool::{Hit, ToolError};

use super::{Search, answer};

const USUAL: &str = "https://api.tavily.com";
const MOST: usize = 20;

#[derive(Deserialize)]
struct Answer {
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
    content: Option<String>,
}

pub(super) async fn search(
    client: &Client,
    search: &Search,
    query: &str,
    most: usize,
) -> Result<Vec<Hit>, ToolError> {
    let url = search.at(Some(USUAL), "/search")?;
    let request = client
        .post(url.as_str())
        .bearer(search.key()?)
        .json(&json!({
            "query": query,
            "max_results": most.clamp(1, MOST),
            "search_depth": "basic",
        }));
    let answer: Answer = answer(search, request, |status| match status {
        432 | 433 => {
            Some("its quota is used up; the owner has to pay for more or wait for the next month")
        }
        _ => None,
    })
    .await?;
    Ok(answer
        .results
        .into_iter()
        .map(|found| Hit {
            title: found.title.unwrap_or_default(),
            address: found.url,
            snippet: found.content.unwrap_or_default(),
        })
        .collect())
}
