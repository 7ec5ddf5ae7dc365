//! What a provider said instead of an answer, put into our words.
//!
//! Providers disagree about statuses and codes, so words are looked at too. The order matters: a full context window is a 400 like any
//! other, and an empty purse is a 429 that no waiting helps.

use std::sync::Arc;
use std::time::Duration;

use model::ModelError;
use net::{NetError, Stage};
use serde_json::Value;
use waybill::Secret;

use crate::said::{self, Said, plain};

/// What is kept of a provider's words, in characters.
const KEPT: usize = 500;

const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "exceed_context_size",
    "available context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "reduce the length",
    "request too large",
    "exceed context limit",
    "exceeds the maximum number of tokens",
];
const NO_MONEY: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "billing",
    "insufficient credit",
    "requires more credits",
    "credit balance",
    "insufficient balance",
    "payment required",
];
const NO_MONEY_CODES: &[&str] = &["1113"];
const THROTTLED: &[&str] = &[
    "rate_limit",
    "rate limit",
    "too many requests",
    "resource_exhausted",
];
const THROTTLED_CODES: &[&str] = &["1302", "1305"];
const MODERATED: &[&str] = &["moderation", "flagged", "content policy", "content_policy"];
const KEY: &[&str] = &[
    "invalid_api_key",
    "incorrect api key",
    "authentication_error",
    "invalid x-api-key",
];

/// Codes of requests that will be refused again, where there is no status.
const MALFORMED: &[&str] = &[
    "invalid_request_error",
    "invalid_prompt",
    "invalid_argument",
    "permission_error",
    "not_found_error",
];

/// Who speaks, and the keys that its words must not repeat.
#[derive(Debug, Clone)]
pub(crate) struct Speaker {
    provider: String,
    keys: Arc<[Secret]>,
}

impl Speaker {
    pub(crate) fn new(provider: &str, keys: Vec<Secret>) -> Self {
        Self {
            provider: provider.to_owned(),
            keys: keys.into(),
        }
    }

    /// For `PROVIDER/MODEL`, without a key.
    pub(crate) fn of_route(route: &str) -> Self {
        Self::new(route.split('/').next().unwrap_or_default(), Vec::new())
    }

    pub(crate) fn failed(&self, cause: String) -> ModelError {
        ModelError::Failed {
            provider: self.provider.clone(),
            cause: self.discreet(&cause),
        }
    }

    pub(crate) fn broke_off(&self, cause: String) -> ModelError {
        ModelError::BrokeOff {
            provider: self.provider.clone(),
            cause: self.discreet(&cause),
        }
    }

    pub(crate) fn silent(&self, silence: Duration) -> ModelError {
        ModelError::Silent {
            provider: self.provider.clone(),
            silence,
        }
    }

    fn refused(&self, cause: String) -> ModelError {
        ModelError::Refused {
            provider: self.provider.clone(),
            cause,
        }
    }

    /// An answer with a status that is no success.
    pub(crate) fn status(&self, status: u16, after: Option<Duration>, body: &str) -> ModelError {
        let said = match serde_json::from_str::<Value>(body) {
            Ok(value) => {
                // One vendor puts its error into a list.
                let value = value.get(0).unwrap_or(&value);
                let error = value.get("error").filter(|error| !error.is_null());
                said::of(error.unwrap_or(value))
            }
            Err(_) => Said {
                words: plain(body),
                codes: String::new(),
                status: None,
                after: None,
            },
        };
        self.classify(Some(status), said.after.or(after), &said)
    }

    /// An error object inside a stream that began with 200.
    pub(crate) fn mid_stream(&self, error: &Value) -> ModelError {
        let said = said::of(error);
        self.classify(said.status, said.after, &said)
    }

