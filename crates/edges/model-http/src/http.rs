//! A model behind an HTTP address.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use model::{DeltaSink, Facts, ModelError, ModelPort, Reply, Request};
use net::sse::Event;
use net::{Client, NetError, Response};
use serde_json::Value;
use tokio::time::Instant;
use waybill::Secret;

use crate::answer::{Decode, Limits, Progress};
use crate::codec::{Api, Shape};
use crate::failure::Speaker;
use crate::gemini::Unsigned;
use crate::keyring::{Fault, Keyring, Place, kinder};
use crate::manner::{Eyes, Form, Manner, Thinking};
use crate::openai_chat::Effort;
use crate::openai_responses::Sealed;
use crate::remedy;

/// How much of an error's body is read.
const ERROR_BODY: u64 = 64 << 10;
/// How long an error's body may take.
const ERROR_WAIT: Duration = Duration::from_secs(10);
/// An event repeats the text in JSON, where a character may take six bytes.
const ENVELOPE: usize = 64 << 10;
/// Ways of asking that are tried for one question.
const MOST_REMEDIES: usize = 5;

/// Where a model is and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// The provider's name, for people: `openrouter`.
    pub provider: String,
    /// Which protocol it speaks. Chat completions by default.
    pub api: Api,
    /// The address up to and without the protocol's own path: for chat completions, what stands before `/chat/completions`.
    pub base_url: String,
    /// The keys, in the order in which they are tried; local servers need none. One that is refused, has no credit left or has used
    /// up its quota rests, and the next one is asked with.
    pub api_keys: Vec<Secret>,
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
    /// The window that a local server is told to keep, in tokens (Ollama's `num_ctx`). More needs more memory. 32,768 by default.
    pub context: u32,
    /// Most tokens of an answer, for the protocol that demands a bound (Anthropic's `max_tokens`). 32,000 by default; a model that can do
    /// less says so and is asked again.
    pub max_output: u32,
    /// What the owner says of the model; nothing by default. A window that a local server is told to keep is known without a word.
    pub facts: Facts,
    /// How hard it thinks; `None`, the default, leaves it to the provider. A model that has no such thing is asked without.
    pub thinking: Option<Thinking>,
}

impl Options {
    /// With the usual times and bounds.
    #[must_use]
    pub fn new(provider: &str, base_url: &str, model: &str, api_key: Option<Secret>) -> Self {
        Self {
            provider: provider.to_owned(),
            api: Api::OpenaiChat,
            base_url: base_url.trim_end_matches('/').to_owned(),
            api_keys: api_key.into_iter().collect(),
            model: model.to_owned(),
            idle: Duration::from_secs(120),
            first_piece: Duration::from_secs(300),
            after_finish: Duration::from_secs(5),
            limits: Limits::default(),
            context: 32_768,
            max_output: 32_000,
            facts: Facts::default(),
            thinking: None,
        }
    }
}

/// A model over one of the protocols.
#[derive(Debug)]
pub struct HttpModel {
    client: Client,
    options: Options,
    name: String,
    url: String,
    speaker: Speaker,
    keys: Keyring,
    /// How it wants to be asked, as far as it was heard.
    shape: Mutex<Shape>,
}

impl HttpModel {
    /// A model; nothing is asked yet.
    #[must_use]
    pub fn new(client: Client, options: Options) -> Self {
        Self {
            client,
            name: format!("{}/{}", options.provider, options.model),
            url: options.api.url(&options.base_url, &options.model),
            speaker: Speaker::new(&options.provider, options.api_keys.clone()),
            keys: Keyring::new(options.api_keys.clone()),
            shape: Mutex::new(Shape {
                effort: Effort::Unsaid,
                sealed: Sealed::Wanted,
                unsigned: Unsigned::Plain,
                max_output: options.max_output,
                context: options.context,
                replays: true,
                manner: Manner {
                    thinking: options.thinking,
                    form: Form::Newer,
                    eyes: match options.facts.images {
                        Some(false) => Eyes::Shut,
                        Some(true) | None => Eyes::Open,
                    },
                },
            }),
            options,
        }
    }

    fn shape(&self) -> Shape {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, shape: Shape) {
        *self.shape.lock().unwrap_or_else(PoisonError::into_inner) = shape;
    }

    fn body(&self, request: &Request, shape: Shape) -> Value {
        let api = self.options.api;
        api.body(request, &self.name, &self.options.model, shape)
    }

    async fn send(&self, key: Option<Place>, body: &Value) -> Result<Response, ModelError> {
        let api = self.options.api;
        let call = self
            .client
            .post(&self.url)
            .header("accept", api.accepts())
            .json(body)
            .answer_timeout(self.options.first_piece)
            .read_timeout(self.options.first_piece);
        api.headers(call, self.keys.key(key))
            .send()
            .await
            .map_err(|error| self.speaker.net(error))
    }

