use chat::{Sender, SenderId};
use policy::{Action, Because, Fingerprint};
use serde_json::json;
use session::{Answer, Answered, Answering, Lasting};
use testkit::clock::CountingIds;
use tokio::sync::oneshot::error::TryRecvError;
use waybill::{ChatKey, Conversation, SessionId, Timestamp, TurnId};

use super::board::{Kind, Opened, Opening, Questions, Said};
use super::grants::{Until, Wanted};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn chat(name: &str) -> ChatKey {
    ChatKey::new("bot".parse().unwrap(), Conversation::new(name).unwrap())
}

fn people(ids: &[&str]) -> std::collections::BTreeSet<SenderId> {
    ids.iter().map(|id| SenderId::new(*id)).collect()
}

/// A question of Ann's in the group, from second 100 to 200.
fn open(questions: &Questions, kind: Kind, number: u128) -> Opened {
    let opening = Opening {
        chat: chat("group"),
        who: people(&["ann", "owner"]),
        kind,
        asked_at: at(100),
        until: at(200),
    };
    questions.open(opening, number)
}

fn approval() -> Kind {
    Kind::Approval {
        lasting: vec![Lasting::Once, Lasting::Conversation],
    }
}

fn give(questions: &Questions, chat: ChatKey, who: &str, second: i64, answer: Answer) -> Answered {
    questions.answer(Answering {
        chat,
        sender: Sender {
            id: SenderId::new(who),
            name: Some(who.to_uppercase()),
            bot: false,
        },
        at: at(second),
        answer,
    })
}

fn tap(nonce: &str, place: usize) -> Answer {
    Answer::Tap {
        token: format!("{nonce}.{place}"),
    }
}

#[test]
fn a_question_takes_one_answer_of_one_whom_it_asks() {
    let questions = Questions::default();
    let mut opened = open(&questions, approval(), 7);
    let yes = || tap(&opened.nonce, 0);
    // (c) of the case: somebody else in the group.
    let refused = give(&questions, chat("group"), "eve", 110, yes());
    assert!(matches!(refused, Answered::Refused(_)), "{refused:?}");
    assert_eq!(opened.answer.try_recv(), Err(TryRecvError::Empty));
    // The same button in another chat.
    let elsewhere = give(&questions, chat("other"), "ann", 110, yes());
    assert!(matches!(elsewhere, Answered::Over(_)), "{elsewhere:?}");
    // A number that was made up.
    let guessed = give(&questions, chat("group"), "ann", 110, tap("0123", 0));
    assert!(matches!(guessed, Answered::Over(_)), "{guessed:?}");
    // An answer that was not offered.
    let odd = give(&questions, chat("group"), "ann", 110, tap(&opened.nonce, 9));
    assert!(matches!(odd, Answered::Over(_)), "{odd:?}");
    assert_eq!(opened.answer.try_recv(), Err(TryRecvError::Empty));
    let taken = give(&questions, chat("group"), "ann", 111, yes());
    assert_eq!(taken, Answered::Taken("✅ Allowed once by ANN".to_owned()));
    let reply = opened.answer.try_recv().unwrap();
    assert_eq!(
        (reply.by, reply.said),
        (SenderId::new("ann"), Said::Yes(Lasting::Once))
    );
    // The same button again: one use.
    let Answered::Over(again) = give(&questions, chat("group"), "ann", 112, yes()) else {
        panic!("taken twice");
    };
    assert!(again.contains("answered already"), "{again}");
}

#[test]
fn a_late_answer_hears_that_it_is_late() {
    let questions = Questions::default();
    let mut opened = open(&questions, approval(), 7);
    // It was stored after the question's time, though its turn did not notice yet.
    let late = give(&questions, chat("group"), "ann", 201, tap(&opened.nonce, 0));
    let Answered::Over(says) = late else {
        panic!("{late:?}");
    };
    assert!(says.contains("expired"), "{says}");
    assert_eq!(opened.answer.try_recv(), Err(TryRecvError::Empty));
    assert!(questions.close(&opened.id, &opened.nonce, super::board::EXPIRED));
    let Answered::Over(says) = give(&questions, chat("group"), "ann", 300, tap(&opened.nonce, 0))
    else {
        panic!("taken");
    };
    assert!(says.contains("expired"), "{says}");
}

