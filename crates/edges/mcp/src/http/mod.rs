//! The protocol's HTTP side on the gateway's own client: bounded bodies, no address and no secret in an error.

mod stream;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use net::{Client, NetError, Request, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;
use tokio::time::Instant;

use crate::Address;

const SESSION: &str = "mcp-session-id";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const ACCEPT: &str = "application/json, text/event-stream";
/// Silence on a stream after which it is thought dead. A stream of notifications may rest; calls have their own limits.
const SILENCE: Duration = Duration::from_secs(3600);
/// Shortest time between two streams that are opened: a server that closes each at once must not keep a processor busy.
const BETWEEN: Duration = Duration::from_millis(100);
/// Headers that the protocol sets itself.
const OWN: [&str; 5] = [
    "accept",
    "content-type",
    SESSION,
    "last-event-id",
    "content-length",
];

type Error = StreamableHttpError<NetError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Speaks to one service.
#[derive(Clone)]
pub(crate) struct Http {
    client: Client,
    address: Arc<Address>,
    /// When the last stream was opened.
    opened: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

impl Http {
    pub(crate) fn new(client: Client, address: Address) -> Self {
        Self {
            client,
            address: Arc::new(address),
            opened: Arc::default(),
        }
    }

    /// A request with the headers of the configuration and of the protocol.
    fn dressed(&self, request: Request, session: Option<&str>, headers: &Headers) -> Request {
        let mut request = request.answer_timeout(SILENCE).read_timeout(SILENCE);
        for (name, value) in &self.address.headers {
            request = request.secret_header(name, value.reveal());
        }
        for (name, value) in headers {
            let own = OWN
                .iter()
                .any(|own| name.as_str().eq_ignore_ascii_case(own));
            if let (false, Ok(value)) = (own, value.to_str()) {
                request = request.header(name.as_str(), value);
            }
        }
        match session {
            Some(session) => request.header(SESSION, session),
            None => request,
        }
    }

    async fn get(
        &self,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        self.wait_a_little().await;
        let request = self.client.get(self.address.url.reveal());
        let mut request = self
            .dressed(request, session.as_deref(), &headers)
            .header("accept", ACCEPT);
        if let Some(last_event) = last_event {
            request = request.header("last-event-id", &last_event);
        }
        let response = request.send().await.map_err(Error::Client)?;
        if response.status() == 405 {
            return Err(Error::ServerDoesNotSupportSse);
        }
        refused(&response)?;
        if !response.is_success() {
            return Err(no_answer(response.status(), ""));
        }
        if !is(&response, EVENTS) {
            return Err(Error::UnexpectedContentType(kind(&response)));
        }
        Ok(stream::events(response, largest, None))
    }