    /// Asks with one key after the other, until one is taken. Returns the key that was, too.
    async fn accepted(&self, request: &Request) -> Result<(Option<Place>, Response), ModelError> {
        let mut tried = Vec::new();
        let mut key = self.keys.next(&tried, Instant::now());
        let mut told: Option<ModelError> = None;
        loop {
            let error = match self.accepted_with(key, request).await {
                Ok(answer) => return Ok((key, answer)),
                Err(error) => error,
            };
            let Some(place) = key else { return Err(error) };
            if self.keys.charge(place, &error, Instant::now()) == Fault::NotOfTheKey {
                return Err(error);
            }
            let error = match told {
                Some(before) => kinder(before, error),
                None => error,
            };
            tried.push(place);
            key = self.keys.next(&tried, Instant::now());
            if key.is_none() {
                return Err(error);
            }
            told = Some(error);
        }
    }

    /// Asks, and asks differently where the refusal says how.
    async fn accepted_with(
        &self,
        key: Option<Place>,
        request: &Request,
    ) -> Result<Response, ModelError> {
        let mut shape = self.shape();
        let mut body = self.body(request, shape);
        for _ in 0..MOST_REMEDIES {
            let answer = self.send(key, &body).await?;
            if answer.is_success() {
                return Ok(answer);
            }
            let (status, said, error) = self.refusal(answer).await;
            let Some(remedy) = remedy::after(self.options.api, shape, status, &said) else {
                return Err(error);
            };
            shape = remedy.shape;
            let other = self.body(request, shape);
            // This request holds nothing of what was refused; the same words would get the same answer.
            if other == body {
                return Err(error);
            }
            if remedy.lasts {
                self.remember(shape);
            }
            body = other;
        }
        let answer = self.send(key, &body).await?;
        if answer.is_success() {
            return Ok(answer);
        }
        Err(self.refusal(answer).await.2)
    }

    async fn refusal(&self, answer: Response) -> (u16, String, ModelError) {
        let (status, after) = (answer.status(), self.options.api.wait(&answer));
        let body = match tokio::time::timeout(ERROR_WAIT, answer.bytes_limited(ERROR_BODY)).await {
            Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(Err(_)) | Err(_) => String::new(),
        };
        let error = self.speaker.status(status, after, &body);
        (status, body, error)
    }

    fn decoder(&self) -> Box<dyn Decode> {
        let speaker = self.speaker.clone();
        self.options
            .api
            .decoder(speaker, &self.name, self.options.limits)
    }

    async fn whole(&self, answer: Response, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let limit = (self.options.limits.bytes * 2 + ENVELOPE) as u64;
        let body = answer
            .bytes_limited(limit)
            .await
            .map_err(|error| self.speaker.net(error))?;
        let mut decoder = self.decoder();
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
        let mut frames = self
            .options
            .api
            .frames(self.options.limits.bytes * 2 + ENVELOPE);
        let mut decoder = self.decoder();
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
                    for event in frames.feed(&self.speaker, &bytes)? {
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
        match frames.finish(&self.speaker)? {
            Some(last) if !is_cut(&last) => decoder.feed(&last).into_iter().for_each(deltas),
            Some(_) => {
                return Err(self
                    .speaker
                    .broke_off("it ended inside an event".to_owned()));
            }
            None => {}
        }
        decoder.finish()
    }
}

/// An event at the end without its empty line may lack its tail as well.
fn is_cut(last: &Event) -> bool {
    let data = last.data.trim();
    !data.is_empty() && data != "[DONE]" && serde_json::from_str::<Value>(data).is_err()
}

#[async_trait]
impl ModelPort for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts {
        let facts = self.options.facts;
        let kept = (self.options.api == Api::Ollama).then_some(self.options.context);
        Facts {
            window: facts.window.or(kept),
            ..facts
        }
    }

    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let begun = Instant::now();
        let (key, answer) = self.accepted(request).await?;
        let kind = answer
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        if kind.contains("text/html") {
            return Err(self.speaker.failed(
                "it answered with a web page; is base_url right? It often ends in /v1".to_owned(),
            ));
        }
        let reply = if kind.contains("application/json") {
            self.whole(answer, deltas).await
        } else {
            self.stream(answer, begun, deltas).await
        };
        // What begins well may still say in its midst that the quota is used up: the next call takes another key.
        if let (Some(key), Err(error)) = (key, &reply) {
            self.keys.charge(key, error, Instant::now());
        }
        reply
    }
}
