//! L1: identity is made downward, and nowhere else.

use tidings_waybill::{
    ChatKey, Conversation, Ids, NoDestination, Origin, Placement, ProfileScope, SandboxKey,
    SessionId, SessionKey, TaskId, TurnId, Waybill,
};

struct Counting(std::sync::atomic::AtomicU64);

impl Ids for Counting {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst),
        ))
    }
}

fn chat() -> ChatKey {
    ChatKey::new(
        "home-bot".parse().unwrap(),
        Conversation::new("42").unwrap(),
    )
}

#[test]
fn a_reply_carries_the_identity_of_its_turn_and_nothing_else() {
    let ids = Counting(1.into());
    let session = ProfileScope::enter("work".parse().unwrap())
        .session(SessionKey::Chat(chat()), SessionId::fresh(&ids));
    let turn = session.begin_turn(
        TurnId::fresh(&ids),
        TaskId::fresh(&ids),
        Origin::Chat(chat()),
        Placement::PerProfile,
    );
    let waybill = Waybill::reply(&turn).unwrap();
    assert_eq!(waybill.profile().as_str(), "work");
    assert_eq!(waybill.account().as_str(), "home-bot");
    assert_eq!(waybill.chat(), &chat());
    assert_eq!(waybill.turn(), Some(turn.turn()));
    assert_eq!(waybill.task(), Some(turn.task()));
    assert_eq!(
        turn.sandbox(),
        &SandboxKey::Profile("work".parse().unwrap())
    );
}

#[test]
fn a_turn_that_no_chat_asked_for_has_no_reply() {
    let ids = Counting(1.into());
    let session = ProfileScope::enter("work".parse().unwrap()).session(
        SessionKey::Local("terminal".to_owned()),
        SessionId::fresh(&ids),
    );
    let turn = session.begin_turn(
        TurnId::fresh(&ids),
        TaskId::fresh(&ids),
        Origin::Operator,
        Placement::PerSession,
    );
    assert_eq!(Waybill::reply(&turn), Err(NoDestination));
    assert_eq!(Waybill::notice(&session), Err(NoDestination));
    assert_eq!(
        turn.sandbox(),
        &SandboxKey::Session(
            "work".parse().unwrap(),
            SessionKey::Local("terminal".to_owned())
        )
    );
}

#[test]
fn what_the_compiler_refuses() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/refused/*.rs");
}
