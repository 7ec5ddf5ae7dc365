//! One bot, one person, and calls as bytes.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tidings_testkit::http::{Answer, Ask};
use tidings_testkit::telegram::{Said, Telegram};

pub(crate) const TOKEN: &str = "42:token";
pub(crate) const ANN: i64 = 111;
pub(crate) const GROUP: i64 = -45;

pub(crate) struct World {
    pub(crate) fake: Telegram,
}

impl World {
    pub(crate) async fn new() -> Self {
        let fake = Telegram::start().await.unwrap();
        fake.add_bot(TOKEN, "bot");
        fake.open_chat(TOKEN, ANN);
        fake.open_chat(TOKEN, GROUP);
        Self { fake }
    }

    fn address(&self) -> SocketAddr {
        let base = self.fake.api_base();
        base.strip_prefix("http://").unwrap().parse().unwrap()
    }

    pub(crate) async fn ask(&self, method: &str, parameters: Value) -> anyhow::Result<Answer> {
        let ask = Ask::post(format!("/bot{TOKEN}/{method}"));
        ask.json(&parameters).send(self.address()).await
    }

    /// The status and the answer.
    pub(crate) async fn call(&self, method: &str, parameters: Value) -> (u16, Value) {
        let answer = self.ask(method, parameters).await.unwrap();
        (answer.status, answer.json().unwrap())
    }

    /// Sends words; the message's id.
    pub(crate) async fn send(&self, text: &str) -> i64 {
        let sent = json!({"chat_id": ANN, "text": text});
        let (status, answer) = self.call("sendMessage", sent).await;
        assert_eq!(status, 200, "{answer}");
        answer["result"]["message_id"].as_i64().unwrap()
    }

    /// A form with one file.
    pub(crate) async fn upload(
        &self,
        method: &str,
        fields: &[(&str, &str)],
        file: (&str, &str, &[u8]),
    ) -> (u16, Value) {
        let mut body = Vec::new();
        for (name, value) in fields {
            let part = format!(
                "--X\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend(part.as_bytes());
        }
        let (field, name, bytes) = file;
        let head = format!(
            "--X\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n"
        );
        body.extend(head.as_bytes());
        body.extend(bytes);
        body.extend(b"\r\n--X--\r\n");
        let answer = Ask::post(format!("/bot{TOKEN}/{method}"))
            .header("content-type", "multipart/form-data; boundary=X")
            .body(body)
            .send(self.address())
            .await
            .unwrap();
        (answer.status, answer.json().unwrap())
    }

    pub(crate) fn say(&self, text: &str) -> i64 {
        self.fake
            .say(TOKEN, Said::text(text).by(ANN, "Ann"))
            .update_id
    }

    /// The ids that `getUpdates` gives.
    pub(crate) async fn updates(&self, offset: i64) -> Vec<i64> {
        let (_, answer) = self.call("getUpdates", json!({"offset": offset})).await;
        let updates = answer["result"].as_array().unwrap();
        updates
            .iter()
            .map(|update| update["update_id"].as_i64().unwrap())
            .collect()
    }

    /// The ledger's calls of a method.
    pub(crate) fn book(&self, method: &str) -> Vec<Value> {
        let ledger = self.fake.ledger();
        let calls = ledger["calls"].as_array().unwrap();
        calls
            .iter()
            .filter(|call| call["method"] == method)
            .cloned()
            .collect()
    }
}
