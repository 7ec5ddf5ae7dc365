//! Opens what was left, and looks for everything that was acknowledged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use outbox::{ListFilter, MessageRow, OutboxStore as _, PartState};
use sandbox::{ArtifactId, BlobStore as _};
use session::{InboxId, InboxRow, InboxStore as _, NewEvent, SessionStore as _, TurnRecord};
use store_sqlite::{DiskBlobs, Entered, Options, Store};
use waybill::{AccountId, MessageId, SessionId, Timestamp};

use crate::fact::End;
use crate::ledger::{Ledger, Turn};

/// Where the store stands in a folder: a level below it, so that the folder's own name is at stake too.
#[must_use]
pub fn options(folder: &Path) -> Options {
    let state = folder.join("state");
    Options {
        database: state.join("tidings.db"),
        blobs: state.join("blobs"),
    }
}

/// The file that tells a database from an older copy of it.
#[must_use]
pub fn generation(folder: &Path) -> PathBuf {
    folder.join("state").join("generation")
}

/// What is missing or wrong in the store below `folder`; empty when all that was acknowledged is there.
///
/// # Errors
/// If the store was opened and then failed: also a loss, but one that is told as what it is.
pub async fn look(folder: &Path, ledger: &Ledger, now: Timestamp) -> anyhow::Result<Vec<String>> {
    let store = match Store::open(&options(folder)) {
        Ok(store) => store,
        Err(error) => return Ok(vec![format!("the store was refused: {error}")]),
    };
    let mut look = Look {
        store: &store,
        ledger,
        wrong: Vec::new(),
    };
    let looked = look.everything(&generation(folder), now).await;
    let wrong = look.wrong;
    store.close().await?;
    looked.map(|()| wrong)
}

struct Look<'a> {
    store: &'a Store,
    ledger: &'a Ledger,
    wrong: Vec<String>,
}

