//! Messages that are changed, and chats that get another id.

use chat::{Inbound, InboundKind, Place, Preface};
use session::InboxState;
use waybill::{ChatKey, Conversation};

use crate::world::{House, OWNER, account, said, say};

fn edit(text: &str) -> Inbound {
    Inbound {
        kind: InboundKind::Edit,
        ..said("a", OWNER, text)
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_a_message_in_line_takes_no_place_of_its_own() {
    let house = House::default();
    house.keep_busy();
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "befor")).await;
            house
                .until("it is written down", |house| {
                    house.state(1) == InboxState::Admitted
                })
                .await;
            say(&handle, "2", edit("before")).await;
            house
                .until("the edit is settled", |house| {
                    house.state(2) != InboxState::New
                })
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["line: befor", "admitted: 1"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_comes_too_late_is_a_message() {
    let house = House::default();
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "befor")).await;
            say(&handle, "2", edit("before")).await;
            house
                .until("both are in line", |house| house.happened().len() == 2)
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["line: befor", "line: before"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_into_a_command_runs_nothing() {
    let house = House::default();
    house
        .while_open(async |handle| {
            say(&handle, "1", said("a", OWNER, "hi")).await;
            say(&handle, "2", edit("/new")).await;
            house
                .until("both are decided on", |house| house.happened().len() == 2)
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["line: hi", "ignored: 2"]);
}

fn in_group(conversation: &str, kind: InboundKind) -> Inbound {
    Inbound {
        kind,
        place: Place::Group { addressed: true },
        ..said(conversation, OWNER, "hello")
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_moved_is_answered_under_its_new_id_and_the_owner_is_told_which() {
    let house = House::default();
    let to = ChatKey::new(account(), Conversation::new("n").unwrap());
    house
        .while_open(async |handle| {
            let moved = in_group("a", InboundKind::Moved { to });
            say(&handle, "1", moved).await;
            say(&handle, "2", in_group("n", InboundKind::Message)).await;
            say(&handle, "3", in_group("x", InboundKind::Message)).await;
            house
                .until("all is decided on", |house| house.happened().len() == 3)
                .await;
        })
        .await;
    assert_eq!(
        house.happened(),
        ["ignored: 1", "line: hello", "ignored: 3"]
    );
    assert_eq!(house.moves(), ["bot:a → bot:n"]);
    let notice = house.notices().concat();
    assert!(
        notice.contains("`a`") && notice.contains("write `n`"),
        "{notice}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_brings_its_whole_conversation_is_kept_as_no_conversation_of_ours() {
    let house = House::default();
    house.damage("current a");
    house
        .while_open(async |handle| {
            let whole = Inbound {
                preface: Some(Box::new(Preface {
                    history: Some(Vec::new()),
                    ..Preface::default()
                })),
                ..said("a", OWNER, "hi")
            };
            say(&handle, "1", whole).await;
            house
                .until("it is in line", |house| !house.happened().is_empty())
                .await;
        })
        .await;
    assert_eq!(house.happened(), ["line: hi"]);
}
