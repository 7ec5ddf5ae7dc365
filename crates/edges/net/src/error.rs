//! Where a request failed.

use std::error::Error as _;
use std::time::Duration;

use reqwest::Url;

/// What a time-out waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The status and the headers of the answer. The request had left, wholly or in part.
    Answer,
    /// The next piece of the answer's body.
    Body,
}

/// Why a request has no (whole) answer. No text holds the address that was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetError {
    /// The address can't be used.
    #[error("the address can't be used: {cause}")]
    BadUrl {
        /// Why.
        cause: String,
    },
    /// The address, or one that it led to, is not asked from here. Nothing was sent there; a redirect may have led to it.
    #[error("{cause}")]
    Forbidden {
        /// Why.
        cause: String,
    },
    /// The client or the request can't be built: a header, a proxy, a certificate.
    #[error("the request can't be built: {cause}")]
    Build {
        /// Why.
        cause: String,
    },
    /// No byte of the request left: the name, the connection or TLS failed.
    #[error("no connection: {cause}")]
    NotSent {
        /// Why.
        cause: String,
    },
    /// What was to be uploaded could not be read to its end, so the service never had a whole request.
    #[error("the upload could not be read: {cause}")]
    Source {
        /// Why.
        cause: String,
    },
    /// Bytes may have left, and no full answer came.
    #[error("the connection broke: {cause}")]
    Ambiguous {
        /// Why.
        cause: String,
    },
    /// Silence, or an answer that took too long.
    #[error("no answer within {:.1} seconds", .after.as_secs_f64())]
    Timeout {
        /// What was waited for.
        stage: Stage,
        /// How long.
        after: Duration,
    },
    /// The answer is larger than the caller allows.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The whole answer came, and it isn't the JSON that was expected.
    #[error("the answer can't be read: {cause}")]
    NotJson {
        /// Why.
        cause: String,
    },
}

impl NetError {
    /// Whether the service may have acted on the request. `false` only where that is certain.
    #[must_use]
    pub fn may_have_arrived(&self) -> bool {
        match self {
            Self::BadUrl { .. }
            | Self::Build { .. }
            | Self::NotSent { .. }
            | Self::Source { .. } => false,
            Self::Forbidden { .. }
            | Self::Ambiguous { .. }
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::NotJson { .. } => true,
        }
    }

    pub(crate) fn of_sending(error: reqwest::Error, url: &Url) -> Self {
        if let Some(ours) = ours(&error) {
            return ours;
        }
        let not_sent = error.is_connect() || error.is_dns();
        let unbuilt = error.is_builder();
        let cause = cause(error, url);
        if not_sent {
            Self::NotSent { cause }
        } else if unbuilt {
            Self::Build { cause }
        } else {
            Self::Ambiguous { cause }
        }
    }

    pub(crate) fn of_reading(error: reqwest::Error, url: &Url) -> Self {
        Self::Ambiguous {
            cause: cause(error, url),
        }
    }

    pub(crate) fn of_building(error: reqwest::Error) -> Self {
        let nowhere = error.without_url();
        Self::Build {
            cause: innermost(&nowhere),
        }
    }
}

/// What a guard of this room said inside the HTTP client.
fn ours(error: &reqwest::Error) -> Option<NetError> {
    let mut layer = error.source();
    while let Some(inner) = layer {
        if let Some(ours) = inner.downcast_ref::<NetError>() {
            return Some(ours.clone());
        }
        layer = inner.source();
    }
    None
}

fn cause(error: reqwest::Error, url: &Url) -> String {
    let nowhere = error.without_url();
    scrub(&innermost(&nowhere), url)
}

/// The outer layers of an HTTP client's error say "error sending request"; the innermost ones say what happened.
fn innermost(error: &reqwest::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    let mut layer = error.source();
    while let Some(inner) = layer {
        let text = inner.to_string();
        if !said.iter().any(|earlier| earlier.contains(&text)) {
            said.push(text);
        }
        layer = inner.source();
    }
    if said.is_empty() {
        return error.to_string();
    }
    let kept = said.len().saturating_sub(2);
    said.split_off(kept).join(": ")
}

/// Takes out every part of the address that may be secret, wherever the text got it from.
fn scrub(text: &str, url: &Url) -> String {
    const SHORTEST_SECRET: usize = 6;
    let mut clean = text.replace(url.as_str(), "•••");
    let segments = url
        .path()
        .split('/')
        .filter(|part| part.len() >= SHORTEST_SECRET);
    let others = [url.password(), url.query()];
    for part in segments.chain(others.into_iter().flatten()) {
        if !part.is_empty() {
            clean = clean.replace(part, "•••");
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_the_path_does_not_show() {
        let url = Url::parse("https://u:pw-secret@api.example.org/bot123:AAbbCC/getMe?key=hidden")
            .unwrap();
        let said = format!("error for {url} and /bot123:AAbbCC/ and key=hidden and pw-secret");
        let clean = scrub(&said, &url);
        for secret in ["AAbbCC", "hidden", "pw-secret"] {
            assert!(!clean.contains(secret), "{clean}");
        }
    }
}
