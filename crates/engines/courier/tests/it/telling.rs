//! Whatever died has told somebody, once.

use chat::FaultKind;
use outbox::{Decision, MessageKind, NewMessage, PartState};
use waybill::ChatKey;

use crate::world::{Setting, World, answering, chat, home, part, start, words};

async fn told(kind: MessageKind, to: ChatKey, fault: FaultKind) -> Option<NewMessage> {
    World::new(answering(fault))
        .end_of(part(kind, to))
        .await
        .notice
}

#[tokio::test(start_paused = true)]
async fn who_is_told_of_a_part_that_was_given_up() {
    let (group, other) = (chat("bot", "1"), chat("web", "2"));
    use FaultKind::{PermChat, PermItem};
    use MessageKind::{Notice, Reply};
    for (kind, to, fault, told_at) in [
        (Reply, &group, PermItem, Some(group.clone())),
        (Reply, &group, PermChat, Some(home())),
        (Notice, &group, PermChat, Some(home())),
        (Notice, &group, PermItem, Some(home())),
        (Reply, &home(), PermItem, Some(home())),
        (Reply, &home(), PermChat, None),
        (Notice, &home(), PermItem, None),
        (Notice, &home(), PermChat, None),
        // Where the home chat's platform moved it to.
        (Notice, &other, PermChat, None),
    ] {
        let notice = told(kind, to.clone(), fault.clone()).await;
        assert_eq!(
            notice.as_ref().map(|notice| notice.waybill.chat().clone()),
            told_at,
            "{kind:?} to {to}: {fault:?}"
        );
        assert!(notice.is_none_or(|notice| notice.kind == Notice));
    }
}

#[tokio::test(start_paused = true)]
async fn the_word_about_a_closed_chat_says_that_it_took_everything_with_it() {
    let closed = chat("bot", "1");
    for kind in [MessageKind::Reply, MessageKind::Notice] {
        let notice = told(kind, closed.clone(), FaultKind::PermChat)
            .await
            .unwrap();
        let words = words(&notice);
        assert!(
            words.contains("Good morning.") && words.contains(&closed.to_string()),
            "{words}"
        );
        assert!(
            words.contains("this and everything else that waits for that chat"),
            "{words}"
        );
    }
    let notice = told(MessageKind::Notice, closed, FaultKind::PermItem)
        .await
        .unwrap();
    assert!(!words(&notice).contains("everything else"));
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_expires_also_where_its_account_is_not_configured() {
    for (account, kind, told_at) in [
        ("gone", MessageKind::Reply, home()),
        ("gone", MessageKind::Notice, home()),
        ("bot", MessageKind::Reply, chat("bot", "1")),
        ("bot", MessageKind::Notice, home()),
    ] {
        let world = World::new(Setting::default());
        let mut old = part(kind, chat(account, "1"));
        old.expires_at = start();
        let end = world.end_of(old).await;
        assert_eq!(
            end.decision,
            Decision::Dead {
                state: PartState::Expired,
                lane: false
            },
            "{account} {kind:?}"
        );
        assert_eq!(end.notice.unwrap().waybill.chat(), &told_at);
        assert_eq!(world.deliveries(), 0);
    }
}
