//! What a profile remembers, reads up, finds again and sends elsewhere, on a running gateway.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::json;
use testkit::model_server::Turn;
use testkit::telegram::Said;

use crate::world::{A, OWNER, Pair, words};

fn profile(pair: &Pair) -> PathBuf {
    pair.home.path().join("profiles/p")
}

/// Another section for the configuration.
fn configure(pair: &Pair, section: &str) {
    let path = pair.home.path().join("tidings.toml");
    let config = fs::read_to_string(path).unwrap();
    pair.home.write_config(&format!("{config}\n{section}\n"));
}

/// The last message of a role in the last request of the model.
fn last(pair: &Pair, role: &str) -> String {
    pair.model.requests().last().unwrap().last_text(role)
}

fn lay_skill(pair: &Pair, name: &str, text: &str) -> PathBuf {
    let folder = profile(pair).join("skills").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
    folder
}

#[tokio::test]
async fn what_the_agent_remembers_is_there_after_new_and_after_a_restart_and_in_no_other_profile() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let changes = json!([{ "text": "The office is in Bern." }]);
    pair.script(
        "p",
        Turn::tool("memory", json!({ "action": "change", "changes": changes })),
    );
    pair.script("p", Turn::text("Noted."));
    pair.ask(A, "remember where the office is");
    pair.seen(A, 1).await;
    let first = pair.model.requests()[0].last_text("system");
    assert_eq!(
        last(&pair, "system"),
        first,
        "the prompt changed inside a conversation"
    );
    let file = profile(&pair).join("memory/MEMORY.md");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("m1: The office is in Bern.")
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    pair.ask(A, "/new");
    pair.seen(A, 2).await;
    pair.script("p", Turn::text("In Bern."));
    pair.ask(A, "where is it?");
    pair.seen(A, 3).await;
    assert!(last(&pair, "system").contains("m1: The office is in Bern."));
    assert!(gateway.terminate().await.success());
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("Still in Bern."));
    pair.ask(A, "and now?");
    pair.seen(A, 4).await;
    assert!(last(&pair, "system").contains("m1: The office is in Bern."));
    pair.script("q", Turn::text("I don't know."));
    pair.ask(crate::world::B, "where is the office?");
    pair.seen(crate::world::B, 1).await;
    assert!(!last(&pair, "system").contains("Bern"));
    pair.clean();
}

#[tokio::test]
async fn a_skill_is_a_command_its_script_runs_and_a_broken_one_is_named() {
    let pair = Pair::in_processes().await;
    let greet = lay_skill(
        &pair,
        "greet",
        "---\nname: greet\ndescription: Greets people by name.\n---\nRun greet.sh with the name.\n",
    );
    fs::write(
        greet.join("greet.sh"),
        "#!/bin/sh\necho \"Hello, $1\" > /workspace/greeting.txt\n",
    )
    .unwrap();
    fs::set_permissions(greet.join("greet.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    lay_skill(
        &pair,
        "status",
        "---\nname: status\ndescription: Tells how things are.\n---\nTell.\n",
    );
    lay_skill(&pair, "broken", "# no header\n");
    let gateway = pair.up().await;
    pair.script("p", Turn::tool("skill", json!({ "name": "greet" })));
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "~/.skills/greet/greet.sh Ann" }),
        ),
    );
    pair.script("p", Turn::text("Greeted.\nMEDIA:/workspace/greeting.txt"));
    pair.ask(A, "/greet Ann");
    let seen = pair.seen(A, 2).await;
    assert_eq!(
        crate::world::files(&seen),
        [("greeting.txt", b"Hello, Ann\n".as_slice())]
    );
    let requests = pair.model.requests();
    assert!(
        requests[0]
            .last_text("system")
            .contains("- greet: Greets people by name.")
    );
    let asked = requests[0].last_text("user");
    assert!(
        asked.contains("calls the skill greet") && asked.ends_with("\nAnn"),
        "{asked}"
    );
    assert!(
        requests[1]
            .last_text("tool")
            .contains("Run greet.sh with the name.")
    );
    pair.ask(A, "/help");
    let seen = pair.seen(A, 3).await;
    let help = words(&seen).pop().unwrap().to_owned();
    assert!(
        help.contains("/greet — Greets people by name.") && help.contains("/skill-status — Tells"),
        "{help}"
    );
    // The gateway's own command stays what it is.
    pair.ask(A, "/status");
    let seen = pair.seen(A, 4).await;
    assert!(
        words(&seen).pop().unwrap().contains("Profile p."),
        "{seen:?}"
    );
    assert!(
        gateway.log().contains("a skill can't be used"),
        "{}",
        gateway.log()
    );
    let left_out = gateway.summary["left_out"].to_string();
    assert!(
        left_out.contains("skill broken of p"),
        "{}",
        gateway.summary
    );
    let doctor = pair.home.run(&["doctor", "--json"]).await;
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        told.contains("2 can be used; the skill in broken can't be used"),
        "{told}"
    );
    pair.clean();
}