#[test]
fn of_two_questions_each_button_and_each_id_answers_its_own() {
    let questions = Questions::default();
    let mut one = open(&questions, approval(), 7);
    let mut two = open(&questions, approval(), 8);
    assert_ne!(one.id, two.id);
    let which = give(
        &questions,
        chat("group"),
        "ann",
        110,
        Answer::Approve {
            id: None,
            lasting: Lasting::Once,
        },
    );
    assert!(matches!(which, Answered::Refused(_)), "{which:?}");
    let no = Answer::Deny {
        id: Some(two.id.to_lowercase()),
        reason: Some("not there".to_owned()),
    };
    assert!(matches!(
        give(&questions, chat("group"), "owner", 110, no),
        Answered::Taken(_)
    ));
    assert_eq!(
        two.answer.try_recv().unwrap().said,
        Said::No(Some("not there".to_owned()))
    );
    assert_eq!(one.answer.try_recv(), Err(TryRecvError::Empty));
    let yes = Answer::Approve {
        id: None,
        lasting: Lasting::Conversation,
    };
    assert!(matches!(
        give(&questions, chat("group"), "ann", 110, yes),
        Answered::Taken(_)
    ));
    assert_eq!(
        one.answer.try_recv().unwrap().said,
        Said::Yes(Lasting::Conversation)
    );
    let nothing = give(
        &questions,
        chat("group"),
        "ann",
        110,
        Answer::Approve {
            id: None,
            lasting: Lasting::Once,
        },
    );
    assert!(matches!(nothing, Answered::Over(_)), "{nothing:?}");
}

#[test]
fn plain_words_answer_the_agents_question_and_never_approve() {
    let questions = Questions::default();
    let mut approval = open(&questions, approval(), 7);
    let words = |text: &str| Answer::Words(text.to_owned());
    assert_eq!(
        give(&questions, chat("group"), "ann", 110, words("yes")),
        Answered::Nothing
    );
    assert_eq!(approval.answer.try_recv(), Err(TryRecvError::Empty));
    let choices = vec!["Red".to_owned(), "Blue".to_owned()];
    for (text, said) in [
        ("2", "Blue"),
        ("1.", "Red"),
        ("blue", "Blue"),
        ("3", "3"),
        ("0", "0"),
        ("green please", "green please"),
    ] {
        let mut asked = open(
            &questions,
            Kind::Ask {
                choices: choices.clone(),
            },
            9,
        );
        // Of somebody else, of before the question, and in another chat they are just words.
        assert_eq!(
            give(&questions, chat("group"), "eve", 110, words(text)),
            Answered::Nothing
        );
        assert_eq!(
            give(&questions, chat("group"), "ann", 99, words(text)),
            Answered::Nothing
        );
        assert_eq!(
            give(&questions, chat("other"), "ann", 110, words(text)),
            Answered::Nothing
        );
        assert!(matches!(
            give(&questions, chat("group"), "ann", 110, words(text)),
            Answered::Taken(_)
        ));
        assert_eq!(
            asked.answer.try_recv().unwrap().said,
            Said::Words(said.to_owned()),
            "{text}"
        );
    }
    // And `/approve` does not answer it.
    let mut asked = open(&questions, Kind::Ask { choices }, 10);
    let yes = Answer::Approve {
        id: Some(asked.id.clone()),
        lasting: Lasting::Once,
    };
    assert!(matches!(
        give(&questions, chat("group"), "ann", 110, yes),
        Answered::Over(_)
    ));
    assert_eq!(asked.answer.try_recv(), Err(TryRecvError::Empty));
}

fn wanted(ids: &CountingIds, to: &str, because: Because, who: &[&str]) -> Wanted {
    Wanted {
        session: SessionId::fresh(ids),
        turn: TurnId::fresh(ids),
        class: Action::Send { to: to.to_owned() }.class().unwrap(),
        because,
        people: people(who),
    }
}

#[test]
fn a_yes_for_the_conversation_covers_the_same_target_the_same_people_and_no_more_knowledge() {
    let ids = CountingIds::default();
    let questions = Questions::default();
    let grants = questions.grants();
    let given = wanted(&ids, "a", Because::Rule, &["ann"]);
    grants.allow(given.clone(), Until::Session(given.session));
    let of = |change: &dyn Fn(&mut Wanted)| {
        let mut wanted = given.clone();
        change(&mut wanted);
        grants.allows(&wanted)
    };
    assert!(of(&|_| {}));
    assert!(of(&|wanted| wanted.turn = TurnId::fresh(&ids)));
    assert!(!of(&|wanted| wanted.session = SessionId::fresh(&ids)));
    assert!(!of(
        &|wanted| wanted.class = Action::Send { to: "b".to_owned() }.class().unwrap()
    ));
    assert!(!of(&|wanted| wanted.people = people(&["ann", "eve"])));
    // What was said yes to before text of others was read is asked for anew after.
    assert!(!of(&|wanted| wanted.because = Because::Tainted));
}

#[test]
fn nobody_is_asked_the_same_twice_in_a_turn_nor_more_than_three_things() {
    let ids = CountingIds::default();
    let questions = Questions::default();
    let grants = questions.grants();
    let turn = TurnId::fresh(&ids);
    let call = |n: usize| Fingerprint::of("send", json!({ "n": n }).as_object().unwrap());
    assert_eq!(grants.not_again(turn, call(0)), None);
    grants.refuse(turn, call(0));
    assert!(grants.not_again(turn, call(0)).is_some());
    assert_eq!(grants.not_again(turn, call(1)), None);
    grants.refuse(turn, call(1));
    grants.refuse(turn, call(2));
    assert!(grants.not_again(turn, call(3)).is_some());
    assert_eq!(grants.not_again(TurnId::fresh(&ids), call(0)), None);
}
