//! What people wrote, at rest.

use async_trait::async_trait;
use chat::{Accepted, Inbound};
use outbox::{Claimed, NewMessage, StoreError};
use rusqlite::{Row, params};
use session::{
    Admission, Amended, Heard, InboxId, InboxRow, InboxState, InboxStore, NewEvent, PutAside, Take,
};
use waybill::{AccountId, SessionScope, Timestamp};

use crate::amend::amend;
use crate::aside;
use crate::desk::Desk;
use crate::error::{Damage, Trouble};
use crate::store::Store;
use crate::value::{json, ms, number, parse, read, time};

#[async_trait]
impl InboxStore for Store {
    async fn accept(
        &self,
        account: &AccountId,
        events: Vec<NewEvent>,
        cursor: Option<String>,
        now: Timestamp,
    ) -> Result<(Vec<InboxRow>, Accepted), StoreError> {
        let account = account.clone();
        self.write(move |desk| accept(desk, &account, events, cursor.as_deref(), now))
            .await
    }

    async fn cursor(&self, account: &AccountId) -> Result<Option<String>, StoreError> {
        let account = account.clone();
        self.read(move |desk| {
            desk.first(
                "SELECT value FROM cursor WHERE account = ?1",
                [account.as_str()],
                |row| row.get(0),
            )
        })
        .await
    }

    async fn admit(
        &self,
        id: InboxId,
        admission: Admission,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| admit(desk, id, &admission, now))
            .await
    }

    async fn take(&self, id: InboxId) -> Result<Take, StoreError> {
        self.write(move |desk| aside::take(desk, id)).await
    }

    async fn release(&self, id: InboxId) -> Result<(), StoreError> {
        self.write(move |desk| aside::release(desk, id)).await
    }

    async fn amend(&self, edit: InboxId, inbound: &Inbound) -> Result<Amended, StoreError> {
        let inbound = inbound.clone();
        self.write(move |desk| amend(desk, &inbound.chat.account, edit, &inbound))
            .await
    }

    async fn poisoned(&self) -> Result<u64, StoreError> {
        self.read(aside::count).await
    }

    async fn untold(&self, most: usize) -> Result<Vec<PutAside>, StoreError> {
        self.read(move |desk| aside::untold(desk, most)).await
    }

    async fn tell(
        &self,
        rows: Vec<InboxId>,
        notices: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| aside::tell(desk, &rows, &notices, now))
            .await
    }

    async fn open_rows(&self) -> Result<Vec<InboxRow>, StoreError> {
        let (rows, damaged) = self.read(open_rows).await?;
        if !damaged.is_empty() {
            self.write(move |desk| poison(desk, damaged)).await?;
        }
        Ok(rows)
    }
}

fn accept(
    desk: &Desk<'_>,
    account: &AccountId,
    events: Vec<NewEvent>,
    cursor: Option<&str>,
    now: Timestamp,
) -> Result<(Vec<InboxRow>, Accepted), Trouble> {
    let mut fresh = Vec::new();
    let mut counts = Accepted::default();
    for event in events {
        let (state, reason, inbound) = match event.parsed {
            Ok(Some(inbound)) => ("new", None, Some(inbound)),
            Ok(None) => ("ignored", Some("it concerns nobody here".to_owned()), None),
            Err(reason) => ("poisoned", Some(reason), None),
        };
        let stored = desk.run(
            "INSERT INTO inbox(account, event_key, raw, inbound, state, reason, at, conversation, anchor, taken)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT(account, event_key) DO NOTHING",
            params![
                account.as_str(),
                event.key,
                event.raw,
                inbound.as_ref().map(json).transpose()?,
                state,
                reason,
                ms(now),
                inbound.as_ref().map(|said| said.chat.conversation.as_str()),
                inbound.as_ref().map(|said| said.anchor.as_str()),
                u32::from(inbound.is_some()),
            ],
        )?;
        if stored == 0 {
            counts.repeated += 1;
            continue;
        }
        counts.fresh += 1;
        if inbound.is_some() {
            let id = desk.first(
                "SELECT id FROM inbox WHERE account = ?1 AND event_key = ?2",
                [account.as_str(), event.key.as_str()],
                |row| row.get(0),
            )?;
            let id = id.ok_or_else(|| {
                Trouble::unreadable(&event.key, "it is missing right after it was stored")
            })?;
            fresh.push(InboxRow {
                id: InboxId(id),
                account: account.clone(),
                inbound,
                state: InboxState::New,
                session: None,
                version: 0,
                taken: 1,
                at: now,
            });
        }
    }
    if let Some(cursor) = cursor {
        desk.run(
            "INSERT INTO cursor(account, value) VALUES(?1, ?2)
             ON CONFLICT(account) DO UPDATE SET value = excluded.value",
            [account.as_str(), cursor],
        )?;
    }
    Ok((fresh, counts))
}

