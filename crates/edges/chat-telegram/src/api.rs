//! Calls of the Bot API.

use std::time::Duration;

use chat::Fault;
use net::{Client, Multipart, Request, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use waybill::{AccountId, Secret};

use crate::classify::{Effect, classify, unanswered};

/// Largest answer (Bot API: getUpdates answers with at most 4 MiB).
const ANSWER: u64 = 8 << 20;
/// After the last byte of an upload the platform may still work on it.
const UPLOAD: Duration = Duration::from_secs(120);
/// For ordinary calls.
const CALL: Duration = Duration::from_secs(60);

#[derive(Deserialize)]
struct Envelope<T> {
    ok: bool,
    result: Option<T>,
}

pub(crate) struct Api {
    account: AccountId,
    token: Secret,
    base: String,
    client: Client,
}

impl Api {
    pub(crate) fn new(account: AccountId, token: Secret, base: &str, client: Client) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        Self {
            account,
            token,
            base,
            client,
        }
    }

    fn post(&self, method: &str) -> Request {
        self.client.post(&format!(
            "{}/bot{}/{method}",
            self.base,
            self.token.reveal()
        ))
    }

    /// A call with JSON parameters.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        effect: Effect,
        method: &str,
        parameters: &impl Serialize,
    ) -> Result<T, Fault> {
        self.finish(
            effect,
            self.post(method).json(parameters).answer_timeout(CALL),
        )
        .await
    }

    /// A call that waits for news, and is given up after `patience`.
    pub(crate) async fn wait<T: DeserializeOwned>(
        &self,
        method: &str,
        parameters: &impl Serialize,
        patience: Duration,
    ) -> Result<T, Fault> {
        let request = self
            .post(method)
            .json(parameters)
            .answer_timeout(patience)
            .total_timeout(patience);
        self.finish(Effect::Repeatable, request).await
    }

    /// A call with a file.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        effect: Effect,
        method: &str,
        form: Multipart,
    ) -> Result<T, Fault> {
        self.finish(
            effect,
            self.post(method).multipart(form).answer_timeout(UPLOAD),
        )
        .await
    }

    async fn finish<T: DeserializeOwned>(
        &self,
        effect: Effect,
        request: Request,
    ) -> Result<T, Fault> {
        let lost = |error: net::NetError| self.clean(unanswered(effect, &error));
        let response = request.send().await.map_err(lost)?;
        let (status, retry_after) = (response.status(), response.retry_after());
        let body = match response.bytes_limited(ANSWER).await {
            Ok(body) => body,
            // The status alone says enough of a refusal.
            Err(_cut) if !(200..300).contains(&status) => bytes::Bytes::new(),
            Err(error) => return Err(lost(error)),
        };
        if (200..300).contains(&status)
            && let Ok(Envelope {
                ok: true,
                result: Some(result),
            }) = serde_json::from_slice(&body)
        {
            return Ok(result);
        }
        Err(self.clean(classify(&self.account, effect, status, retry_after, &body)))
    }

    /// The first bytes of a file.
    pub(crate) async fn open(&self, path: &str) -> Result<Response, Fault> {
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.reveal());
        let lost = |error: net::NetError| self.clean(unanswered(Effect::Repeatable, &error));
        let response = self
            .client
            .get(&url)
            .answer_timeout(CALL)
            .send()
            .await
            .map_err(lost)?;
        if response.is_success() {
            return Ok(response);
        }
        let (status, retry_after) = (response.status(), response.retry_after());
        let body = response.bytes_limited(ANSWER).await.unwrap_or_default();
        Err(self.clean(classify(
            &self.account,
            Effect::Repeatable,
            status,
            retry_after,
            &body,
        )))
    }

    /// Whatever the platform or a proxy repeats of our address, the token is not in it.
    fn clean(&self, mut fault: Fault) -> Fault {
        fault.text = fault.text.replace(self.token.reveal(), "•••");
        fault
    }
}
