//! Conversations and turns, at rest.

use async_trait::async_trait;
use model::Message;
use outbox::{Claimed, NewMessage, StoreError};
use rusqlite::params;
use session::window::Compaction;
use session::{
    Entry, Heard, InboxId, Promised, SessionStore, TakenIn, Total, TurnCommit, TurnEnd, TurnRecord,
    TurnStart,
};
use waybill::{
    ChatKey, ProfileScope, SessionId, SessionKey, SessionScope, Timestamp, TurnId, TurnScope,
};

use crate::desk::Desk;
use crate::error::{Damage, Trouble};
use crate::ledger::whole;
use crate::store::Store;
use crate::value::{json, ms, number, parse, read, time};
use crate::{compaction, inbox, ledger, moved};

#[async_trait]
impl SessionStore for Store {
    async fn current(
        &self,
        scope: &ProfileScope,
        key: &SessionKey,
        fresh: SessionId,
        now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        let (scope, key) = (scope.clone(), key.clone());
        // A conversation that runs already, the usual case, needs no place in the writer's queue.
        let (lookup, wanted) = (scope.clone(), key.clone());
        let found = self
            .read(move |desk| running(desk, &lookup, &wanted))
            .await?;
        if let Some(id) = found {
            return Ok(scope.session(key, id));
        }
        self.write(move |desk| {
            let key = present(desk, key)?;
            if let Some(id) = running(desk, &scope, &key)? {
                return Ok(scope.session(key, id));
            }
            begin(desk, &scope, &key, fresh, now)?;
            Ok(scope.session(key, fresh))
        })
        .await
    }

    async fn reset(
        &self,
        scope: &SessionScope,
        fresh: SessionId,
        now: Timestamp,
    ) -> Result<SessionScope, StoreError> {
        let scope = scope.clone();
        self.write(move |desk| {
            desk.run(
                "UPDATE session SET ended_at = ?3 WHERE profile = ?1 AND key = ?2 AND ended_at IS NULL",
                params![scope.profile().as_str(), scope.key().to_string(), ms(now)],
            )?;
            begin(desk, scope.profile_scope(), scope.key(), fresh, now)?;
            Ok(scope.profile_scope().session(scope.key().clone(), fresh))
        })
        .await
    }

    async fn begin_turn(&self, start: TurnStart) -> Result<TakenIn, StoreError> {
        self.write(move |desk| begin_turn(desk, &start)).await
    }

    async fn take_in(
        &self,
        scope: &TurnScope,
        events: Vec<Heard>,
        messages: Vec<Message>,
        promised: &Promised,
        now: Timestamp,
    ) -> Result<TakenIn, StoreError> {
        let (scope, promised) = (scope.clone(), promised.clone());
        self.write(move |desk| {
            if let Some(rows) = inbox::changed(desk, &events)? {
                return Ok(TakenIn::Changed(rows));
            }
            append(desk, &scope, &messages, &promised, now)?;
            inbox::give(desk, &events, &scope.turn().to_string(), scope.session())?;
            Ok(TakenIn::Yes)
        })
        .await
    }

    async fn append(
        &self,
        scope: &TurnScope,
        messages: Vec<Message>,
        promised: &Promised,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (scope, promised) = (scope.clone(), promised.clone());
        self.write(move |desk| append(desk, &scope, &messages, &promised, now))
            .await
    }

    async fn compact(
        &self,
        scope: &TurnScope,
        compaction: Compaction,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let scope = scope.clone();
        self.write(move |desk| compaction::write(desk, &scope, &compaction, now))
            .await
    }

    async fn transcript(&self, session: SessionId) -> Result<Vec<Entry>, StoreError> {
        self.read(move |desk| transcript(desk, session)).await
    }

    /// A turn that has ended already is passed over: nothing is written and nothing claimed.
    async fn commit_turn(&self, commit: TurnCommit) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| commit_turn(desk, &commit)).await
    }

    async fn running_turns(&self) -> Result<Vec<TurnRecord>, StoreError> {
        let (turns, damaged) = self.read(running_turns).await?;
        if !damaged.is_empty() {
            self.write(move |desk| give_up(desk, damaged)).await?;
        }
        Ok(turns)
    }

    async fn count_resume(&self, turn: TurnId) -> Result<u32, StoreError> {
        self.write(move |desk| {
            let counted = desk.first(
                "UPDATE turn SET resumed = resumed + 1 WHERE turn_id = ?1 AND state = 'running' RETURNING resumed",
                [turn.to_string()],
                |row| row.get(0),
            )?;
            let counted = counted.ok_or_else(|| Trouble::refused(format!("{turn} is not running")))?;
            number(turn, counted)
        })
        .await
    }

    async fn move_chat(
        &self,
        from: &ChatKey,
        to: &ChatKey,
        notices: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        let (from, to) = (from.clone(), to.clone());
        self.write(move |desk| moved::move_chat(desk, &from, &to, &notices, now))
            .await
    }

    async fn former(&self, chat: &ChatKey) -> Result<Vec<ChatKey>, StoreError> {
        let chat = chat.clone();
        self.read(move |desk| moved::former(desk, &chat)).await
    }
}

