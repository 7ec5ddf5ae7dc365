use chat::{FileKind, Inbound, Place};
use serde_json::{Value, json};

use super::*;

const US: i64 = 777_001;

fn me() -> Me {
    Me {
        id: US,
        username: "Tidings_Bot".to_owned(),
    }
}

fn account() -> AccountId {
    AccountId::parse("home-bot").unwrap()
}

fn read(update: &Value) -> Event {
    event(&me(), &account(), &update.to_string(), "0:0").1
}

/// A message of Ann's in her private chat, with other fields on top.
fn message(fields: Value) -> Value {
    let mut message = json!({
        "message_id": 5, "date": 1_767_225_600, "chat": {"id": 111, "type": "private", "first_name": "Ann"},
        "from": {"id": 111, "is_bot": false, "first_name": "Ann", "last_name": "Lee", "username": "ann"},
    });
    message
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    message
}

fn in_group(fields: Value) -> Value {
    let mut message =
        message(json!({"chat": {"id": -1_001_000, "type": "supergroup", "title": "Team"}}));
    message
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    message
}

fn heard(message: Value) -> Inbound {
    let event = read(&json!({"update_id": 100, "message": message}));
    event.parsed.unwrap().expect("a message for us")
}

fn addressed(fields: Value) -> bool {
    match heard(in_group(fields)).place {
        Place::Group { addressed } => addressed,
        Place::Direct => panic!("not a group"),
    }
}

#[test]
fn a_private_message() {
    let inbound = heard(message(json!({"text": "hello"})));
    assert_eq!(inbound.chat.to_string(), "home-bot:111");
    assert_eq!(inbound.anchor.as_str(), "5");
    assert_eq!(inbound.sender.id.as_str(), "111");
    assert_eq!(inbound.sender.name.as_deref(), Some("Ann Lee"));
    assert!(!inbound.sender.bot);
    assert_eq!(
        (inbound.place, inbound.kind, inbound.text.as_str()),
        (Place::Direct, InboundKind::Message, "hello")
    );
    assert_eq!(inbound.at.as_second(), 1_767_225_600);
}

#[test]
fn a_key_does_not_depend_on_the_updates_number() {
    let key = |update: Value| read(&update).key;
    let hello = || message(json!({"text": "hello"}));
    assert_eq!(
        key(json!({"update_id": 100, "message": hello()})),
        "m777001:111:5"
    );
    assert_eq!(
        key(json!({"update_id": 900, "message": hello()})),
        "m777001:111:5"
    );
    assert_eq!(
        key(
            json!({"update_id": 101, "edited_message": message(json!({"text": "x", "edit_date": 7}))})
        ),
        "e777001:111:5:7"
    );
    assert_eq!(
        key(
            json!({"update_id": 102, "edited_message": message(json!({"text": "y", "edit_date": 8}))})
        ),
        "e777001:111:5:8"
    );
    assert_eq!(key(json!({"update_id": 103, "poll": {}})), "u777001:103");
    assert_eq!(
        key(
            json!({"update_id": 104, "message": {"chat": {"id": 111}, "message_id": 6, "date": "never"}})
        ),
        "m777001:111:6"
    );
    assert_eq!(key(json!({"update_id": 105, "message": 7})), "u777001:105");
    assert_eq!(key(json!({"message": {}})), "x777001:0:0");
    assert_eq!(key(json!("nonsense")), "x777001:0:0");
}

#[test]
fn two_bots_never_share_a_key() {
    let other = Me { id: US + 1, ..me() };
    for update in [
        json!({"update_id": 100, "message": message(json!({"text": "hello"}))}),
        json!({"update_id": 100, "edited_message": message(json!({"text": "x", "edit_date": 7}))}),
        json!({"update_id": 100, "poll": {}}),
        json!("nonsense"),
    ] {
        let theirs = event(&other, &account(), &update.to_string(), "0:0").1;
        assert_ne!(read(&update).key, theirs.key, "{update}");
    }
}

#[test]
fn an_edit_is_an_edit() {
    let update = json!({"update_id": 1, "edited_message": message(json!({"text": "/restart", "edit_date": 7}))});
    assert_eq!(
        read(&update).parsed.unwrap().unwrap().kind,
        InboundKind::Edit
    );
}

#[test]
fn updates_that_concern_nobody() {
    for update in [
        json!({"update_id": 1, "something_new": {"id": 5}}),
        json!({"update_id": 1}),
        json!({"update_id": 1, "message": message(json!({"new_chat_title": "x"}))}),
        json!({"update_id": 1, "message": message(json!({"text": "x", "chat": {"id": -1_007, "type": "channel", "title": "News"}}))}),
        json!({"update_id": 1, "message": message(json!({"text": ""}))}),
    ] {
        assert_eq!(read(&update).parsed, Ok(None), "{update}");
    }
}

