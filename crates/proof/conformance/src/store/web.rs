//! The web chat's own "platform": what is shown is shown once.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use chat::{IdempotencyKey, Receipt};
use session::{ConversationRow, NewVisible, VisibleAuthor, VisibleContent, VisibleLog as _};
use waybill::Conversation;

use super::World;
use super::make::{at, profile, text};

fn conversation(id: &str, of: &str) -> ConversationRow {
    ConversationRow {
        conversation: Conversation::new(id).expect("a conversation"),
        profile: profile(of).profile().clone(),
        title: String::new(),
        touched_at: at(0),
    }
}

fn said(id: &str, key: u8, words: &str) -> NewVisible {
    NewVisible {
        conversation: Conversation::new(id).expect("a conversation"),
        author: VisibleAuthor::Person,
        content: VisibleContent::Said {
            text: words.to_owned(),
            files: Vec::new(),
        },
        key: IdempotencyKey::new([key; 16]),
        at: at(i64::from(key)),
    }
}

pub async fn an_entry_with_a_known_key_shows_once(world: impl World) {
    let store = world.open().await;
    store.open(conversation("a", "work")).await.expect("open");
    let first = store
        .add(said("a", 1, "hello"))
        .await
        .expect("add")
        .expect("new");
    let mut part = said("a", 2, "");
    part.author = VisibleAuthor::Agent;
    part.content = VisibleContent::Part {
        op: text("hi"),
        may_be_repeat: false,
    };
    let second = store.add(part.clone()).await.expect("add").expect("new");
    assert!(first.id < second.id);
    world.close(store).await;

    let store = world.open().await;
    // A marked repeat has the same key, and so it is none.
    part.content = VisibleContent::Part {
        op: text("hi"),
        may_be_repeat: true,
    };
    let again = store.add(part).await.expect("add");
    assert_eq!(again, Err(Receipt::new(second.id.to_string())));
    let shown = store
        .entries(&Conversation::new("a").expect("a conversation"), 0, 10)
        .await
        .expect("entries");
    assert_eq!(shown, [first, second]);
    store
        .add(said("nowhere", 3, "x"))
        .await
        .expect_err("no such conversation");
    world.close(store).await;
}

pub async fn a_conversation_keeps_its_profile_and_takes_its_first_words_as_title(
    world: impl World,
) {
    let store = world.open().await;
    store.open(conversation("a", "work")).await.expect("open");
    store.open(conversation("a", "home")).await.expect("open");
    store.open(conversation("b", "home")).await.expect("open");
    let a = Conversation::new("a").expect("a conversation");
    store
        .add(said("a", 9, "  first\nwords "))
        .await
        .expect("add")
        .expect("new");
    store
        .add(said("a", 8, "second"))
        .await
        .expect("add")
        .expect("new");
    let row = store
        .conversation(&a)
        .await
        .expect("conversation")
        .expect("there");
    assert_eq!(row.profile.as_str(), "work", "fixed when it is made");
    assert_eq!(row.title, "first words");
    assert_eq!(row.touched_at, at(9));
    let all = store.conversations(10).await.expect("conversations");
    let ids: Vec<_> = all.iter().map(|row| row.conversation.as_str()).collect();
    assert_eq!(ids, ["a", "b"], "the latest first");
    assert_eq!(
        store.conversations(1).await.expect("conversations").len(),
        1
    );
    let missing = Conversation::new("zzz").expect("a conversation");
    assert_eq!(
        store.conversation(&missing).await.expect("conversation"),
        None
    );
    world.close(store).await;
}

pub async fn the_last_entries_come_oldest_first(world: impl World) {
    let store = world.open().await;
    store.open(conversation("a", "work")).await.expect("open");
    store.open(conversation("b", "work")).await.expect("open");
    let mut ids = Vec::new();
    for key in 1..=5 {
        ids.push(
            store
                .add(said("a", key, "x"))
                .await
                .expect("add")
                .expect("new")
                .id,
        );
        store
            .add(said("b", key, "x"))
            .await
            .expect("add")
            .expect("a key counts inside its conversation");
    }
    let a = Conversation::new("a").expect("a conversation");
    let seen = async |after: i64, most: usize| -> Vec<i64> {
        let entries = store.entries(&a, after, most).await.expect("entries");
        entries.into_iter().map(|entry| entry.id).collect()
    };
    assert_eq!(seen(0, 100).await, ids);
    assert_eq!(seen(0, 2).await, ids[3..]);
    assert_eq!(seen(ids[1], 100).await, ids[2..]);
    assert_eq!(seen(ids[4], 100).await, Vec::<i64>::new());
    world.close(store).await;
}
