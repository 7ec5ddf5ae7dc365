//! What goes wrong: for the program that serves, and for whoever asked.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why serving, or making a login link, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The listener is not usable.
    #[error("the web listener can't be used")]
    Listen(#[source] std::io::Error),
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for a login link")]
    Random(#[source] getrandom::Error),
    /// The store failed.
    #[error("the login link could not be stored")]
    Store(#[source] session::StoreError),
}

/// An answer that is no: `{"error": {"code", "text"}}`. The text is for the person, the code for programs.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    code: &'static str,
    text: String,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            code,
            text: text.into(),
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn missing(what: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no such {what}"),
        )
    }

    pub(crate) fn method() -> Self {
        let text = "this address is not asked for in that way: /api/openapi.json says how";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", text)
    }

    pub(crate) fn malformed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", text)
    }

    pub(crate) fn too_large(text: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text)
    }

    pub(crate) fn unavailable(text: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", text)
    }

    pub(crate) fn no_room(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "no_room", text)
    }

    pub(crate) fn logged_out() -> Self {
        let text = "you are not logged in: open the link that `tidings up` printed, or get a new one with `tidings login`";
        Self::new(StatusCode::UNAUTHORIZED, "logged_out", text)
    }
}

impl From<session::StoreError> for Refused {
    fn from(error: session::StoreError) -> Self {
        tracing::warn!(%error, "the store failed a request of a page");
        Self::unavailable(error.to_string())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({ "error": { "code": self.code, "text": self.text } });
        (self.status, Json(body)).into_response()
    }
}
