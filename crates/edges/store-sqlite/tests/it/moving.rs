//! A chat that gets another id while a row of its inbox is damaged.

use chat::{Inbound, InboundKind, Place as Where, Sender, SenderId};
use rusqlite::Connection;
use session::{Admission, InboxStore as _, NewEvent, SessionStore as _};
use testkit::clock::CountingIds;
use tidings_store_sqlite::Store;
use waybill::{
    Anchor, ChatKey, Conversation, ProfileId, ProfileScope, SessionId, SessionKey, Timestamp,
};

use crate::place::{Place, now};

fn chat(conversation: &str) -> ChatKey {
    ChatKey::new(
        "tg".parse().unwrap(),
        Conversation::new(conversation).unwrap(),
    )
}

fn said(anchor: &str) -> NewEvent {
    NewEvent {
        key: anchor.to_owned(),
        raw: String::new(),
        parsed: Ok(Some(Inbound {
            chat: chat("old"),
            anchor: Anchor::new(anchor),
            sender: Sender {
                id: SenderId::new("1"),
                name: None,
                bot: false,
            },
            place: Where::Group { addressed: true },
            kind: InboundKind::Message,
            text: "hello".to_owned(),
            files: Vec::new(),
            quoted: None,
            forwarded_from: None,
            preface: None,
            at: Timestamp::UNIX_EPOCH,
        })),
    }
}

#[tokio::test]
async fn one_damaged_event_keeps_no_chat_from_moving() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let account = "tg".parse().unwrap();
    let events = vec![said("1"), said("2")];
    let (rows, _) = store.accept(&account, events, None, now()).await.unwrap();
    let scope = ProfileScope::enter(ProfileId::parse("p").unwrap()).session(
        SessionKey::Chat(chat("old")),
        SessionId::fresh(&CountingIds::default()),
    );
    for row in &rows {
        let admission = Admission::Admit(scope.clone());
        store.admit(row.id, admission, now()).await.unwrap();
    }
    let db = Connection::open(place.database()).unwrap();
    db.execute(
        "UPDATE inbox SET session = '{' WHERE id = ?1",
        [rows[0].id.0],
    )
    .unwrap();
    drop(db);
    let (old, new) = (chat("old"), chat("new"));
    let told = store.move_chat(&old, &new, Vec::new(), now()).await;
    assert!(told.unwrap().is_empty());
    let open = store.open_rows().await.unwrap();
    assert_eq!(open.len(), 1, "the damaged one is put aside");
    assert_eq!(open[0].inbound.as_ref().unwrap().chat, chat("new"));
    assert_eq!(store.poisoned().await.unwrap(), 1);
    // Nobody was told of it, so it has to be told still.
    let untold = store.untold(9).await.unwrap();
    let rows = untold.iter().map(|row| row.id).collect();
    store.tell(rows, Vec::new(), now()).await.unwrap();
    assert_eq!(store.untold(9).await.unwrap().len(), 1);
    store.close().await.unwrap();
}