    /// The exchange itself failed.
    pub(crate) fn net(&self, error: NetError) -> ModelError {
        match error {
            NetError::BadUrl { cause } | NetError::Forbidden { cause } => {
                self.refused(self.discreet(&format!("base_url can't be used: {cause}")))
            }
            NetError::Build { cause } => {
                self.refused(self.discreet(&format!("the request can't be built: {cause}")))
            }
            NetError::NotSent { cause } | NetError::Source { cause } => ModelError::Unreachable {
                provider: self.provider.clone(),
                cause: self.discreet(&cause),
            },
            NetError::Ambiguous { cause } => self.broke_off(cause),
            NetError::Timeout {
                stage: Stage::Answer | Stage::Body,
                after,
            } => self.silent(after),
            error @ (NetError::TooLarge { .. } | NetError::NotJson { .. }) => {
                self.failed(error.to_string())
            }
        }
    }

    fn classify(&self, status: Option<u16>, after: Option<Duration>, said: &Said) -> ModelError {
        let all = format!("{} {}", said.codes, said.words).to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| all.contains(phrase));
        let code = |codes: &[&str]| said.codes.split(' ').any(|code| codes.contains(&code));
        let provider = self.provider.clone();
        let cause = self.cause(status, said);
        // A status from outside the table below (none, or 200 with an error inside) is judged by the words alone.
        let number = status.unwrap_or(0);
        if number == 413 || (!matches!(number, 401 | 402 | 403 | 429) && says(TOO_LONG)) {
            return ModelError::TooLong { provider, cause };
        }
        // Whoever names a wait wants no money, whatever else it says.
        let no_money = said.after.is_none() && says(NO_MONEY);
        if number == 402 || no_money || code(NO_MONEY_CODES) {
            return ModelError::NoMoney { provider, cause };
        }
        match number {
            400 | 403 if says(MODERATED) => ModelError::Moderated { provider, cause },
            401 | 403 => ModelError::Key { provider, cause },
            429 => ModelError::Throttled {
                provider,
                cause,
                after,
            },
            404 => ModelError::Refused {
                provider,
                cause: format!("{cause} (check the model's name and base_url)"),
            },
            408 | 409 | 425 | 500..=599 => ModelError::Failed { provider, cause },
            300..=399 => ModelError::Refused {
                provider,
                cause: format!("{cause} (it points elsewhere; check base_url)"),
            },
            400..=499 => ModelError::Refused { provider, cause },
            _ if says(THROTTLED) || code(THROTTLED_CODES) => ModelError::Throttled {
                provider,
                cause,
                after,
            },
            _ if says(KEY) => ModelError::Key { provider, cause },
            _ if says(MALFORMED) => ModelError::Refused { provider, cause },
            _ => ModelError::Failed { provider, cause },
        }
    }

    fn cause(&self, status: Option<u16>, said: &Said) -> String {
        let words = if said.words.is_empty() {
            "it gave no reason"
        } else {
            said.words.as_str()
        };
        let text = status.map_or_else(
            || words.to_owned(),
            |status| format!("HTTP {status}: {words}"),
        );
        self.discreet(&text)
    }

    /// Bounded, on one line, without the key or anything that looks like one.
    fn discreet(&self, text: &str) -> String {
        let keys = self.keys.iter().filter(|key| !key.reveal().is_empty());
        let text = keys.fold(text.to_owned(), |text, key| {
            text.replace(key.reveal(), "•••")
        });
        let words: Vec<&str> = text
            .split_whitespace()
            .map(|word| {
                if looks_like_a_key(word) {
                    "•••"
                } else {
                    word
                }
            })
            .collect();
        excerpt(&words.join(" "))
    }
}

fn looks_like_a_key(word: &str) -> bool {
    let bare = word.trim_start_matches(|one: char| !one.is_ascii_alphanumeric());
    let begins = ["sk-", "sk_", "key-", "gsk_", "xai-", "AIza"]
        .iter()
        .any(|prefix| bare.starts_with(prefix));
    begins && bare.len() > 12
}

