//! `tidings outbox`.

use std::process::ExitCode;

use anyhow::Context as _;
use outbox::{AttemptRow, ListFilter, MessageRow, OutboxStore, PartRow, PartState};
use serde_json::{Value, json};
use settings::Home;
use store_sqlite::Store;
use waybill::{MessageId, Timestamp};

use crate::exit::Failure;
use crate::printable::printable;

/// Lists parcels, newest first.
pub(crate) fn list(
    home: &Home,
    state: Option<PartState>,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let rows = read(home, async |store| {
        store
            .list(ListFilter {
                state,
                ..ListFilter::default()
            })
            .await
            .context("the outbox can't be read")
    })?;
    if as_json {
        for row in &rows {
            println!("{}", object(row));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        eprintln!("no parcels");
    }
    for row in &rows {
        println!("{}", line(row));
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows one parcel with its whole history.
pub(crate) fn show(home: &Home, id: MessageId, as_json: bool) -> Result<ExitCode, Failure> {
    let row = read(home, async |store| {
        store.show(id).await.context("the outbox can't be read")
    })?;
    let Some(row) = row else {
        return Err(Failure::Failed(format!(
            "there is no parcel {id}; see `tidings outbox list`"
        )));
    };
    if as_json {
        println!("{}", object(&row));
        return Ok(ExitCode::SUCCESS);
    }
    for line in history(&row) {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A parcel in one line.
fn line(row: &MessageRow) -> String {
    printable(&format!(
        "{}  {:<10} {:<8} {:<24} {}",
        row.id,
        row.state().name(),
        row.kind.name(),
        row.waybill.chat().to_string(),
        first_words(row)
    ))
}

/// A parcel with its parts and their attempts.
fn history(row: &MessageRow) -> Vec<String> {
    let mut lines = vec![
        format!("{}  {}", row.id, row.state()),
        format!(
            "  profile {}, to {}, {}",
            row.waybill.profile(),
            row.waybill.chat(),
            row.kind.name()
        ),
        format!(
            "  made {}, expires {}",
            when(row.created_at),
            when(row.expires_at)
        ),
    ];
    for part in &row.parts {
        lines.push(format!(
            "  part {} {}: {}{}",
            part.n,
            part.op.name(),
            part.state,
            told(part)
        ));
        lines.extend(part.attempts.iter().map(attempt));
    }
    lines.iter().map(|line| printable(line)).collect()
}

fn attempt(attempt: &AttemptRow) -> String {
    let ended = attempt
        .ended_at
        .map_or_else(|| "no end recorded".to_owned(), when);
    let outcome = attempt.outcome.as_deref().unwrap_or("?");
    let detail = attempt
        .detail
        .as_deref()
        .map(|detail| format!(" ({detail})"))
        .unwrap_or_default();
    format!(
        "    attempt {}: {} → {ended}: {outcome}{detail}",
        attempt.n,
        when(attempt.started_at)
    )
}

fn read<T>(home: &Home, look: impl AsyncFnOnce(Store) -> anyhow::Result<T>) -> Result<T, Failure> {
    home.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    let found = runtime.block_on(async {
        let store = Store::open_read_only(&home.database())?;
        look(store).await
    })?;
    Ok(found)
}

fn when(at: Timestamp) -> String {
    at.to_string()
}

fn told(part: &PartRow) -> String {
    match (&part.receipt, &part.fault) {
        (Some(receipt), _) if !receipt.as_str().is_empty() => {
            format!(", receipt {}", receipt.as_str())
        }
        (_, Some(fault)) => format!(", {}: {}", fault.kind.name(), fault.text),
        (Some(_) | None, None) => String::new(),
    }
}

fn first_words(row: &MessageRow) -> String {
    let words = row.parts.iter().map(|part| match &part.op {
        chat::Op::Text(body) => body
            .text()
            .split_whitespace()
            .take(8)
            .collect::<Vec<_>>()
            .join(" "),
        chat::Op::File { artifact, .. } => format!("[{}]", artifact.name),
    });
    words
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(60)
        .collect()
}

/// The object of `--json`; its names are fixed by the interface.
fn object(row: &MessageRow) -> Value {
    let parts: Vec<Value> = row.parts.iter().map(part_object).collect();
    json!({
        "id": row.id,
        "state": row.state(),
        "profile": row.waybill.profile(),
        "account": row.waybill.account(),
        "chat": row.waybill.chat().conversation,
        "thread": row.waybill.chat().thread,
        "kind": row.kind,
        "origin": row.waybill.origin().to_string(),
        "turn": row.waybill.turn(),
        "task": row.waybill.task(),
        "parts": parts,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    })
}

fn part_object(part: &PartRow) -> Value {
    let attempts: Vec<Value> = part
        .attempts
        .iter()
        .map(|attempt| {
            json!({
                "n": attempt.n,
                "started_at": attempt.started_at,
                "ended_at": attempt.ended_at,
                "outcome": attempt.outcome,
                "detail": attempt.detail,
            })
        })
        .collect();
    json!({
        "n": part.n,
        "op": part.op.name(),
        "state": part.state,
        "tries": part.tries,
        "receipt": part.receipt,
        "fault": part.fault.as_ref().map(|fault| json!({
            "kind": fault.kind.name(), "code": fault.code, "text": fault.text,
        })),
        "file": part.op.artifact().map(|artifact| json!({
            "name": artifact.name, "size": artifact.blob.size, "mime": artifact.blob.mime, "hash": artifact.blob.hash,
        })),
        "attempts": attempts,
    })
}

#[cfg(test)]
mod tests {
    use chat::{Body, Fault, FaultKind, IdempotencyKey, Op, Receipt, Shape};
    use outbox::MessageKind;
    use sandbox::{ArtifactRef, Blob, ContentHash, Taken};
    use testkit::clock::CountingIds;
    use waybill::{AccountId, ChatKey, Conversation, ProfileId, ProfileScope, Waybill};

    use super::*;

    const EVIL: &str = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nwords";

    fn part(n: u32, op: Op, receipt: Option<Receipt>, fault: Option<Fault>) -> PartRow {
        PartRow {
            n,
            op,
            key: IdempotencyKey::new([1; 16]),
            state: PartState::Failed,
            tries: 1,
            next_at: Timestamp::UNIX_EPOCH,
            receipt,
            fault,
            may_be_repeat: false,
            attempts: vec![AttemptRow {
                n: 1,
                started_at: Timestamp::UNIX_EPOCH,
                ended_at: None,
                outcome: Some(EVIL.to_owned()),
                detail: Some(EVIL.to_owned()),
            }],
        }
    }

    #[test]
    fn what_a_stranger_or_a_platform_wrote_commands_no_terminal() {
        let profile = ProfileId::parse("work").unwrap();
        let chat = ChatKey::new(
            AccountId::parse("bot").unwrap(),
            Conversation::new("7").unwrap(),
        );
        let text = Op::Text(Body::Markdown(EVIL.to_owned()));
        let file = Op::File {
            artifact: ArtifactRef {
                profile: profile.clone(),
                blob: Blob {
                    hash: ContentHash::new([1; 32]),
                    size: 1,
                    mime: "text/plain".to_owned(),
                },
                name: EVIL.to_owned(),
                taken: Taken::Received,
            },
            shape: Shape::Document,
            caption: None,
        };
        let row = MessageRow {
            id: MessageId::fresh(&CountingIds::default()),
            waybill: Waybill::operator(&ProfileScope::enter(profile), chat),
            kind: MessageKind::Notice,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: Timestamp::UNIX_EPOCH,
            parts: vec![
                part(1, text, Some(Receipt::new(EVIL)), None),
                part(2, file, None, Some(Fault::new(FaultKind::PermItem, EVIL))),
            ],
        };
        let mut lines = history(&row);
        assert_eq!(lines.len(), 7);
        lines.push(line(&row));
        for line in lines {
            assert!(
                !line
                    .chars()
                    .any(|sign| sign.is_control() || sign == '\u{202e}'),
                "{line:?}"
            );
        }
        assert!(line(&row).contains("words"), "{}", line(&row));
    }
}
