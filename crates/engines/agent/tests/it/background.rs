//! Processes that outlive their turn.

use std::time::Duration;

use serde_json::json;
use tidings_agent::AgentHandle;
use waybill::Clock as _;

use crate::world::{House, calls, in_chat, says, scope};

fn behind(command: &str) -> model::Reply {
    calls(
        "terminal",
        json!({ "command": command, "background": true }),
    )
}

fn process(action: &str, more: serde_json::Value) -> model::Reply {
    let mut arguments = json!({ "action": action });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    calls("process", arguments)
}

fn log(id: &str) -> model::Reply {
    process("log", json!({ "id": id }))
}

/// What people were told outside of answers.
fn notices(house: &House) -> Vec<String> {
    let sent = house.sent();
    let notices = sent
        .iter()
        .filter(|message| message.source.starts_with("process:"));
    notices
        .map(|message| format!("{:?}", message.parts))
        .collect()
}

async fn go(house: &House) {
    std::fs::write(house.shell.as_ref().unwrap().place("/workspace/go"), "").unwrap();
}

async fn one(house: &House, handle: &AgentHandle, reply: model::Reply) -> String {
    house
        .turn(handle, scope(), [reply, says("ok")])
        .await
        .remove(0)
}

#[tokio::test]
async fn a_process_outlives_its_turn_and_its_person_is_told_of_its_end() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let begun = one(
                &house,
                &handle,
                behind("echo building; until [ -e go ]; do sleep 0.02; done; echo built; exit 3"),
            )
            .await;
            assert!(begun.starts_with("[p1 runs in the background"), "{begun}");
            assert_eq!(handle.background().len(), 1);
            house.clock.advance(Duration::from_secs(200));
            // What it says arrives when it arrives.
            let seen = loop {
                let seen = one(&house, &handle, log("p1")).await;
                if seen.ends_with("building") {
                    break seen;
                }
                assert!(seen.ends_with("[it said nothing yet]"), "{seen}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            };
            assert!(seen.contains("runs since 3 min"), "{seen}");
            assert_eq!(notices(&house), [] as [String; 0]);
            let left = house.last_words();
            assert!(
                left.len() == 1
                    && left[0].contains("Background process p1")
                    && left[0].contains("the gateway died"),
                "{left:?}"
            );
            go(&house).await;
            house
                .until("the person is told", |house| notices(house).len() == 1)
                .await;
            let told = notices(&house).remove(0);
            for words in [
                "Background process p1",
                "ended after 3 min with exit code 3.",
                "built",
            ] {
                assert!(told.contains(words), "{told}");
            }
            let seen = one(&house, &handle, process("list", json!({}))).await;
            assert!(
                seen.contains("ended after 3 min with exit code 3"),
                "{seen}"
            );
            assert_eq!(handle.background(), []);
        })
        .await;
    assert_eq!(notices(&house).len(), 1, "once");
    let sent = house.sent();
    let notice = sent
        .iter()
        .find(|message| message.source.starts_with("process:"))
        .unwrap();
    assert_eq!(notice.waybill.chat(), scope().chat().unwrap());
    // The clock stood here at its start: a process of the same number after a restart began at another time.
    let began = house.clock.now().as_millisecond() - 200_000;
    assert!(
        notice.source.ends_with(&format!(":{began}:p1")),
        "{}",
        notice.source
    );
}

#[tokio::test]
async fn who_waited_for_the_end_or_killed_is_not_told_again() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            one(
                &house,
                &handle,
                behind("until [ -e go ]; do sleep 0.02; done; echo over"),
            )
            .await;
            let waiting = one(
                &house,
                &handle,
                process("wait", json!({ "id": "p1", "seconds": 60 })),
            );
            let going = async {
                house
                    .until("it is waited for", |house| {
                        house
                            .shown()
                            .iter()
                            .any(|shown| shown.contains("\"process\""))
                    })
                    .await;
                // The call is shown a moment before it waits.
                tokio::time::sleep(Duration::from_millis(200)).await;
                go(&house).await;
            };
            let (seen, ()) = tokio::join!(waiting, going);
            assert!(
                seen.contains("with exit code 0") && seen.ends_with("over"),
                "{seen}"
            );
            one(&house, &handle, behind("sleep 1000")).await;
            let seen = one(&house, &handle, process("kill", json!({ "id": "p2" }))).await;
            assert!(seen.contains("killed after"), "{seen}");
            assert_eq!(handle.background(), []);
        })
        .await;
    assert_eq!(notices(&house), [] as [String; 0]);
}

