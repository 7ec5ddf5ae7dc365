use chat::{Inbound, InboundKind, Place, Sender, SenderId};
use session::InboxId;
use waybill::{Anchor, ChatKey, Conversation, ProfileScope, Timestamp};

use super::*;

/// The `id`-th session that was made.
fn scope(chat: &str, id: usize) -> SessionScope {
    let chat = ChatKey::new("bot".parse().unwrap(), Conversation::new(chat).unwrap());
    let ids = testkit::clock::CountingIds::default();
    let mut fresh = std::iter::repeat_with(|| SessionId::fresh(&ids));
    let id = fresh.nth(id).unwrap();
    ProfileScope::enter(ProfileId::parse("p").unwrap()).session(SessionKey::Chat(chat), id)
}

fn message(id: i64, scope: &SessionScope, busy: Busy) -> Admitted {
    Admitted {
        id: InboxId(id),
        version: 0,
        inbound: Inbound {
            chat: scope.chat().unwrap().clone(),
            anchor: Anchor::new(id.to_string()),
            sender: Sender {
                id: SenderId::new("1"),
                name: None,
                bot: false,
            },
            place: Place::Direct,
            kind: InboundKind::Message,
            text: id.to_string(),
            files: Vec::new(),
            quoted: None,
            forwarded_from: None,
            preface: None,
            at: Timestamp::UNIX_EPOCH,
        },
        scope: scope.clone(),
        busy,
        came: Came::Now,
    }
}

fn ids(joining: &Joining<'_>) -> Vec<i64> {
    let messages = joining.messages.iter();
    messages.map(|message| message.id.0).collect()
}

/// A board whose first message runs, with others behind it.
fn running(scope: &SessionScope, behind: &[Admitted]) -> (Board, LineKey, CancellationToken) {
    let board = Board::default();
    board.push(Work::Fresh(Box::new(message(1, scope, Busy::Queue))));
    let (key, _, stop) = board.ready(1).pop().unwrap();
    for admitted in behind {
        let turn = board.push(Work::Fresh(Box::new(admitted.clone())));
        assert_eq!(turn, Turn::Waits);
    }
    (board, key, stop)
}

#[test]
fn what_did_not_join_after_all_waits_in_its_old_order() {
    let scope = scope("a", 1);
    let steer = |id| message(id, &scope, Busy::Steer);
    let (board, key, _stop) = running(&scope, &[steer(2), steer(3), steer(4)]);
    let seat = Seat {
        board: &board,
        key: &key,
    };
    drop(seat.joining(&scope));
    let joining = seat.joining(&scope);
    assert_eq!(ids(&joining), [2, 3, 4]);
    joining.joined();
    assert_eq!(ids(&seat.joining(&scope)), [] as [i64; 0]);
}

#[test]
fn nothing_joins_past_what_waits_for_its_own_turn() {
    let here = scope("a", 1);
    let after_new = scope("a", 2);
    let suspect = Admitted {
        came: Came::Before { taken: 1 },
        ..message(3, &here, Busy::Steer)
    };
    for barrier in [
        message(3, &here, Busy::Queue),
        message(3, &after_new, Busy::Steer),
        suspect,
    ] {
        let steer = |id| message(id, &here, Busy::Steer);
        let (board, key, _stop) = running(&here, &[steer(2), barrier, steer(4)]);
        let seat = Seat {
            board: &board,
            key: &key,
        };
        assert_eq!(ids(&seat.joining(&here)), [2]);
    }
}

#[test]
fn an_interrupting_message_stops_what_runs_and_nothing_that_only_waits() {
    let scope = scope("a", 1);
    let interrupt = |id| message(id, &scope, Busy::Interrupt);
    let (board, key, stop) = running(&scope, &[]);
    board.push(Work::Fresh(Box::new(interrupt(4))));
    assert!(!stop.is_cancelled(), "it has not begun");
    let seat = Seat {
        board: &board,
        key: &key,
    };
    seat.begun();
    board.push(Work::Fresh(Box::new(interrupt(2))));
    board.push(Work::Fresh(Box::new(interrupt(3))));
    assert!(stop.is_cancelled());
    for _each in [4, 2, 3] {
        board.ended(&key);
        let (_, _, stop) = board.ready(1).pop().unwrap();
        assert!(!stop.is_cancelled());
    }
}

#[test]
fn a_conversation_whose_chat_got_another_id_stays_in_one_line() {
    let old = scope("old", 1);
    let new = scope("new", 1);
    let (board, key, _stop) = running(&old, &[message(2, &new, Busy::Queue)]);
    assert!(board.ready(9).is_empty(), "two turns of one conversation");
    board.ended(&key);
    assert_eq!(board.ready(9).len(), 1);
    board.ended(&key);
    // The old line is gone with its last turn.
    board.push(Work::Fresh(Box::new(message(3, &new, Busy::Queue))));
    let (key, _, _) = board.ready(9).pop().unwrap();
    assert_eq!(key.1, *new.key());
}
