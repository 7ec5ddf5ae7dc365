//! `tidings outbox`.

use std::process::ExitCode;

use anyhow::Context as _;
use outbox::{ListFilter, MessageRow, OutboxStore, PartRow, PartState};
use serde_json::{Value, json};
use settings::Home;
use store_sqlite::Store;
use waybill::{MessageId, Timestamp};

use crate::exit::Failure;

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
        println!(
            "{}  {:<10} {:<8} {:<24} {}",
            row.id,
            row.state().name(),
            row.kind.name(),
            row.waybill.chat().to_string(),
            first_words(row)
        );
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
    println!("{}  {}", row.id, row.state());
    println!(
        "  profile {}, to {}, {}",
        row.waybill.profile(),
        row.waybill.chat(),
        row.kind.name()
    );
    println!(
        "  made {}, expires {}",
        when(row.created_at),
        when(row.expires_at)
    );
    for part in &row.parts {
        println!(
            "  part {} {}: {}{}",
            part.n,
            part.op.name(),
            part.state,
            told(part)
        );
        for attempt in &part.attempts {
            let ended = attempt
                .ended_at
                .map_or_else(|| "no end recorded".to_owned(), when);
            let outcome = attempt.outcome.as_deref().unwrap_or("?");
            let detail = attempt
                .detail
                .as_deref()
                .map(|detail| format!(" ({detail})"))
                .unwrap_or_default();
            println!(
                "    attempt {}: {} → {ended}: {outcome}{detail}",
                attempt.n,
                when(attempt.started_at)
            );
        }
    }
    Ok(ExitCode::SUCCESS)
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
