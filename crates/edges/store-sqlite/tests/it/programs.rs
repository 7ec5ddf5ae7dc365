//! Keys by which programs ask, and requests that come again.

use std::time::Duration;

use policy::{AddedKey, KeyStore as _, TokenHash};
use session::{AnswerStore as _, KeyedRequest, Known};
use tidings_store_sqlite::Store;
use waybill::Conversation;

use crate::place::{Place, now};

#[tokio::test]
async fn a_key_holds_until_it_is_revoked_and_its_name_stays_its_profiles() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let name = |text: &str| text.parse().unwrap();
    let profile = |text: &str| text.parse().unwrap();
    let (first, second) = (TokenHash::of("one"), TokenHash::of("two"));
    let add = |key, to: &'static str| store.add_key(key, name("cli"), profile(to), now());
    assert_eq!(add(first, "p").await.unwrap(), AddedKey::Added);
    assert_eq!(add(second, "p").await.unwrap(), AddedKey::Taken);
    assert_eq!(store.find_key(second).await.unwrap(), None);
    let found = store.find_key(first).await.unwrap().unwrap();
    assert_eq!(
        (found.name, found.profile, found.last_used_at),
        (name("cli"), profile("p"), None)
    );
    let later = now() + Duration::from_secs(60);
    store.use_key(&name("cli"), later).await.unwrap();
    store.use_key(&name("cli"), now()).await.unwrap();
    let found = store.find_key(first).await.unwrap().unwrap();
    assert_eq!(found.last_used_at, Some(later));

    assert!(store.revoke_key(&name("cli"), later).await.unwrap());
    assert!(!store.revoke_key(&name("cli"), later).await.unwrap());
    assert!(!store.revoke_key(&name("nobody"), later).await.unwrap());
    assert_eq!(store.find_key(first).await.unwrap(), None);
    let row = store.key_named(&name("cli")).await.unwrap().unwrap();
    assert_eq!(row.revoked_at, Some(later));
    let other = add(second, "q").await.unwrap();
    assert_eq!(other, AddedKey::OtherProfile(profile("p")));
    assert_eq!(add(second, "p").await.unwrap(), AddedKey::Added);
    assert_eq!(store.find_key(first).await.unwrap(), None);
    assert!(store.find_key(second).await.unwrap().is_some());
    assert_eq!(store.keys().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_request_is_known_by_its_key_for_its_time_and_its_client() {
    let place = Place::new();
    let store = Store::open(&place.options()).unwrap();
    let asked = |client: &str, asks: u8, request: &str| KeyedRequest {
        client: client.parse().unwrap(),
        key: [1; 32],
        asks: [asks; 32],
        request: request.to_owned(),
        conversation: Conversation::new(format!("{client}/~{request}")).unwrap(),
    };
    let day = Duration::from_secs(86_400);
    let know = async |asked: KeyedRequest, at| store.know(asked, at - day, at).await.unwrap();
    assert_eq!(know(asked("a", 1, "r1"), now()).await, Known::Fresh);
    let before = Known::Before {
        request: "r1".to_owned(),
        conversation: Conversation::new("a/~r1").unwrap(),
    };
    assert_eq!(know(asked("a", 1, "r2"), now() + day).await, before);
    assert_eq!(
        know(asked("a", 2, "r3"), now() + day).await,
        Known::Otherwise
    );
    assert_eq!(know(asked("b", 2, "r4"), now()).await, Known::Fresh);
    let late = now() + day + Duration::from_secs(1);
    assert_eq!(know(asked("a", 2, "r5"), late).await, Known::Fresh);
    assert!(
        matches!(know(asked("a", 2, "r6"), late).await, Known::Before { request, .. } if request == "r5")
    );
}
