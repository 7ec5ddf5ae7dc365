//! A model behind an HTTP address.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use model::{DeltaSink, ModelError, ModelPort, Reply, Request};
use net::sse;
use net::{Client, NetError, Response};
use tokio::time::Instant;
use waybill::Secret;

use crate::failure::Speaker;
use crate::openai_chat::{Decoder, Effort, Limits, Progress, encode};

/// How much of an error's body is read.
const ERROR_BODY: u64 = 64 << 10;
/// How long an error's body may take.
const ERROR_WAIT: Duration = Duration::from_secs(10);
/// An event repeats the text in JSON, where a character may take six bytes.
const ENVELOPE: usize = 64 << 10;

/// Where a model is and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// The provider's name, for people: `openrouter`.
    pub provider: String,
    /// The address up to and without `/chat/completions`.
    pub base_url: String,
    /// The key; local servers need none.
    pub api_key: Option<Secret>,
    /// The model's name at the provider.
    pub model: String,
    /// Silence between two pieces. 120 s by default.
    pub idle: Duration,
    /// From the request to the first piece of the answer: a local server may have to load the model and read the whole prompt. 300 s by default.
    pub first_piece: Duration,
    /// How long usage and `[DONE]` may follow the finish reason; the answer itself is whole by then. 5 s by default.
    pub after_finish: Duration,
    /// Bounds of an answer.
    pub limits: Limits,
}

impl Options {
    /// With the usual times and bounds.
    #[must_use]
    pub fn new(provider: &str, base_url: &str, model: &str, api_key: Option<Secret>) -> Self {
        Self {
            provider: provider.to_owned(),
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_key,
            model: model.to_owned(),
            idle: Duration::from_secs(120),
            first_piece: Duration::from_secs(300),
            after_finish: Duration::from_secs(5),
            limits: Limits::default(),
        }
    }
}

/// A model over the chat completions protocol.
#[derive(Debug)]
pub struct HttpModel {
    client: Client,
    options: Options,
    name: String,
    url: String,
    speaker: Speaker,
    /// The model was heard to take tools only without reasoning.
    unreasoning: AtomicBool,
}

impl HttpModel {
    /// A model; nothing is asked yet.
    #[must_use]
    pub fn new(client: Client, options: Options) -> Self {
        Self {
            client,
            name: format!("{}/{}", options.provider, options.model),
            url: format!(
                "{}/chat/completions",
                options.base_url.trim_end_matches('/')
            ),
            speaker: Speaker::new(&options.provider, options.api_key.clone()),
            unreasoning: AtomicBool::new(false),
            options,
        }
    }

    async fn send(&self, request: &Request) -> Result<Response, ModelError> {
        let effort = if self.unreasoning.load(Ordering::Relaxed) {
            Effort::None
        } else {
            Effort::Unsaid
        };
        let body = encode(request, &self.options.model, effort);
        let mut call = self
            .client
            .post(&self.url)
            .header("accept", "text/event-stream, application/json")
            .json(&body)
            .answer_timeout(self.options.first_piece)
            .read_timeout(self.options.first_piece);
        if let Some(key) = &self.options.api_key {
            call = call.bearer(key.reveal());
        }
        call.send().await.map_err(|error| self.speaker.net(error))
    }

    async fn refusal(&self, answer: Response) -> (u16, String, ModelError) {
        let (status, after) = (answer.status(), answer.retry_after());
        let body = match tokio::time::timeout(ERROR_WAIT, answer.bytes_limited(ERROR_BODY)).await {
            Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(Err(_)) | Err(_) => String::new(),
        };
        let error = self.speaker.status(status, after, &body);
        (status, body, error)
    }

    async fn whole(&self, answer: Response, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let limit = (self.options.limits.bytes * 2 + ENVELOPE) as u64;
        let body = answer
            .bytes_limited(limit)
            .await
            .map_err(|error| self.speaker.net(error))?;
        let mut decoder = Decoder::of(self.speaker.clone(), self.options.limits);
        decoder
            .feed_whole(&String::from_utf8_lossy(&body))
            .into_iter()
            .for_each(deltas);
        decoder.finish()
    }

    async fn stream(
        &self,
        mut answer: Response,
        begun: Instant,
        deltas: DeltaSink<'_>,
    ) -> Result<Reply, ModelError> {
        let mut events = sse::Decoder::new(self.options.limits.bytes * 2 + ENVELOPE);
        let mut decoder = Decoder::of(self.speaker.clone(), self.options.limits);
        loop {
            let progress = decoder.progress();
            let wait = match progress {
                Progress::Over => return decoder.finish(),
                // Comments keep the connection alive, and are no progress.
                Progress::Waiting => self.options.first_piece.saturating_sub(begun.elapsed()),
                Progress::Growing => self.options.idle,
                Progress::Finishing => self.options.after_finish,
            };
            let piece = answer.chunk_within(wait).await;
            match piece {
                Ok(Some(bytes)) => {
                    let found = events
                        .feed(&bytes)
                        .map_err(|error| self.speaker.failed(error.to_string()))?;
                    for event in found {
                        decoder.feed(&event).into_iter().for_each(&mut *deltas);
                    }
                }
                Ok(None) => break,
                Err(NetError::Timeout { .. }) if progress == Progress::Finishing => {
                    return decoder.finish();
                }
                Err(NetError::Timeout { .. }) if progress == Progress::Waiting => {
                    return Err(self.speaker.silent(self.options.first_piece));
                }
                Err(error @ NetError::Timeout { .. }) => return Err(self.speaker.net(error)),
                Err(error) => return Err(self.speaker.broke_off(error.to_string())),
            }
        }
        match events.finish() {
            Ok(Some(last)) if !is_cut(&last) => decoder.feed(&last).into_iter().for_each(deltas),
            Ok(Some(_)) => {
                return Err(self
                    .speaker
                    .broke_off("it ended inside an event".to_owned()));
            }
            Ok(None) => {}
            Err(error) => return Err(self.speaker.broke_off(error.to_string())),
        }
        decoder.finish()
    }
}

/// An event at the end without its empty line may lack its tail as well.
fn is_cut(last: &sse::Event) -> bool {
    let data = last.data.trim();
    !data.is_empty() && data != "[DONE]" && serde_json::from_str::<serde_json::Value>(data).is_err()
}

/// Newer reasoning models of one vendor refuse tools over this protocol unless they are told not to reason.
fn wants_no_reasoning(status: u16, body: &str) -> bool {
    status == 400
        && body.contains("reasoning_effort")
        && (body.contains("not supported") || body.contains("none"))
}

#[async_trait]
impl ModelPort for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let begun = Instant::now();
        let mut answer = self.send(request).await?;
        if !answer.is_success() {
            let (status, body, error) = self.refusal(answer).await;
            let may_help = wants_no_reasoning(status, &body) && !request.tools.is_empty();
            // A request that was refused as malformed was never worked on, so this is no second attempt at the same one.
            if !may_help || self.unreasoning.swap(true, Ordering::Relaxed) {
                return Err(error);
            }
            answer = self.send(request).await?;
            if !answer.is_success() {
                return Err(self.refusal(answer).await.2);
            }
        }
        let kind = answer
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.contains("text/html") {
            return Err(self.speaker.failed(
                "it answered with a web page; is base_url right? It often ends in /v1".to_owned(),
            ));
        }
        if kind.contains("application/json") {
            self.whole(answer, deltas).await
        } else {
            self.stream(answer, begun, deltas).await
        }
    }
}
