//! Requests, and what became of them.

use async_trait::async_trait;
use chat::Op;
use model::Usage;
use outbox::StoreError;
use rusqlite::params;
use sandbox::{ArtifactRef, ContentHash};
use session::{AnswerPart, AnswerStore, KeyedRequest, Known, Progress, TurnAnswer};
use waybill::{AccountId, ClientId, Conversation, ProfileId, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::{ms, parse, read, time};

/// Keys that are too old are let go so many at a time: a few more than can come with one request.
const LET_GO: &str = "DELETE FROM api_request WHERE (client, key) IN
    (SELECT client, key FROM api_request WHERE at < ?1 ORDER BY at LIMIT 16)";

const EVENT: &str =
    "SELECT state, reason, turn, conversation FROM inbox WHERE account = ?1 AND event_key = ?2";
const TURN: &str = "SELECT ending, input, cached, output, ended_at FROM turn WHERE turn_id = ?1 AND state = 'ended'";
const PARTS: &str = "SELECT p.key, p.op, p.state, p.forgotten, p.fault FROM message m
    JOIN part p ON p.message = m.id JOIN lane l ON l.id = p.lane
    WHERE m.source = ?1 AND l.account = ?2 AND l.conversation = ?3 ORDER BY m.ordinal, p.n";
const SENT_FILE: &str =
    "SELECT p.op FROM reference r JOIN part p ON p.id = r.id JOIN lane l ON l.id = p.lane
    WHERE r.profile = ?1 AND r.hash = ?2 AND r.holder = 'part' AND l.account = ?3
      AND substr(l.conversation, 1, length(?4)) = ?4 ORDER BY p.id DESC LIMIT 1";

#[async_trait]
impl AnswerStore for Store {
    async fn know(
        &self,
        asked: KeyedRequest,
        since: Timestamp,
        now: Timestamp,
    ) -> Result<Known, StoreError> {
        self.write(move |desk| know(desk, &asked, since, now)).await
    }

    async fn progress(
        &self,
        account: &AccountId,
        event: &str,
    ) -> Result<Option<Progress>, StoreError> {
        let (account, event) = (account.clone(), event.to_owned());
        self.read(move |desk| progress(desk, &account, &event))
            .await
    }

    async fn sent_file(
        &self,
        account: &AccountId,
        client: &ClientId,
        profile: &ProfileId,
        hash: &ContentHash,
    ) -> Result<Option<ArtifactRef>, StoreError> {
        let (account, profile, hash) = (account.clone(), profile.clone(), *hash);
        let begins = format!("{client}/");
        self.read(move |desk| {
            let op: Option<String> = desk.first(
                SENT_FILE,
                params![profile.as_str(), hash.to_string(), account.as_str(), begins],
                |row| row.get(0),
            )?;
            let op = op.map(|op| read::<Op>("a sent part", &op)).transpose()?;
            Ok(op.and_then(|op| op.artifact().cloned()))
        })
        .await
    }
}

fn know(
    desk: &Desk<'_>,
    asked: &KeyedRequest,
    since: Timestamp,
    now: Timestamp,
) -> Result<Known, Trouble> {
    desk.run(LET_GO, [ms(since)])?;
    let before: Option<(Vec<u8>, String, String)> = desk.first(
        "SELECT asks, request, conversation FROM api_request WHERE client = ?1 AND key = ?2 AND at >= ?3",
        params![asked.client.as_str(), asked.key.as_slice(), ms(since)],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    if let Some((asks, request, conversation)) = before {
        if asks != asked.asks {
            return Ok(Known::Otherwise);
        }
        let conversation = Conversation::new(conversation)
            .map_err(|error| Trouble::unreadable(format!("the request {request}"), error))?;
        return Ok(Known::Before {
            request,
            conversation,
        });
    }
    desk.run(
        "INSERT OR REPLACE INTO api_request(client, key, asks, request, conversation, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            asked.client.as_str(),
            asked.key.as_slice(),
            asked.asks.as_slice(),
            asked.request,
            asked.conversation.as_str(),
            ms(now)
        ],
    )?;
    Ok(Known::Fresh)
}

fn progress(
    desk: &Desk<'_>,
    account: &AccountId,
    event: &str,
) -> Result<Option<Progress>, Trouble> {
    type Columns = (String, Option<String>, Option<String>, Option<String>);
    let found: Option<Columns> = desk.first(EVENT, [account.as_str(), event], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    })?;
    let Some((state, reason, turn, conversation)) = found else {
        return Ok(None);
    };
    let refused = |reason: &str| {
        Ok(Some(Progress::Refused {
            reason: reason.to_owned(),
        }))
    };
    let Some(turn) = turn else {
        return match state.as_str() {
            "new" | "admitted" => Ok(Some(Progress::Waits)),
            _ => refused(reason.as_deref().unwrap_or("no turn was begun with it")),
        };
    };
    let row = format!("the request {event}");
    let id = parse(&row, &turn)?;
    type Ended = (Option<String>, i64, i64, i64, Option<i64>);
    let ended: Option<Ended> = desk.first(TURN, [turn.as_str()], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
        ))
    })?;
    let Some((ending, input, cached, output, ended_at)) = ended else {
        return match state.as_str() {
            "running" => Ok(Some(Progress::Runs { turn: id })),
            _ => refused(reason.as_deref().unwrap_or("its turn is kept no longer")),
        };
    };
    let count = |tokens: i64| u64::try_from(tokens).unwrap_or_default();
    Ok(Some(Progress::Ended(Box::new(TurnAnswer {
        turn: id,
        end: read(&row, &ending.unwrap_or_default())?,
        usage: Usage {
            input: count(input),
            cached: count(cached),
            output: count(output),
        },
        parts: parts(desk, account, &turn, &conversation.unwrap_or_default())?,
        at: time(&row, ended_at.unwrap_or_default())?,
    }))))
}

fn parts(
    desk: &Desk<'_>,
    account: &AccountId,
    turn: &str,
    conversation: &str,
) -> Result<Vec<AnswerPart>, Trouble> {
    type Columns = (String, String, String, bool, Option<String>);
    let source = format!("turn:{turn}");
    let rows: Vec<Columns> = desk.all(PARTS, [&source, account.as_str(), conversation], |row| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get(2)?,
            row.get(3)?,
            row.get(4)?,
        ))
    })?;
    rows.into_iter()
        .map(|(key, op, state, forgotten, fault)| {
            let row = format!("a part of {turn}");
            Ok(AnswerPart {
                key: parse(&row, &key)?,
                op: read(&row, &op)?,
                state: parse(&row, &state)?,
                fault: fault.map(|fault| read(&row, &fault)).transpose()?,
                forgotten,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    /// Asked with every request: each finds its rows by an index.
    #[test]
    fn no_request_reads_a_whole_table() {
        let mut db = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut db, std::path::Path::new("memory")).unwrap();
        for sql in [
            super::LET_GO,
            super::EVENT,
            super::TURN,
            super::PARTS,
            super::SENT_FILE,
        ] {
            let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let params = statement.parameter_count();
            let steps: Vec<String> = statement
                .query_map(rusqlite::params_from_iter(vec![1; params]), |row| {
                    row.get(3)
                })
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert!(
                !steps.iter().any(|step| step.starts_with("SCAN")),
                "{sql}: {steps:#?}"
            );
        }
    }
}
