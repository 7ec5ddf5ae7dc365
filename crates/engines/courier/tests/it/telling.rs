//! Whatever died has told somebody, once.

use chat::{Body, FaultKind, Op, RichText};
use outbox::{Aside, Decision, MessageKind, NewMessage, PartState};
use waybill::ChatKey;

use crate::world::{Setting, World, answering, chat, home, part, start, words};

async fn told(kind: MessageKind, to: ChatKey, fault: FaultKind) -> Option<NewMessage> {
    World::new(answering(fault))
        .end_of(part(kind, to))
        .await
        .notice
        .map(|notice| notice.message)
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
        // Long enough for a second reading of the clock.
        tokio::time::advance(std::time::Duration::from_secs(31)).await;
        let end = world.end_of(old).await;
        assert_eq!(
            end.decision,
            Decision::Dead {
                state: PartState::Expired,
                lane: false
            },
            "{account} {kind:?}"
        );
        assert_eq!(end.notice.unwrap().message.waybill.chat(), &told_at);
        assert_eq!(world.deliveries(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_can_not_be_told_is_told_whole_at_home() {
    for fault in [FaultKind::PermItem, FaultKind::PermChat] {
        let there = chat("bot", "1");
        let mut part = part(MessageKind::Notice, there.clone());
        let said = "Every word of it. ".repeat(20);
        part.op = Op::Text(Body::Rich(RichText::plain(said.trim())));
        let end = World::new(answering(fault)).end_of(part).await;
        let notice = end.notice.unwrap().message;
        let told = words(&notice);
        assert!(told.contains(said.trim()), "{told}");
        assert!(told.contains(&there.to_string()), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_expires_behind_a_login_that_does_not_work_is_told_at_home() {
    let there = chat("bot", "1");
    for (rests, told_at) in [(true, home()), (false, there.clone())] {
        let world = World::new(Setting::default());
        let mut old = part(MessageKind::Reply, there.clone());
        old.expires_at = start();
        old.account_rests = rests;
        tokio::time::advance(std::time::Duration::from_secs(31)).await;
        let end = world.end_of(old).await;
        assert_eq!(end.notice.unwrap().message.waybill.chat(), &told_at);
    }
    // Its last attempt finds that out.
    let mut last = part(MessageKind::Reply, there);
    last.expires_at = start()
        .checked_add(jiff::SignedDuration::from_secs(1))
        .unwrap();
    let end = World::new(answering(FaultKind::PermAccount))
        .end_of(last)
        .await;
    let expired = PartState::Expired;
    assert!(
        matches!(end.decision, Decision::Dead { state, .. } if state == expired),
        "{:?}",
        end.decision
    );
    assert_eq!(end.notice.unwrap().message.waybill.chat(), &home());
}

#[tokio::test(start_paused = true)]
async fn what_was_claimed_goes_though_the_store_fails_on_the_next_that_was_set_aside() {
    let world = World::new(Setting::default());
    let aside = |row| Aside {
        row,
        message: row.to_string(),
        profile: Some("work".parse().unwrap()),
        reason: "damaged".to_owned(),
    };
    world
        .shelf
        .claim_on_telling(part(MessageKind::Notice, home()));
    world.shelf.fail_on_telling_of(2);
    let first = world.told_of_all(vec![aside(1), aside(2)]).await.unwrap();
    assert_eq!(first.message.source, "aside-part:1");
    world.settle_calls(1).await;
    assert_eq!(world.deliveries(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_at_the_start_makes_nothing_too_old() {
    let world = World::new(Setting::default());
    let mut old = part(MessageKind::Reply, chat("bot", "1"));
    old.expires_at = start();
    let end = world.end_of(old).await;
    assert!(
        matches!(end.decision, Decision::Retry { counts: false, .. }),
        "{:?}",
        end.decision
    );
    assert_eq!(world.deliveries(), 0);
}
