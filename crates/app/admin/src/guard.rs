//! What every request has to pass, and what every response carries.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Refused;
use crate::router::Surface;
use crate::v1::Refusal;

/// Longest wait for the head of an answer, uploads aside (they have a limit for each piece).
const PATIENCE: Duration = Duration::from_secs(30);

/// For pages. Pictures may also be `blob:`: the small views of files that are about to be sent.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Set on every response that doesn't say otherwise.
const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// A `Host` in its parts.
fn parts(host: &str) -> Option<(&str, u16)> {
    let (name, port) = match host.rsplit_once(':') {
        // The colons of a bare IPv6 address are no port.
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name, port.parse().ok()?)
        }
        Some(_) | None => (host, 80),
    };
    (!name.is_empty()).then_some((name, port))
}

fn address(name: &str) -> Option<IpAddr> {
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(name);
    bare.parse().ok()
}

/// Whether we go by this name. A page that rebinds its own name to our address still sends that name, so names are the
/// guard: the loopback ones, the address that we listen on, and what the owner listed. Where we listen on every address, any
/// address will do, for an address can't be rebound.
pub(crate) fn ours(host: &str, listening: SocketAddr, listed: &[String]) -> bool {
    if listed.iter().any(|known| known.eq_ignore_ascii_case(host)) {
        return true;
    }
    let Some((name, port)) = parts(host) else {
        return false;
    };
    if port != listening.port() {
        return false;
    }
    match address(name) {
        Some(ip) => ip.is_loopback() || ip == listening.ip() || listening.ip().is_unspecified(),
        None => name.eq_ignore_ascii_case("localhost"),
    }
}

/// Whether the page that asks is our own. Programs that are no browsers send no `Origin`; they need the cookie all the same.
fn own_origin(headers: &HeaderMap, host: &str) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    origin
        .to_str()
        .ok()
        .and_then(|origin| {
            origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"))
        })
        .is_some_and(|place| place.eq_ignore_ascii_case(host))
}

/// What is data and no page, cookie or not.
pub(crate) fn is_data(path: &str) -> bool {
    path.starts_with("/api/")
        || path.starts_with("/files/")
        || path == "/metrics"
        || is_for_programs(path)
}

/// What programs ask, with a key.
fn is_for_programs(path: &str) -> bool {
    path.starts_with("/v1/")
}

/// What a browser says of who asks, where it says it: another page on the same machine is `same-site`, and foreign.
fn foreign_fetch(headers: &HeaderMap) -> bool {
    headers
        .get("sec-fetch-site")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|site| matches!(site, "cross-site" | "same-site"))
}

fn refusal(surface: &Surface, request: &Request) -> Option<Refused> {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    if !ours(host, surface.address, &surface.options.hosts) {
        let text = format!(
            "this gateway does not go by that name: open it as http://{}/",
            surface.address
        );
        return Some(Refused::new(StatusCode::MISDIRECTED_REQUEST, "host", text));
    }
    let path = request.uri().path();
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let data = is_data(path);
    let foreign =
        ((changes || data) && !own_origin(headers, host)) || (data && foreign_fetch(headers));
    foreign.then(|| {
        Refused::new(
            StatusCode::FORBIDDEN,
            "origin",
            "another page may not ask this gateway for anything",
        )
    })
}

/// Checks the request, bounds the wait, and dresses the response.
pub(crate) async fn guard(
    State(surface): State<Arc<Surface>>,
    request: Request,
    next: Next,
) -> Response {
    let upload = request.method() == Method::POST && request.uri().path().ends_with("/files");
    let programs = is_for_programs(request.uri().path());
    let mut response = match refusal(&surface, &request) {
        Some(refused) if programs => Refusal::from(refused).into_response(),
        Some(refused) => refused.into_response(),
        // A turn may take long; how long it is waited for stands there.
        None if upload || programs => next.run(request).await,
        None => match tokio::time::timeout(PATIENCE, next.run(request)).await {
            Ok(response) => response,
            Err(_late) => Refused::new(
                StatusCode::REQUEST_TIMEOUT,
                "late",
                "the request took too long",
            )
            .into_response(),
        },
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        let loopback: SocketAddr = "127.0.0.1:7717".parse().unwrap();
        let everywhere: SocketAddr = "0.0.0.0:7717".parse().unwrap();
        let listed = ["chat.example.org".to_owned()];
        for host in [
            "127.0.0.1:7717",
            "localhost:7717",
            "LOCALHOST:7717",
            "[::1]:7717",
            "chat.example.org",
        ] {
            assert!(ours(host, loopback, &listed), "{host}");
        }
        for host in [
            "",
            ":7717",
            "evil.example:7717",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost",
            "localhost.evil.example:7717",
            "127.0.0.1.evil.example:7717",
            "192.168.1.7:7717",
            "[::1",
            "127.0.0.1:7717:7717",
            "chat.example.org:7717",
        ] {
            assert!(!ours(host, loopback, &listed), "{host}");
        }
        assert!(ours("192.168.1.7:7717", everywhere, &[]));
        assert!(!ours("evil.example:7717", everywhere, &[]));
    }

    #[test]
    fn another_port_of_this_machine_is_another_origin() {
        let with = |origin: &'static str| {
            HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(origin))])
        };
        assert!(own_origin(&HeaderMap::new(), "localhost:7717"));
        assert!(own_origin(&with("http://localhost:7717"), "localhost:7717"));
        for origin in [
            "null",
            "http://localhost:8080",
            "http://127.0.0.1:7717",
            "https://evil.example",
            "",
        ] {
            assert!(!own_origin(&with(origin), "localhost:7717"), "{origin}");
        }
    }
}
