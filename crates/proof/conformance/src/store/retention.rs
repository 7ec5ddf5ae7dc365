//! What was kept long enough goes; what is open, or still told by a repeat, stays.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "cases of the suite: their names say what they show"
)]

use std::collections::BTreeSet;

use model::Usage;
use outbox::{MessageRow, OutboxStore as _, PartState, Verb};
use session::{
    Admission, Chore, ConversationRow, Cutoffs, InboxStore as _, NewEvent, NewVisible, Promised,
    SessionStore as _, TurnCommit, TurnEnd, TurnStart, VisibleAuthor, VisibleContent,
    VisibleLog as _,
};
use waybill::{Conversation, MessageId, ProfileId, SessionKey};

use super::make::{Maker, account, answered, at, chat, dead, inbound, profile, said, sent, words};
use super::{AnyStore, World};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Every chore to its end, at a moment: 3 days for words, 10 for messages that are done, 20 for deaths, 7 for events, 1 for
/// ignored ones, and 30 for conversations.
async fn tidy<S: AnyStore>(store: &S, now: i64) -> u64 {
    let cutoffs = Cutoffs {
        words: at(now - 3 * DAY),
        sent: at(now - 10 * DAY),
        dead: at(now - 20 * DAY),
        events: at(now - 7 * DAY),
        ignored: at(now - DAY),
        conversations: Some(at(now - 30 * DAY)),
        homes: BTreeSet::from([Conversation::new("home").expect("a conversation")]),
    };
    let mut rows = 0;
    for chore in Chore::ALL {
        let mut after = Some(0);
        while let Some(from) = after {
            let step = store.tidy(chore, &cutoffs, from).await.expect("tidy");
            rows += step.rows;
            after = step.next;
        }
    }
    rows
}

async fn show<S: AnyStore>(store: &S, id: MessageId) -> Option<MessageRow> {
    store.show(id).await.expect("show")
}

pub async fn the_words_of_a_sent_part_go_and_its_receipt_stays(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let id = message.id;
    let claimed = store.enqueue(vec![message], at(0)).await.expect("enqueue");
    let next = store
        .settle(sent(&claimed[0], at(HOUR)))
        .await
        .expect("settle");
    assert_eq!(next.len(), 1);
    assert_eq!(
        tidy(&store, 3 * DAY).await,
        0,
        "it is not an hour too early"
    );
    assert_eq!(tidy(&store, 3 * DAY + 2 * HOUR).await, 1);
    world.close(store).await;

    let store = world.open().await;
    let row = show(&store, id).await.expect("there");
    let [first, second] = row.parts.as_slice() else {
        unreachable!("two parts")
    };
    assert_eq!((first.forgotten, words(&first.op)), (true, ""));
    assert_eq!(
        first.receipt.as_ref().map(chat::Receipt::as_str),
        Some("r1")
    );
    assert_eq!(first.attempts.len(), 1);
    assert!(
        !second.forgotten && !words(&second.op).is_empty(),
        "it is on the wire"
    );
    assert_eq!(tidy(&store, 3 * DAY + 2 * HOUR).await, 0, "once is enough");
    world.close(store).await;
}

pub async fn a_message_goes_whole_when_all_of_it_is_done(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let message = make.message(&chat("tg", "1"), 2);
    let id = message.id;
    let claimed = store
        .enqueue(vec![message.clone()], at(0))
        .await
        .expect("enqueue");
    let next = store
        .settle(sent(&claimed[0], at(1)))
        .await
        .expect("settle");
    tidy(&store, 100 * DAY).await;
    assert_eq!(show(&store, id).await.expect("there").parts.len(), 2);
    store
        .settle(sent(&next[0], at(100 * DAY)))
        .await
        .expect("settle");
    tidy(&store, 110 * DAY).await;
    assert!(
        show(&store, id).await.is_some(),
        "ten days from its last receipt"
    );
    assert!(tidy(&store, 110 * DAY + 1).await > 0);
    assert_eq!(show(&store, id).await, None);

    // The lane goes on, and nothing is left that would hold it up.
    let after = make.message(&chat("tg", "1"), 1);
    let claimed = store
        .enqueue(vec![after], at(111 * DAY))
        .await
        .expect("enqueue");
    assert_eq!(claimed.len(), 1);
    world.close(store).await;
}

pub async fn a_death_that_nobody_cared_for_stays_longer_and_one_that_was_mended_does_not(
    world: impl World,
) {
    let store = world.open().await;
    let make = Maker::default();
    let messages = vec![
        make.message(&chat("tg", "1"), 1),
        make.message(&chat("tg", "2"), 1),
    ];
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    for part in store.enqueue(messages, at(0)).await.expect("enqueue") {
        store
            .settle(dead(&part, at(0), false, None))
            .await
            .expect("settle");
    }
    let acted = store
        .act(ids[1], None, Verb::MarkSent, at(1))
        .await
        .expect("act");
    assert!(acted.is_some());
    tidy(&store, 11 * DAY).await;
    let left = show(&store, ids[0]).await.expect("there");
    assert_eq!(left.parts[0].state, PartState::Failed);
    assert!(!words(&left.parts[0].op).is_empty(), "it may be sent again");
    assert_eq!(show(&store, ids[1]).await, None);
    tidy(&store, 20 * DAY + 1).await;
    assert_eq!(show(&store, ids[0]).await, None);
    world.close(store).await;
}