/// Decides once: a row that went on already (a turn has it, or it was answered) stays as it is.
fn admit(
    desk: &Desk<'_>,
    id: InboxId,
    admission: &Admission,
    now: Timestamp,
) -> Result<Vec<Claimed>, Trouble> {
    let (state, reason, session) = match admission {
        Admission::Admit(scope) => ("admitted", None, Some(json(scope)?)),
        Admission::Ignore { reason } => ("ignored", Some(reason.as_str()), None),
        Admission::Tell { .. } => ("told", None, None),
        Admission::PutAside { reason } => ("poisoned", Some(reason.as_str()), None),
    };
    let changed = desk.run(
        "UPDATE inbox SET state = ?2, reason = ?3, session = ?4, taken = max(taken - 1, 0)
         WHERE id = ?1 AND state IN ('new','admitted')",
        params![id.0, state, reason, session],
    )?;
    if changed == 0 {
        let known = desk.first("SELECT 1 FROM inbox WHERE id = ?1", [id.0], |row| {
            row.get::<_, i64>(0)
        })?;
        return match known {
            Some(_) => Ok(Vec::new()),
            None => Err(Trouble::refused(format!(
                "there is no event {} in the inbox",
                id.0
            ))),
        };
    }
    match admission {
        Admission::Tell { messages } => crate::outbox::enqueue(desk, messages, now),
        Admission::Admit(_) | Admission::Ignore { .. } | Admission::PutAside { .. } => {
            Ok(Vec::new())
        }
    }
}

struct Columns {
    id: i64,
    account: String,
    inbound: Option<String>,
    state: String,
    session: Option<String>,
    at: i64,
    version: i64,
    taken: i64,
}

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok(Columns {
        id: row.get(0)?,
        account: row.get(1)?,
        inbound: row.get(2)?,
        state: row.get(3)?,
        session: row.get(4)?,
        at: row.get(5)?,
        version: row.get(6)?,
        taken: row.get(7)?,
    })
}

pub(crate) const OPEN_ROWS: &str =
    "SELECT id, account, inbound, state, session, at, version, taken FROM inbox
    WHERE state IN ('new','admitted') ORDER BY id";

type Damaged = Vec<(i64, Damage)>;

fn open_rows(desk: &Desk<'_>) -> Result<(Vec<InboxRow>, Damaged), Trouble> {
    let (mut rows, mut damaged) = (Vec::new(), Vec::new());
    for columns in desk.all(OPEN_ROWS, [], columns)? {
        let id = columns.id;
        match row(columns) {
            Ok(row) => rows.push(row),
            Err(trouble) => damaged.push((id, trouble.damage()?)),
        }
    }
    Ok((rows, damaged))
}

/// One event that can't be read holds up no start.
fn poison(desk: &Desk<'_>, damaged: Damaged) -> Result<(), Trouble> {
    for (id, damage) in damaged {
        desk.run(
            "UPDATE inbox SET state = 'poisoned', reason = ?2 WHERE id = ?1 AND state IN ('new','admitted')",
            params![id, damage.0],
        )?;
    }
    Ok(())
}

/// Whether events are as a turn read them, and wait; if not, those that wait, as they are now.
pub(crate) fn changed(desk: &Desk<'_>, events: &[Heard]) -> Result<Option<Vec<InboxRow>>, Trouble> {
    let mut same = true;
    for event in events {
        let version: Option<i64> = desk.first(
            "SELECT version FROM inbox WHERE id = ?1 AND state IN ('new','admitted')",
            [event.id.0],
            |row| row.get(0),
        )?;
        same &= version == Some(i64::from(event.version));
    }
    if same {
        return Ok(None);
    }
    let mut rows = Vec::new();
    for event in events {
        let found = desk.first(
            "SELECT id, account, inbound, state, session, at, version, taken FROM inbox
             WHERE id = ?1 AND state IN ('new','admitted')",
            [event.id.0],
            columns,
        )?;
        rows.extend(found.map(row).transpose()?);
    }
    Ok(Some(rows))
}

/// Events become a turn's.
pub(crate) fn give(
    desk: &Desk<'_>,
    events: &[Heard],
    turn: &str,
    session: &SessionScope,
) -> Result<(), Trouble> {
    for event in events {
        desk.run(
            "UPDATE inbox SET state = 'running', turn = ?2, session = ?3 WHERE id = ?1",
            params![event.id.0, turn, json(session)?],
        )?;
    }
    Ok(())
}

fn row(columns: Columns) -> Result<InboxRow, Trouble> {
    let name = format!("event {} of the inbox", columns.id);
    Ok(InboxRow {
        id: InboxId(columns.id),
        account: parse(&name, &columns.account)?,
        inbound: columns
            .inbound
            .map(|text| read::<Inbound>(&name, &text))
            .transpose()?,
        state: if columns.state == "admitted" {
            InboxState::Admitted
        } else {
            InboxState::New
        },
        session: columns
            .session
            .map(|text| read::<SessionScope>(&name, &text))
            .transpose()?,
        version: number(&name, columns.version)?,
        taken: number(&name, columns.taken)?,
        at: time(&name, columns.at)?,
    })
}
