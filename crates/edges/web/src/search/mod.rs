//! Asking a search engine, each in its own words.

mod brave;
mod searxng;
mod tavily;

use std::time::Duration;

use net::{Client, NetError, Request, Response};
use serde::de::DeserializeOwned;
use tool::{Hit, ToolError};
use url::Url;
use waybill::Secret;

/// How long a search may take.
const WITHIN: Duration = Duration::from_secs(20);
/// Largest answer.
const ANSWER: u64 = 4 << 20;
/// Longest query in characters: what the strictest engine takes.
const QUERY: usize = 400;
/// Longest title and longest snippet in characters.
const TITLE: usize = 200;
const SNIPPET: usize = 500;

/// Which kind of engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// SearXNG: one's own.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
}

impl Engine {
    fn name(self) -> &'static str {
        match self {
            Self::Searxng => "SearXNG",
            Self::Brave => "Brave Search",
            Self::Tavily => "Tavily",
        }
    }
}

/// What is searched with.
#[derive(Debug, Clone)]
pub struct Search {
    /// Which kind.
    pub engine: Engine,
    /// Where it is; needed for [`Engine::Searxng`], else the vendor's own address.
    pub url: Option<String>,
    /// Its key; none for an engine that asks for none.
    pub key: Option<Secret>,
}

impl Search {
    /// The address of a path of the engine.
    fn at(&self, usual: Option<&str>, path: &str) -> Result<Url, ToolError> {
        let Some(base) = self.url.as_deref().or(usual) else {
            return Err(self.unusable("no address is set for it: `search_url`"));
        };
        let whole = format!("{}{path}", base.trim_end_matches('/'));
        Url::parse(&whole)
            .map_err(|error| self.unusable(&format!("`search_url` is no address ({error})")))
    }

    fn key(&self) -> Result<&str, ToolError> {
        let key = self
            .key
            .as_ref()
            .map(|key| key.reveal().trim())
            .filter(|key| !key.is_empty());
        key.ok_or_else(|| self.unusable("no key is set for it: `search_key`"))
    }

    fn unusable(&self, why: &str) -> ToolError {
        ToolError::Failed(format!(
            "{} can't be asked: {why} under `web` in tidings.toml",
            self.engine.name()
        ))
    }
}

/// Searches; at most `most` hits, the best first.
pub(crate) async fn search(
    client: &Client,
    search: &Search,
    query: &str,
    most: usize,
) -> Result<Vec<Hit>, ToolError> {
    let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
    if query.is_empty() {
        return Err(ToolError::Failed("the query is empty".to_owned()));
    }
    let query: String = query.chars().take(QUERY).collect();
    let hits = match search.engine {
        Engine::Searxng => searxng::search(client, search, &query).await?,
        Engine::Brave => brave::search(client, search, &query, most).await?,
        Engine::Tavily => tavily::search(client, search, &query, most).await?,
    };
    Ok(hits
        .into_iter()
        .filter(|hit| hit.address.starts_with("http://") || hit.address.starts_with("https://"))
        .map(|hit| Hit {
            title: line(&hit.title, TITLE),
            address: hit.address,
            snippet: line(&hit.snippet, SNIPPET),
        })
        .take(most)
        .collect())
}

/// One line of at most so many characters, without what marks the words that were sought.
fn line(text: &str, most: usize) -> String {
    let bare = text.replace("<strong>", "").replace("</strong>", "");
    let words = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(most).collect()
}

/// Sends a search and reads its answer; `told` says more about a status than anybody could guess.
async fn answer<T: DeserializeOwned>(
    search: &Search,
    request: Request,
    told: impl Fn(u16) -> Option<&'static str>,
) -> Result<T, ToolError> {
    let name = search.engine.name();
    let failed = |error: NetError| match error {
        NetError::Timeout { after, .. } => ToolError::Failed(format!(
            "{name} did not answer within {} seconds; try again",
            after.as_secs()
        )),
        NetError::NotJson { .. } => ToolError::Failed(format!(
            "{name} answered with something that is no list of hits; is the address under `search_url` right?"
        )),
        error @ (NetError::BadUrl { .. }
        | NetError::Forbidden { .. }
        | NetError::Build { .. }
        | NetError::NotSent { .. }
        | NetError::Source { .. }
        | NetError::Ambiguous { .. }
        | NetError::TooLarge { .. }) => {
            ToolError::Failed(format!("{name} can't be asked: {error}"))
        }
    };
    let answer = request
        .header("accept", "application/json")
        .total_timeout(WITHIN)
        .send()
        .await
        .map_err(failed)?;
    if !answer.is_success() {
        return Err(refused(name, &answer, told));
    }
    answer.json_limited(ANSWER).await.map_err(failed)
}

fn refused(name: &str, answer: &Response, told: impl Fn(u16) -> Option<&'static str>) -> ToolError {
    let status = answer.status();
    let usual = match status {
        401 | 403 => "it refused the key: the owner has to put a valid one under `search_key`",
        402 => "its quota is used up; the owner has to pay for more or wait for the next month",
        404 => "there is no search at that address: the owner has to look at `search_url`",
        429 => "it was asked too often; wait a moment, and search less",
        500..=599 => "it is out of order; try again later",
        _ => "it did not understand the search",
    };
    let why = told(status).unwrap_or(usual);
    let wait = match answer.retry_after() {
        Some(wait) if status == 429 => format!(" (it says: again in {} seconds)", wait.as_secs()),
        _ => String::new(),
    };
    ToolError::Failed(format!("{name} answered {status}: {why}{wait}"))
}