/// The key under which a conversation goes on, if its chat has moved.
fn present(desk: &Desk<'_>, key: SessionKey) -> Result<SessionKey, Trouble> {
    let SessionKey::Chat(chat) = &key else {
        return Ok(key);
    };
    Ok(moved::present(desk, chat)?.map_or(key, SessionKey::Chat))
}

fn append(
    desk: &Desk<'_>,
    scope: &TurnScope,
    messages: &[Message],
    promised: &Promised,
    now: Timestamp,
) -> Result<(), Trouble> {
    if !is_running(desk, scope.turn())? {
        return Err(Trouble::refused(format!(
            "{} has ended; nothing can be added to it",
            scope.turn()
        )));
    }
    desk.run(
        "UPDATE turn SET promised = ?2 WHERE turn_id = ?1",
        params![scope.turn().to_string(), json(promised)?],
    )?;
    write(desk, scope, messages, now)
}

fn running(
    desk: &Desk<'_>,
    scope: &ProfileScope,
    key: &SessionKey,
) -> Result<Option<SessionId>, Trouble> {
    let found: Option<String> = desk.first(
        "SELECT id FROM session WHERE profile = ?1 AND key = ?2 AND ended_at IS NULL",
        [scope.profile().as_str(), key.to_string().as_str()],
        |row| row.get(0),
    )?;
    found
        .map(|id| parse(format!("the session {id}"), &id))
        .transpose()
}

fn begin(
    desk: &Desk<'_>,
    scope: &ProfileScope,
    key: &SessionKey,
    id: SessionId,
    now: Timestamp,
) -> Result<(), Trouble> {
    desk.run(
        "INSERT INTO session(id, profile, key, started_at) VALUES(?1, ?2, ?3, ?4)",
        params![
            id.to_string(),
            scope.profile().as_str(),
            key.to_string(),
            ms(now)
        ],
    )?;
    Ok(())
}

fn begin_turn(desk: &Desk<'_>, start: &TurnStart) -> Result<TakenIn, Trouble> {
    if let Some(rows) = inbox::changed(desk, &start.inbox)? {
        return Ok(TakenIn::Changed(rows));
    }
    let turn = start.scope.turn().to_string();
    desk.run(
        "INSERT INTO turn(turn_id, session, scope, state, started_at, promised) VALUES(?1, ?2, ?3, 'running', ?4, ?5)",
        params![
            turn,
            start.scope.session().id().to_string(),
            json(&start.scope)?,
            ms(start.at),
            json(&start.promised)?
        ],
    )?;
    inbox::give(desk, &start.inbox, &turn, start.scope.session())?;
    write(desk, &start.scope, &start.before, start.at)?;
    let message = std::slice::from_ref(&start.message);
    write(desk, &start.scope, message, start.at)?;
    Ok(TakenIn::Yes)
}

pub(crate) fn is_running(desk: &Desk<'_>, turn: TurnId) -> Result<bool, Trouble> {
    let state: Option<String> = desk.first(
        "SELECT state FROM turn WHERE turn_id = ?1",
        [turn.to_string()],
        |row| row.get(0),
    )?;
    match state {
        Some(state) => Ok(state == "running"),
        None => Err(Trouble::refused(format!("{turn} was never begun"))),
    }
}

fn write(
    desk: &Desk<'_>,
    scope: &TurnScope,
    messages: &[Message],
    now: Timestamp,
) -> Result<(), Trouble> {
    let (session, turn) = (scope.session().id().to_string(), scope.turn().to_string());
    for message in messages {
        desk.run(
            "INSERT INTO entry(session, turn, message, at) VALUES(?1, ?2, ?3, ?4)",
            params![session, turn, json(message)?, ms(now)],
        )?;
    }
    Ok(())
}