    async fn wait_a_little(&self) {
        let mut opened = self.opened.lock().await;
        if let Some(last) = *opened {
            tokio::time::sleep_until(last + BETWEEN).await;
        }
        *opened = Some(Instant::now());
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Error> {
        let request = self.client.post(self.address.url.reveal()).json(&message);
        let response = self
            .dressed(request, session.as_deref(), &headers)
            .header("accept", ACCEPT)
            .send()
            .await
            .map_err(Error::Client)?;
        refused(&response)?;
        let status = response.status();
        if status == 404 && session.is_some() {
            return Err(Error::SessionExpired);
        }
        let asked = asked(&message);
        let fresh = response.header(SESSION).map(str::to_owned);
        if !response.is_success() {
            return unsuccessful(response, &message, fresh, session.is_some(), limits).await;
        }
        let nothing = matches!(status, 202 | 204) || response.content_length() == Some(0);
        if nothing && asked.is_none() {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if is(&response, EVENTS) {
            let events = stream::events(response, limits.max_sse_event_size, asked);
            return Ok(StreamableHttpPostResponse::Sse(events, fresh));
        }
        let Some(asked) = asked else {
            // Nothing was asked, so nothing in the answer matters.
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        if matches!(status, 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !is(&response, JSON) {
            return Err(Error::UnexpectedContentType(kind(&response)));
        }
        let answer = match response
            .bytes_limited(limits.max_json_response_size as u64)
            .await
        {
            Ok(body) => serde_json::from_slice(&body).map_err(|error| {
                no_answer(
                    status,
                    &format!("its answer is not of the protocol: {error}"),
                )
            })?,
            Err(NetError::TooLarge { .. }) => {
                stream::too_large(asked, limits.max_json_response_size)
            }
            Err(error) => return Err(Error::Client(error)),
        };
        Ok(StreamableHttpPostResponse::Json(answer, fresh))
    }
}

/// The id of what waits for an answer.
fn asked(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    if let ClientJsonRpcMessage::Request(request) = message {
        return Some(request.id.clone());
    }
    None
}

/// An answer that is no success: the protocol's own error, if it holds one.
async fn unsuccessful(
    response: Response,
    message: &ClientJsonRpcMessage,
    fresh: Option<String>,
    in_session: bool,
    limits: StreamableHttpResponseLimits,
) -> Result<StreamableHttpPostResponse, Error> {
    let status = response.status();
    let wait = response.header("retry-after").map(str::to_owned);
    let telling = is(&response, JSON) && !matches!(status, 401 | 403 | 429);
    let body = if telling {
        let read = response.bytes_limited(limits.max_json_response_size as u64);
        read.await.unwrap_or_default()
    } else {
        bytes::Bytes::new()
    };
    let told = match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        Ok(_) | Err(_) => None,
    };
    // A server of the older protocol turns a question of the newer one away in many ways; each means that it is older.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && !in_session
        && (400..500).contains(&status)
        && !matches!(status, 401 | 403 | 429)
    {
        let error = told.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}"), None),
            |told| told.error,
        );
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match told {
        Some(told) => Ok(StreamableHttpPostResponse::Json(
            ServerJsonRpcMessage::Error(told),
            fresh,
        )),
        None if status == 429 || status >= 500 => Err(HttpStatusError::new(status, wait).into()),
        None => Err(no_answer(status, "")),
    }
}

/// A service that wants a login.
fn refused(response: &Response) -> Result<(), Error> {
    let challenge = response.header("www-authenticate").unwrap_or_default();
    // What stands there is for browsers; it is the service's own text and helps nobody here.
    match response.status() {
        401 => Err(Error::AuthRequired(AuthRequiredError::new(
            "it wants a login (HTTP 401): give it a header with a key in `headers_secret`"
                .to_owned(),
        ))),
        403 if !challenge.is_empty() => Err(Error::InsufficientScope(InsufficientScopeError::new(
            "its key is not allowed to do this (HTTP 403)".to_owned(),
            None,
        ))),
        _ => Ok(()),
    }
}

fn no_answer(status: u16, more: &str) -> Error {
    let what = match status {
        300..=399 => {
            format!("HTTP {status}: it lies somewhere else; write its true address into `url`")
        }
        200..=299 => more.to_owned(),
        _ => format!("HTTP {status}"),
    };
    Error::UnexpectedServerResponse(what.into())
}

/// The type of an answer, without parameters.
fn kind(response: &Response) -> Option<String> {
    let kind = response.header("content-type")?.split(';').next()?.trim();
    Some(crate::text::line(kind, 100))
}

fn is(response: &Response, wanted: &str) -> bool {
    kind(response).is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
}

impl StreamableHttpClient for Http {
    type Error = NetError;

    // The address and the keys are this client's own: the protocol's library logs what it is given.

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _key: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Error> {
        self.post(
            message,
            session,
            headers,
            StreamableHttpResponseLimits::default(),
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _key: Option<String>,
        headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Error> {
        self.post(message, session, headers, limits).await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _key: Option<String>,
        headers: Headers,
    ) -> Result<(), Error> {
        let request = self.client.delete(self.address.url.reveal());
        // Whether the service knows how to forget a session is its own affair.
        self.dressed(request, Some(&session), &headers)
            .send()
            .await
            .map(drop)
            .map_err(Error::Client)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _key: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        let largest = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get(session, last_event, headers, largest).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _key: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Error> {
        self.get(session, last_event, headers, largest).await
    }
}
