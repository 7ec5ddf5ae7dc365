//! Who names which bytes.

use chat::{FileHandle, FileKind, IdempotencyKey, Inbound, InboundFile, InboundKind, Place};
use model::Message;
use outbox::Attachment;
use rusqlite::Connection;
use session::{
    Admission, ConversationRow, InboxId, InboxStore as _, NewEvent, NewVisible, Promised,
    SessionStore as _, TurnCommit, TurnEnd, TurnStart, VisibleAuthor, VisibleContent,
    VisibleLog as _,
};
use tidings_store_sqlite::Store;
use waybill::{
    Anchor, Conversation, Origin, Placement, ProfileScope, SessionId, SessionKey, SessionScope,
    TaskId, TurnId, TurnScope,
};

use super::house::{DAY, House, chat, column, kept, named, profile, shown, text};
use crate::place::Place as Folder;

impl House {
    pub(super) async fn session(&self) -> SessionScope {
        let scope = ProfileScope::enter(profile());
        let fresh = SessionId::fresh(&self.ids);
        let key = SessionKey::Chat(chat(1));
        self.store
            .current(&scope, &key, fresh, self.now())
            .await
            .unwrap()
    }

    pub(super) async fn begin(&self) -> TurnScope {
        let scope = self.session().await.begin_turn(
            TurnId::fresh(&self.ids),
            TaskId::fresh(&self.ids),
            Origin::Chat(chat(1)),
            Placement::PerProfile,
        );
        let start = TurnStart {
            scope: scope.clone(),
            inbox: Vec::new(),
            before: Vec::new(),
            message: said("draw it"),
            promised: Promised::default(),
            at: self.now(),
        };
        self.store.begin_turn(start).await.unwrap();
        scope
    }

    /// Promises a file.
    pub(super) async fn promise(&self, scope: &TurnScope, file: &sandbox::ArtifactRef) {
        let promised = Promised {
            attachments: vec![Attachment {
                artifact: file.clone(),
                shape: chat::Shape::Auto,
                caption: None,
            }],
            ..Promised::default()
        };
        self.store
            .append(scope, vec![said("…")], &promised, self.now())
            .await
            .unwrap();
    }

    /// Ends a turn with what it promised.
    pub(super) async fn end(&mut self, scope: TurnScope, file: Option<&sandbox::ArtifactRef>) {
        let outgoing = file.map(|file| self.message(vec![shown(file)]));
        let commit = TurnCommit {
            scope,
            end: TurnEnd::Answered,
            transcript: vec![said("done")],
            outgoing: outgoing.into_iter().collect(),
            usage: model::Usage::default(),
            spent: Vec::new(),
            at: self.now(),
        };
        self.store.commit_turn(commit).await.unwrap();
    }

    pub(super) async fn open_page(&self) {
        let row = ConversationRow {
            conversation: page(),
            profile: profile(),
            title: String::new(),
            touched_at: self.now(),
        };
        self.store.open(row).await.unwrap();
    }

    /// A person sends a file in the web chat.
    pub(super) async fn say(&self, number: u8, file: &sandbox::ArtifactRef) {
        let entry = NewVisible {
            conversation: page(),
            author: VisibleAuthor::Person,
            content: VisibleContent::Said {
                text: "look".to_owned(),
                files: vec![file.clone()],
            },
            key: IdempotencyKey::new([number; 16]),
            at: self.now(),
        };
        self.store.add(entry).await.unwrap().ok();
    }

    /// The same as an event that waits.
    pub(super) async fn hear(&self, key: String, file: &sandbox::ArtifactRef) -> Option<InboxId> {
        let event = NewEvent {
            key,
            raw: format!("{{\"file\":\"{}\"}}", file.id()),
            parsed: Ok(Some(Inbound {
                chat: chat(1),
                anchor: Anchor::new("7"),
                sender: chat::Sender {
                    id: chat::SenderId::new("1"),
                    name: None,
                    bot: false,
                },
                place: Place::Direct,
                kind: InboundKind::Message,
                text: "look".to_owned(),
                files: vec![InboundFile {
                    handle: FileHandle::new(file.id().to_string()),
                    name: None,
                    mime: None,
                    size: None,
                    kind: FileKind::Document,
                }],
                quoted: None,
                forwarded_from: None,
                preface: None,
                at: self.now(),
            })),
        };
        let account = "tg".parse().unwrap();
        let (rows, _) = self
            .store
            .accept(&account, vec![event], None, self.now())
            .await
            .unwrap();
        rows.first().map(|row| row.id)
    }

    pub(super) async fn ignore(&self, event: InboxId) {
        let reason = "it was nothing".to_owned();
        self.store
            .admit(event, Admission::Ignore { reason }, self.now())
            .await
            .unwrap();
    }
}