impl Look<'_> {
    async fn everything(&mut self, generation: &Path, now: Timestamp) -> anyhow::Result<()> {
        for fault in self.store.check().await? {
            self.wrong
                .push(format!("the database is not sound: {fault}"));
        }
        let entered = self
            .store
            .enter(generation, &Unused::default(), now)
            .await?;
        if entered != Entered::AsLeft {
            self.wrong
                .push("the database is taken for an old copy of itself".to_owned());
        }
        let running = self.store.running_turns().await?;
        let open = self.store.open_rows().await?;
        // As a gateway that starts: what was on the wire is unknown now.
        self.store.recover(now, HashMap::new()).await?;
        let all = ListFilter {
            most: usize::MAX,
            ..ListFilter::default()
        };
        let listed = self.store.list(all).await?;
        let rows: BTreeMap<MessageId, MessageRow> =
            listed.into_iter().map(|row| (row.id, row)).collect();
        self.messages(&rows);
        self.attempts(&rows);
        self.inbox(&open, &running);
        self.turns(&running, &rows);
        self.events(now).await?;
        self.conversations(now).await?;
        self.blobs(&rows, &running).await
    }

    fn messages(&mut self, rows: &BTreeMap<MessageId, MessageRow>) {
        for (id, message) in &self.ledger.messages {
            let Some(row) = rows.get(id) else {
                self.wrong.push(format!("message {id} is gone"));
                continue;
            };
            let same = row.waybill == message.waybill
                && row.kind == message.kind
                && row.parts.len() == message.parts.len()
                && row
                    .parts
                    .iter()
                    .zip(&message.parts)
                    .all(|(row, part)| row.op == part.op && row.key == part.key);
            if !same {
                self.wrong.push(format!("message {id} is another one"));
            }
        }
    }

    fn attempts(&mut self, rows: &BTreeMap<MessageId, MessageRow>) {
        let row = |message: &MessageId, part: u32| {
            let parts = rows.get(message)?.parts.iter();
            parts.into_iter().find(|row| row.n == part)
        };
        for (message, part, attempt) in &self.ledger.attempts {
            let there = row(message, *part)
                .is_some_and(|row| row.attempts.iter().any(|one| one.n == *attempt));
            if !there {
                let what = format!("attempt {attempt} of part {part} of {message}");
                self.wrong
                    .push(format!("{what} is gone, and its bytes left"));
            }
        }
        for ((message, part, attempt), end) in &self.ledger.ends {
            let kept = row(message, *part).is_some_and(|row| {
                let settled = row
                    .attempts
                    .iter()
                    .any(|one| one.n == *attempt && one.ended_at.is_some());
                let receipt = row.receipt.as_ref().map(chat::Receipt::as_str);
                settled
                    && match end {
                        End::Sent(made) => {
                            row.state == PartState::Sent && receipt == Some(made.as_str())
                        }
                        End::Failed => row.state == PartState::Failed,
                        End::Open => true,
                    }
            });
            if !kept {
                self.wrong.push(format!(
                    "attempt {attempt} of part {part} of {message} ended ({end:?}) and did not"
                ));
            }
        }
    }

    /// An event is open, or a turn has it, or a turn that was asked to end had it.
    fn inbox(&mut self, open: &[InboxRow], running: &[TurnRecord]) {
        let open: HashMap<InboxId, &InboxRow> = open.iter().map(|row| (row.id, row)).collect();
        let at_work: HashSet<InboxId> = running
            .iter()
            .flat_map(|turn| turn.inbox.iter().copied())
            .collect();
        let mut begun: HashMap<InboxId, &Turn> = HashMap::new();
        for turn in self.ledger.turns.values() {
            begun.extend(turn.inbox.iter().map(|id| (*id, turn)));
        }
        for (id, event) in &self.ledger.events {
            let wrong = match (open.get(id), begun.get(id)) {
                (Some(_), Some(_)) => Some("waits again, though its turn began"),
                (Some(row), None) if event.admitted.is_some() && row.session != event.admitted => {
                    Some("lost its conversation")
                }
                (Some(_), None) => None,
                (None, Some(turn)) if turn.asked.is_some() => None,
                (None, _) if at_work.contains(id) => None,
                (None, _) => Some("waits nowhere"),
            };
            if let Some(wrong) = wrong {
                self.wrong.push(format!("event {} {wrong}", event.key));
            }
        }
    }

    fn turns(&mut self, running: &[TurnRecord], rows: &BTreeMap<MessageId, MessageRow>) {
        for (id, turn) in &self.ledger.turns {
            let record = running.iter().find(|record| record.scope.turn() == *id);
            let answers = turn.asked.iter().flatten();
            let there = answers.clone().filter(|id| rows.contains_key(id)).count();
            let wrong = match record {
                Some(_) if turn.ended => Some("ended and runs again"),
                Some(_) if there > 0 => Some("runs, and its answer is there"),
                None if turn.asked.is_none() => Some("began and is gone"),
                None if there < answers.count() => Some("ended without its answer"),
                Some(_) | None => None,
            };
            if let Some(wrong) = wrong {
                self.wrong.push(format!("turn {id} {wrong}"));
            }
            let Some(record) = record else { continue };
            let promised: HashSet<ArtifactId> = promised(record).collect();
            for file in &turn.promised {
                if !promised.contains(file) {
                    self.wrong
                        .push(format!("turn {id} promised {file} and forgot it"));
                }
            }
        }
    }

    /// What is known is known: its platform may send it again, and the store must say so.
    async fn events(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let mut keys: BTreeMap<&AccountId, Vec<&str>> = BTreeMap::new();
        for event in self.ledger.events.values() {
            keys.entry(&event.account).or_default().push(&event.key);
        }
        for (account, keys) in keys {
            let again = keys.iter().map(|key| NewEvent {
                key: (*key).to_owned(),
                raw: String::new(),
                parsed: Ok(None),
            });
            let (_, counts) = self
                .store
                .accept(account, again.collect(), None, now)
                .await?;
            if counts.fresh > 0 {
                let fresh = counts.fresh;
                self.wrong
                    .push(format!("{fresh} events of {account} are gone"));
            }
        }
        for (account, value) in &self.ledger.cursors {
            let found = self.store.cursor(account).await?;
            let reached = found.as_deref().and_then(|text| text.parse::<u64>().ok());
            if reached < Some(*value) {
                self.wrong.push(format!(
                    "the cursor of {account} stood at {value} and stands at {found:?}"
                ));
            }
        }
        Ok(())
    }

    async fn conversations(&mut self, now: Timestamp) -> anyhow::Result<()> {
        let unused = Unused::default();
        for scope in &self.ledger.sessions {
            // An id that nobody has: it is taken if the conversation is gone.
            let fresh = SessionId::fresh(&unused);
            let found = self
                .store
                .current(scope.profile_scope(), scope.key(), fresh, now)
                .await?;
            if found != *scope {
                self.wrong
                    .push(format!("the conversation {} is gone", scope.key()));
            }
        }
        for (session, said) in &self.ledger.transcripts {
            let entries = self.store.transcript(*session).await?;
            let kept = entries.len() >= said.len()
                && entries
                    .iter()
                    .zip(said)
                    .all(|(entry, message)| entry.message == *message);
            if !kept {
                self.wrong.push(format!(
                    "the transcript of {session} has {} of {} entries, or others",
                    entries.len(),
                    said.len()
                ));
            }
        }
        Ok(())
    }

    /// Bytes that were acknowledged, and bytes that any row names, acknowledged or not.
    async fn blobs(
        &mut self,
        rows: &BTreeMap<MessageId, MessageRow>,
        running: &[TurnRecord],
    ) -> anyhow::Result<()> {
        let parts = rows.values().flat_map(|row| &row.parts);
        let mut named: HashSet<ArtifactId> = parts
            .filter_map(|part| part.op.artifact())
            .map(sandbox::ArtifactRef::id)
            .collect();
        named.extend(running.iter().flat_map(promised));
        let Some(blobs) = self.store.blobs() else {
            self.wrong
                .push("the store has no place for bytes".to_owned());
            return Ok(());
        };
        for id in named.union(&self.ledger.blobs) {
            let whose = if named.contains(id) {
                "a row names"
            } else {
                "were stored"
            };
            match hash(blobs, id).await {
                Ok(hash) if hash == *id.hash.as_bytes() => {}
                Ok(_) => self
                    .wrong
                    .push(format!("bytes that {whose} are others: {id}")),
                Err(error) => self
                    .wrong
                    .push(format!("bytes that {whose}: {id}: {error}")),
            }
        }
        Ok(())
    }
}

fn promised(turn: &TurnRecord) -> impl Iterator<Item = ArtifactId> {
    let attachments = turn.promised.attachments.iter();
    attachments.map(|attachment| attachment.artifact.id())
}

async fn hash(blobs: &DiskBlobs, id: &ArtifactId) -> Result<[u8; 32], sandbox::BlobError> {
    let (_, mut reader) = blobs.open(&id.profile, &id.hash).await?;
    let mut hasher = blake3::Hasher::new();
    while let Some(piece) = reader.next().await? {
        hasher.update(&piece);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Ids from the end: the work counts from the beginning.
#[derive(Default)]
struct Unused(AtomicU64);

impl waybill::Ids for Unused {
    fn uuid(&self) -> uuid::Uuid {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        uuid::Uuid::from_u128(u128::MAX - u128::from(count))
    }
}