/// The first characters, with a mark where some are left out.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(KEPT) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(error: &ModelError) -> &'static str {
        match error {
            ModelError::Unreachable { .. } => "unreachable",
            ModelError::Key { .. } => "key",
            ModelError::NoMoney { .. } => "no money",
            ModelError::Moderated { .. } => "moderated",
            ModelError::Throttled { after: None, .. } => "throttled",
            ModelError::Throttled { after: Some(_), .. } => "throttled for a time",
            ModelError::TooLong { .. } => "too long",
            ModelError::Refused { .. } => "refused",
            ModelError::Failed { .. } => "failed",
            ModelError::BrokeOff { .. } => "broke off",
            ModelError::Silent { .. } => "silent",
        }
    }

    #[test]
    fn answers_that_are_errors() {
        let wait = Some(Duration::from_secs(5));
        for (status, body, expected) in [
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
                "key",
            ),
            (403, r#"{"error":{"message":"No access"}}"#, "key"),
            (
                403,
                r#"{"error":{"message":"Your input was flagged","code":403}}"#,
                "moderated",
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient credits","code":402}}"#,
                "no money",
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                "no money",
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
                "no money",
            ),
            (
                429,
                r#"{"error":{"code":"1113","message":"no balance"}}"#,
                "no money",
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#,
                "throttled for a time",
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#,
                "too long",
            ),
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"the request exceeds the available context size"}}"#,
                "too long",
            ),
            (413, "", "too long"),
            (
                400,
                r#"{"error":"model 'x' does not support tools"}"#,
                "refused",
            ),
            (
                404,
                r#"{"error":{"message":"model 'x' not found"}}"#,
                "refused",
            ),
            (
                422,
                r#"{"detail":[{"loc":["body"],"msg":"extra fields"}]}"#,
                "refused",
            ),
            (307, "", "refused"),
            (408, "", "failed"),
            (
                500,
                "<!DOCTYPE html><html><head><title>Oops</title></head></html>",
                "failed",
            ),
            (
                503,
                r#"{"error":{"message":"Loading model","code":503}}"#,
                "failed",
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "failed",
            ),
        ] {
            let error = Speaker::new("acme", Vec::new()).status(status, wait, body);
            assert_eq!(kind(&error), expected, "{status} {body}");
        }
    }

    #[test]
    fn errors_inside_a_stream() {
        for (error, expected) in [
            (
                r#"{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream gone"}}"#,
                "failed",
            ),
            (r#"{"code":429,"message":"slow down"}"#, "throttled"),
            (r#"{"code":401,"message":"no"}"#, "key"),
            (
                r#"{"type":"overloaded_error","message":"Overloaded"}"#,
                "failed",
            ),
            (
                r#"{"code":"rate_limit_exceeded","message":"slow down"}"#,
                "throttled",
            ),
            (r#"{"code":"1305","message":"overload"}"#, "throttled"),
            (r#"{"message":"the prompt is too long"}"#, "too long"),
            (r#""unexpected EOF""#, "failed"),
            ("{}", "failed"),
        ] {
            let value = serde_json::from_str(error).unwrap();
            assert_eq!(
                kind(&Speaker::new("acme", Vec::new()).mid_stream(&value)),
                expected,
                "{error}"
            );
        }
    }

    #[test]
    fn words_are_bounded_and_hold_no_key() {
        let key = Secret::new("my-very-own-key".to_owned());
        let speaker = Speaker::new("acme", vec![key]);
        let body = format!(
            r#"{{"error":{{"message":"bad key my-very-own-key or 'sk-proj-0123456789' {}"}}}}"#,
            "ä".repeat(5000)
        );
        let text = speaker.status(401, None, &body).to_string();
        assert!(
            !text.contains("my-very-own-key") && !text.contains("0123456789"),
            "{text}"
        );
        assert!(text.chars().count() < 600, "{text}");
        let page = speaker
            .status(
                502,
                None,
                "<html><title>502 Bad Gateway</title><body>x</body>",
            )
            .to_string();
        assert_eq!(
            page,
            "acme failed: HTTP 502: a web page, \"502 Bad Gateway\""
        );
        let empty = speaker.status(500, None, "").to_string();
        assert_eq!(empty, "acme failed: HTTP 500: it gave no reason");
    }
}
