//! What a refusal means.

use std::time::Duration;

use chat::{Fault, FaultKind, ThrottleScope};
use net::NetError;
use serde::Deserialize;
use waybill::{AccountId, ChatKey, Conversation};

/// What a call does, and so what a lost answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Makes something visible: twice is not the same as once.
    Send,
    /// Reads, or may be repeated without harm.
    Repeatable,
}

/// Used where the platform says "wait" and names no time.
const WAIT: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct Refusal {
    ok: bool,
    error_code: Option<u16>,
    description: Option<String>,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Deserialize, Default)]
struct Parameters {
    migrate_to_chat_id: Option<i64>,
    retry_after: Option<u64>,
}

/// The chat is closed to us, whatever we send. In small letters.
const CLOSED: &[&str] = &[
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "group chat was deactivated",
    "group chat was deleted",
    "group chat was upgraded",
    "channel_private",
    "chat_write_forbidden",
    "chat_restricted",
    "chat_admin_required",
    "need administrator rights",
    "not enough rights to send text messages",
    "have no rights to send a message",
    "user_is_blocked",
    "user is deactivated",
    "bot was kicked",
    "bot is not a member",
    "message thread not found",
    "topic_closed",
    "topic_deleted",
];

/// What an answer other than success means. Pure; the body may be anything, HTML of a proxy too.
pub(crate) fn classify(
    account: &AccountId,
    effect: Effect,
    status: u16,
    retry_after: Option<Duration>,
    body: &[u8],
) -> Fault {
    let Some(refusal) = serde_json::from_slice::<Refusal>(body)
        .ok()
        .filter(|refusal| !refusal.ok)
    else {
        return foreign(effect, status, retry_after);
    };
    let code = refusal.error_code.unwrap_or(status);
    let text = refusal
        .description
        .unwrap_or_else(|| format!("status {code}"));
    let parameters = refusal.parameters.unwrap_or_default();
    let after = parameters
        .retry_after
        .map(Duration::from_secs)
        .or(retry_after);
    let moved = parameters
        .migrate_to_chat_id
        .and_then(|id| Conversation::new(id.to_string()).ok())
        .map(|there| ChatKey::new(account.clone(), there));
    Fault::new(kind(effect, code, &text, after, moved), told(code, text)).with_code(code)
}

fn kind(
    effect: Effect,
    code: u16,
    text: &str,
    after: Option<Duration>,
    moved: Option<ChatKey>,
) -> FaultKind {
    let small = text.to_lowercase();
    match code {
        400 if moved.is_some() => moved.map_or(FaultKind::PermItem, |to| FaultKind::Moved { to }),
        400 if small.contains("message is not modified") => FaultKind::NoChange,
        // Some people take no voice notes; the chat itself is open.
        400 | 403 if small.contains("voice_messages_forbidden") => FaultKind::PermItem,
        400 if CLOSED.iter().any(|closed| small.contains(closed)) => FaultKind::PermChat,
        // An older server of one's own lacks a method; the token is fine.
        404 if small.contains("method not found") => FaultKind::PermItem,
        401 => FaultKind::PermAccount,
        403 => FaultKind::PermChat,
        404 => FaultKind::PermAccount,
        409 => FaultKind::TempReject,
        420 | 429 => throttled(after),
        400..=499 => FaultKind::PermItem,
        _ => lost(effect),
    }
}

/// The platform's words, and what to do where it isn't plain.
fn told(code: u16, text: String) -> String {
    match code {
        401 | 404 => format!(
            "Telegram does not accept the bot's token ({text}). If it was revoked, get a new one from BotFather and put it where the configuration points"
        ),
        409 if text.contains("webhook") => {
            format!("a webhook is set for this bot, so it can't be polled ({text})")
        }
        409 => format!(
            "another program reads this bot's messages with the same token ({text}). Stop it, or give it a bot of its own"
        ),
        _ if text.contains("message thread not found") => {
            format!("the topic is gone; nothing was sent to the main chat instead ({text})")
        }
        _ => text,
    }
}

