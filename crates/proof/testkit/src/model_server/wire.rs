//! The protocols that the server speaks.

use serde_json::{Value, json};

/// A protocol of models, as `api` in `tidings.toml` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `openai-chat`, at `/v1/chat/completions`.
    Chat,
    /// `openai-responses`, at `/v1/responses`.
    Responses,
    /// `anthropic`, at `/v1/messages`.
    Messages,
    /// `ollama`, at `/api/chat`.
    Ollama,
    /// `gemini`, at `/v1/models/MODEL:streamGenerateContent` and below `/v1beta`.
    Gemini,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Ollama,
        Self::Gemini,
    ];

    /// Its name in `tidings.toml`.
    #[must_use]
    pub const fn api(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic",
            Self::Ollama => "ollama",
            Self::Gemini => "gemini",
        }
    }

    /// The field of a request that holds the conversation.
    pub(super) const fn messages(self) -> &'static str {
        match self {
            Self::Chat | Self::Messages | Self::Ollama => "messages",
            Self::Responses => "input",
            Self::Gemini => "contents",
        }
    }

    /// What a stream is called.
    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::Chat | Self::Responses | Self::Messages | Self::Gemini => "text/event-stream",
        }
    }

    /// The body of a refusal.
    pub(super) fn error(self, code: u16, text: &str) -> Value {
        let ours = code < 500;
        match self {
            Self::Chat => json!({ "error": { "message": text, "type": "scripted" } }),
            Self::Responses => {
                let kind = if ours {
                    "invalid_request_error"
                } else {
                    "server_error"
                };
                json!({ "error": { "message": text, "type": kind, "param": null, "code": null } })
            }
            Self::Messages => {
                let kind = if ours {
                    "invalid_request_error"
                } else {
                    "api_error"
                };
                json!({ "type": "error", "error": { "type": kind, "message": text } })
            }
            Self::Ollama => json!({ "error": text }),
            Self::Gemini => {
                let status = if ours { "INVALID_ARGUMENT" } else { "INTERNAL" };
                json!({ "error": { "code": code, "message": text, "status": status } })
            }
        }
    }
}
