//! `POST /v1/chat/completions`.

mod wanted;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use chat::Preface;
use chat_api::{News, Request, RequestKey, Waiting};
use sandbox::{ArtifactRef, BlobError, Taken};
use tokio::sync::watch;

use super::answer::{self, Made};
use super::content::Enclosed;
use super::key::Caller;
use super::refusal::Again;
use super::{Refusal, body, stream};
use crate::router::Surface;
use crate::serve::told;
use wanted::Wanted;

pub(crate) use wanted::Stream;

/// Longest that an answer is waited for.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// How long an answer is still waited for when the gateway stops; shorter than its connections are kept.
const AT_THE_END: Duration = Duration::from_secs(8);
/// Longest key by which a request is known again, in bytes.
const LONGEST_KEY: usize = 255;

/// The conversation that a request goes on with.
const SESSION: HeaderName = HeaderName::from_static("x-tidings-session");
const IDEMPOTENCY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request's header as text; `None`: it is not there.
fn text<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    shown: &str,
) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Refusal::field(shown, format!("{shown} stands there twice")));
    }
    let text = value
        .to_str()
        .map_err(|_other| Refusal::field(shown, format!("{shown} holds more than plain ASCII")))?;
    Ok(Some(text))
}

fn request_key(headers: &HeaderMap, bytes: &[u8]) -> Result<Option<RequestKey>, Refusal> {
    let Some(key) = text(headers, &IDEMPOTENCY, "Idempotency-Key")? else {
        return Ok(None);
    };
    if key.is_empty() || key.len() > LONGEST_KEY {
        let text = format!("Idempotency-Key has 1 to {LONGEST_KEY} characters");
        return Err(Refusal::field("Idempotency-Key", text));
    }
    let session = headers
        .get(SESSION)
        .map_or(&[][..], |session| session.as_bytes());
    let mut asks = blake3::Hasher::new();
    // Its length first, so that no two pairs read alike.
    asks.update(&(session.len() as u64).to_le_bytes());
    asks.update(session);
    asks.update(bytes);
    Ok(Some(RequestKey {
        key: *blake3::hash(key.as_bytes()).as_bytes(),
        asks: *asks.finalize().as_bytes(),
    }))
}

/// Takes the request, and answers when its turn has ended, or word by word.
pub(crate) async fn completions(
    State(surface): State<Arc<Surface>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let read = body::read(&surface.v1, &headers, body).await?;
    let key = request_key(&headers, &read.bytes)?;
    let session = text(&headers, &SESSION, "X-Tidings-Session")?.map(str::to_owned);
    let mut wanted = Wanted::read(&read.bytes)?;
    if wanted.model != caller.profile.as_str() {
        return Err(Refusal::model(&wanted.model));
    }
    if session.is_some() {
        // The conversation is kept here: of what the program sends along only the newest is new.
        wanted.keep_the_last_alone();
    }
    let files = keep(&surface, &caller, std::mem::take(&mut wanted.enclosed)).await?;
    let said = std::mem::take(&mut wanted.said);
    let history = session.is_none().then_some(said);
    let request = Request {
        client: caller.client.clone(),
        session,
        text: std::mem::take(&mut wanted.text),
        files,
        preface: Preface {
            instructions: std::mem::take(&mut wanted.instructions),
            history,
        },
        key,
    };
    let bytes = read.bytes.len();
    drop(read);
    tracing::debug!(client = %caller.client, bytes, "a request by the API");
    let waiting = surface.options.v1.api.ask(request).await?;
    let made = Made {
        id: format!("chatcmpl-{}", waiting.request().trim_start_matches("req_")),
        model: wanted.model,
        created: surface.options.clock.now().as_second(),
        files_at: files_at(&headers, &surface),
    };
    match wanted.stream {
        Some(wish) => stream::answer(surface, waiting, made, wish).await,
        None => whole(&surface, waiting, made).await,
    }
}