fn transcript(desk: &Desk<'_>, session: SessionId) -> Result<Vec<Entry>, Trouble> {
    type Columns = (i64, String, String, i64);
    let latest = compaction::latest(desk, session)?;
    let rows: Vec<Columns> = desk.all(
        "SELECT id, turn, message, at FROM entry WHERE session = ?1 AND id > ?2 ORDER BY id",
        params![session.to_string(), latest.through],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let entries = rows.into_iter().map(|(id, turn, message, at)| {
        let row = format!("entry {id} of the transcript");
        Ok(Entry {
            turn: parse(&row, &turn)?,
            message: read(&row, &message)?,
            at: time(&row, at)?,
        })
    });
    latest.summary.map(Ok).into_iter().chain(entries).collect()
}

fn commit_turn(desk: &Desk<'_>, commit: &TurnCommit) -> Result<Vec<Claimed>, Trouble> {
    let turn = commit.scope.turn();
    if !is_running(desk, turn)? {
        tracing::warn!(%turn, "a turn was to end that has ended already; it was passed over");
        return Ok(Vec::new());
    }
    write(desk, &commit.scope, &commit.transcript, commit.at)?;
    let spent = Total::of(&commit.spent);
    desk.run(
        "UPDATE turn SET state = 'ended', ending = ?2, ended_at = ?3, input = ?4, cached = ?5, output = ?6,
           calls = ?7, unpriced = ?8, cost = ?9
         WHERE turn_id = ?1",
        params![
            turn.to_string(),
            json(&commit.end)?,
            ms(commit.at),
            whole(commit.usage.input),
            whole(commit.usage.cached),
            whole(commit.usage.output),
            whole(spent.calls),
            whole(spent.unpriced),
            whole(spent.cost.0)
        ],
    )?;
    ledger::add(desk, commit)?;
    desk.run(
        "UPDATE inbox SET state = 'done' WHERE turn = ?1 AND state = 'running'",
        [turn.to_string()],
    )?;
    crate::outbox::enqueue(desk, &commit.outgoing, commit.at)
}

pub(crate) const RUNNING_TURNS: &str = "SELECT turn_id, scope, resumed, started_at, promised FROM turn WHERE state = 'running' ORDER BY id";

type TurnColumns = (String, String, i64, i64, String);
type Damaged = Vec<(String, Damage)>;

fn running_turns(desk: &Desk<'_>) -> Result<(Vec<TurnRecord>, Damaged), Trouble> {
    let rows: Vec<TurnColumns> = desk.all(RUNNING_TURNS, [], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
        ))
    })?;
    let (mut turns, mut damaged) = (Vec::new(), Vec::new());
    for columns in rows {
        let id = columns.0.clone();
        match turn_record(desk, columns) {
            Ok(turn) => turns.push(turn),
            Err(trouble) => damaged.push((id, trouble.damage()?)),
        }
    }
    Ok((turns, damaged))
}

fn turn_record(desk: &Desk<'_>, columns: TurnColumns) -> Result<TurnRecord, Trouble> {
    let (turn, scope, resumed, started_at, promised) = columns;
    let events: Vec<(i64, Option<String>)> = desk.all(
        "SELECT id, inbound FROM inbox WHERE turn = ?1 ORDER BY id",
        [turn.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let first = events.first().and_then(|(_, inbound)| inbound.as_deref());
    Ok(TurnRecord {
        scope: read(&turn, &scope)?,
        inbound: first.map(|inbound| read(&turn, inbound)).transpose()?,
        inbox: events.into_iter().map(|(id, _)| InboxId(id)).collect(),
        promised: read(&turn, &promised)?,
        resumed: number(&turn, resumed)?,
        started_at: time(&turn, started_at)?,
    })
}

/// A database that was put back from a copy: turns that were running don't go on, their persons are told. Returns how many.
pub(crate) fn doubt(desk: &Desk<'_>) -> Result<usize, Trouble> {
    desk.run(
        "UPDATE turn SET resumed = max(resumed, ?1) WHERE state = 'running'",
        [i64::from(session::DOUBTED)],
    )
}

/// One turn that can't be read holds up no start: it ends as failed, and its events are kept for the owner's eyes.
fn give_up(desk: &Desk<'_>, damaged: Damaged) -> Result<(), Trouble> {
    for (turn, Damage(reason)) in damaged {
        let ending = json(&TurnEnd::Failed {
            reason: reason.clone(),
        })?;
        desk.run(
            "UPDATE turn SET state = 'ended', ending = ?2, ended_at = started_at
             WHERE turn_id = ?1 AND state = 'running'",
            params![turn, ending],
        )?;
        desk.run(
            "UPDATE inbox SET state = 'poisoned', reason = ?2 WHERE turn = ?1 AND state = 'running'",
            params![turn, reason],
        )?;
    }
    Ok(())
}
