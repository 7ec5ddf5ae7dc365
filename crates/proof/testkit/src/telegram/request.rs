//! Reading a request: JSON or multipart, into parameters and uploads.

use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::HeaderName;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use bytes::Bytes;
use serde_json::{Map, Value};

/// A file in a request.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The form field.
    pub field: String,
    /// The file's name.
    pub name: String,
    /// The part's type, if it has one.
    pub mime: Option<String>,
    /// All bytes.
    pub bytes: Bytes,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it had been read.
    pub at: Instant,
    /// The bot's token.
    pub token: String,
    /// The method; `file` for a download.
    pub method: String,
    /// Parameters; those of a form are read by their declared type.
    pub params: Map<String, Value>,
    /// Files.
    pub uploads: Vec<Upload>,
    /// The announced length of the body.
    pub length: Option<u64>,
}

impl Call {
    /// A parameter, `Null` if it is missing.
    #[must_use]
    pub fn param(&self, name: &str) -> &Value {
        self.params.get(name).unwrap_or(&Value::Null)
    }

    /// The parameter `chat_id` as a number, 0 if there is none.
    #[must_use]
    pub fn chat_id(&self) -> i64 {
        self.param("chat_id").as_i64().unwrap_or_default()
    }
}

impl Call {
    /// The bot's id, from its token.
    #[must_use]
    pub fn bot(&self) -> i64 {
        let digits = self.token.split(':').next().unwrap_or_default();
        digits.parse().unwrap_or_default()
    }

    /// Whether it shows or changes a message.
    #[must_use]
    pub fn shows(&self) -> bool {
        (self.method.starts_with("send") && self.method != "sendChatAction")
            || self.method.starts_with("edit")
    }
}

pub(super) enum Form {
    Json,
    Multipart,
}

pub(super) struct Parsed {
    pub(super) form: Form,
    pub(super) params: Map<String, Value>,
    pub(super) uploads: Vec<Upload>,
    pub(super) length: Option<u64>,
}

/// Why a body could not be read.
pub(super) enum Unread {
    /// The connection broke in the middle of it.
    BrokenOff,
    /// It is not what it says; a violation's text.
    Malformed(String),
}

/// Largest body that is read.
const BODY: usize = 256 << 20;

/// Reads the body.
pub(super) async fn read(request: Request<Body>) -> Result<Parsed, Unread> {
    let length = header(&request, CONTENT_LENGTH).and_then(|text| text.parse().ok());
    let mime = header(&request, CONTENT_TYPE).unwrap_or_default();
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY)
        .await
        .map_err(|_broken| Unread::BrokenOff)?;
    let malformed = |what: String| Unread::Malformed(what);
    if mime.starts_with("multipart/form-data") {
        let whole = Request::from_parts(head, Body::from(body));
        let form = Multipart::from_request(whole, &())
            .await
            .map_err(|error| malformed(format!("malformed multipart: {error}")))?;
        let (params, uploads) = fields(form)
            .await
            .map_err(|error| malformed(format!("malformed multipart: {error}")))?;
        return Ok(Parsed {
            form: Form::Multipart,
            params,
            uploads,
            length,
        });
    }
    let params = if body.is_empty() {
        Map::new()
    } else if mime.starts_with("application/json") {
        serde_json::from_slice(&body)
            .map_err(|error| malformed(format!("malformed JSON: {error}")))?
    } else {
        return Err(malformed(format!("a body of type '{mime}'")));
    };
    Ok(Parsed {
        form: Form::Json,
        params,
        uploads: Vec::new(),
        length,
    })
}

fn header(request: &Request<Body>, name: HeaderName) -> Option<String> {
    let value = request.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

async fn fields(
    mut form: Multipart,
) -> Result<(Map<String, Value>, Vec<Upload>), axum::extract::multipart::MultipartError> {
    let mut params = Map::new();
    let mut uploads = Vec::new();
    while let Some(field) = form.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match field.file_name().map(str::to_owned) {
            Some(file) => {
                let mime = field.content_type().map(str::to_owned);
                uploads.push(Upload {
                    field: name,
                    name: file,
                    mime,
                    bytes: field.bytes().await?,
                });
            }
            None => {
                params.insert(name, Value::String(field.text().await?));
            }
        }
    }
    Ok((params, uploads))
}
