//! What nobody knows is found out, repeated with a mark, or told to the owner; and what is refused goes once more in another
//! form.

use std::time::Duration;

use chat::{
    Body, Done, Fault, FaultKind, Found, Grade, Op, Receipt, RichText, Span, Step, Style,
    ThrottleScope, Way, WhenUnknown,
};
use outbox::{Aside, Claimed, Crash, Decision, MOST_CRASHES, MessageKind, PartState};

use crate::world::{Panics, SETTLE, Setting, World, answering, chat, home, part, start, words};

/// A part whose attempt of an hour ago got no answer.
fn lost() -> Claimed {
    Claimed {
        came_from: PartState::Unknown,
        may_be_repeat: true,
        attempt: 2,
        tries: 2,
        first_at: start() - Duration::from_secs(3_600),
        ..part(MessageKind::Reply, chat("bot", "1"))
    }
}

fn carried(step: Option<&str>) -> Claimed {
    Claimed {
        way: Way::Carried,
        step: step.map(Step::new),
        ..part(MessageKind::Reply, chat("bot", "1"))
    }
}

fn bold() -> Op {
    Op::Text(Body::Rich(RichText {
        text: "Good morning.".to_owned(),
        spans: vec![Span {
            offset: 0,
            length: 4,
            style: Style::Bold,
        }],
    }))
}

fn with(grade: Grade) -> Setting {
    Setting {
        grade,
        ..Setting::default()
    }
}

fn found(found: Result<Found, Fault>) -> Setting {
    Setting {
        found,
        ..with(Grade::Reconcilable)
    }
}

