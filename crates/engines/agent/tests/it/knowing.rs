//! What a profile remembers, reads up, plans, finds again and sends elsewhere.

use chat::{Op, Place, SenderId};
use memory::{NoteStore as _, Whose};
use model::Reply;
use policy::{Approvals, Rule};
use serde_json::json;
use session::{Admitted, Busy, Contact, InboxId, Passage, Said, TurnLine as _, Within};
use tidings_agent::AgentHandle;
use waybill::{ChatKey, ProfileId, SessionScope, Timestamp};

use crate::world::{House, calls, in_chat, message_in, says, scope};

/// A turn on this message in which the model says these replies; what the tools came to.
async fn on(
    house: &House,
    handle: &AgentHandle,
    mut message: Admitted,
    replies: impl IntoIterator<Item = Reply>,
) -> Vec<String> {
    house.script(replies);
    let (turns, known) = (house.ended(), house.results().len());
    message.id = InboxId(i64::try_from(turns).unwrap() + 1);
    handle.enqueue(message);
    house
        .until("the turn has ended", |house| house.ended() > turns)
        .await;
    house.results().into_iter().skip(known).collect()
}

/// Somebody's words.
fn by(sender: &str, place: Place, scope: SessionScope, text: &str) -> Admitted {
    let mut message = message_in(scope, 1, text, Busy::Queue);
    message.inbound.sender.id = SenderId::new(sender);
    message.inbound.place = place;
    message
}

const GROUP: Place = Place::Group { addressed: true };

fn remember(of: &str, text: &str) -> Reply {
    calls(
        "memory",
        json!({ "action": "change", "of": of, "changes": [{ "text": text }] }),
    )
}

fn list(of: &str) -> Reply {
    calls("memory", json!({ "action": "list", "of": of }))
}

fn person(sender: &str) -> Whose {
    Whose::Person {
        account: "bot".parse().unwrap(),
        sender: SenderId::new(sender),
    }
}

/// What the model read before anything was said in its last request.
fn system(house: &House) -> String {
    let request = house.requests().last().cloned().unwrap();
    let end = request.find(", messages: ").unwrap();
    request.get(..end).unwrap().to_owned()
}

#[tokio::test]
async fn what_is_remembered_shows_in_the_next_conversation_and_the_running_ones_prompt_stays_the_same()
 {
    let house = House::default();
    house
        .run(async |handle| {
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [
                    remember("profile", "The office is in Bern."),
                    remember("person", "Likes tea."),
                    says("ok"),
                ],
            )
            .await;
            assert!(done[0].contains("m1: The office is in Bern."), "{done:?}");
            let first = house.requests().first().cloned().unwrap();
            on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "again"),
                [says("ok")],
            )
            .await;
            assert!(
                first.starts_with(&system(&house)),
                "the prompt changed inside a conversation"
            );
            assert!(!system(&house).contains("Bern"));
            on(
                &house,
                &handle,
                by("1", Place::Direct, in_chat("other"), "hello"),
                [says("ok")],
            )
            .await;
            let new = system(&house);
            assert!(
                new.contains("The office is in Bern.") && new.contains("Likes tea."),
                "{new}"
            );
        })
        .await;
}

#[tokio::test]
async fn nobody_reads_another_persons_notes() {
    let house = House::default();
    let now = Timestamp::UNIX_EPOCH;
    let note = |text: &str| vec![memory::Change::Add(text.to_owned())];
    house
        .notes
        .change(&person("1"), note("owner's note"), now)
        .await
        .unwrap();
    house
        .notes
        .change(&person("2"), note("guest's note"), now)
        .await
        .unwrap();
    house
        .notes
        .change(&Whose::Profile, note("everybody's note"), now)
        .await
        .unwrap();
    house
        .run(async |handle| {
            // In a group nobody's own notes stand in the prompt, and the tool shows those of who asks.
            let done = on(
                &house,
                &handle,
                by("2", GROUP, in_chat("group"), "hi"),
                [list("person"), says("ok")],
            )
            .await;
            assert!(
                done[0].contains("guest's note") && !done[0].contains("owner's"),
                "{done:?}"
            );
            let prompt = system(&house);
            assert!(
                prompt.contains("everybody's note")
                    && !prompt.contains("owner's")
                    && !prompt.contains("guest's")
            );
            let done = on(
                &house,
                &handle,
                by("1", GROUP, in_chat("group"), "hi"),
                [list("person"), says("ok")],
            )
            .await;
            assert!(
                done[0].contains("owner's note") && !done[0].contains("guest's"),
                "{done:?}"
            );
            assert_eq!(
                system(&house),
                prompt,
                "who speaks changed a group's prompt"
            );
            // In a chat of one's own they do.
            on(
                &house,
                &handle,
                by("2", Place::Direct, in_chat("guests own"), "hi"),
                [says("ok")],
            )
            .await;
            assert!(system(&house).contains("guest's note") && !system(&house).contains("owner's"));
            // Who is not known has none.
            let done = on(
                &house,
                &handle,
                by("9", GROUP, in_chat("groups"), "hi"),
                [list("person"), says("ok")],
            )
            .await;
            assert!(done[0].contains("no person here"), "{done:?}");
        })
        .await;
}