#[test]
fn a_group_that_became_a_supergroup_says_the_same_from_both_sides() {
    let group = json!({"id": -45, "type": "group", "title": "Team"});
    let old = heard(message(
        json!({"chat": group, "migrate_to_chat_id": -1_009_000_000_001_i64}),
    ));
    // The new one's word has nobody's name on it.
    let mut new = in_group(json!({"migrate_from_chat_id": -45}));
    new["chat"]["id"] = (-1_009_000_000_001_i64).into();
    new.as_object_mut().unwrap().remove("from");
    for moved in [old, heard(new)] {
        assert_eq!(moved.chat.to_string(), "home-bot:-45");
        let InboundKind::Moved { to } = moved.kind else {
            panic!("{:?}", moved.kind)
        };
        assert_eq!(to.to_string(), "home-bot:-1009000000001");
    }
}

#[test]
fn what_cant_be_read_says_why_and_is_kept_raw() {
    for update in [
        json!({"update_id": 1, "message": message(json!({"text": 5}))}),
        json!({"update_id": 1, "message": message(json!({"document": "none"}))}),
        json!({"update_id": 1, "message": message(json!({"text": "x", "date": i64::MAX}))}),
        json!({"update_id": 1, "message": []}),
        json!({"message": message(json!({"text": "x"}))}),
        json!([]),
        json!(null),
    ] {
        let event = read(&update);
        assert!(event.parsed.is_err(), "{update}");
        assert_eq!(event.raw, update.to_string());
    }
}

#[test]
fn an_ornament_that_cant_be_read_spoils_nothing() {
    let inbound = heard(message(json!({
        "text": "hello", "entities": [{"type": 5}, {"type": "bold", "offset": 0, "length": 5}],
        "reply_to_message": {"message_id": "?"}, "quote": 5, "forward_origin": [], "external_reply": "x",
    })));
    assert_eq!(inbound.text, "**hello**");
    assert_eq!((inbound.quoted, inbound.forwarded_from), (None, None));
}

#[test]
fn whether_we_are_meant_in_a_group() {
    let mention = |text: &str| json!({"text": text, "entities": [{"type": "mention", "offset": 3, "length": 12}]});
    let command = |text: &str, length: usize| json!({"text": text, "entities": [{"type": "bot_command", "offset": 0, "length": length}]});
    assert!(addressed(mention("😀 @tidings_bot look")));
    assert!(!addressed(mention("😀 @another_bot look")));
    assert!(
        !addressed(json!({"text": "write to @tidings_bot"})),
        "a code span or a link text is no mention"
    );
    assert!(addressed(
        json!({"text": "you there", "entities": [{"type": "text_mention", "offset": 0, "length": 3, "user": {"id": US}}]})
    ));
    assert!(addressed(
        json!({"caption": "@tidings_bot", "caption_entities": [{"type": "mention", "offset": 0, "length": 12}], "photo": [{"file_id": "p"}]})
    ));
    assert!(addressed(command("/new", 4)));
    assert!(addressed(command("/new@tidings_bot", 16)));
    assert!(!addressed(command("/new@another_bot", 16)));
    assert!(!addressed(
        json!({"text": "see /new", "entities": [{"type": "bot_command", "offset": 4, "length": 4}]})
    ));
    let reply = |from: i64, more: Value| {
        let mut target = in_group(
            json!({"from": {"id": from, "is_bot": true, "first_name": "T"}, "text": "earlier"}),
        );
        target
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"text": "and then?", "reply_to_message": target})
    };
    assert!(addressed(reply(US, json!({}))));
    assert!(!addressed(reply(5, json!({}))));
    assert!(
        !addressed(reply(US, json!({"forum_topic_created": {}}))),
        "the message that made the topic is not what is answered"
    );
    assert!(!addressed(json!({"text": "talk among people"})));
}

#[test]
fn a_command_to_us_loses_our_name() {
    let command = |text: &str, length: usize| {
        heard(in_group(json!({"text": text, "entities": [{"type": "bot_command", "offset": 0, "length": length}]}))).text
    };
    assert_eq!(command("/new@tidings_bot and go", 16), "/new and go");
    assert_eq!(command("/new@another_bot", 16), "/new@another_bot");
    assert_eq!(command("/new", 4), "/new");
}

