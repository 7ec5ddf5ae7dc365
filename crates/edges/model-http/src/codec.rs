//! Which protocol is spoken: addresses, headers, bodies and decoders of each.

use std::time::Duration;

use model::{ModelError, Request};
use net::Response;
use net::sse::{self, Event};
use serde_json::Value;
use waybill::Secret;

use crate::answer::{Decode, Limits};
use crate::failure::Speaker;
use crate::gemini::Unsigned;
use crate::lines::LineDecoder;
use crate::manner::Manner;
use crate::openai_chat::Effort;
use crate::openai_responses::Sealed;
use crate::{anthropic, gemini, ollama, openai_chat, openai_responses};

/// The protocol version that the messages protocol is spoken in.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Quotas that the messages protocol tells the state of.
const SPENT: &[&str] = &["requests", "tokens", "input-tokens", "output-tokens"];

/// Which protocol a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Chat completions.
    OpenaiChat,
    /// Responses.
    OpenaiResponses,
    /// Messages.
    Anthropic,
    /// Ollama's own chat.
    Ollama,
    /// Generate content.
    Gemini,
}

/// How a body is written: what the settings say and what the provider was heard to want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) effort: Effort,
    pub(crate) sealed: Sealed,
    pub(crate) unsigned: Unsigned,
    pub(crate) max_output: u32,
    pub(crate) context: u32,
    /// Whether reasoning goes back to the route that it came from.
    pub(crate) replays: bool,
    pub(crate) manner: Manner,
}

impl Api {
    /// Where a request goes. `base` may end with or without the version's folder.
    pub(crate) fn url(self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            Self::OpenaiChat => format!("{base}/chat/completions"),
            Self::OpenaiResponses => format!("{base}/responses"),
            Self::Anthropic => match base.rsplit('/').next() {
                Some("v1") => format!("{base}/messages"),
                Some(_) | None => format!("{base}/v1/messages"),
            },
            Self::Ollama => {
                let bare = ["/v1", "/api"]
                    .iter()
                    .find_map(|folder| base.strip_suffix(folder));
                format!("{}/api/chat", bare.unwrap_or(base))
            }
            Self::Gemini => {
                let model = escaped(model.strip_prefix("models/").unwrap_or(model));
                format!("{base}/models/{model}:streamGenerateContent?alt=sse")
            }
        }
    }

    pub(crate) fn accepts(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson, application/json",
            Self::OpenaiChat | Self::OpenaiResponses | Self::Anthropic | Self::Gemini => {
                "text/event-stream, application/json"
            }
        }
    }

    /// The headers of the protocol, and the key where it wants it.
    pub(crate) fn headers(self, call: net::Request, key: Option<&Secret>) -> net::Request {
        let call = match self {
            Self::Anthropic => call.header("anthropic-version", ANTHROPIC_VERSION),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama | Self::Gemini => call,
        };
        let Some(key) = key else { return call };
        match self {
            Self::Anthropic => call.secret_header("x-api-key", key.reveal()),
            Self::Gemini => call.secret_header("x-goog-api-key", key.reveal()),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama => call.bearer(key.reveal()),
        }
    }

    /// How long a refusal says to wait.
    pub(crate) fn wait(self, answer: &Response) -> Option<Duration> {
        answer.retry_after().or_else(|| match self {
            Self::Anthropic => SPENT.iter().filter_map(|name| spent(answer, name)).max(),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Ollama | Self::Gemini => None,
        })
    }

    pub(crate) fn body(self, request: &Request, route: &str, model: &str, shape: Shape) -> Value {
        // No stored message is of a route without a name.
        let route = if shape.replays { route } else { "" };
        let manner = shape.manner;
        match self {
            Self::OpenaiChat => openai_chat::encode(request, route, model, shape.effort, manner),
            Self::OpenaiResponses => {
                openai_responses::encode(request, route, model, shape.sealed, manner)
            }
            Self::Anthropic => anthropic::encode(request, route, model, shape.max_output, manner),
            Self::Ollama => ollama::encode(request, route, model, shape.context, manner),
            Self::Gemini => gemini::encode(request, route, shape.unsigned, manner),
        }
    }

    pub(crate) fn decoder(self, speaker: Speaker, route: &str, limits: Limits) -> Box<dyn Decode> {
        match self {
            Self::OpenaiChat => Box::new(openai_chat::Decoder::of(speaker, route, limits)),
            Self::OpenaiResponses => {
                Box::new(openai_responses::Decoder::of(speaker, route, limits))
            }
            Self::Anthropic => Box::new(anthropic::Decoder::of(speaker, route, limits)),
            Self::Ollama => Box::new(ollama::Decoder::of(speaker, route, limits)),
            Self::Gemini => Box::new(gemini::Decoder::of(speaker, route, limits)),
        }
    }

    pub(crate) fn frames(self, limit: usize) -> Frames {
        match self {
            Self::Ollama => Frames::Lines(LineDecoder::new(limit)),
            Self::OpenaiChat | Self::OpenaiResponses | Self::Anthropic | Self::Gemini => {
                Frames::Events(sse::Decoder::new(limit))
            }
        }
    }
}

