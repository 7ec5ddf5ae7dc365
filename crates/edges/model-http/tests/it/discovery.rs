use net::{Client, Options};
use testkit::model_server::ModelServer;
use tidings_model_http::Api;
use tidings_model_http::discover::{Candidate, probe};
use tokio::net::TcpListener;

fn candidate(provider: &str, base_url: &str) -> Candidate {
    Candidate {
        provider: provider.to_owned(),
        api: Api::OpenaiChat,
        base_url: base_url.to_owned(),
    }
}

#[tokio::test]
async fn the_first_server_with_a_model_that_chats_is_found() {
    let client = Client::new(Options::default()).unwrap();
    let (only_embeds, chats) = (
        ModelServer::start().await.unwrap(),
        ModelServer::start().await.unwrap(),
    );
    only_embeds.list_models(&["nomic-embed-text"]);
    chats.list_models(&["nomic-embed-text", "qwen3:8b"]);
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_url = format!("http://{}/v1", silent.local_addr().unwrap());
    let all = [
        candidate("gone", "http://127.0.0.1:1/v1"),
        candidate("silent", &silent_url),
        candidate("embeds", only_embeds.base_url()),
        candidate("chats", chats.base_url()),
    ];
    let found = probe(&client, &all).await.unwrap();
    assert_eq!(
        (found.provider.as_str(), found.model.as_str()),
        ("chats", "qwen3:8b")
    );
    assert_eq!(found.base_url, chats.base_url());
    assert_eq!(probe(&client, &all[..3]).await, None);
}
