//! Folders for stores, and messages to put into them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use chat::{Body, Op, RichText, Way, WhenUnknown};
use outbox::{MessageKind, NewMessage, NewPart};
use tempfile::TempDir;
use tidings_store_sqlite::{Options, Store};
use waybill::{
    AccountId, ChatKey, Conversation, Ids, MessageId, ProfileId, ProfileScope, Timestamp, Waybill,
};

/// A folder with a store in it.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.path().join("state").join("tidings.db")
    }

    pub(crate) fn options(&self) -> Options {
        options(self.folder.path())
    }
}

pub(crate) fn options(folder: &std::path::Path) -> Options {
    let state = folder.join("state");
    Options {
        database: state.join("tidings.db"),
        blobs: state.join("blobs"),
    }
}

#[async_trait]
impl conformance::store::World for Place {
    type Store = Store;

    fn fresh() -> Self {
        Self::new()
    }

    async fn open(&self) -> Store {
        Store::open(&self.options()).unwrap()
    }

    async fn close(&self, store: Store) {
        store.close().await.unwrap();
    }
}

/// Ids from numbers.
struct Numbered(u128);

impl Ids for Numbered {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(self.0)
    }
}

pub(crate) fn id(number: u32) -> MessageId {
    MessageId::fresh(&Numbered(u128::from(number) + 1))
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millisecond(1_767_225_600_000).unwrap()
}

/// The message of a number, to the lane of a number.
pub(crate) fn message(number: u32, lane: u32) -> NewMessage {
    let chat = ChatKey::new(
        "tg".parse().unwrap(),
        Conversation::new(lane.to_string()).unwrap(),
    );
    let source = format!("test:{number}");
    NewMessage {
        id: id(number),
        waybill: Waybill::operator(
            &ProfileScope::enter(ProfileId::parse("default").unwrap()),
            chat,
        ),
        kind: MessageKind::Operator,
        parts: vec![NewPart {
            op: Op::Text(Body::Rich(RichText::plain("x".repeat(400)))),
            way: Way::Direct,
            key: outbox::key::part_key("install", &source, 0, 1, 0),
        }],
        source,
        ordinal: 0,
        when_unknown: WhenUnknown::Repeat,
        replaces: None,
        created_at: now(),
        expires_at: Timestamp::MAX,
    }
}

/// No platform is still at work on anything.
pub(crate) fn settled() -> HashMap<AccountId, Duration> {
    HashMap::new()
}
