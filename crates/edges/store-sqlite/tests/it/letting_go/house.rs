//! A store with a history, and an eye of its own on what the rows name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chat::{Body, Op, Shape, Way, WhenUnknown};
use outbox::{
    Claimed, Crash, Decision, MessageKind, NewMessage, NewPart, OutboxStore as _, Settlement,
};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sandbox::{ArtifactRef, BlobStore as _, Taken};
use session::{Chore, Cutoffs, RetentionStore as _};
use testkit::clock::CountingIds;
use tidings_store_sqlite::Store;
use waybill::{ChatKey, Conversation, MessageId, ProfileId, ProfileScope, Timestamp, Waybill};

use crate::place::{Place, now};

pub(super) const HOUR: i64 = 3_600_000;
pub(super) const DAY: i64 = 24 * HOUR;

/// The store, and the time there.
pub(super) struct House {
    pub(super) place: Place,
    pub(super) store: Store,
    pub(super) ids: CountingIds,
    /// Milliseconds since the beginning.
    pub(super) at: i64,
    count: u32,
}

impl House {
    pub(super) fn new() -> Self {
        let place = Place::new();
        let store = Store::open(&place.options()).unwrap();
        Self {
            place,
            store,
            ids: CountingIds::default(),
            at: 0,
            count: 0,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        now() + jiff::SignedDuration::from_millis(self.at)
    }

    /// Closes and opens it, as a restart does; nobody has bytes in hand afterwards.
    pub(super) async fn reopen(&mut self) {
        self.store.close().await.unwrap();
        self.store = Store::open(&self.place.options()).unwrap();
    }

    pub(super) async fn capture(&self, bytes: &[u8]) -> ArtifactRef {
        capture(&self.store, bytes).await
    }

    pub(super) fn message(&mut self, ops: Vec<Op>) -> NewMessage {
        self.count += 1;
        let source = format!("test:{}", self.count);
        let chat = chat(self.count % 3);
        let parts = ops.into_iter().zip(1..).map(|(op, n)| NewPart {
            op,
            way: Way::Direct,
            key: outbox::key::part_key("install", &source, 0, n, 0),
        });
        NewMessage {
            id: MessageId::fresh(&self.ids),
            waybill: Waybill::operator(&ProfileScope::enter(profile()), chat),
            kind: MessageKind::Operator,
            parts: parts.collect(),
            source,
            ordinal: 0,
            when_unknown: WhenUnknown::Repeat,
            replaces: None,
            created_at: self.now(),
            expires_at: Timestamp::MAX,
        }
    }

    pub(super) async fn enqueue(&mut self, ops: Vec<Op>) -> (MessageId, Vec<Claimed>) {
        let message = self.message(ops);
        let id = message.id;
        let claimed = self.store.enqueue(vec![message], self.now()).await.unwrap();
        (id, claimed)
    }

    pub(super) async fn settle(&self, claimed: &Claimed, decision: Decision) -> Vec<Claimed> {
        let settlement = Settlement {
            message: claimed.message,
            part: claimed.part,
            attempt: claimed.attempt,
            at: self.now(),
            fault: None,
            crash: Crash::No,
            decision,
            plainer: None,
            notice: None,
        };
        self.store.settle(settlement).await.unwrap()
    }

    /// Sends a message's parts, one after the other.
    pub(super) async fn send(&mut self, ops: Vec<Op>) -> MessageId {
        let (id, mut claimed) = self.enqueue(ops).await;
        while let Some(part) = claimed.pop() {
            claimed.extend(self.settle(&part, sent()).await);
        }
        id
    }

    /// All chores to their end, with 3 days for words, 30 for messages, 7 for events, and so many for conversations. Returns
    /// the rows that were changed.
    pub(super) async fn tidy(&self, conversations: Option<i64>) -> u64 {
        let before = |ms: i64| self.now() - jiff::SignedDuration::from_millis(ms);
        let cutoffs = Cutoffs {
            words: before(3 * DAY),
            sent: before(30 * DAY),
            dead: before(30 * DAY),
            events: before(7 * DAY),
            ignored: before(DAY),
            conversations: conversations.map(before),
            homes: BTreeSet::new(),
        };
        let mut rows = 0;
        for chore in Chore::ALL {
            let mut after = Some(0);
            while let Some(from) = after {
                let step = self.store.tidy(chore, &cutoffs, from).await.unwrap();
                assert!(step.next.is_none_or(|next| next > from), "{chore:?}");
                rows += step.rows;
                after = step.next;
            }
        }
        rows
    }

    /// Every reference that the store should keep, found without its help.
    pub(super) fn named(&self) -> BTreeSet<Reference> {
        named(&self.place.database())
    }

    /// The references that the store keeps.
    pub(super) fn kept(&self) -> BTreeSet<Reference> {
        kept(&self.place.database())
    }

    /// What must be true at any time.
    pub(super) fn check(&self) {
        let named = self.named();
        assert_eq!(named, self.kept());
        for (hash, table, id) in named {
            let path = file(&self.place.options().blobs, &hash);
            assert!(path.is_file(), "{table} {id} names {hash}, which is gone");
        }
    }

    pub(super) fn files(&self) -> Vec<String> {
        files(&self.place.options().blobs)
    }
}

pub(super) async fn capture(store: &Store, bytes: &[u8]) -> ArtifactRef {
    let mut writer = store.blobs().unwrap().create(&profile()).await.unwrap();
    writer.write(bytes).await.unwrap();
    ArtifactRef {
        profile: profile(),
        blob: writer.finish("table.csv").await.unwrap(),
        name: "table.csv".to_owned(),
        taken: Taken::Received,
    }
}

pub(super) fn profile() -> ProfileId {
    ProfileId::parse("p").unwrap()
}

pub(super) fn chat(number: u32) -> ChatKey {
    ChatKey::new(
        "tg".parse().unwrap(),
        Conversation::new(number.to_string()).unwrap(),
    )
}

pub(super) fn text(words: &str) -> Op {
    Op::Text(Body::Markdown(words.to_owned()))
}

pub(super) fn shown(artifact: &ArtifactRef) -> Op {
    Op::File {
        artifact: artifact.clone(),
        shape: Shape::Document,
        caption: Some(Body::Markdown("the caption".to_owned())),
    }
}

pub(super) fn sent() -> Decision {
    Decision::Sent {
        receipt: chat::Receipt::new("r1"),
    }
}

/// A hash, the table that names it, and the row there.
pub(super) type Reference = (String, String, i64);

/// Rows that hold nothing, whatever they name.
const HOLDS_NOTHING: [(&str, &str); 3] = [
    ("part", "forgotten = 1"),
    ("turn", "state <> 'running'"),
    ("inbox", "state IN ('told','done','ignored','poisoned')"),
];

/// Looks for hashes, or what looks like some, in every text of every table but the references themselves.
pub(super) fn named(database: &Path) -> BTreeSet<Reference> {
    let db = Connection::open(database).unwrap();
    let tables: Vec<String> = column(
        &db,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'reference'",
    );
    let mut found = BTreeSet::new();
    for table in tables {
        let spared = HOLDS_NOTHING.iter().find(|(name, _)| *name == table);
        let rest = spared.map_or("1", |(_, what)| what);
        let rule = if spared.is_some() { "NOT" } else { "" };
        let mut statement = db
            .prepare(&format!("SELECT * FROM {table} WHERE {rule} ({rest})"))
            .unwrap();
        let id = statement.column_index("id").ok();
        let count = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for place in 0..count {
                if let ValueRef::Text(text) = row.get_ref(place).unwrap() {
                    let text = std::str::from_utf8(text).unwrap();
                    for hash in hashes(text) {
                        let id = id.and_then(|id| row.get(id).ok()).unwrap_or(-1);
                        found.insert((hash, table.clone(), id));
                    }
                }
            }
        }
    }
    found
}

pub(super) fn kept(database: &Path) -> BTreeSet<Reference> {
    let db = Connection::open(database).unwrap();
    let mut statement = db
        .prepare("SELECT hash, holder, id FROM reference")
        .unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Runs of exactly 64 small hexadecimal digits.
fn hashes(text: &str) -> Vec<String> {
    text.split(|sign: char| !matches!(sign, '0'..='9' | 'a'..='f'))
        .filter(|run| run.len() == 64)
        .map(str::to_owned)
        .collect()
}

pub(super) fn column(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Where a hash's bytes are.
pub(super) fn file(blobs: &Path, hash: &str) -> PathBuf {
    blobs.join("p").join(hash.get(..2).unwrap()).join(hash)
}

pub(super) fn files(folder: &Path) -> Vec<String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.file_name().into_string().unwrap(), ());
            }
        }
    }
    found.into_keys().collect()
}