pub async fn a_repeat_is_known_when_the_words_of_an_event_are_long_gone(world: impl World) {
    let store = world.open().await;
    let here = chat("tg", "1");
    let event = |parsed| NewEvent {
        key: "e1".to_owned(),
        raw: "{\"text\":\"hello\"}".to_owned(),
        parsed,
    };
    let hello = || event(Ok(Some(inbound(&here, "hello"))));
    let of = account("tg");
    let (rows, _) = store
        .accept(&of, vec![hello()], None, at(0))
        .await
        .expect("accept");
    tidy(&store, 50 * DAY).await;
    assert_eq!(
        store.open_rows().await.expect("open").len(),
        1,
        "one that waits stays, however old"
    );
    let told = Admission::Tell {
        messages: Vec::new(),
    };
    store.admit(rows[0].id, told, at(1)).await.expect("admit");
    assert_eq!(tidy(&store, 4 * DAY).await, 1, "its words");
    assert_eq!(tidy(&store, 6 * DAY).await, 0);
    let (fresh, counts) = store
        .accept(&of, vec![hello()], None, at(6 * DAY))
        .await
        .expect("accept");
    assert_eq!((fresh.len(), counts.repeated), (0, 1));
    assert_eq!(tidy(&store, 8 * DAY).await, 1, "its key");
    let (fresh, counts) = store
        .accept(&of, vec![hello()], None, at(8 * DAY))
        .await
        .expect("accept");
    assert_eq!((fresh.len(), counts.repeated), (1, 0));
    world.close(store).await;
}

pub async fn a_conversation_goes_when_nothing_happened_in_it_for_long(world: impl World) {
    let store = world.open().await;
    let make = Maker::default();
    let owner = profile("default");
    let mut sessions = Vec::new();
    for (conversation, when) in [("old", 0), ("lively", 20 * DAY), ("running", 0)] {
        let here = chat("tg", conversation);
        let session = store
            .current(
                &owner,
                &SessionKey::Chat(here.clone()),
                make.session_id(),
                at(0),
            )
            .await
            .expect("current");
        for begun in [0, when] {
            let scope = make.turn(&session, &here);
            let start = TurnStart {
                scope: scope.clone(),
                inbox: Vec::new(),
                before: Vec::new(),
                message: said("hello"),
                promised: Promised::default(),
                at: at(begun),
            };
            store.begin_turn(start).await.expect("begin");
            if conversation == "running" && begun == when {
                continue;
            }
            let commit = TurnCommit {
                scope,
                end: TurnEnd::Answered,
                transcript: vec![answered("hi")],
                outgoing: Vec::new(),
                usage: Usage::default(),
                spent: Vec::new(),
                at: at(begun),
            };
            store.commit_turn(commit).await.expect("commit");
        }
        sessions.push(session);
    }
    tidy(&store, 31 * DAY).await;
    let mut left = Vec::new();
    for session in &sessions {
        left.push(
            store
                .transcript(session.id())
                .await
                .expect("transcript")
                .len(),
        );
    }
    assert_eq!(left, [0, 4, 2]);
    assert_eq!(store.running_turns().await.expect("running").len(), 2);
    let again = store
        .current(&owner, sessions[0].key(), make.session_id(), at(31 * DAY))
        .await
        .expect("current");
    assert_eq!(again, sessions[0], "the next word finds its conversation");
    world.close(store).await;
}

pub async fn an_idle_web_chat_goes_but_never_the_home_of_notices(world: impl World) {
    let store = world.open().await;
    let of = |name: &str| Conversation::new(name).expect("a conversation");
    for (number, name) in (1_u8..).zip(["old", "home", "lively"]) {
        let row = ConversationRow {
            conversation: of(name),
            profile: ProfileId::parse("default").expect("a profile"),
            title: String::new(),
            touched_at: at(0),
        };
        store.open(row).await.expect("open");
        for when in [0, if name == "lively" { 20 * DAY } else { 1 }] {
            let last = u8::try_from(when % 100).unwrap_or(99);
            let entry = NewVisible {
                conversation: of(name),
                author: VisibleAuthor::Person,
                content: VisibleContent::Said {
                    text: "hello".to_owned(),
                    files: Vec::new(),
                },
                key: chat::IdempotencyKey::new([number + 10 * u8::from(when > 0) + last; 16]),
                at: at(when),
            };
            assert!(store.add(entry).await.expect("add").is_ok());
        }
    }
    tidy(&store, 31 * DAY).await;
    let mut left = Vec::new();
    for row in store.conversations(10).await.expect("conversations") {
        let entries = store
            .entries(&row.conversation, 0, 10)
            .await
            .expect("entries");
        left.push((row.conversation.as_str().to_owned(), entries.len()));
    }
    left.sort();
    assert_eq!(left, [("home".to_owned(), 0), ("lively".to_owned(), 2)]);
    world.close(store).await;
}
