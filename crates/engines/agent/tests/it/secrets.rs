//! The canary: a secret that a command prints in every way it knows stands nowhere afterwards.

use std::collections::BTreeMap;

use serde_json::json;
use session::{Busy, TurnLine as _};
use waybill::Secret;

use crate::world::{House, calls, message, says, scope};

const CANARY: &str = "canary-Zx9/q+2v & \"w\"";

fn house() -> House {
    let secret = Secret::new(CANARY.to_owned());
    let mut house = House::with_a_shell();
    house.secrets = BTreeMap::from([("API_TOKEN".to_owned(), secret)]);
    house
}

/// Every way in which the shell of this machine can write it; each is what a person could decode at a glance.
const PRINTS: [&str; 9] = [
    "echo \"$API_TOKEN\"; env",
    "printf %s \"$API_TOKEN\" | base64 -w0",
    "env | base64",
    "for before in '' a ab abc; do printf '%s%s' \"$before\" \"$API_TOKEN\" | base64 -w0; echo; done",
    "printf %s \"$API_TOKEN\" | base64 -w0 | tr '+/' '-_' | tr -d =",
    "printf %s \"$API_TOKEN\" | od -An -v -tx1 | tr -d ' \\n'",
    "printf %s \"$API_TOKEN\" | od -An -v -tx1 | tr -d ' \\n' | tr a-f A-F",
    "printf %s \"$API_TOKEN\" | od -An -v -tx1 | tr -d '\\n' | sed 's/ /%/g'",
    "printf %s \"$API_TOKEN\" | fold -w 5",
];

/// What must not be found: the whole and any good part of it, in every writing.
fn traces() -> Vec<String> {
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let escaped: String = CANARY.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let mut traces = vec![
        CANARY.to_owned(),
        "Zx9/q+2v".to_owned(),
        hex.get(8..30).unwrap().to_owned(),
        hex.get(8..30).unwrap().to_uppercase(),
        escaped.get(12..40).unwrap().to_owned(),
    ];
    // Base64 of the middle, at every alignment and in both alphabets.
    for part in [
        "YXJ5LVp4OS9xKzJ2ICYg",
        "FyeS1aeDkvcSsydiAmI",
        "hcnktWng5L3ErMnYgJi",
    ] {
        traces.push(part.to_owned());
        traces.push(part.replace('+', "-").replace('/', "_"));
    }
    traces
}

fn assert_nowhere(everything: &str) {
    for trace in traces() {
        assert!(
            !everything.contains(&trace),
            "{trace} stands in {everything}"
        );
    }
    assert!(everything.contains("[redacted: API_TOKEN]"));
}

#[tokio::test]
async fn a_secret_that_a_command_prints_in_any_way_is_stored_and_sent_nowhere() {
    let house = house();
    let mut replies: Vec<_> = PRINTS
        .iter()
        .map(|command| calls("terminal", json!({ "command": command })))
        .collect();
    // Seen by other tools, and by what runs behind.
    for (tool, arguments) in [
        (
            "terminal",
            json!({ "command": "echo \"$API_TOKEN\" > kept.txt; mkdir -p d; : > \"d/$(printf %s \"$API_TOKEN\" | tr / -)\"" }),
        ),
        ("read_file", json!({ "path": "kept.txt" })),
        ("search_files", json!({ "pattern": "canary" })),
        ("send_file", json!({ "path": "d/none.txt" })),
        (
            "terminal",
            json!({ "command": "for i in 1 2 3; do echo \"$API_TOKEN\"; done; exit 1", "background": true }),
        ),
        ("process", json!({ "action": "wait", "id": "p1" })),
        ("process", json!({ "action": "list" })),
    ] {
        replies.push(calls(tool, arguments));
    }
    replies.push(says(&format!(
        "The token is {CANARY}, MEDIA:/workspace/{CANARY}.txt\nMEDIA:/workspace/{CANARY}"
    )));
    replies.push(says("no"));
    house
        .run(async |handle| {
            let done = house.turn(&handle, scope(), replies).await;
            for (command, result) in PRINTS.iter().zip(&done) {
                assert!(
                    result.contains("[redacted: API_TOKEN]"),
                    "{command}: {result}"
                );
            }
            // And one whose end is told by a notice.
            let print = "printf 'token: %s\\n' \"$API_TOKEN\"; sleep 0.3";
            let behind = calls("terminal", json!({ "command": print, "background": true }));
            house.turn(&handle, scope(), [behind, says("ok")]).await;
            house
                .until("the notice is there", |house| {
                    house
                        .sent()
                        .iter()
                        .any(|message| message.source.ends_with(":p2"))
                })
                .await;
        })
        .await;
    assert_nowhere(&house.everything());
}

#[tokio::test]
async fn a_secret_that_a_person_writes_reaches_no_model_and_no_transcript() {
    let house = house();
    house
        .run(async |handle| {
            handle.enqueue(message(1, &format!("use {CANARY} please"), Busy::Queue));
            house
                .until("it is answered", |house| house.happened().len() == 2)
                .await;
        })
        .await;
    assert_nowhere(&house.everything());
}

#[tokio::test]
async fn a_call_that_holds_a_secret_is_not_run_and_no_file_gets_a_mark_in_its_place() {
    let house = house();
    let at = house.shell.as_ref().unwrap().place("/workspace/kept.txt");
    std::fs::write(&at, "token=[none]").unwrap();
    let mark = "[redacted: API_TOKEN]";
    let replies = [
        calls(
            "write_file",
            json!({ "path": "kept.txt", "content": format!("token={CANARY}") }),
        ),
        calls(
            "write_file",
            json!({ "path": "kept.txt", "content": format!("token={mark}") }),
        ),
        calls(
            "edit_file",
            json!({ "path": "kept.txt", "old": "[none]", "new": CANARY }),
        ),
        calls(
            "terminal",
            json!({ "command": format!("echo '{mark}' > kept.txt") }),
        ),
        calls(
            "terminal",
            json!({ "command": "cat > kept.txt", "stdin": CANARY }),
        ),
        calls("terminal", json!({ "command": "echo '[redacted: OTHER]'" })),
    ];
    house
        .run(async |handle| {
            let mut done = house.turn(&handle, scope(), replies).await;
            assert_eq!(done.pop().unwrap(), "[redacted: OTHER]\n");
            assert_eq!(done.len(), 5);
            for result in done {
                assert!(
                    result.contains("the value of the secret API_TOKEN")
                        && result.contains("use the variable $API_TOKEN instead"),
                    "{result}"
                );
            }
        })
        .await;
    assert_eq!(std::fs::read_to_string(at).unwrap(), "token=[none]");
    assert_nowhere(&house.everything());
}
