//! A small run that went well: two chats of one bot, an answer of two parts with a file, one repeat after an unknown end.

use serde_json::json;
use tidings_checker::{Evidence, Finding, check};

pub(crate) const MARK: &str = "↻ may be a repeat";

/// An instant of the run.
pub(crate) fn at(milliseconds: i64) -> String {
    format!(
        "2026-01-01T00:00:{:02}.{:03}Z",
        milliseconds / 1_000,
        milliseconds % 1_000
    )
}

/// The same for the platform.
pub(crate) const BASE: i64 = 1_767_225_600_000;

pub(crate) fn good() -> Evidence {
    let sent = |n: i64, start: i64| json!({"n": n, "started_at": at(start), "ended_at": at(start + 20), "outcome": "sent"});
    let call = |start: i64, chat: i64, message: i64, text: &str| {
        json!({
            "at": BASE + start + 10, "answered_at": BASE + start + 12, "bot": 1, "method": "sendMessage", "chat": chat,
            "text": text, "done": true, "message": message, "status": 200,
        })
    };
    let file = json!({"name": "m000001z.txt", "hash": "aa", "head": "m000001z file"});
    let repeat = format!("{MARK}\nm000002z/1 hello and more words");
    let evidence = json!({
        "product": [
            {
                "id": "msg_1", "state": "sent", "account": "a", "chat": "10", "thread": null, "kind": "reply",
                "source": "turn:1", "created_at": at(100), "expires_at": at(50_000),
                "parts": [
                    {"n": 1, "seq": 1, "state": "sent", "receipt": "2", "attempts": [sent(1, 100)]},
                    {"n": 2, "seq": 2, "state": "sent", "receipt": "3", "attempts": [
                        {"n": 1, "started_at": at(200), "ended_at": at(220), "outcome": "throttled"},
                        sent(2, 1_300),
                    ]},
                ],
            },
            {
                "id": "msg_2", "state": "sent", "account": "a", "chat": "20", "thread": null, "kind": "reply",
                "source": "turn:2", "created_at": at(300), "expires_at": at(50_000),
                "parts": [{"n": 1, "seq": 1, "state": "sent", "receipt": "5", "attempts": [
                    {"n": 1, "started_at": at(300), "ended_at": null, "outcome": null},
                    sent(2, 2_300),
                ]}],
            },
        ],
        "fake": {
            "calls": [
                call(100, 10, 2, "m000001z/1 words of an answer"),
                {
                    "at": BASE + 210, "answered_at": BASE + 212, "bot": 1, "method": "sendDocument", "chat": 10, "text": "",
                    "file": file, "done": false, "status": 429, "retry_after": 1, "scope": "chat",
                },
                call(300, 20, 4, "m000002z/1 hello and more words"),
                {
                    "at": BASE + 1_310, "answered_at": BASE + 1_312, "bot": 1, "method": "sendDocument", "chat": 10,
                    "text": "", "file": file, "done": true, "message": 3, "status": 200,
                },
                call(2_300, 20, 5, &repeat),
            ],
            "visible": [
                {"bot": 1, "chat": 10, "message": 2, "text": "m000001z/1 words of an answer"},
                {"bot": 1, "chat": 10, "message": 3, "text": "", "file": file},
                {"bot": 1, "chat": 20, "message": 4, "text": "m000002z/1 hello and more words"},
                {"bot": 1, "chat": 20, "message": 5, "text": repeat},
            ],
        },
        "driver": {
            "accounts": {"a": 1}, "mark": MARK, "placeholders": ["⏳"], "anonymous": ["Commands:"],
            "inbound": [
                {"token": "m000001z", "account": "a", "chat": 10, "markers": ["m000001z/1", "m000001z file"]},
                {"token": "m000002z", "account": "a", "chat": 20, "markers": ["m000002z/1"]},
            ],
        },
    });
    serde_json::from_value(evidence).unwrap()
}

/// What is found after a change: the invariants, each once.
pub(crate) fn found(change: impl FnOnce(&mut Evidence)) -> Vec<&'static str> {
    let mut evidence = good();
    change(&mut evidence);
    let findings: Vec<Finding> = check(&evidence).findings;
    for finding in &findings {
        println!("{finding}");
    }
    let mut names: Vec<&str> = findings.iter().map(|finding| finding.invariant).collect();
    names.sort_unstable();
    names.dedup();
    names
}
