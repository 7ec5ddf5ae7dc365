//! L2: two different sources never share a key, a folder name or a label; what is written is read back as it was.

use proptest::prelude::*;
use tidings_waybill::{
    AccountId, ChatKey, ClientId, Conversation, IdError, Ids, JobId, ProfileId, SandboxKey,
    SessionId, SessionKey, TaskId, Thread, TurnId, label,
};

struct Fixed(u128);

impl Ids for Fixed {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(self.0)
    }
}

/// Any text that is not empty: separators, escapes, other scripts, up to 300 bytes and more.
fn opaque() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-:/%. a-zA-Z0-9]{1,12}",
        "[:/%]{1,6}",
        "[a-z0-9]{290,310}",
        "-?[0-9]{1,14}",
        Just("%3A".to_owned()),
        Just("chat:a:b".to_owned()),
    ]
    .prop_filter("a part says something", |text| !text.is_empty())
}

fn slug() -> impl Strategy<Value = String> {
    "[a-z0-9][a-z0-9_-]{0,20}"
}

fn chat() -> impl Strategy<Value = ChatKey> {
    (slug(), opaque(), proptest::option::of(opaque())).prop_map(
        |(account, conversation, thread)| {
            let account: AccountId = account.parse().unwrap();
            let key = ChatKey::new(account, Conversation::new(conversation).unwrap());
            match thread {
                Some(thread) => key.in_thread(Thread::new(thread).unwrap()),
                None => key,
            }
        },
    )
}

fn session() -> impl Strategy<Value = SessionKey> {
    prop_oneof![
        chat().prop_map(SessionKey::Chat),
        any::<u128>().prop_map(|id| SessionKey::Cron(JobId::fresh(&Fixed(id)))),
        any::<u128>().prop_map(|id| SessionKey::Child(TaskId::fresh(&Fixed(id)))),
        (slug(), any::<String>())
            .prop_map(|(client, name)| SessionKey::Api(client.parse::<ClientId>().unwrap(), name)),
        any::<String>().prop_map(SessionKey::Local),
    ]
}

fn sandbox() -> impl Strategy<Value = SandboxKey> {
    let profile = || slug().prop_map(|name| name.parse::<ProfileId>().unwrap());
    prop_oneof![
        profile().prop_map(SandboxKey::Profile),
        (profile(), session()).prop_map(|(profile, session)| SandboxKey::Session(profile, session)),
        (profile(), any::<u128>())
            .prop_map(|(profile, id)| SandboxKey::Task(profile, TaskId::fresh(&Fixed(id)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_chat_key_is_read_back_as_it_was(key in chat()) {
        prop_assert_eq!(key.to_string().parse::<ChatKey>().unwrap(), key);
    }

    #[test]
    fn a_session_key_is_read_back_as_it_was(key in session()) {
        prop_assert_eq!(key.to_string().parse::<SessionKey>().unwrap(), key.clone());
        let json = serde_json::to_string(&key).unwrap();
        prop_assert_eq!(serde_json::from_str::<SessionKey>(&json).unwrap(), key);
    }

    #[test]
    fn a_sandbox_key_is_read_back_as_it_was(key in sandbox()) {
        prop_assert_eq!(key.to_string().parse::<SandboxKey>().unwrap(), key);
    }

    #[test]
    fn what_is_read_is_written_back_the_same(text in "(chat|local|api|session|profile):[-a-z0-9:%A-F./]{0,30}") {
        // Only the canonical text of a key is a text of it: no second spelling leads to the same key.
        if let Ok(key) = text.parse::<SessionKey>() {
            prop_assert_eq!(key.to_string(), text.clone());
        }
        if let Ok(key) = text.parse::<SandboxKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn two_sandboxes_never_share_a_folder(one in sandbox(), other in sandbox()) {
        let (first, second) = (label::name(&one.to_string()), label::name(&other.to_string()));
        prop_assert_eq!(first == second, one == other);
        prop_assert_eq!(first.to_lowercase() == second.to_lowercase(), one == other);
    }

    #[test]
    fn a_folder_name_is_safe_anywhere(key in ".*") {
        let name = label::name(&key);
        prop_assert!(!name.is_empty() && name.len() <= label::LONGEST);
        prop_assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte)));
        prop_assert!(name.bytes().next().unwrap().is_ascii_alphanumeric());
    }

    #[test]
    fn ids_are_read_back_and_kinds_are_never_mixed(id in any::<u128>()) {
        let turn = TurnId::fresh(&Fixed(id));
        prop_assert_eq!(turn.to_string().parse::<TurnId>().unwrap(), turn);
        let wrong_kind = matches!(turn.to_string().parse::<SessionId>(), Err(IdError::Prefix { .. }));
        prop_assert!(wrong_kind);
    }
}

#[test]
fn neighbours_that_joined_texts_would_mix_up_stay_apart() {
    let key = |conversation: &str, thread: Option<&str>| {
        let key = ChatKey::new(
            "a".parse().unwrap(),
            Conversation::new(conversation).unwrap(),
        );
        match thread {
            Some(thread) => key.in_thread(Thread::new(thread).unwrap()).to_string(),
            None => key.to_string(),
        }
    };
    assert_ne!(key("1:2", None), key("1", Some("2")));
    assert_ne!(key("1%3A2", None), key("1:2", None));
    assert_eq!(key("-1001", Some("9")), "a:-1001:9");
    assert_eq!(label::name("profile:work"), "profile.work");
}

#[test]
fn texts_that_are_no_keys_are_refused() {
    for text in [
        "", "a", "a:", ":b", "a:b:", "a:b:c:d", "A:b", "a:b c", "a:%3a", "a:%41", "a:%", "a:%FF",
    ] {
        assert!(text.parse::<ChatKey>().is_err(), "{text:?}");
    }
    for text in [
        "trn_",
        "trn_0",
        "ses_00000000000000000000000000000000x",
        "TRN_00000000000000000000000000000000",
    ] {
        assert!(text.parse::<TurnId>().is_err(), "{text:?}");
    }
    for name in ["", "-a", "A", "a b", "ä", &"x".repeat(65)] {
        assert!(ProfileId::parse(name).is_err(), "{name:?}");
    }
}
