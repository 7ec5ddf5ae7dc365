//! A changed message meets the one that it changes.

use chat::Inbound;
use rusqlite::params;
use session::{Amended, InboxId};
use waybill::AccountId;

use crate::desk::Desk;
use crate::error::Trouble;
use crate::value::{json, read};

/// The newest version of the message that was taken for somebody's words: the message itself, or an edit that became a message.
const NEWEST: &str = "SELECT id, state, inbound FROM inbox
    WHERE account = ?1 AND conversation = ?2 AND anchor = ?3 AND id < ?4 AND state NOT IN ('ignored','poisoned')
    ORDER BY id DESC LIMIT 1";

pub(crate) fn amend(
    desk: &Desk<'_>,
    account: &AccountId,
    edit: InboxId,
    inbound: &Inbound,
) -> Result<Amended, Trouble> {
    let chat = &inbound.chat;
    let found: Option<(i64, String, Option<String>)> = desk.first(
        NEWEST,
        params![
            account.as_str(),
            chat.conversation.as_str(),
            inbound.anchor.as_str(),
            edit.0
        ],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let Some((id, state, before)) = found else {
        return settle(desk, edit, "an edit of a message that was not taken here");
    };
    // One that can't be read any more is another one, for sure.
    let before =
        before.and_then(|text| read::<Inbound>(format!("event {id} of the inbox"), &text).ok());
    let Some(before) = before else {
        return Ok(Amended::TooLate);
    };
    if before.text == inbound.text && before.files == inbound.files {
        return settle(desk, edit, "an edit that changes neither words nor files");
    }
    if !matches!(state.as_str(), "new" | "admitted") {
        return Ok(Amended::TooLate);
    }
    let after = Inbound {
        text: inbound.text.clone(),
        files: inbound.files.clone(),
        ..before
    };
    desk.run(
        "UPDATE inbox SET inbound = ?2, version = version + 1 WHERE id = ?1",
        params![id, json(&after)?],
    )?;
    let reason = format!("an edit: event {id}, which still waited, has its words now");
    settle(desk, edit, &reason)
}

fn settle(desk: &Desk<'_>, edit: InboxId, reason: &str) -> Result<Amended, Trouble> {
    desk.run(
        "UPDATE inbox SET state = 'ignored', reason = ?2 WHERE id = ?1 AND state IN ('new','admitted')",
        params![edit.0, reason],
    )?;
    Ok(Amended::Settled(reason.to_owned()))
}