#[tokio::test]
async fn what_does_not_fit_into_memory_is_refused_with_what_is_there() {
    let house = House::default();
    let text = "x".repeat(580);
    let many: Vec<_> = (0..9)
        .map(|n| json!({ "text": format!("{n}{text}") }))
        .collect();
    house
        .run(async |handle| {
            let done = on(&house, &handle, by("1", Place::Direct, scope(), "hi"), [
                remember("profile", "Likes tea."),
                calls("memory", json!({ "action": "change", "changes": many })),
                calls("memory", json!({ "action": "change", "changes": [{ "id": "m1", "text": "Likes coffee." }] })),
                calls("memory", json!({ "action": "search", "query": "TEA" })),
                calls("memory", json!({ "action": "change", "changes": [{ "id": "m9" }] })),
                calls("memory", json!({ "action": "change", "changes": [{ "text": "a\u{202E}b" }] })),
                says("ok"),
            ])
            .await;
            assert!(done[1].contains("nothing was changed") && done[1].contains("m1: Likes tea."), "{}", done[1]);
            assert!(done[2].contains("m1: Likes coffee."), "{}", done[2]);
            assert!(done[3].contains("m1 (replaced on 2026-01-01): Likes tea."), "{}", done[3]);
            assert!(done[4].contains("there is no entry m9"), "{}", done[4]);
            assert!(done[5].contains("U+202E"), "{}", done[5]);
        })
        .await;
}

#[tokio::test]
async fn a_turn_goes_on_where_memory_can_not_be_read() {
    let house = House::default();
    house.notes.break_down(true);
    house
        .run(async |handle| {
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [list("profile"), says("ok")],
            )
            .await;
            assert!(done[0].contains("without a disk"), "{done:?}");
            house.notes.break_down(false);
            house
                .notes
                .change(
                    &Whose::Profile,
                    vec![memory::Change::Add("It is back.".to_owned())],
                    Timestamp::UNIX_EPOCH,
                )
                .await
                .unwrap();
            on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [says("ok")],
            )
            .await;
            assert!(
                system(&house).contains("It is back."),
                "what failed was kept"
            );
        })
        .await;
}

#[tokio::test]
async fn a_skill_is_listed_read_and_its_scripts_run() {
    let house = House::with_a_shell();
    house
        .shelf
        .skill("greet", "Greets people.", "Run greet.sh.");
    house
        .shelf
        .lay("greet", "greet.sh", "#!/bin/sh\necho \"hello from $0\"\n");
    house.shelf.lay("greet", "words/more.md", "More words.");
    house.shelf.lay("broken", "SKILL.md", "no header");
    house
        .run(async |handle| {
            let done = on(&house, &handle, by("1", Place::Direct, scope(), "hi"), [
                calls("skill", json!({})),
                calls("skill", json!({ "name": "greet" })),
                calls("terminal", json!({ "command": "~/.skills/greet/greet.sh; cat ~/.skills/greet/words/more.md; echo x > ~/.skills/greet/words/new || echo no" })),
                calls("skill", json!({ "name": "greet", "file": "words/more.md" })),
                calls("skill", json!({ "name": "none" })),
                says("ok"),
            ])
            .await;
            assert!(done[0].contains("greet: Greets people.") && done[0].contains("broken can't be used"), "{}", done[0]);
            assert!(done[1].starts_with("Run greet.sh.") && done[1].contains("~/.skills/greet, read-only: greet.sh, words/more.md"), "{}", done[1]);
            assert!(done[2].contains("hello from") && done[2].contains("More words."), "{}", done[2]);
            assert_eq!(done[3], "More words.");
            assert!(done[4].contains("no skill 'none'"), "{}", done[4]);
            let prompt = system(&house);
            assert!(prompt.contains("- greet: Greets people.") && !prompt.contains("broken"), "{prompt}");
            // One that changed replaces what lies there.
            house.shelf.lay("greet", "greet.sh", "#!/bin/sh\necho anew\n");
            let done = on(&house, &handle, by("1", Place::Direct, scope(), "hi"), [
                calls("skill", json!({ "name": "greet" })),
                calls("terminal", json!({ "command": "~/.skills/greet/greet.sh" })),
                says("ok"),
            ])
            .await;
            assert!(done[1].contains("anew"), "{}", done[1]);
        })
        .await;
}