#[tokio::test]
async fn earlier_conversations_are_found_also_when_the_index_is_deleted_while_the_gateway_runs() {
    let pair = Pair::in_processes().await;
    configure(&pair, "[channels.a.groups]\nallow = [-100777]");
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("Painted blue, I wrote it down."));
    pair.ask(A, "what colour is the door of the boathouse?");
    pair.seen(A, 1).await;
    pair.ask(A, "/new");
    let mut shown = pair.seen(A, 2).await.len();
    let index = pair.home.path().join("state/search.db");
    for round in ["made", "deleted", "spoiled"] {
        match round {
            "deleted" => fs::remove_file(&index).unwrap(),
            "spoiled" => fs::write(&index, "x".repeat(50_000)).unwrap(),
            _ => {}
        }
        // An index that was spoiled under the gateway's hands is noticed by the first search and there for the next.
        let mut found = String::new();
        for _ in 0..5 {
            pair.script(
                "p",
                Turn::tool("search_sessions", json!({ "query": "boathouse" })),
            );
            pair.script("p", Turn::text("Blue."));
            pair.ask(A, "and the door?");
            shown = pair.seen(A, shown + 1).await.len();
            found = last(&pair, "tool");
            if found.contains("what colour is the door of the boathouse?") {
                break;
            }
        }
        assert!(
            found.contains("what colour is the door of the boathouse?"),
            "{round}: {found}"
        );
        assert!(index.exists(), "{round}");
    }
    // In a group the owner's own chat is not found.
    pair.telegram.open_chat(A, -100_777);
    pair.script(
        "p",
        Turn::tool("search_sessions", json!({ "query": "boathouse" })),
    );
    pair.script("p", Turn::text("I don't know."));
    let asked = Said::text("/ask@bot_a the door?")
        .entities(json!([{ "type": "bot_command", "offset": 0, "length": 10 }]))
        .by(OWNER, "Owner")
        .in_group(-100_777);
    pair.telegram.say(A, asked);
    pair.telegram
        .until("the group's answer", |telegram| {
            !telegram.chat(A, -100_777).is_empty()
        })
        .await
        .unwrap();
    assert!(
        last(&pair, "tool").contains("nothing was found"),
        "{}",
        last(&pair, "tool")
    );
    pair.clean();
}

#[tokio::test]
async fn a_message_to_another_chat_of_the_profile_arrives_there_with_its_file() {
    let pair = Pair::in_processes().await;
    configure(
        &pair,
        "[channels.a.groups]\nallow = [-100777]\n[profiles.p.approvals]\nsend = \"allow\"",
    );
    let _gateway = pair.up().await;
    pair.telegram.open_chat(A, -100_777);
    pair.script("p", Turn::text("Hello, all."));
    let greeting = Said::text("/ask@bot_a hello")
        .entities(json!([{ "type": "bot_command", "offset": 0, "length": 10 }]))
        .by(OWNER, "Owner")
        .in_group(-100_777);
    pair.telegram.say(A, greeting);
    pair.telegram
        .until("the group's answer", |telegram| {
            !telegram.chat(A, -100_777).is_empty()
        })
        .await
        .unwrap();
    pair.script("p", Turn::tool("send_message", json!({})));
    pair.script(
        "p",
        Turn::tool("terminal", json!({ "command": "printf soup > menu.txt" })),
    );
    pair.script(
        "p",
        Turn::tool(
            "send_message",
            json!({ "to": "a:-100777", "text": "Lunch at **noon**.", "file": "menu.txt" }),
        ),
    );
    pair.script(
        "p",
        Turn::tool("send_message", json!({ "to": "b:77", "text": "x" })),
    );
    pair.script("p", Turn::text("Told them."));
    pair.ask(A, "tell the group about lunch");
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["Told them."]);
    pair.telegram
        .until("the message", |telegram| {
            telegram.chat(A, -100_777).len() >= 3
        })
        .await
        .unwrap();
    pair.settled().await;
    let group = pair.telegram.chat(A, -100_777);
    assert_eq!(words(&group), ["Hello, all.", "Lunch at noon."]);
    assert_eq!(
        crate::world::files(&group),
        [("menu.txt", b"soup".as_slice())]
    );
    let results: Vec<String> = pair
        .model
        .requests()
        .iter()
        .map(|request| request.last_text("tool"))
        .collect();
    assert!(
        results.iter().any(|result| result.contains("a:-100777")),
        "{results:?}"
    );
    assert!(
        results
            .iter()
            .any(|result| result.contains("knows no chat b:77")),
        "{results:?}"
    );
    pair.clean();
}
