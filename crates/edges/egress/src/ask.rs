//! What a request asks for, read once and strictly. Pure.

use hyper::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, Scheme};
use hyper::{HeaderMap, Method, Uri};
use sandbox::Destination;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A tunnel.
    Tunnel(Destination),
    /// An answer to a plain HTTP request.
    Plain(Destination),
}

/// Reads the head of a request. The error is a sentence for whoever sent it.
pub(crate) fn asked(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Asked, &'static str> {
    if headers.get_all(HOST).iter().nth(1).is_some() {
        return Err("the request has two Host headers");
    }
    let authority = uri.authority().ok_or(
        "this is a proxy: ask for CONNECT HOST:PORT or for an address that begins with http://",
    )?;
    if method == Method::CONNECT {
        if uri.scheme().is_some() || uri.path_and_query().is_some() {
            return Err("CONNECT takes HOST:PORT and nothing else");
        }
        if headers.contains_key(TRANSFER_ENCODING)
            || headers
                .get_all(CONTENT_LENGTH)
                .iter()
                .any(|length| length != "0")
        {
            return Err("CONNECT carries no body");
        }
        return destination(authority, None).map(Asked::Tunnel);
    }
    if uri.scheme() != Some(&Scheme::HTTP) {
        return Err("only http:// is carried like this: use CONNECT for everything else");
    }
    destination(authority, Some(80)).map(Asked::Plain)
}

/// Host and port of an authority, in the one form that a [`Destination`] has.
fn destination(authority: &Authority, usual: Option<u16>) -> Result<Destination, &'static str> {
    let text = authority.as_str();
    if text.contains('@') {
        return Err("an address with a name or a password before '@' is not carried");
    }
    let bare = text == authority.host();
    let whole = match usual {
        Some(port) if bare => format!("{text}:{port}"),
        Some(_) | None => text.to_owned(),
    };
    let wrong = "the address is not HOST:PORT";
    let read: Destination = whole.parse().map_err(|_malformed: String| wrong)?;
    if read.host.starts_with("*.") {
        Err(wrong)
    } else {
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ask(method: &str, uri: &str) -> Result<Asked, &'static str> {
        let uri = uri
            .parse()
            .map_err(|_malformed: hyper::http::uri::InvalidUri| "no address")?;
        asked(
            &Method::from_bytes(method.as_bytes()).unwrap(),
            &uri,
            &HeaderMap::new(),
        )
    }

    fn to(text: &str) -> Destination {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_one_reading() {
        assert_eq!(
            ask("CONNECT", "example.org:443"),
            Ok(Asked::Tunnel(to("example.org:443")))
        );
        assert_eq!(
            ask("CONNECT", "EXAMPLE.org.:443"),
            Ok(Asked::Tunnel(to("example.org:443")))
        );
        assert_eq!(
            ask("CONNECT", "[2606:2800:0::1]:443"),
            Ok(Asked::Tunnel(to("[2606:2800::1]:443")))
        );
        assert_eq!(
            ask("GET", "http://example.org/a?b"),
            Ok(Asked::Plain(to("example.org:80")))
        );
        assert_eq!(
            ask("GET", "HTTP://example.org:8080"),
            Ok(Asked::Plain(to("example.org:8080")))
        );
    }

    #[test]
    fn what_has_two_readings_is_refused() {
        for (method, uri) in [
            ("CONNECT", "example.org"),
            ("CONNECT", "example.org:"),
            ("CONNECT", "example.org:0"),
            ("CONNECT", "example.org:99999"),
            ("CONNECT", "http://example.org:443"),
            ("CONNECT", "https://example.org:443/"),
            ("CONNECT", "example.org:443@evil.net:443"),
            ("CONNECT", "user@example.org:443"),
            ("CONNECT", "*.example.org:443"),
            ("CONNECT", "[fe80::1%25eth0]:443"),
            ("CONNECT", "/"),
            ("CONNECT", "*"),
            ("GET", "/"),
            ("GET", "*"),
            ("OPTIONS", "*"),
            ("GET", "example.org:80"),
            ("GET", "https://example.org/"),
            ("GET", "ftp://example.org/"),
            ("GET", "http://example.org@evil.net/"),
            ("GET", "http://user:word@example.org/"),
            ("GET", "http://example.org:99999/"),
            ("GET", "http://example.org:/"),
            ("GET", "http://exa%6dple.org/"),
            ("GET", "http://example..org/"),
        ] {
            assert!(ask(method, uri).is_err(), "{method} {uri}");
        }
    }

    #[test]
    fn who_writes_a_password_is_told_why_it_is_not_carried() {
        let told = ask("GET", "http://user:word@example.org/").unwrap_err();
        assert!(told.contains("before '@'"), "{told}");
    }

    proptest! {
        #[test]
        fn no_head_brings_a_destination_that_its_text_does_not_hold(uri in "(http://)?[a-z0-9.@:\\[\\]%*/-]{0,40}", connect: bool) {
            if let Ok(Asked::Tunnel(found) | Asked::Plain(found)) = ask(if connect { "CONNECT" } else { "GET" }, &uri) {
                let text = uri.strip_prefix("http://").unwrap_or(&uri);
                let authority = text.split('/').next().unwrap();
                prop_assert!(!authority.contains('@') && !authority.contains('*') && !authority.contains('%'), "{uri} → {found}");
                let brackets = authority.starts_with('[');
                prop_assert!(brackets || authority.starts_with(&found.host), "{uri} → {found}");
                prop_assert_eq!(found.to_string().parse::<Destination>(), Ok(found));
            }
        }
    }
}
