//! How long things are kept, as the owner writes it.

use std::time::Duration;

use crate::world::{World, check};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn nobody_says_anything_and_words_go_after_three_days_but_conversations_stay() {
    let settings = World::new().read("").into_settings().unwrap();
    let kept = settings.retention;
    assert_eq!(
        (kept.sent, kept.words, kept.dead),
        (30 * DAY, 3 * DAY, 30 * DAY)
    );
    assert_eq!(
        (kept.inbox, kept.ignored, kept.blob_grace),
        (7 * DAY, DAY, DAY)
    );
    assert_eq!(kept.conversations, None);
}

#[test]
fn what_the_owner_writes_is_in_force() {
    let text = "[retention]\nwords_hours = 0\nsent_days = 1\ninbox_days = 90\nconversations_days = 365\nblob_grace_hours = 0\n";
    let kept = World::new().read(text).into_settings().unwrap().retention;
    assert_eq!((kept.words, kept.sent), (Duration::ZERO, DAY));
    assert_eq!((kept.inbox, kept.blob_grace), (90 * DAY, Duration::ZERO));
    assert_eq!(kept.conversations, Some(365 * DAY));
}

#[test]
fn a_typo_and_a_week_too_short_are_told_with_their_place() {
    check(
        "[retention]\nword_hours = 1\ninbox_days = 6\n",
        &[
            "tidings.toml:2:1: unknown key 'word_hours'; did you mean 'words_hours'?",
            "tidings.toml:3:14: 'inbox_days' must be from 7 to 36525",
        ],
    );
    check(
        "[retension]\n",
        &["tidings.toml:1:2: unknown key 'retension'; did you mean 'retention'?"],
    );
    check(
        "[retention]\nsent_days = \"30\"\n",
        &["tidings.toml:2:13: 'sent_days' must be a whole number, not a text"],
    );
}
