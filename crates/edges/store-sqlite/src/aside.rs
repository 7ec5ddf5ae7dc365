//! Events that are put aside: counted before they are handled, and told of once.

use chat::Inbound;
use outbox::{Claimed, NewMessage};
use rusqlite::params;
use session::{InboxId, MOST_TAKES, PutAside, Take};
use waybill::{AccountId, ChatKey, Conversation, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::parse;

pub(crate) fn take(desk: &Desk<'_>, id: InboxId) -> Result<Take, Trouble> {
    let taken: Option<i64> = desk.first(
        "SELECT taken FROM inbox WHERE id = ?1 AND state IN ('new','admitted')",
        [id.0],
        |row| row.get(0),
    )?;
    let Some(taken) = taken else {
        return Ok(Take::No);
    };
    if taken >= i64::from(MOST_TAKES) {
        let reason = format!("the gateway failed each of the {taken} times that it dealt with it");
        desk.run(
            "UPDATE inbox SET state = 'poisoned', reason = ?2 WHERE id = ?1",
            params![id.0, reason],
        )?;
        return Ok(Take::No);
    }
    desk.run("UPDATE inbox SET taken = taken + 1 WHERE id = ?1", [id.0])?;
    Ok(Take::Go)
}

pub(crate) fn release(desk: &Desk<'_>, id: InboxId) -> Result<(), Trouble> {
    desk.run(
        "UPDATE inbox SET taken = max(taken - 1, 0) WHERE id = ?1 AND state IN ('new','admitted')",
        [id.0],
    )?;
    Ok(())
}

pub(crate) fn count(desk: &Desk<'_>) -> Result<u64, Trouble> {
    let count = desk.first(
        "SELECT count(*) FROM inbox WHERE state = 'poisoned'",
        [],
        |row| row.get::<_, i64>(0),
    )?;
    Ok(count.map_or(0, i64::unsigned_abs))
}

type Columns = (i64, String, Option<String>, Option<String>, Option<String>);

pub(crate) fn untold(desk: &Desk<'_>, most: usize) -> Result<Vec<PutAside>, Trouble> {
    let rows: Vec<Columns> = desk.all(
        "SELECT id, account, conversation, inbound, reason FROM inbox WHERE state = 'poisoned' AND told = 0
         ORDER BY id LIMIT ?1",
        [i64::try_from(most).unwrap_or(i64::MAX)],
        |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
            ))
        },
    )?;
    rows.into_iter()
        .map(|(id, account, conversation, inbound, reason)| {
            let account: AccountId = parse(format!("event {id} of the inbox"), &account)?;
            // What was put aside may be what can't be read.
            let said = inbound.and_then(|text| serde_json::from_str::<Inbound>(&text).ok());
            let column = || {
                let conversation = Conversation::new(conversation?).ok()?;
                Some(ChatKey::new(account.clone(), conversation))
            };
            Ok(PutAside {
                id: InboxId(id),
                chat: said.map(|said| said.chat).or_else(column),
                account,
                reason: reason.unwrap_or_default(),
            })
        })
        .collect()
}

pub(crate) fn tell(
    desk: &Desk<'_>,
    rows: &[InboxId],
    notices: &[NewMessage],
    now: Timestamp,
) -> Result<Vec<Claimed>, Trouble> {
    // Who was told of nothing has to be told still.
    if notices.is_empty() {
        return Ok(Vec::new());
    }
    for row in rows {
        desk.run("UPDATE inbox SET told = 1 WHERE id = ?1", [row.0])?;
    }
    crate::outbox::enqueue(desk, notices, now)
}

/// A database that was put back from a copy: what waits may have been answered since. Returns how many.
pub(crate) fn doubt(desk: &Desk<'_>) -> Result<usize, Trouble> {
    desk.run(
        "UPDATE inbox SET version = version + ?1 WHERE state IN ('new','admitted') AND version < ?1",
        [i64::from(session::DOUBTED)],
    )
}