#[tokio::test]
async fn a_skills_command_tells_the_model_to_follow_it_and_others_words_do_not() {
    let house = House::default();
    house
        .shelf
        .skill("weekly-report", "Writes the report.", "Write it.");
    house
        .run(async |handle| {
            let calls_it = "[The person calls the skill weekly-report: read it with `skill` and do what it says.]";
            let direct = |text: &str| by("1", Place::Direct, scope(), text);
            for (text, called) in [
                ("/weekly-report for May", true),
                ("/weekly_report@my_bot", true),
                ("/skill-weekly-report", true),
                ("/weekly", false),
                ("do /weekly-report", false),
            ] {
                let before = house.read().matches(calls_it).count();
                on(&house, &handle, direct(text), [says("ok")]).await;
                assert_eq!(house.read().matches(calls_it).count() > before, called, "{text}");
            }
            assert!(house.read().contains("for May"));
            let before = house.read().matches(calls_it).count();
            let mut forwarded = direct("/weekly-report");
            forwarded.inbound.forwarded_from = Some("somebody".to_owned());
            let mut edited = direct("/weekly-report");
            edited.inbound.kind = chat::InboundKind::Edit;
            let stranger = by("9", Place::Direct, scope(), "/weekly-report");
            for message in [forwarded, edited, stranger] {
                on(&house, &handle, message, [says("ok")]).await;
            }
            assert_eq!(house.read().matches(calls_it).count(), before);
        })
        .await;
}

#[tokio::test]
async fn a_plan_is_kept_and_the_person_sees_how_far_it_is() {
    let house = House::default();
    let items = json!([
        { "text": "look", "state": "done" },
        { "text": "write the\nreport", "state": "doing" },
        { "text": "send" },
    ]);
    house
        .run(async |handle| {
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [
                    calls("todo", json!({})),
                    calls("todo", json!({ "items": items })),
                    calls("todo", json!({ "items": [{ "text": " " }] })),
                    says("ok"),
                ],
            )
            .await;
            assert_eq!(done[0], "[there is no plan]");
            assert_eq!(done[1], "☑ look\n▶ write the report\n☐ send");
            assert!(done[2].contains("needs words"), "{}", done[2]);
            let shown = house.shown().join("\n");
            assert!(shown.contains("1 of 3 done: write the"), "{shown}");
            // Another turn of the same conversation, and one of another.
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [calls("todo", json!({})), says("ok")],
            )
            .await;
            assert!(done[0].contains("▶ write the report"), "{done:?}");
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, in_chat("other"), "hi"),
                [calls("todo", json!({})), says("ok")],
            )
            .await;
            assert_eq!(done[0], "[there is no plan]");
        })
        .await;
}

#[tokio::test]
async fn who_shares_a_chat_searches_that_chat_alone() {
    let house = House::default();
    let passage = Passage {
        id: 7,
        key: scope().key().clone(),
        session: scope().id(),
        said: Said::Person,
        text: "the blue door".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    };
    house.archive.passages.lock().unwrap().push(passage);
    let search = || {
        [
            calls("search_sessions", json!({ "query": "door" })),
            says("ok"),
        ]
    };
    house
        .run(async |handle| {
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                search(),
            )
            .await;
            assert!(
                done[0]
                    .contains("#7 1970-01-01 00:00 UTC, chat:bot:a, the person:]\nthe blue door"),
                "{done:?}"
            );
            on(
                &house,
                &handle,
                by("2", Place::Direct, in_chat("guests"), "hi"),
                search(),
            )
            .await;
            on(
                &house,
                &handle,
                by("1", GROUP, in_chat("group"), "hi"),
                search(),
            )
            .await;
            on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [calls("search_sessions", json!({ "around": 7 })), says("ok")],
            )
            .await;
            let refused = on(
                &house,
                &handle,
                by("9", Place::Direct, in_chat("unknown"), "hi"),
                search(),
            )
            .await;
            assert!(refused[0].contains("can't be told who asks"), "{refused:?}");
        })
        .await;
    let profile = ProfileId::parse("p").unwrap();
    let chat = |name: &str| Within::Chat(profile.clone(), in_chat(name).key().clone());
    let all = Within::Profile(profile.clone());
    let looked = house.archive.looked.lock().unwrap().clone();
    let wheres: Vec<Within> = looked.into_iter().map(|(within, _)| within).collect();
    assert_eq!(wheres, [all.clone(), chat("guests"), chat("group"), all]);
}

fn contact(chat: &str, name: &str) -> Contact {
    Contact {
        chat: chat.parse().unwrap(),
        name: Some(name.to_owned()),
        since: Timestamp::UNIX_EPOCH,
    }
}

