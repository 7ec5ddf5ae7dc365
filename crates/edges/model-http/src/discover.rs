//! Model servers on this machine, for `model = "auto"`.

use std::time::Duration;

use futures_util::future::join_all;
use net::Client;
use serde_json::Value;

use crate::codec::Api;

/// A server that is not there refuses at once; one that is answers quickly.
const PATIENCE: Duration = Duration::from_millis(300);
const LONGEST_LIST: u64 = 1 << 20;
/// Words in the names of models that don't chat.
const NO_CHAT: &[&str] = &[
    "embed",
    "rerank",
    "bge-",
    "minilm",
    "whisper",
    "tts",
    "clip",
    "stable-diffusion",
    "flux",
];

/// A place where a server may listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub provider: String,
    /// The protocol that serves it best; its models are listed in the same way on all.
    pub api: Api,
    /// The address, without `/models`.
    pub base_url: String,
}

/// A server that answered, and a model of it that chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The server's name.
    pub provider: String,
    /// The protocol that serves it best.
    pub api: Api,
    /// The address, without the protocol's own path.
    pub base_url: String,
    /// The model.
    pub model: String,
}

/// Where the usual local servers listen, in the order in which `auto` prefers them.
#[must_use]
pub fn local() -> Vec<Candidate> {
    [
        ("ollama", Api::Ollama, 11434),
        ("llamacpp", Api::OpenaiChat, 8080),
        ("lmstudio", Api::OpenaiChat, 1234),
    ]
    .map(|(provider, api, port)| Candidate {
        provider: provider.to_owned(),
        api,
        base_url: format!("http://127.0.0.1:{port}/v1"),
    })
    .to_vec()
}

/// Asks the usual local servers, all at once; takes at most 300 ms.
pub async fn probe_local(client: &Client) -> Option<Found> {
    probe(client, &local()).await
}

/// Asks servers, all at once; the first of the list that has a model which chats.
pub async fn probe(client: &Client, candidates: &[Candidate]) -> Option<Found> {
    let answers = join_all(candidates.iter().map(|candidate| ask(client, candidate))).await;
    answers.into_iter().flatten().next()
}

async fn ask(client: &Client, candidate: &Candidate) -> Option<Found> {
    let url = format!("{}/models", candidate.base_url.trim_end_matches('/'));
    let answer = client.get(&url).total_timeout(PATIENCE).send().await.ok()?;
    if !answer.is_success() {
        return None;
    }
    let list: Value = answer.json_limited(LONGEST_LIST).await.ok()?;
    Some(Found {
        provider: candidate.provider.clone(),
        api: candidate.api,
        base_url: candidate.base_url.clone(),
        model: first_that_chats(&list)?,
    })
}

fn first_that_chats(list: &Value) -> Option<String> {
    let names = list
        .get("data")?
        .as_array()?
        .iter()
        .filter_map(|one| one.get("id")?.as_str());
    names.map(str::to_owned).find(|name| {
        let name = name.to_lowercase();
        !name.is_empty() && !NO_CHAT.iter().any(|word| name.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_embedding_model_does_not_chat() {
        for (names, expected) in [
            (
                json!(["nomic-embed-text", "qwen3:8b", "llama4"]),
                Some("qwen3:8b"),
            ),
            (json!(["bge-m3", "all-MiniLM-L6-v2"]), None),
            (json!([]), None),
            (json!(["/models/some.gguf"]), Some("/models/some.gguf")),
        ] {
            let data: Vec<Value> = names
                .as_array()
                .unwrap()
                .iter()
                .map(|name| json!({ "id": name }))
                .collect();
            assert_eq!(
                first_that_chats(&json!({ "data": data })).as_deref(),
                expected,
                "{names}"
            );
        }
        for odd in [
            json!(null),
            json!({}),
            json!({ "data": null }),
            json!({ "data": [1, {}, { "id": 2 }] }),
        ] {
            assert_eq!(first_that_chats(&odd), None, "{odd}");
        }
    }
}