pub(super) fn page() -> Conversation {
    Conversation::new("page").unwrap()
}

fn said(words: &str) -> Message {
    Message::Assistant {
        text: words.to_owned(),
        calls: Vec::new(),
        replay: None,
    }
}

#[tokio::test]
async fn whoever_names_bytes_holds_them_until_it_is_done_with_them() {
    let mut house = House::new();
    let file = house.capture(b"a,b\n1,2\n").await;
    let holders = |house: &House| -> Vec<String> {
        house.check();
        house.kept().into_iter().map(|(_, who, _)| who).collect()
    };
    let turn = house.begin().await;
    house.promise(&turn, &file).await;
    assert_eq!(holders(&house), ["turn"]);
    house.end(turn, Some(&file)).await;
    assert_eq!(holders(&house), ["part"]);
    house.open_page().await;
    house.say(1, &file).await;
    let event = house.hear("1".to_owned(), &file).await.unwrap();
    assert_eq!(holders(&house), ["inbox", "part", "web_entry"]);
    house.ignore(event).await;
    assert_eq!(holders(&house), ["part", "web_entry"]);
}

#[tokio::test]
async fn a_transcript_that_names_bytes_holds_them() {
    let house = House::new();
    let file = house.capture(b"x").await;
    let turn = house.begin().await;
    // No message of today names an artifact but in what a tool was called with.
    let mut arguments = serde_json::Map::new();
    arguments.insert("file".to_owned(), serde_json::to_value(file.id()).unwrap());
    let call = Message::Assistant {
        text: String::new(),
        calls: vec![model::ToolCall {
            id: "1".to_owned(),
            name: "look".to_owned(),
            arguments: Ok(arguments),
        }],
        replay: None,
    };
    let nothing = Promised::default();
    house
        .store
        .append(&turn, vec![call], &nothing, house.now())
        .await
        .unwrap();
    house.check();
    assert_eq!(house.kept().len(), 1);
}

#[tokio::test]
async fn a_part_that_was_forgotten_holds_nothing_though_its_row_keeps_the_hash() {
    let mut house = House::new();
    let file = house.capture(b"private").await;
    let id = house.send(vec![text("words"), shown(&file)]).await;
    house.at = 4 * DAY;
    house.tidy(None).await;
    house.check();
    assert!(house.kept().is_empty());
    let row = outbox::OutboxStore::show(&house.store, id)
        .await
        .unwrap()
        .unwrap();
    assert!(
        row.parts
            .iter()
            .all(|part| part.forgotten && part.receipt.is_some())
    );
    assert_eq!(row.parts[0].op, text(""));
    let chat::Op::File {
        artifact, caption, ..
    } = &row.parts[1].op
    else {
        panic!("{row:?}")
    };
    assert_eq!(
        (&artifact.blob, artifact.name.as_str(), caption),
        (&file.blob, "document", &None)
    );
    let db = Connection::open(house.place.database()).unwrap();
    let ops = column(&db, "SELECT op FROM part").concat();
    assert!(!ops.contains("words") && !ops.contains("caption\":{") && !ops.contains("table.csv"));
}

#[tokio::test]
async fn texts_that_only_look_like_names_of_bytes_do_no_harm() {
    let mut house = House::new();
    for words in [
        "{\"hash\":\"short\",\"profile\":\"p\"}".to_owned(),
        format!("{{\"hash\":\"{}\",\"profile\":\"p\"}}", "A".repeat(64)),
        "\"hash\":".repeat(50),
    ] {
        house.enqueue(vec![text(&words)]).await;
    }
    assert!(house.kept().is_empty());
    // A row that was damaged by hand is still taken and still goes.
    let db = Connection::open(house.place.database()).unwrap();
    db.execute("UPDATE part SET op = '{\"hash\":' WHERE id = 1", [])
        .unwrap();
    db.execute("UPDATE part SET op = '{}' WHERE id = 1", [])
        .unwrap();
}

#[tokio::test]
async fn a_database_of_the_first_release_comes_with_its_references() {
    let place = Folder::new();
    let from =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/0001-first-light");
    copy(&from, place.database().parent().unwrap());
    let store = Store::open(&place.options()).unwrap();
    store.close().await.unwrap();
    let references = kept(&place.database());
    assert_eq!(named(&place.database()), references);
    for table in ["part", "web_entry"] {
        assert!(
            references.iter().any(|(_, who, _)| who == table),
            "{references:?}"
        );
    }
    for (hash, ..) in &references {
        let path = super::house::file(&place.options().blobs, hash);
        assert!(path.is_file(), "{}", path.display());
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