#[test]
fn a_topic_is_a_thread_and_a_reply_in_a_group_is_not() {
    let topic = heard(in_group(
        json!({"text": "x", "message_thread_id": 9, "is_topic_message": true}),
    ));
    assert_eq!(topic.chat.to_string(), "home-bot:-1001000:9");
    let reply = heard(in_group(json!({"text": "x", "message_thread_id": 9})));
    assert_eq!(reply.chat.to_string(), "home-bot:-1001000");
    let private = heard(message(
        json!({"text": "x", "message_thread_id": 4, "is_topic_message": true}),
    ));
    assert_eq!(private.chat.to_string(), "home-bot:111:4");
}

#[test]
fn who_speaks_as_a_chat_is_that_chat() {
    let anonymous = heard(in_group(json!({
        "text": "x", "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group"},
        "sender_chat": {"id": -1_001_000, "type": "supergroup", "title": "Team"},
    })));
    assert_eq!(anonymous.sender.id.as_str(), "-1001000");
    assert!(!anonymous.sender.bot);
    let bot = heard(in_group(
        json!({"text": "x", "from": {"id": 6, "is_bot": true, "first_name": "Other"}}),
    ));
    assert!(bot.sender.bot);
}

#[test]
fn files_with_their_kind_and_name() {
    let table = [
        (
            json!({"photo": [{"file_id": "s", "width": 90, "height": 60}, {"file_id": "l", "width": 640, "height": 480, "file_size": 9}, {"file_id": "m", "width": 320, "height": 240}]}),
            "l",
            FileKind::Photo,
            None,
        ),
        (
            json!({"document": {"file_id": "d", "file_name": "report v2.pdf", "mime_type": "application/pdf"}}),
            "d",
            FileKind::Document,
            Some("report v2.pdf"),
        ),
        (
            json!({"voice": {"file_id": "v", "duration": 3}}),
            "v",
            FileKind::Voice,
            None,
        ),
        (
            json!({"audio": {"file_id": "a", "file_name": "song.mp3"}}),
            "a",
            FileKind::Audio,
            Some("song.mp3"),
        ),
        (
            json!({"video": {"file_id": "w", "file_name": "clip.mp4"}}),
            "w",
            FileKind::Video,
            Some("clip.mp4"),
        ),
        (
            json!({"video_note": {"file_id": "n"}}),
            "n",
            FileKind::Video,
            None,
        ),
        (
            json!({"animation": {"file_id": "g", "file_name": "a.mp4"}, "document": {"file_id": "g", "file_name": "a.mp4"}}),
            "g",
            FileKind::Video,
            Some("a.mp4"),
        ),
    ];
    for (fields, handle, kind, name) in table {
        let inbound = heard(message(fields.clone()));
        assert_eq!(inbound.files.len(), 1, "{fields}");
        let file = &inbound.files[0];
        assert_eq!(
            (file.handle.as_str(), file.kind, file.name.as_deref()),
            (handle, kind, name),
            "{fields}"
        );
        assert_eq!(inbound.text, "");
    }
    let captioned = heard(message(
        json!({"voice": {"file_id": "v"}, "caption": "listen", "caption_entities": [{"type": "bold", "offset": 0, "length": 6}]}),
    ));
    assert_eq!(captioned.text, "**listen**");
    assert_eq!(captioned.files[0].mime.as_deref(), Some("audio/ogg"));
}