/// An answer that the Bot API did not write: a proxy, a load balancer, another server.
fn foreign(effect: Effect, status: u16, retry_after: Option<Duration>) -> Fault {
    let (kind, text) = match status {
        200..=299 => (lost(effect), "the answer could not be read"),
        300..=399 => (
            FaultKind::TempReject,
            "the address answers with a redirect; check api_base",
        ),
        401 | 404 => (
            FaultKind::PermAccount,
            "this is no Bot API server; check api_base",
        ),
        408 => (FaultKind::TempReject, "the request came in too slowly"),
        400 => (
            FaultKind::PermItem,
            "the request was refused before the Bot API saw it",
        ),
        413 => (
            FaultKind::PermItem,
            "the file is larger than the Bot API server takes",
        ),
        429 => (throttled(retry_after), "too many requests"),
        402..=499 => (
            FaultKind::TempReject,
            "something between us and the Bot API refused the request",
        ),
        _ => (lost(effect), "the server failed"),
    };
    Fault::new(kind, format!("{text} (status {status})")).with_code(status)
}

fn throttled(after: Option<Duration>) -> FaultKind {
    FaultKind::Throttled {
        after: after.unwrap_or(WAIT),
        scope: ThrottleScope::Lane,
    }
}

fn lost(effect: Effect) -> FaultKind {
    match effect {
        Effect::Send => FaultKind::Unknown,
        Effect::Repeatable => FaultKind::TempReject,
    }
}