fn sends_freely() -> House {
    let mut house = House::with_a_shell();
    house.outside.approvals = Approvals {
        send: Rule::Allow,
        ..Approvals::default()
    };
    let known = [
        contact("bot:a", "Here"),
        contact("bot:b", "Ann"),
        contact("mail:c", "Team"),
    ];
    house.archive.contacts.lock().unwrap().extend(known);
    house
}

/// Where a message goes, and its words.
fn words(house: &House, to: &str) -> Vec<String> {
    let chat: ChatKey = to.parse().unwrap();
    let sent = house.sent();
    let parts = sent
        .iter()
        .filter(|message| *message.waybill.chat() == chat)
        .flat_map(|message| &message.parts);
    parts
        .map(|part| match &part.op {
            Op::Text(body) | Op::Question { body, .. } => body.text().to_owned(),
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_message_to_another_chat_leaves_with_the_turn_under_a_waybill_of_its_own() {
    let house = sends_freely();
    house
        .run(async |handle| {
            let done = on(
                &house,
                &handle,
                by("1", Place::Direct, scope(), "hi"),
                [
                    calls("send_message", json!({})),
                    calls(
                        "send_message",
                        json!({ "to": "bot:b", "text": "Lunch at **noon**." }),
                    ),
                    calls(
                        "send_message",
                        json!({ "to": "bot:b", "text": "Lunch at **noon**." }),
                    ),
                    calls("terminal", json!({ "command": "echo menu > menu.txt" })),
                    calls(
                        "send_message",
                        json!({ "to": "mail:c", "file": "menu.txt" }),
                    ),
                    calls("send_message", json!({ "to": "bot:stranger", "text": "x" })),
                    calls("send_message", json!({ "to": "bot:a", "text": "x" })),
                    calls("send_message", json!({ "to": "bot:b" })),
                    calls(
                        "send_message",
                        json!({ "to": "mail:c", "file": "none.txt" }),
                    ),
                    says("Told them."),
                ],
            )
            .await;
            assert_eq!(done[0], "bot:b (Ann)\nmail:c (Team)");
            assert!(
                done[1].contains("goes out when this turn ends"),
                "{}",
                done[1]
            );
            assert!(done[4].contains("with menu.txt"), "{}", done[4]);
            assert!(
                done[5].contains("knows no chat bot:stranger"),
                "{}",
                done[5]
            );
            assert!(done[6].contains("just answer"), "{}", done[6]);
            assert!(done[7].contains("nothing to send"), "{}", done[7]);
            assert!(done[8].contains("nothing was sent"), "{}", done[8]);
        })
        .await;
    assert_eq!(words(&house, "bot:a"), ["Told them."]);
    assert_eq!(words(&house, "bot:b"), ["Lunch at **noon**."]);
    assert!(words(&house, "mail:c")[0].contains("menu.txt"));
    let sent = house.sent();
    let ordinals: Vec<u32> = sent.iter().map(|message| message.ordinal).collect();
    assert_eq!(ordinals, [0, 1, 2]);
    assert!(sent.iter().all(|message| message.source == sent[0].source));
    assert!(sent.iter().all(|message| message.waybill.turn().is_some()));
}

#[tokio::test]
async fn nobody_but_the_owner_has_messages_sent_elsewhere() {
    let house = sends_freely();
    house
        .run(async |handle| {
            for (sender, place, chat) in [("2", Place::Direct, "guests"), ("2", GROUP, "group")] {
                for to in ["", "bot:b"] {
                    let asked = calls("send_message", json!({ "to": to, "text": "x" }));
                    let done = on(
                        &house,
                        &handle,
                        by(sender, place, in_chat(chat), "hi"),
                        [asked, says("ok")],
                    )
                    .await;
                    assert!(done[0].contains("only the owner"), "{done:?}");
                }
            }
        })
        .await;
    assert_eq!(words(&house, "bot:b"), Vec::<String>::new());
}

#[tokio::test]
async fn what_the_person_stopped_goes_to_nobody_else_and_they_are_told() {
    let house = sends_freely();
    house
        .run(async |handle| {
            house.script([
                calls(
                    "send_message",
                    json!({ "to": "bot:b", "text": "Too early." }),
                ),
                calls("terminal", json!({ "command": "sleep 600" })),
            ]);
            handle.enqueue(by("1", Place::Direct, scope(), "hi"));
            house
                .until("the command runs", |house| {
                    house.shown().iter().any(|line| line.contains("sleep 600"))
                })
                .await;
            handle.stop(&scope());
            house
                .until("the turn has ended", |house| house.ended() > 0)
                .await;
        })
        .await;
    assert_eq!(words(&house, "bot:b"), Vec::<String>::new());
    let told = words(&house, "bot:a").join("\n");
    assert!(
        told.contains("The message to bot:b was not sent: the turn was stopped"),
        "{told}"
    );
}
