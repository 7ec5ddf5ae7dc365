//! One plain HTTP request, read here and written anew on a connection of its own.

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Request, Response, Uri, Version};
use hyper_util::rt::TokioIo;
use sandbox::Destination;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::dial::Fault;
use crate::proxy::Talk;

/// Headers that are meant for the next hop alone (RFC 9110, 7.6.1), besides those that `Connection` names.
const HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Sends the request and hands on the answer, whatever it is: a redirect is an answer.
pub(crate) async fn forward(
    request: Request<Incoming>,
    wanted: &Destination,
    stream: TcpStream,
    talk: &Talk,
) -> Result<Response<Incoming>, Fault> {
    let request = anew(request, wanted).ok_or(Fault::Failed)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_broken| Fault::Failed)?;
    talk.with_helpers(|helpers: &mut JoinSet<()>| {
        while helpers.try_join_next().is_some() {}
        helpers.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection beyond the proxy broke");
            }
        });
    });
    let answer = sender
        .send_request(request)
        .await
        .map_err(|_broken| Fault::Failed)?;
    let (mut head, body) = answer.into_parts();
    strip(&mut head.headers);
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(head, body))
}

/// The request as it goes out: its path, the host that was judged, and no header that is not meant for the other side.
fn anew(request: Request<Incoming>, wanted: &Destination) -> Option<Request<Incoming>> {
    let (head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    let mut new = Request::new(body);
    *new.method_mut() = head.method;
    *new.uri_mut() = path.parse::<Uri>().ok()?;
    *new.headers_mut() = head.headers;
    strip(new.headers_mut());
    let host = wanted.to_string();
    let host = host.strip_suffix(":80").unwrap_or(&host);
    new.headers_mut()
        .insert(HOST, HeaderValue::from_str(host).ok()?);
    Some(new)
}

/// Takes out what is meant for one hop alone.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP) {
        headers.remove(name);
    }
}