/// Waits for the end of the turn.
async fn whole(
    surface: &Surface,
    mut waiting: Waiting,
    mut made: Made,
) -> Result<Response, Refusal> {
    let patience = Patience::new(surface.stopping.clone());
    let answer = patience
        .bound(async {
            loop {
                if let News::Answer(answer) = waiting.next().await? {
                    return Ok(answer);
                }
            }
        })
        .await?;
    // The same however often it is asked for.
    made.created = answer.at.as_second();
    let told = answer::tell(&answer, &made)?;
    Ok(Json(told.completion(&made)).into_response())
}

/// How long an answer is waited for.
pub(crate) struct Patience {
    stopping: watch::Receiver<bool>,
    until: tokio::time::Instant,
}

impl Patience {
    pub(crate) fn new(stopping: watch::Receiver<bool>) -> Self {
        Self {
            stopping,
            until: tokio::time::Instant::now() + LONGEST,
        }
    }

    /// Does what takes long, in its bounds.
    pub(crate) async fn bound<T>(
        &self,
        work: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let mut stopping = self.stopping.clone();
        let stops = async {
            told(&mut stopping).await;
            tokio::time::sleep(AT_THE_END).await;
        };
        tokio::select! {
            done = work => done,
            () = tokio::time::sleep_until(self.until) => {
                let text = "the turn is not done after an hour; it goes on, and its answer can be had with the same Idempotency-Key";
                Err(Refusal::unfinished(StatusCode::GATEWAY_TIMEOUT, text, Again::DoesNot))
            }
            () = stops => {
                let text = "the gateway stops; the turn goes on at its next start, and its answer can be had with the same Idempotency-Key";
                Err(Refusal::unfinished(StatusCode::SERVICE_UNAVAILABLE, text, Again::DoesNot))
            }
        }
    }
}

/// Stores what came inside a request.
async fn keep(
    surface: &Surface,
    caller: &Caller,
    enclosed: Vec<Enclosed>,
) -> Result<Vec<ArtifactRef>, Refusal> {
    if enclosed.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(why) = surface.options.status.no_files() {
        return Err(Refusal::unavailable(why));
    }
    let limit = surface.options.attachment_bytes;
    let failed = |error: BlobError| Refusal::unavailable(format!("a file was not stored: {error}"));
    let mut kept = Vec::with_capacity(enclosed.len());
    for Enclosed { name, bytes } in enclosed {
        if bytes.len() as u64 > limit {
            let limit = sandbox::size_text(limit);
            return Err(Refusal::too_large(format!(
                "{name} is larger than {limit}, the most that can be sent"
            )));
        }
        let blobs = &surface.options.blobs;
        let mut writer = blobs.create(&caller.profile).await.map_err(failed)?;
        writer.write(&bytes).await.map_err(failed)?;
        let blob = writer.finish(&name).await.map_err(failed)?;
        kept.push(ArtifactRef {
            profile: caller.profile.clone(),
            blob,
            name,
            taken: Taken::Received,
        });
    }
    Ok(kept)
}

/// Where files are asked for, as whoever asks reaches us. The guard has checked the name; a proxy says if it speaks TLS.
fn files_at(headers: &HeaderMap, surface: &Surface) -> String {
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .map_or_else(|| surface.address.to_string(), str::to_owned);
    let secure = headers
        .get("x-forwarded-proto")
        .is_some_and(|scheme| scheme.as_bytes() == b"https");
    let scheme = if secure { "https" } else { "http" };
    format!("{scheme}://{host}/v1/files")
}

/// What else programs may look for.
pub(crate) async fn not_there(uri: Uri) -> Refusal {
    let text = match uri.path() {
        "/v1/responses" => {
            "the Responses API is not here yet: use POST /v1/chat/completions, with the header X-Tidings-Session to go on with a conversation"
        }
        _ => {
            "there is no such address: POST /v1/chat/completions, GET /v1/models and GET /v1/files/ID/content are here"
        }
    };
    Refusal::missing(text)
}
