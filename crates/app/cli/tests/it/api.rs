//! Programs ask by `/v1`, and read what the outbox delivered.

mod again;
mod docs;
mod keys;
mod talking;

use serde_json::{Value, json};
use testkit::http::{Answer, Ask, EventStream};
use testkit::model_server::ModelServer;

use crate::world::{Gateway, Home, PATIENCE};

/// A picture: 1×1, PNG.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A gateway with a scripted model, and a program with a key.
pub(crate) struct World {
    pub(crate) model: ModelServer,
    pub(crate) home: Home,
    pub(crate) gateway: Gateway,
    pub(crate) key: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        let model = ModelServer::start().await.unwrap();
        let home = Home::new();
        home.write_config(&format!(
            "[defaults]\nmodel = \"fake/scripted\"\nsandbox = {{ driver = \"process\" }}\n\
             [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n[profiles.default]\n[profiles.other]\n",
            model.base_url()
        ));
        let key = add_key(&home, "program", "default").await;
        let gateway = Gateway::start(&home, &[]).await;
        Self {
            model,
            home,
            gateway,
            key,
        }
    }

    /// Kills the gateway and starts another on the same home.
    pub(crate) async fn restarted(self) -> Self {
        let Self {
            model,
            home,
            gateway,
            key,
        } = self;
        gateway.kill().await;
        let gateway = Gateway::start(&home, &[]).await;
        Self {
            model,
            home,
            gateway,
            key,
        }
    }

    pub(crate) fn with_key(&self, ask: Ask) -> Ask {
        ask.header("authorization", format!("Bearer {}", self.key))
    }

    pub(crate) fn asking(&self, body: &Value) -> Ask {
        self.with_key(Ask::post("/v1/chat/completions")).json(body)
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        ask.send(self.gateway.address()).await.unwrap()
    }

    /// Asks, and reads a whole answer.
    pub(crate) async fn ask(&self, body: &Value) -> Value {
        let answer = self.send(self.asking(body)).await;
        assert_eq!(
            answer.status,
            200,
            "{}\n{}",
            answer.text(),
            self.gateway.log()
        );
        answer.json().unwrap()
    }

    /// Asks, and reads the answer's pieces to the end.
    pub(crate) async fn streamed(&self, body: &Value) -> Vec<Value> {
        let stream = self.asking(body).listen(self.gateway.address()).await;
        pieces(stream.unwrap()).await
    }

    /// The messages of the model's last request.
    pub(crate) fn told_model(&self) -> Vec<(String, String)> {
        let last = self.model.requests().last().unwrap().clone();
        last.messages()
            .iter()
            .map(|message| {
                let content = match message["content"].as_str() {
                    Some(text) => text.to_owned(),
                    None => message["content"].to_string(),
                };
                (message["role"].as_str().unwrap().to_owned(), content)
            })
            .collect()
    }

    pub(crate) async fn asked_model(&self, count: usize) {
        assert!(
            self.model.wait_for_requests(count, PATIENCE).await,
            "the model was asked {} times",
            self.model.requests().len()
        );
    }
}

pub(crate) async fn add_key(home: &Home, name: &str, profile: &str) -> String {
    let made = home
        .objects(&["api-key", "add", name, "--profile", profile])
        .await;
    made[0]["key"].as_str().unwrap().to_owned()
}

/// A question in the shortest form.
pub(crate) fn question(text: &str) -> Value {
    json!({ "model": "default", "messages": [{ "role": "user", "content": text }] })
}

/// The same, to be streamed.
pub(crate) fn streaming(text: &str) -> Value {
    let mut body = question(text);
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}

/// The words of a whole answer.
pub(crate) fn words(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

/// All pieces of a stream; it must end with its mark.
pub(crate) async fn pieces(mut stream: EventStream) -> Vec<Value> {
    let mut pieces = Vec::new();
    loop {
        let event = stream
            .next()
            .await
            .unwrap()
            .expect("the stream ended without its mark");
        if event.data == "[DONE]" {
            return pieces;
        }
        pieces.push(serde_json::from_str(&event.data).unwrap());
    }
}

/// The words that a stream's pieces make together.
pub(crate) fn joined(pieces: &[Value]) -> String {
    pieces
        .iter()
        .filter_map(|piece| piece["choices"][0]["delta"]["content"].as_str())
        .collect()
}
