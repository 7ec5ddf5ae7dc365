//! What the program in the sandbox reads.

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// The other side's bytes, or a sentence of the proxy's own.
pub(crate) type Body = Either<Incoming, Full<Bytes>>;

/// An answer of the proxy's own: one sentence.
pub(crate) fn sentence(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Either::Right(Full::from(format!("{text}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// "The tunnel stands."
pub(crate) fn open() -> Response<Body> {
    Response::new(Either::Right(Full::default()))
}

/// The other side's answer.
pub(crate) fn theirs(response: Response<Incoming>) -> Response<Body> {
    response.map(Either::Left)
}
