//! What a gateway that died would have wanted to say.

use outbox::OutboxStore as _;
use session::LastWords as _;
use tidings_store_sqlite::Store;
use waybill::Timestamp;

use crate::place::{Place, message, now};

fn later() -> Timestamp {
    Timestamp::from_second(now().as_second() + 1_000_000).unwrap()
}

#[tokio::test]
async fn what_was_left_is_said_once_after_a_death_and_is_not_too_old_by_then() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let mut left = message(1, 1);
    left.created_at = now();
    left.expires_at = Timestamp::from_second(now().as_second() + 60).unwrap();
    store.leave(left.clone()).await.unwrap();
    store.close().await.unwrap();
    let store = Store::open(&place.options()).unwrap();
    let said = store.speak(later()).await.unwrap();
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].source, left.source);
    assert_eq!(said[0].expires_at.as_second(), later().as_second() + 60);
    assert!(store.speak(later()).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_was_taken_back_or_told_before_is_not_said() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.leave(message(1, 1)).await.unwrap();
    store.take_back(&message(1, 1).source).await.unwrap();
    store.enqueue(vec![message(2, 2)], now()).await.unwrap();
    store.leave(message(2, 2)).await.unwrap();
    assert!(store.speak(later()).await.unwrap().is_empty());
    assert_eq!(
        store
            .list(outbox::ListFilter::default())
            .await
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn words_that_somebody_damaged_keep_no_others_back() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    store.leave(message(1, 1)).await.unwrap();
    store.leave(message(2, 2)).await.unwrap();
    let db = rusqlite::Connection::open(place.database()).unwrap();
    let damaged = db
        .execute(
            "UPDATE last_words SET message = '{}' WHERE source = ?1",
            [message(1, 1).source],
        )
        .unwrap();
    assert_eq!(damaged, 1);
    assert_eq!(store.speak(later()).await.unwrap().len(), 1);
}