#[tokio::test(start_paused = true)]
async fn who_sees_what_when_a_lost_part_goes_again() {
    let hour = Duration::from_secs(3_600);
    let window = |window| Grade::Keyed { window };
    for (grade, part, marked, own_key) in [
        // The platform refuses the repeat by its key.
        (window(None), lost(), false, false),
        (window(Some(2 * hour)), lost(), false, false),
        // Its memory has ended: the marked repeat is another content, and must not meet the old key.
        (window(Some(hour)), lost(), true, true),
        (Grade::Nothing, lost(), true, false),
        (Grade::TwoPhase, lost(), true, false),
        // An empty placeholder twice shows nothing twice; a filled one neither.
        (
            Grade::TwoPhase,
            Claimed {
                step: None,
                way: Way::Carried,
                ..lost()
            },
            false,
            false,
        ),
        (
            Grade::TwoPhase,
            Claimed {
                step: Some(Step::new("81")),
                way: Way::Carried,
                ..lost()
            },
            false,
            false,
        ),
        // The owner sends again what was held.
        (
            Grade::Nothing,
            Claimed {
                came_from: PartState::Queued,
                ..lost()
            },
            true,
            false,
        ),
        (
            Grade::Reconcilable,
            Claimed {
                came_from: PartState::Queued,
                ..lost()
            },
            true,
            false,
        ),
        // It was refused for now after a marked repeat: the mark stays.
        (
            Grade::Nothing,
            Claimed {
                came_from: PartState::Retry,
                ..lost()
            },
            true,
            false,
        ),
        (
            window(None),
            Claimed {
                came_from: PartState::Retry,
                ..lost()
            },
            false,
            false,
        ),
    ] {
        let world = World::new(with(grade));
        let name = format!("{grade:?} {part:?}");
        let end = world.end_of(part.clone()).await;
        assert!(matches!(end.decision, Decision::Sent { .. }), "{name}");
        let seen = world.book().seen.clone();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].may_be_repeat, marked, "{name}");
        assert_eq!(seen[0].key != part.key, own_key, "{name}");
        assert_eq!((&seen[0].way, &seen[0].step), (&part.way, &part.step));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_not_sent_again_and_its_receipt_is_recovered() {
    let receipt = Receipt::new("1234.5");
    let world = World::new(found(Ok(Found::Present(receipt.clone()))));
    let end = world.end_of(lost()).await;
    assert_eq!(end.decision, Decision::Sent { receipt });
    assert_eq!(end.fault, None);
    assert_eq!((world.deliveries(), world.book().asked), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_sent_again_without_a_mark() {
    let world = World::new(found(Ok(Found::Absent)));
    let end = world.end_of(lost()).await;
    assert!(matches!(end.decision, Decision::Sent { .. }));
    assert!(!world.book().seen[0].may_be_repeat);
    assert_eq!(world.book().asked, 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_after_it_was_found_absent_is_asked_for_again_and_not_marked() {
    let refused = || Claimed {
        came_from: PartState::Retry,
        when_unknown: WhenUnknown::Hold,
        ..lost()
    };
    for (answer, deliveries, marked) in [
        (Found::Absent, 1, false),
        (Found::Present(Receipt::new("9")), 0, false),
        // The owner sent it again already: it is not held a second time.
        (Found::Unclear, 1, true),
    ] {
        let world = World::new(found(Ok(answer.clone())));
        let end = world.end_of(refused()).await;
        assert!(matches!(end.decision, Decision::Sent { .. }), "{answer:?}");
        assert_eq!(world.deliveries(), deliveries, "{answer:?}");
        let repeats = world.book().seen.iter().any(|seen| seen.may_be_repeat);
        assert_eq!(repeats, marked, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_find_out_goes_as_the_owner_wants() {
    for (wish, kind, held) in [
        (WhenUnknown::Repeat, MessageKind::Reply, false),
        (WhenUnknown::Hold, MessageKind::Reply, true),
        (WhenUnknown::Hold, MessageKind::Notice, false),
    ] {
        for grade in [Grade::Reconcilable, Grade::Nothing, Grade::TwoPhase] {
            let world = World::new(with(grade));
            let lost = Claimed {
                when_unknown: wish,
                kind,
                ..lost()
            };
            let id = lost.message;
            let end = world.end_of(lost).await;
            if !held {
                assert!(matches!(end.decision, Decision::Sent { .. }));
                assert!(world.book().seen[0].may_be_repeat);
                assert_eq!(end.notice, None);
                continue;
            }
            assert_eq!(end.decision, Decision::Hold);
            assert_eq!(world.deliveries(), 0);
            let notice = end.notice.expect("the owner is told");
            assert_eq!(notice.message.waybill.chat(), &home());
            for verb in ["retry", "mark-sent"] {
                let command = format!("tidings outbox {verb} {id}");
                assert!(notice.line.contains(&command), "{}", notice.line);
                assert!(words(&notice.message).contains(&command));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_can_not_be_asked_now_makes_no_repeat() {
    let minute = Duration::from_secs(60);
    let throttled = FaultKind::Throttled {
        after: minute,
        scope: ThrottleScope::Account,
    };
    for (answer, panics, waits, kind) in [
        (throttled.clone(), Panics::Nowhere, minute, throttled),
        (
            FaultKind::PermAccount,
            Panics::Nowhere,
            Duration::from_secs(15),
            FaultKind::PermAccount,
        ),
        (
            FaultKind::TempReject,
            Panics::Nowhere,
            SETTLE,
            FaultKind::TempReject,
        ),
        (
            FaultKind::PermItem,
            Panics::Finding,
            SETTLE,
            FaultKind::Unknown,
        ),
    ] {
        let world = World::new(Setting {
            panics,
            ..found(Err(Fault::new(answer.clone(), "not now")))
        });
        let end = world.end_of(lost()).await;
        assert_eq!(world.deliveries(), 0, "{answer:?}");
        assert!(
            matches!(end.decision, Decision::Unknown { at } if at >= start() + waits),
            "{answer:?}: {:?}",
            end.decision
        );
        assert_eq!(end.fault.expect("why").kind, kind);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_goes_once_more_in_a_plainer_form() {
    let refused = || answering(FaultKind::PermItem);
    let rich = Claimed {
        op: bold(),
        ..part(MessageKind::Reply, chat("bot", "1"))
    };
    let end = World::new(refused()).end_of(rich.clone()).await;
    assert_eq!(end.decision, Decision::Plainer);
    assert_eq!(end.notice, None, "nobody has lost anything yet");
    let form = end.plainer.expect("another form");
    assert_eq!(
        form.op,
        Op::Text(Body::Rich(RichText::plain("Good morning.")))
    );
    assert_ne!(form.key, rich.key);
    let again = Claimed {
        op: form.op,
        key: form.key,
        rendition: 1,
        attempt: 2,
        ..rich.clone()
    };
    let end = World::new(refused()).end_of(again).await;
    assert_eq!(
        end.decision,
        Decision::Dead {
            state: PartState::Failed,
            lane: false
        }
    );
    assert!(end.notice.is_some());
    // The same refusal makes the same key, so that a step that runs twice is one.
    let twice = World::new(refused()).end_of(rich).await;
    assert_eq!(twice.plainer.expect("another form").key, form.key);
}

#[tokio::test(start_paused = true)]
async fn a_placeholder_that_can_not_be_filled_is_taken_away_and_the_part_goes_directly() {
    let world = World::new(answering(FaultKind::PermItem));
    let end = world.end_of(carried(Some("81"))).await;
    assert_eq!(end.decision, Decision::Plainer);
    let form = end.plainer.expect("another form");
    assert_eq!(form.way, Way::Direct);
    assert_eq!(form.op, carried(None).op, "the words are plain already");
    world.withdrawn(1).await;
    assert_eq!(world.book().withdrawn, [Step::new("81")]);
}

#[tokio::test(start_paused = true)]
async fn a_placeholder_that_will_be_filled_stays() {
    for (answer, kept) in [
        (Err(Fault::new(FaultKind::Unknown, "…")), true),
        (Err(Fault::new(FaultKind::TempReject, "…")), true),
        (Ok(Done::All(Receipt::new("81"))), true),
        (Err(Fault::new(FaultKind::PermChat, "…")), false),
    ] {
        let mut world = World::new(Setting {
            answer: answer.clone(),
            ..Setting::default()
        });
        world.end_of(carried(Some("81"))).await;
        world.stopped().await;
        assert_eq!(world.book().withdrawn.is_empty(), kept, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_is_told_to_the_store_and_to_nobody_else() {
    let step = Step::new("81");
    let world = World::new(Setting {
        answer: Ok(Done::Step(step.clone())),
        ..with(Grade::TwoPhase)
    });
    let end = world.end_of(carried(None)).await;
    assert_eq!(end.decision, Decision::Advance { step });
    assert_eq!((end.fault, end.notice), (None, None));
}

#[tokio::test(start_paused = true)]
async fn three_crashes_of_an_adapter_end_its_part_and_the_owner_is_told() {
    for crashes in 0..MOST_CRASHES {
        let world = World::new(Setting {
            panics: Panics::Delivering,
            ..Setting::default()
        });
        let end = world
            .end_of(Claimed {
                crashes,
                attempt: crashes + 1,
                ..part(MessageKind::Reply, chat("bot", "1"))
            })
            .await;
        assert_eq!(end.crash, Crash::Yes);
        let fault = end.fault.expect("why");
        assert!(fault.text.contains("crashed"), "{}", fault.text);
        if crashes + 1 < MOST_CRASHES {
            assert!(
                matches!(end.decision, Decision::Unknown { at } if at >= start() + SETTLE),
                "{:?}",
                end.decision
            );
            assert_eq!(end.notice, None);
        } else {
            assert_eq!(
                end.decision,
                Decision::Dead {
                    state: PartState::Failed,
                    lane: false
                }
            );
            assert!(end.notice.is_some());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_told_of_a_part_whose_row_is_damaged() {
    let aside = |profile: Option<&str>| Aside {
        row: 7,
        message: "msg_7".to_owned(),
        profile: profile.map(|name| name.parse().unwrap()),
        reason: "'hologram' is no operation".to_owned(),
    };
    let world = World::new(Setting::default());
    let notice = world.told_of(aside(Some("work"))).await.expect("a word");
    assert_eq!(notice.message.waybill.chat(), &home());
    for wanted in ["msg_7", "hologram"] {
        assert!(notice.line.contains(wanted), "{}", notice.line);
    }
    assert_eq!(
        world.told_of(aside(None)).await,
        None,
        "there is nobody to tell"
    );
}
