//! An answer that is no, in the shape that client libraries read: `{"error": {"message", "type", "param", "code"}}`.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chat_api::{AskError, WaitError};
use serde_json::{Value, json};

use crate::error::Refused;

/// Client libraries ask again by themselves after some statuses; this header tells them whether that may help.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Whether asking again, as it is, may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It was not taken; in a moment it may be.
    Helps,
    /// It would be answered the same, or a turn with all that it does would run twice.
    DoesNot,
}

/// A refusal.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    code: &'static str,
    param: Option<String>,
    text: String,
    again: Again,
    /// For how many seconds to wait.
    after: Option<u64>,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        let kind = if status.is_server_error() {
            "server_error"
        } else {
            "invalid_request_error"
        };
        Self {
            status,
            kind,
            code,
            param: None,
            text: text.into(),
            again: Again::DoesNot,
            after: None,
        }
    }

    /// A field is wrong.
    pub(crate) fn field(param: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            param: Some(param.into()),
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_value", text)
        }
    }

    /// A field asks for what can't be done here.
    pub(crate) fn unsupported(param: &str, why: &str) -> Self {
        Self {
            param: Some(param.to_owned()),
            ..Self::new(
                StatusCode::BAD_REQUEST,
                "unsupported_parameter",
                format!("'{param}' can't be honoured here: {why}"),
            )
        }
    }

    /// The body is no request.
    pub(crate) fn malformed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_json", text)
    }

    /// Too much.
    pub(crate) fn too_large(text: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", text)
    }

    /// No key, or none that holds.
    pub(crate) fn key() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "invalid_api_key",
            "this needs a key that holds, in the header 'Authorization: Bearer KEY': `tidings api-key add NAME --profile P` makes one",
        )
    }

    /// Too many keys that don't hold.
    pub(crate) fn guesses(after: u64) -> Self {
        Self {
            kind: "requests",
            after: Some(after),
            ..Self::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "too many requests came with keys that don't hold: wait a moment",
            )
        }
    }

    /// The model is no profile of this key.
    pub(crate) fn model(name: &str) -> Self {
        Self {
            param: Some("model".to_owned()),
            ..Self::new(
                StatusCode::NOT_FOUND,
                "model_not_found",
                format!(
                    "the model '{name}' does not exist, or this key is not for it: a model is a profile, and GET /v1/models names this key's"
                ),
            )
        }
    }

    /// Nothing is there.
    pub(crate) fn missing(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", text)
    }

    /// It is there and is not asked for in this way.
    pub(crate) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "this address is not asked for with this method",
        )
    }

    /// It was there and is kept no longer.
    pub(crate) fn gone(text: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "answer_gone", text)
    }

    /// Not now.
    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Self {
            again: Again::Helps,
            after: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", text)
        }
    }

    /// It goes on without whoever asked.
    pub(crate) fn unfinished(status: StatusCode, text: impl Into<String>, again: Again) -> Self {
        Self {
            again,
            ..Self::new(status, "not_finished", text)
        }
    }

    /// The turn failed: `text` is the sentence that a person would have read.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "turn_failed", text)
    }

    /// The `error` object with its wrapping, for a stream that has begun.
    pub(crate) fn body(&self) -> Value {
        json!({
            "error": {
                "message": self.text,
                "type": self.kind,
                "param": self.param,
                "code": self.code,
            }
        })
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.body())).into_response();
        let headers = response.headers_mut();
        let again = match self.again {
            Again::Helps => "true",
            Again::DoesNot => "false",
        };
        headers.insert(SHOULD_RETRY, HeaderValue::from_static(again));
        if let Some(after) = self.after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self::new(refused.status(), "refused", refused.text())
    }
}

impl From<session::StoreError> for Refusal {
    fn from(error: session::StoreError) -> Self {
        tracing::warn!(%error, "the store failed a request by the API");
        Self::unavailable(error.to_string())
    }
}

impl From<AskError> for Refusal {
    fn from(error: AskError) -> Self {
        let text = error.to_string();
        match error {
            AskError::Empty | AskError::TooManyFiles => Self::field("messages", text),
            AskError::TooLong => Self::too_large(text),
            AskError::Session => Self::field("X-Tidings-Session", text),
            AskError::OtherRequest => Self {
                param: Some("Idempotency-Key".to_owned()),
                ..Self::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "idempotency_key_reused",
                    text,
                )
            },
            AskError::NotStored(_) | AskError::NotListening => Self::unavailable(text),
            AskError::Unknown => {
                Self::unfinished(StatusCode::SERVICE_UNAVAILABLE, text, Again::DoesNot)
            }
        }
    }
}

impl From<WaitError> for Refusal {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Refused(_) => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "not_handled",
                error.to_string(),
            ),
            WaitError::Store(error) => {
                tracing::warn!(%error, "the store failed a request by the API");
                Self::unfinished(
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("the answer can't be read now: {error}"),
                    Again::DoesNot,
                )
            }
        }
    }
}