#[test]
fn what_has_no_words_becomes_a_line() {
    let sticker = |more: Value| {
        let mut sticker =
            json!({"file_id": "s", "is_animated": false, "is_video": false, "emoji": "👍"});
        sticker
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({"sticker": sticker})
    };
    let table = [
        (sticker(json!({})), "[sticker 👍]"),
        (
            sticker(json!({"is_animated": true})),
            "[animated sticker 👍]",
        ),
        (
            sticker(json!({"is_video": true, "emoji": null})),
            "[video sticker]",
        ),
        (
            json!({"location": {"latitude": 52.5, "longitude": 13.25}}),
            "[location: 52.5, 13.25]",
        ),
        (
            json!({"location": {"latitude": 1.0, "longitude": 2.0}, "venue": {"location": {"latitude": 1.0, "longitude": 2.0}, "title": "Café", "address": "Main St 1"}}),
            "[venue: Café, Main St 1 (1, 2)]",
        ),
        (
            json!({"contact": {"phone_number": "+49123", "first_name": "Bo"}}),
            "[contact: Bo, +49123]",
        ),
        (
            json!({"poll": {"question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}}),
            "[poll: Tea? (yes / no)]",
        ),
        (json!({"dice": {"emoji": "🎲", "value": 4}}), "[dice 🎲: 4]"),
        (json!({"story": {"id": 1}}), "[story]"),
        (json!({"checklist": {}}), "[checklist]"),
    ];
    for (fields, line) in table {
        assert_eq!(heard(message(fields)).text, line);
    }
}

#[test]
fn quotes_and_forwards_name_their_authors() {
    let target = message(
        json!({"message_id": 3, "text": "the owner says: do it", "from": {"id": 9, "is_bot": false, "first_name": "Bo"}}),
    );
    let quoted = |fields: Value| heard(message(fields)).quoted.unwrap();
    let whole = quoted(json!({"text": "hm", "reply_to_message": target}));
    assert_eq!(
        (whole.author.as_deref(), whole.text.as_str()),
        (Some("Bo"), "the owner says: do it")
    );
    let part = quoted(
        json!({"text": "hm", "reply_to_message": target, "quote": {"text": "do it", "position": 16}}),
    );
    assert_eq!(part.text, "do it");
    let file = message(
        json!({"message_id": 3, "caption": "as asked", "document": {"file_id": "d", "file_name": "a.pdf"}}),
    );
    assert_eq!(
        quoted(json!({"text": "hm", "reply_to_message": file})).text,
        "as asked\n[document a.pdf]"
    );
    let elsewhere = quoted(
        json!({"text": "hm", "external_reply": {"origin": {"type": "hidden_user", "sender_user_name": "Cy"}}}),
    );
    assert_eq!(elsewhere.author.as_deref(), Some("Cy"));
    let made = message(json!({"message_id": 9, "forum_topic_created": {}}));
    assert_eq!(
        heard(in_group(json!({"text": "hi", "reply_to_message": made}))).quoted,
        None
    );
    let forwarded = |origin: Value| {
        heard(message(json!({"text": "x", "forward_origin": origin})))
            .forwarded_from
            .unwrap()
    };
    assert_eq!(
        forwarded(json!({"type": "user", "sender_user": {"id": 9, "first_name": "Bo"}})),
        "Bo"
    );
    assert_eq!(
        forwarded(json!({"type": "hidden_user", "sender_user_name": "Cy"})),
        "Cy"
    );
    assert_eq!(
        forwarded(
            json!({"type": "channel", "chat": {"id": -1_005, "type": "channel", "title": "News"}})
        ),
        "News"
    );
    assert_eq!(forwarded(json!({"type": "tomorrow"})), "somebody");
}

proptest::proptest! {
    #[test]
    fn nothing_makes_it_panic(raw in "\\PC{0,200}") {
        let _event = event(&me(), &account(), &raw, "0:0");
    }
}

#[test]
fn a_tap_is_of_whoever_tapped_and_not_of_the_bot_that_wrote_the_buttons() {
    let of = |query: Value| read(&json!({"update_id": 1, "callback_query": query}));
    let question = json!({
        "message_id": 9, "date": 1_767_225_600, "text": "May I?",
        "chat": {"id": -100, "type": "supergroup", "title": "Team"},
        "from": {"id": 777_001, "is_bot": true, "first_name": "bot"},
        "message_thread_id": 4, "is_topic_message": true,
    });
    let eve = json!({"id": 66, "is_bot": false, "first_name": "Eve"});
    let event = of(
        json!({"id": "42", "from": eve, "chat_instance": "x", "message": question, "data": "abc.0"}),
    );
    assert_eq!(event.key, "c777001:42");
    let inbound = event.parsed.unwrap().unwrap();
    assert_eq!(inbound.sender.id.as_str(), "66");
    assert_eq!(inbound.chat.to_string(), "home-bot:-100:4");
    assert_eq!(inbound.anchor.as_str(), "9");
    assert_eq!(
        inbound.kind,
        InboundKind::Tap {
            token: "abc.0".to_owned(),
            id: "42".to_owned()
        }
    );
    // The question can't be read any more: there is still somebody to tell so.
    let gone = json!({"chat": {"id": 66, "type": "private"}, "message_id": 9, "date": 0});
    let event = of(
        json!({"id": "43", "from": eve, "chat_instance": "x", "message": gone, "data": "abc.0"}),
    );
    assert_eq!(event.parsed.unwrap().unwrap().place, Place::Direct);
    // No button of ours: a game, a message of nobody's chat.
    for query in [
        json!({"id": "44", "from": eve, "chat_instance": "x", "message": question, "game_short_name": "g"}),
        json!({"id": "45", "from": eve, "chat_instance": "x", "inline_message_id": "i", "data": "abc.0"}),
    ] {
        assert_eq!(of(query).parsed, Ok(None));
    }
    let event = of(json!({"from": eve}));
    assert!(event.parsed.is_err());
    assert_eq!(event.key, "u777001:1");
}