/// Cuts bytes into events.
pub(crate) enum Frames {
    Events(sse::Decoder),
    Lines(LineDecoder),
}

impl Frames {
    pub(crate) fn feed(
        &mut self,
        speaker: &Speaker,
        bytes: &[u8],
    ) -> Result<Vec<Event>, ModelError> {
        match self {
            Self::Events(decoder) => decoder
                .feed(bytes)
                .map_err(|error| speaker.failed(error.to_string())),
            Self::Lines(decoder) => decoder
                .feed(bytes)
                .map_err(|error| speaker.failed(error.to_string())),
        }
    }

    /// What came whole but for its last line break.
    pub(crate) fn finish(self, speaker: &Speaker) -> Result<Option<Event>, ModelError> {
        match self {
            Self::Events(decoder) => decoder
                .finish()
                .map_err(|error| speaker.broke_off(error.to_string())),
            Self::Lines(decoder) => Ok(decoder.finish()),
        }
    }
}

/// When a quota that is spent is filled again.
fn spent(answer: &Response, name: &str) -> Option<Duration> {
    let header = |end: &str| format!("anthropic-ratelimit-{name}-{end}");
    (answer.header(&header("remaining"))?.trim() == "0")
        .then(|| answer.wait_in(&header("reset")))
        .flatten()
}

/// A model's name as a piece of an address: it must not reach another one.
fn escaped(model: &str) -> String {
    let mut out = String::with_capacity(model.len());
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_request_goes() {
        for (api, base, expected) in [
            (
                Api::OpenaiChat,
                "https://h/v1",
                "https://h/v1/chat/completions",
            ),
            (
                Api::OpenaiResponses,
                "https://h/v1/",
                "https://h/v1/responses",
            ),
            (Api::Anthropic, "https://h/v1", "https://h/v1/messages"),
            (
                Api::Anthropic,
                "https://h/anthropic",
                "https://h/anthropic/v1/messages",
            ),
            (Api::Ollama, "http://h:1", "http://h:1/api/chat"),
            (Api::Ollama, "http://h:1/v1", "http://h:1/api/chat"),
            (Api::Ollama, "http://h:1/api/", "http://h:1/api/chat"),
            (
                Api::Gemini,
                "https://h/v1beta",
                "https://h/v1beta/models/m-1.5:streamGenerateContent?alt=sse",
            ),
        ] {
            assert_eq!(api.url(base, "m-1.5"), expected);
        }
        assert_eq!(
            Api::Gemini.url("https://h", "models/a/../b?c"),
            "https://h/models/a%2F..%2Fb%3Fc:streamGenerateContent?alt=sse"
        );
    }
}