/// What a request without a whole answer means.
pub(crate) fn unanswered(effect: Effect, error: &NetError) -> Fault {
    let kind = match error {
        NetError::BadUrl { .. } | NetError::Forbidden { .. } | NetError::Build { .. } => {
            FaultKind::PermAccount
        }
        NetError::NotSent { .. } => FaultKind::NotSent,
        // Our own file could not be read: the network is well.
        NetError::Source { .. } => FaultKind::TempReject,
        NetError::Ambiguous { .. }
        | NetError::Timeout { .. }
        | NetError::TooLarge { .. }
        | NetError::NotJson { .. } => lost(effect),
    };
    Fault::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> AccountId {
        AccountId::parse("home-bot").unwrap()
    }

    fn json(code: u16, description: &str, parameters: &str) -> String {
        format!(
            r#"{{"ok":false,"error_code":{code},"description":"{description}","parameters":{{{parameters}}}}}"#
        )
    }

    #[test]
    fn each_refusal_has_its_meaning() {
        let table = [
            (
                429,
                "Too Many Requests: retry after 149",
                r#""retry_after":149"#,
                "throttled",
            ),
            (401, "Unauthorized", "", "perm_account"),
            (404, "Not Found", "", "perm_account"),
            (
                403,
                "Forbidden: bot was blocked by the user",
                "",
                "perm_chat",
            ),
            (403, "Forbidden: user is deactivated", "", "perm_chat"),
            (
                403,
                "Forbidden: bot was kicked from the supergroup chat",
                "",
                "perm_chat",
            ),
            (400, "Bad Request: chat not found", "", "perm_chat"),
            (
                400,
                "Bad Request: message thread not found",
                "",
                "perm_chat",
            ),
            (400, "Bad Request: TOPIC_CLOSED", "", "perm_chat"),
            (400, "Bad Request: PEER_ID_INVALID", "", "perm_chat"),
            (
                400,
                "Bad Request: VOICE_MESSAGES_FORBIDDEN",
                "",
                "perm_item",
            ),
            (
                400,
                "Bad Request: not enough rights to send photos to the chat",
                "",
                "perm_item",
            ),
            (400, "Bad Request: message is too long", "", "perm_item"),
            (
                400,
                "Bad Request: PHOTO_INVALID_DIMENSIONS",
                "",
                "perm_item",
            ),
            (400, "Bad Request: can't parse entities", "", "perm_item"),
            (
                400,
                "Bad Request: wrong file identifier/HTTP URL specified",
                "",
                "perm_item",
            ),
            (
                400,
                "Bad Request: message is not modified: specified new message content",
                "",
                "no_change",
            ),
            (
                400,
                "Bad Request: group chat was upgraded to a supergroup chat",
                r#""migrate_to_chat_id":-1009000000001"#,
                "moved",
            ),
            (
                409,
                "Conflict: terminated by other getUpdates request",
                "",
                "temp_reject",
            ),
            (413, "Request Entity Too Large", "", "perm_item"),
            (500, "Internal Server Error", "", "unknown"),
            (502, "Bad Gateway", "", "unknown"),
            (504, "Gateway Timeout", "", "unknown"),
        ];
        for (code, description, parameters, expected) in table {
            let body = json(code, description, parameters);
            let fault = classify(&account(), Effect::Send, code, None, body.as_bytes());
            assert_eq!(fault.kind.name(), expected, "{body}");
            assert_eq!(fault.code, Some(code.to_string()));
        }
    }

    #[test]
    fn a_wait_is_taken_from_the_body_then_the_header_then_five_seconds() {
        let after = |body: &str, header| {
            let fault = classify(&account(), Effect::Send, 429, header, body.as_bytes());
            let FaultKind::Throttled { after, .. } = fault.kind else {
                panic!("{fault:?}")
            };
            after.as_secs()
        };
        let header = Some(Duration::from_secs(7));
        assert_eq!(
            after(&json(429, "slow", r#""retry_after":149"#), header),
            149
        );
        assert_eq!(after(&json(429, "slow", ""), header), 7);
        assert_eq!(after("<html>slow</html>", header), 7);
        assert_eq!(after("", None), 5);
    }

    #[test]
    fn a_moved_group_keeps_its_account() {
        let body = json(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            r#""migrate_to_chat_id":-1009000000001"#,
        );
        let fault = classify(&account(), Effect::Send, 400, None, body.as_bytes());
        let FaultKind::Moved { to } = fault.kind else {
            panic!("{fault:?}")
        };
        assert_eq!(to.to_string(), "home-bot:-1009000000001");
    }

    #[test]
    fn what_a_proxy_says_closes_no_chat() {
        let html = b"<html><body>nginx</body></html>";
        let table = [
            (200, "unknown"),
            (204, "unknown"),
            (302, "temp_reject"),
            (400, "perm_item"),
            (401, "perm_account"),
            (403, "temp_reject"),
            (404, "perm_account"),
            (407, "temp_reject"),
            (408, "temp_reject"),
            (413, "perm_item"),
            (429, "throttled"),
            (499, "temp_reject"),
            (500, "unknown"),
            (502, "unknown"),
            (503, "unknown"),
            (520, "unknown"),
            (100, "unknown"),
        ];
        for (status, expected) in table {
            let fault = classify(&account(), Effect::Send, status, None, html);
            assert_eq!(fault.kind.name(), expected, "{status}");
            assert!(!fault.text.contains("html"), "{}", fault.text);
        }
    }

    #[test]
    fn a_lost_answer_to_a_repeatable_call_is_no_mystery() {
        let fault = classify(&account(), Effect::Repeatable, 502, None, b"");
        assert_eq!(fault.kind, FaultKind::TempReject);
        let broken = NetError::Ambiguous {
            cause: "reset".to_owned(),
        };
        assert_eq!(
            unanswered(Effect::Repeatable, &broken).kind,
            FaultKind::TempReject
        );
        assert_eq!(unanswered(Effect::Send, &broken).kind, FaultKind::Unknown);
        let refused = NetError::NotSent {
            cause: "connection refused".to_owned(),
        };
        assert_eq!(unanswered(Effect::Send, &refused).kind, FaultKind::NotSent);
    }
}
