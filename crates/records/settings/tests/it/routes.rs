//! Which profile answers where.

use proptest::prelude::*;

use crate::world::{World, check};

const HOUSE: &str = r#"[profiles.default]
[profiles.work]
[profiles.thread]
[profiles.whole]
[channels.bot]
kind = "telegram"
profile = "default"
token = "env:TELEGRAM_TOKEN"
owner = [1]
[channels.other]
kind = "telegram"
profile = "whole"
token = "env:OTHER_TOKEN"
owner = [1]
"#;

fn route(chat: &str, profile: &str) -> String {
    format!("[[routes]]\nchannel = \"bot\"\n{chat}\nprofile = \"{profile}\"\n")
}

#[test]
fn the_most_specific_route_wins_in_any_order() {
    let routes = [
        route("", "whole"),
        route("chat = -100", "work"),
        route("chat = \"-100\"\nthread = 9", "thread"),
    ];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        let text: String = order
            .iter()
            .filter_map(|n| routes.get(*n))
            .cloned()
            .collect();
        let settings = World::new().settings(&format!("{HOUSE}{text}"));
        for (chat, profile) in [
            ("bot:-100:9", Some("thread")),
            ("bot:-100:8", Some("work")),
            ("bot:-100", Some("work")),
            ("bot:7", Some("whole")),
            ("bot:7:9", Some("whole")),
            ("other:-100:9", Some("whole")),
            ("stranger:-100", None),
            ("web:-100", None),
        ] {
            let found = settings
                .profile_for(&chat.parse().unwrap())
                .map(waybill::ProfileId::as_str);
            assert_eq!(found, profile, "{chat}");
        }
    }
    let settings = World::new().settings(HOUSE);
    assert_eq!(
        settings
            .profile_for(&"bot:-100:9".parse().unwrap())
            .unwrap()
            .as_str(),
        "default"
    );
}

#[test]
fn two_routes_for_the_same_place_are_an_error() {
    let first = route("chat = -100", "work");
    check(
        &format!("{HOUSE}{first}{}", route("chat = \" -100\"", "whole")),
        &[
            "tidings.toml:19:1: this route ties with the one on line 15: the same place can't be answered by both 'work' and 'whole'",
        ],
    );
    check(
        &format!("{HOUSE}{first}{first}"),
        &["tidings.toml:19:1: this route says the same as the one on line 15; remove one"],
    );
    check(
        &format!("{HOUSE}{}{}", route("", "work"), route("", "whole")),
        &[
            "tidings.toml:19:1: this route ties with the one on line 15: the same place can't be answered by both 'work' and 'whole'",
        ],
    );
    check(
        &format!("{HOUSE}{first}[[routes]]\nprofile = \"work\"\n"),
        &["tidings.toml:19:1: route 2 needs the key 'channel'"],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever the routes, a chat is answered by the route that names its thread, else its chat, else its account.
    #[test]
    fn a_route_to_another_chat_never_answers_here(
        places in prop::collection::btree_set((1_i64..4, prop::option::of(1_i64..4)), 0..8),
        chat in 1_i64..5,
        thread in prop::option::of(1_i64..5),
    ) {
        let mut text = HOUSE.to_owned();
        for (chat, thread) in &places {
            let (line, profile) = match thread {
                Some(thread) => (format!("chat = {chat}\nthread = {thread}"), "thread"),
                None => (format!("chat = {chat}"), "work"),
            };
            text.push_str(&route(&line, profile));
        }
        let settings = World::new().settings(&text);
        let key = match thread {
            Some(thread) => format!("bot:{chat}:{thread}"),
            None => format!("bot:{chat}"),
        };
        let expected = if thread.is_some() && places.contains(&(chat, thread)) {
            "thread"
        } else if places.contains(&(chat, None)) {
            "work"
        } else {
            "default"
        };
        prop_assert_eq!(settings.profile_for(&key.parse().unwrap()).unwrap().as_str(), expected);
    }
}
