//! Notices that wait, in rows that somebody damaged.

use chat::{Fault, FaultKind, Op};
use outbox::{
    Claimed, Crash, Decision, MessageKind, NewMessage, Notice, OutboxStore as _, PartState,
    Settlement,
};
use rusqlite::Connection;
use tidings_store_sqlite::Store;
use waybill::{ChatKey, Conversation, ProfileId, ProfileScope, Timestamp, Waybill};

use crate::place::{Place, id, message, now};

fn later(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(now().as_millisecond() + ms).unwrap()
}

fn words(op: &Op) -> &str {
    match op {
        Op::Text(body) => body.text(),
        Op::Question { .. } | Op::File { .. } => panic!("a notice is words"),
    }
}

fn ended(part: &Claimed, decision: Decision, notice: Option<Notice>) -> Settlement {
    let fault = Fault::new(FaultKind::PermItem, "no");
    Settlement {
        message: part.message,
        part: part.part,
        attempt: part.attempt,
        at: now(),
        fault: (!matches!(decision, Decision::Sent { .. })).then_some(fault),
        crash: Crash::No,
        decision,
        plainer: None,
        notice,
    }
}

fn sent(part: &Claimed) -> Settlement {
    let receipt = chat::Receipt::new("1");
    ended(part, Decision::Sent { receipt }, None)
}

/// The part of a number dies; its notice has the number and a hundred.
async fn die(store: &Store, number: u32) -> (NewMessage, Vec<Claimed>) {
    let claimed = store
        .enqueue(vec![message(number, number)], now())
        .await
        .unwrap();
    let profile = ProfileScope::enter(ProfileId::parse("default").unwrap());
    let home = ChatKey::new("web".parse().unwrap(), Conversation::new("home").unwrap());
    let mut notice = message(number + 100, 1);
    notice.waybill = Waybill::operator(&profile, home);
    notice.kind = MessageKind::Notice;
    let line = format!("number {number} died");
    notice.parts[0].op = Op::Text(chat::Body::Markdown(line.clone()));
    let dead = Decision::Dead {
        state: PartState::Failed,
        lane: false,
    };
    let message = notice.clone();
    let end = ended(&claimed[0], dead, Some(Notice { message, line }));
    (notice, store.settle(end).await.unwrap())
}

/// Five died: three notices were shown, two are gathered. Then somebody runs this, and a sixth dies.
async fn damaged(sql: &str) -> (Place, Store) {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    for number in 1..=5 {
        for part in die(&store, number).await.1 {
            store.settle(sent(&part)).await.unwrap();
        }
    }
    damage(&place, sql);
    let (_, next) = die(&store, 6).await;
    assert_eq!(next, []);
    (place, store)
}

fn damage(place: &Place, sql: &str) {
    let db = Connection::open(place.database()).unwrap();
    assert_eq!(db.execute(sql, []).unwrap(), 1);
}

const DUE: i64 = 300_000;

/// What is told when the time has come, and that what stands in other lanes goes on.
async fn told(store: &Store) -> String {
    store.enqueue(vec![message(50, 50)], now()).await.unwrap();
    let claims = store.claim(later(DUE), 10).await.unwrap();
    let [part] = &claims.parts[..] else {
        panic!("{claims:?}");
    };
    assert_eq!(part.waybill.profile().as_str(), "default");
    assert_eq!(part.kind, MessageKind::Notice);
    assert_eq!(part.waybill.chat().conversation.as_str(), "home");
    let again = store.claim(later(2 * DUE), 10).await.unwrap();
    assert_eq!(again.parts, [], "once");
    for dead in [4, 5, 6] {
        let row = store.show(id(dead)).await.unwrap().unwrap();
        let death = row.parts[0].death.clone().unwrap();
        assert_eq!(death.notice, Some(part.message), "number {dead}");
    }
    words(&part.op).to_owned()
}

#[tokio::test]
async fn a_gathered_message_that_is_damaged_is_told_by_its_sentences() {
    for wrong in ["'{'", "CAST(x'ff00' AS TEXT)", "'{}'"] {
        let (_place, store) = damaged(&format!("UPDATE gathering SET message = {wrong}")).await;
        let told = told(&store).await;
        assert_eq!(told, "number 4 died\n\nnumber 5 died\n\nnumber 6 died");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn of_damaged_sentences_it_is_told_that_there_were_some() {
    for wrong in ["'[\"'", "CAST(x'ff00' AS TEXT)", "'{}'"] {
        let (_place, store) = damaged(&format!("UPDATE gathering SET lines = {wrong}")).await;
        let told = told(&store).await;
        assert!(told.contains("its stored row is damaged"), "{told}");
        assert!(told.contains("number 6 died"), "{told}");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn sentences_damaged_since_the_last_one_came_leave_the_first() {
    let (place, store) = damaged("UPDATE gathering SET due_at = due_at").await;
    damage(&place, "UPDATE gathering SET lines = ''");
    let told = told(&store).await;
    assert!(told.starts_with("number 4 died\n\n⚠"), "{told}");
    assert!(told.contains("its stored row is damaged"), "{told}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn of_a_row_in_which_nothing_is_sound_the_owner_is_told_by_a_bare_sentence() {
    let (place, store) = damaged("UPDATE gathering SET message = ''").await;
    damage(&place, "UPDATE gathering SET lines = ''");
    let told = told(&store).await;
    assert!(told.contains("its stored row is damaged"), "{told}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_row_of_which_not_even_the_owner_is_known_holds_nothing_up() {
    let (place, store) = damaged("UPDATE gathering SET message = ''").await;
    damage(&place, "UPDATE gathering SET message_id = 'nothing'");
    let claims = store.claim(later(DUE), 10).await.unwrap();
    assert_eq!(claims.parts, []);
    assert_eq!(claims.next, None, "it is not looked at again");
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_notice_that_meets_a_damaged_one_goes_alone() {
    for wrong in [
        "UPDATE message SET lines = '{' WHERE lines IS NOT NULL",
        "UPDATE message SET lines = CAST(x'ff00' AS TEXT) WHERE lines IS NOT NULL",
        "UPDATE part SET op = '{' WHERE state = 'queued'",
    ] {
        let place = Place::new();
        let store = Store::open(&place.options()).unwrap();
        // Home is busy with the first one.
        let (_, running) = die(&store, 1).await;
        damage(
            &place,
            "UPDATE message SET lines = NULL WHERE lines IS NOT NULL",
        );
        die(&store, 2).await;
        damage(&place, wrong);
        let (third, _) = die(&store, 3).await;
        let row = store.show(id(3)).await.unwrap().unwrap();
        let death = row.parts[0].death.clone().unwrap();
        assert_eq!(death.notice, Some(third.id), "{wrong}");
        let mut shown = Vec::new();
        let mut next = running;
        while let Some(part) = next.pop() {
            shown.push(words(&part.op).to_owned());
            next.extend(store.settle(sent(&part)).await.unwrap());
        }
        assert_eq!(shown.last().unwrap(), "number 3 died", "{wrong}");
        store.close().await.unwrap();
    }
}
