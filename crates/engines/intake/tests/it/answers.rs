//! Taps, `/approve`, `/deny`, and words that answer a question.

use chat::{Inbound, InboundFile, InboundKind, Quoted};
use session::{Answered, Busy, InboxState};

use crate::world::{FRIEND, House, OWNER, row, said, say};

fn tap(sender: &str) -> Inbound {
    Inbound {
        kind: InboundKind::Tap {
            token: "abc.0".to_owned(),
            id: "tap-1".to_owned(),
        },
        ..said("a", sender, "")
    }
}

fn taken() -> Answered {
    Answered::Taken("✅ Allowed once by Ann".to_owned())
}

/// What happened after an event was decided on, and the gateway's own answers, in a house of its own.
async fn after(answered: Answered, busy: Busy, inbound: Inbound) -> (Vec<String>, Vec<String>) {
    let house = House::default();
    house.answer_with(answered);
    house.set_busy(busy);
    house.keep_busy();
    house
        .while_open(async |handle| {
            say(&handle, "1", inbound).await;
            house
                .until("it is decided", |house| house.state(1) != InboxState::New)
                .await;
        })
        .await;
    (house.happened(), house.answers())
}

#[tokio::test(start_paused = true)]
async fn a_tap_reaches_its_question_and_whoever_tapped_hears_what_came_of_it() {
    for (answered, says, over) in [
        (taken(), "✅ Allowed once by Ann", "over: None"),
        (
            Answered::Refused("not for you".to_owned()),
            "not for you",
            "over: None",
        ),
        (
            Answered::Over("it has expired".to_owned()),
            "it has expired",
            "over: Some",
        ),
    ] {
        // Also of somebody whom no list names: the question knows whom it asks.
        for sender in [OWNER, FRIEND, "stranger"] {
            let (happened, answers) = after(answered.clone(), Busy::Queue, tap(sender)).await;
            let given = format!("answer of {sender}: Tap {{ token: \"abc.0\" }}");
            assert_eq!(happened.first(), Some(&given));
            let told = happened.get(1).unwrap();
            assert!(
                told.contains("tap-1") && told.contains(says) && told.contains(over),
                "{told}"
            );
            // No message is made of it, and no turn.
            assert!(answers.concat().is_empty(), "{answers:?}");
            assert!(
                !happened.iter().any(|what| what.starts_with("line:")),
                "{happened:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn approve_and_deny_are_answered_and_make_no_turn() {
    let said = |text| said("a", OWNER, text);
    let (happened, answers) =
        after(taken(), Busy::Queue, said("/approve K7QF2 conversation")).await;
    assert!(
        happened[0].contains("Approve { id: Some(\"K7QF2\"), lasting: Conversation }"),
        "{happened:?}"
    );
    assert_eq!(answers, ["✅ Allowed once by Ann"]);
    let (happened, _) = after(taken(), Busy::Queue, said("/deny never do that")).await;
    assert!(
        happened[0].contains("Deny { id: None, reason: Some(\"never do that\") }"),
        "{happened:?}"
    );
    let (_, answers) = after(Answered::Nothing, Busy::Queue, said("/approve")).await;
    assert_eq!(answers, ["Nothing waits for an approval here."]);
}

#[tokio::test(start_paused = true)]
async fn a_forwarded_approval_and_one_of_before_the_start_approve_nothing() {
    let forwarded = Inbound {
        forwarded_from: Some("Eve".to_owned()),
        ..said("a", OWNER, "/approve K7QF2")
    };
    let (happened, answers) = after(taken(), Busy::Queue, forwarded).await;
    assert!(
        !happened.iter().any(|what| what.starts_with("answer of")),
        "{happened:?}"
    );
    assert!(answers[0].contains("forwarded"), "{answers:?}");
    // An edit never was a command.
    let edit = Inbound {
        kind: InboundKind::Edit,
        ..said("a", OWNER, "/approve K7QF2")
    };
    let house = House::default();
    house.answer_with(taken());
    house.left(row(
        1,
        "bot",
        said("a", OWNER, "/approve K7QF2"),
        InboxState::New,
    ));
    house.left(row(2, "bot", said("a", OWNER, "yes"), InboxState::New));
    house
        .while_open(async |handle| {
            say(&handle, "3", edit).await;
            house
                .until("all are decided", |house| house.state(3) != InboxState::New)
                .await;
        })
        .await;
    let happened = house.happened();
    assert!(
        !happened.iter().any(|what| what.starts_with("answer of")),
        "{happened:?}"
    );
    // What came before the start is a message as ever.
    assert!(happened.contains(&"line: yes".to_owned()), "{happened:?}");
}

/// The rule: it would only wait otherwise, it is words alone, and they are the sender's own.
#[tokio::test(start_paused = true)]
async fn words_answer_where_they_would_wait_and_interrupt_where_that_is_set() {
    let words = || said("a", OWNER, "the blue one");
    let answers = async |busy, inbound: Inbound| {
        let (happened, _) = after(taken(), busy, inbound).await;
        let answered = happened
            .iter()
            .any(|what| what.contains("Words(\"the blue one\")"));
        let in_line = happened.iter().any(|what| what.starts_with("line:"));
        assert_ne!(answered, in_line, "{happened:?}");
        answered
    };
    assert!(answers(Busy::Queue, words()).await);
    assert!(answers(Busy::Steer, words()).await);
    assert!(!answers(Busy::Interrupt, words()).await);
    let quoted = Some(Quoted {
        author: None,
        text: "Which colour?".to_owned(),
    });
    assert!(answers(Busy::Interrupt, Inbound { quoted, ..words() }).await);
    let forwarded_from = Some("Eve".to_owned());
    assert!(
        !answers(
            Busy::Queue,
            Inbound {
                forwarded_from,
                ..words()
            }
        )
        .await
    );
    let files = vec![InboundFile {
        handle: chat::FileHandle::new("f"),
        name: None,
        mime: None,
        size: None,
        kind: chat::FileKind::Document,
    }];
    assert!(!answers(Busy::Queue, Inbound { files, ..words() }).await);
    // A command stays one.
    let (happened, _) = after(taken(), Busy::Queue, said("a", OWNER, "/whoami")).await;
    assert!(
        !happened.iter().any(|what| what.starts_with("answer of")),
        "{happened:?}"
    );
    // No question is open: it is a message.
    let (happened, _) = after(Answered::Nothing, Busy::Queue, words()).await;
    assert!(
        happened.iter().any(|what| what == "line: the blue one"),
        "{happened:?}"
    );
}
