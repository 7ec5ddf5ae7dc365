//! Several keys of one provider.

use std::time::Duration;

use model::{Content, Message, ModelError, ModelPort as _, Reply, Request};
use tidings_model_http::{Api, HttpModel, Options};
use waybill::Secret;

use crate::server::{Said, Server};

const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn answer() -> Said {
    Said::stream("text/event-stream", ANSWER)
}

fn model(server: &Server, keys: &[&str]) -> HttpModel {
    let client = net::Client::new(net::Options::default()).unwrap();
    HttpModel::new(
        client,
        Options {
            api: Api::OpenaiChat,
            api_keys: keys
                .iter()
                .map(|key| Secret::new((*key).to_owned()))
                .collect(),
            ..Options::new("acme", &server.url, "m", None)
        },
    )
}

async fn ask(model: &HttpModel) -> Result<Reply, ModelError> {
    let content = vec![Content::Text {
        text: "hi".to_owned(),
    }];
    let request = Request {
        system: String::new(),
        messages: vec![Message::User { content }],
        tools: Vec::new(),
    };
    model.ask(&request, &mut |_| {}).await
}

/// The keys that the server was asked with, in order.
fn keys(server: &Server) -> Vec<String> {
    let asked = server.asked();
    let bearer = asked
        .iter()
        .filter_map(|one| one.headers.get("authorization"));
    bearer
        .map(|value| value.trim_start_matches("Bearer ").to_owned())
        .collect()
}

#[tokio::test]
async fn a_key_that_is_refused_rests_and_the_next_one_answers() {
    for (status, body) in [
        (401, r#"{"error":{"message":"bad key"}}"#),
        (402, r#"{"error":{"message":"pay"}}"#),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
        ),
    ] {
        let server = Server::start([Said::status(status, body, &[]), answer(), answer()]).await;
        let model = model(&server, &["one", "two"]);
        assert_eq!(ask(&model).await.unwrap().text, "hi", "{status}");
        assert_eq!(ask(&model).await.unwrap().text, "hi", "{status}");
        assert_eq!(keys(&server), ["one", "two", "two"], "{status}");
    }
}

#[tokio::test]
async fn a_key_that_was_asked_too_often_rests_as_long_as_it_is_told() {
    let wait = Said::status(429, "{}", &[("retry-after", "0")]);
    let server = Server::start([wait, answer(), answer()]).await;
    let model = model(&server, &["one", "two"]);
    ask(&model).await.unwrap();
    ask(&model).await.unwrap();
    assert_eq!(keys(&server), ["one", "two", "one"]);
    let wait = Said::status(429, "{}", &[("retry-after", "600")]);
    let server = Server::start([wait, answer(), answer()]).await;
    let model = self::model(&server, &["one", "two"]);
    ask(&model).await.unwrap();
    ask(&model).await.unwrap();
    assert_eq!(keys(&server), ["one", "two", "two"]);
}

#[tokio::test]
async fn what_no_key_can_help_is_asked_once() {
    let broken = Said::status(503, "{}", &[]);
    let server = Server::start([broken, answer()]).await;
    let model = model(&server, &["one", "two"]);
    let told = ask(&model).await.unwrap_err();
    assert!(matches!(told, ModelError::Failed { .. }), "{told}");
    ask(&model).await.unwrap();
    assert_eq!(keys(&server), ["one", "one"]);
}

#[tokio::test]
async fn when_no_key_is_left_the_person_reads_what_helps_and_no_key() {
    let server = Server::start([
        Said::status(
            401,
            r#"{"error":{"message":"bad key first-very-secret"}}"#,
            &[],
        ),
        Said::status(
            429,
            r#"{"error":{"message":"slow down, second-very-secret and first-very-secret"}}"#,
            &[("retry-after", "40")],
        ),
        answer(),
    ])
    .await;
    let model = model(&server, &["first-very-secret", "second-very-secret"]);
    let told = ask(&model).await.unwrap_err();
    assert!(
        !format!("{told} {told:?}").contains("very-secret"),
        "{told}"
    );
    let ModelError::Throttled { after, .. } = told else {
        panic!("{told}")
    };
    assert_eq!(after, Some(Duration::from_secs(40)));
    // Both rest; the one that may be asked sooner is.
    ask(&model).await.unwrap();
    assert_eq!(
        keys(&server),
        [
            "first-very-secret",
            "second-very-secret",
            "second-very-secret"
        ]
    );
}

#[tokio::test]
async fn a_quota_that_ends_in_the_midst_of_an_answer_is_charged_to_its_key() {
    let cut = Said::stream(
        "text/event-stream",
        "data: {\"choices\":[{\"delta\":{\"content\":\"h\"}}]}\n\ndata: {\"error\":{\"code\":429,\"message\":\"slow down\"}}\n\n",
    );
    let server = Server::start([cut, answer()]).await;
    let model = model(&server, &["one", "two"]);
    let told = ask(&model).await.unwrap_err();
    assert!(matches!(told, ModelError::Throttled { .. }), "{told}");
    ask(&model).await.unwrap();
    assert_eq!(keys(&server), ["one", "two"]);
}

#[tokio::test]
async fn without_a_key_nobody_is_named() {
    let server = Server::start([answer()]).await;
    ask(&model(&server, &[])).await.unwrap();
    assert_eq!(keys(&server), [""; 0]);
}
