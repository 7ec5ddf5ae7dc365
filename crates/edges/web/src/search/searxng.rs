//! SearXNG: `GET /search?format=json` (Search API of its documentation, 2026).

use net::Client;
use serde::Deserialize;
use tool::{Hit, ToolError};

use super::{Search, answer};

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
) -> Result<Vec<Hit>, ToolError> {
    let mut url = search.at(None, "/search")?;
    url.query_pairs_mut()
        .append_pair("q", query)
        .append_pair("format", "json");
    let mut request = client.get(url.as_str());
    // Not of SearXNG itself: of a proxy that somebody put before it.
    if search.key.is_some() {
        request = request.bearer(search.key()?);
    }
    let answer: Answer = answer(search, request, |status| match status {
        403 => Some(
            "it gives no JSON: the owner has to add `json` to `search.formats` in its settings.yml",
        ),
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