#[tokio::test]
async fn a_program_that_asks_is_answered() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            one(
                &house,
                &handle,
                behind("printf 'name? '; read -r name; echo \"hello $name\"; cat; echo over"),
            )
            .await;
            let replies = [
                process("write", json!({ "id": "p1", "text": "ana", "enter": true })),
                process(
                    "write",
                    json!({ "id": "p1", "text": "more\n", "eof": true }),
                ),
                process("wait", json!({ "id": "p1" })),
                process("write", json!({ "id": "p1", "text": "late" })),
                process("write", json!({ "id": "p1" })),
                says("ok"),
            ];
            let done = house.turn(&handle, scope(), replies).await;
            assert!(done[2].contains("name? hello ana\nmore\nover"), "{done:?}");
            assert!(done[3].contains("it has ended"), "{done:?}");
            assert!(done[4].contains("nothing to write"), "{done:?}");
        })
        .await;
}

#[tokio::test]
async fn a_conversation_never_sees_or_touches_the_processes_of_another() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            one(&house, &handle, behind("echo private; sleep 1000")).await;
            let replies = [
                process("list", json!({})),
                log("p1"),
                process("kill", json!({ "id": "p1" })),
                process("write", json!({ "id": "p1", "text": "x" })),
                process("wait", json!({ "id": "p1" })),
                says("ok"),
            ];
            let done = house.turn(&handle, in_chat("bb"), replies).await;
            assert_eq!(done[0], "[nothing runs in the background]");
            for result in &done[1..] {
                assert!(
                    result.contains("there is no background process p1"),
                    "{result}"
                );
            }
            assert_eq!(handle.background().len(), 1, "it still runs");
        })
        .await;
}

#[tokio::test]
async fn the_ninth_process_of_a_sandbox_is_refused_until_one_has_ended() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let mut replies: Vec<_> = (0..9).map(|_| behind("sleep 1000")).collect();
            replies.push(process("kill", json!({ "id": "p3" })));
            replies.push(behind("sleep 1000"));
            replies.push(says("ok"));
            let done = house.turn(&handle, scope(), replies).await;
            assert!(done[7].contains("p8 runs"), "{done:?}");
            assert!(
                done[8].contains("8 background processes run in this sandbox"),
                "{done:?}"
            );
            assert!(done[10].contains("p9 runs"), "{done:?}");
        })
        .await;
}

#[tokio::test]
async fn a_planned_stop_ends_all_and_says_so() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            one(
                &house,
                &handle,
                behind("echo working; while :; do echo beat >> beat; sleep 0.05; done"),
            )
            .await;
            let beat = house.shell.as_ref().unwrap().place("/workspace/beat");
            house.until("it works", |_| beat.exists()).await;
        })
        .await;
    let told = notices(&house);
    assert_eq!(told.len(), 1);
    assert!(house.last_words().is_empty(), "it would be told again");
    assert!(
        told[0].contains("because the gateway was stopped"),
        "{told:?}"
    );
    let beat = house.shell.as_ref().unwrap().place("/workspace/beat");
    let size = || std::fs::metadata(&beat).unwrap().len();
    let last = size();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(size(), last, "it is gone");
}

#[tokio::test]
async fn a_long_log_keeps_its_beginning_and_its_end_and_is_read_by_lines() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            let replies = [
                behind("echo FIRST; i=0; while [ $i -lt 60000 ]; do echo \"line $i\"; i=$((i + 1)); done; echo LAST"),
                process("wait", json!({ "id": "p1", "seconds": 60 })),
                process("log", json!({ "id": "p1", "offset": 1, "lines": 2 })),
                process("log", json!({ "id": "p1", "offset": 10_000_000 })),
                says("ok"),
            ];
            let done = house.turn(&handle, scope(), replies).await;
            assert!(done[1].contains("\nLAST\n[lines "), "{}", done[1]);
            assert!(done[2].contains("FIRST\nline 0\n[lines 1 to 2 of "), "{}", done[2]);
            assert!(done[3].contains("[its log has "), "{}", done[3]);
        })
        .await;
}

#[tokio::test]
async fn ended_processes_are_remembered_for_an_hour_and_sixteen_of_them() {
    let house = House::with_a_shell();
    house
        .run(async |handle| {
            for number in 1..=18 {
                let id = format!("p{number}");
                let replies = [
                    behind("true"),
                    process("wait", json!({ "id": id })),
                    says("ok"),
                ];
                house.turn(&handle, scope(), replies).await;
            }
            let seen = one(&house, &handle, process("list", json!({}))).await;
            assert_eq!(seen.lines().count(), 16, "{seen}");
            assert!(seen.starts_with("[p3:") && seen.contains("[p18:"), "{seen}");
            one(&house, &handle, behind("sleep 1000")).await;
            house.clock.advance(Duration::from_secs(3_600));
            let seen = one(&house, &handle, process("list", json!({}))).await;
            assert!(
                seen.starts_with("[p19:") && seen.lines().count() == 1,
                "{seen}"
            );
        })
        .await;
}
