//! Turns as people meet them: stopping, files asked for again, groups, a model that misbehaves.

use serde_json::json;
use testkit::model_server::{Gate, Turn};
use testkit::telegram::Said;

use crate::world::{A, OWNER, PATIENCE, Pair, files, words};

/// A picture that a platform takes: 1×1, PNG.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn stop_ends_a_command_within_a_moment_and_the_next_message_is_answered() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": "touch began; sleep 600; touch ended" }),
        ),
    );
    pair.ask(A, "sleep");
    let workspace = pair
        .home
        .path()
        .join("profiles/p/sandboxes/profile.p/workspace");
    let began = async {
        while !workspace.join("began").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, began).await.unwrap();
    pair.ask(A, "/stop");
    let seen = pair.seen(A, 1).await;
    assert_eq!(words(&seen), ["⏹ Stopped."]);
    pair.script("p", Turn::text("awake"));
    pair.ask(A, "still there?");
    let seen = pair.seen(A, 2).await;
    assert_eq!(words(&seen), ["⏹ Stopped.", "awake"]);
    let last = pair.model.requests().last().unwrap().clone();
    assert!(
        last.messages()
            .iter()
            .any(|message| message["role"] == "tool"),
        "a call stayed without a result"
    );
    pair.clean();
}

#[tokio::test]
async fn send_file_sends_a_photo_with_its_caption() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script(
        "p",
        Turn::tool(
            "terminal",
            json!({ "command": format!("echo {PIXEL} | base64 -d > dot.png") }),
        ),
    );
    pair.script(
        "p",
        Turn::tool(
            "send_file",
            json!({ "path": "dot.png", "caption": "a **dot**" }),
        ),
    );
    pair.script("p", Turn::text("There."));
    pair.ask(A, "draw a dot");
    let seen = pair.seen(A, 2).await;
    let photo = seen.last().unwrap().file.clone().unwrap();
    assert_eq!(
        (photo.kind.as_str(), photo.caption.as_deref()),
        ("photo", Some("a dot"))
    );
    assert!(photo.bytes.starts_with(b"\x89PNG"));
    assert_eq!(words(&seen), ["There."]);
    pair.clean();
}

#[tokio::test]
async fn a_file_asked_for_again_comes_again_with_its_new_bytes_and_never_by_itself() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.command("p", A, "printf one > report.txt").await;
    pair.script("p", Turn::text("MEDIA:/workspace/report.txt"));
    pair.ask(A, "send it");
    pair.seen(A, 2).await;
    pair.script("p", Turn::text("You are welcome."));
    pair.ask(A, "thanks");
    let seen = pair.seen(A, 3).await;
    assert_eq!(files(&seen), [("report.txt", b"one".as_slice())]);
    pair.command("p", A, "printf two > report.txt").await;
    pair.script("p", Turn::text("MEDIA:/workspace/report.txt"));
    pair.ask(A, "again");
    let seen = pair.seen(A, 5).await;
    pair.settled().await;
    assert_eq!(
        files(&seen),
        [
            ("report.txt", b"one".as_slice()),
            ("report.txt", b"two".as_slice())
        ]
    );
    assert_eq!(pair.telegram.chat(A, OWNER).len(), 5);
    pair.clean();
}

#[tokio::test]
async fn a_wrong_path_is_corrected_in_the_same_turn_and_the_person_sees_no_trouble() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.command("p", A, "mkdir -p out; printf x > out/chart.csv")
        .await;
    pair.script(
        "p",
        Turn::text("Here is the chart.\nMEDIA:/workspace/out/chart.tsv"),
    );
    pair.script("p", Turn::text("MEDIA:/workspace/out/chart.csv"));
    pair.ask(A, "chart");
    let seen = pair.seen(A, 3).await;
    pair.settled().await;
    assert_eq!(words(&seen), ["prepared", "Here is the chart."]);
    assert_eq!(files(&seen), [("chart.csv", b"x".as_slice())]);
    let told = pair.model.requests().last().unwrap().last_text("user");
    assert!(
        told.contains("chart.tsv") && told.contains("/workspace/out has chart.csv"),
        "{told}"
    );
    pair.clean();
}

#[tokio::test]
async fn in_a_group_topic_the_answer_comes_in_the_topic() {
    let pair = Pair::in_processes().await;
    let config = std::fs::read_to_string(pair.home.path().join("tidings.toml")).unwrap();
    let config = config.replace(
        "[channels.b]",
        "[channels.a.groups]\nallow = [-100777]\n[channels.b]",
    );
    pair.home.write_config(&config);
    let _gateway = pair.up().await;
    pair.telegram.open_chat(A, -100_777);
    pair.telegram.add_topic(A, -100_777, 9);
    pair.script("p", Turn::text("in the topic"));
    // Not meant for the bot: silence.
    pair.telegram.say(
        A,
        Said::text("nice weather")
            .by(OWNER, "Owner")
            .in_group(-100_777)
            .topic(9),
    );
    pair.telegram.say(
        A,
        Said::text("/ask@bot_a what?")
            .entities(json!([{ "type": "bot_command", "offset": 0, "length": 10 }]))
            .by(OWNER, "Owner")
            .in_group(-100_777)
            .topic(9),
    );
    pair.telegram
        .until("an answer", |telegram| {
            !telegram.chat(A, -100_777).is_empty()
        })
        .await
        .unwrap();
    let seen = pair.telegram.chat(A, -100_777);
    assert_eq!(seen.first().unwrap().thread, Some(9));
    assert_eq!(words(&seen), ["in the topic"]);
    assert_eq!(pair.model.requests().len(), 1);
    pair.clean();
}

#[tokio::test]
async fn t3_a_model_that_misbehaves_ends_in_a_sentence_and_nothing_runs_from_a_cut_call() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    for (turns, sentence) in [
        // Empty, whatever was tried.
        (
            vec![Turn::text(""), Turn::text(" \n"), Turn::text("")],
            "⚠ I could not answer: the model gave an empty answer.",
        ),
        // Nothing that could be seen.
        (
            vec![
                Turn::text("\u{200b}"),
                Turn::text("\u{feff}\n"),
                Turn::text("\u{200b}"),
            ],
            "⚠ I could not answer: the model gave an empty answer.",
        ),
        (
            vec![
                Turn::empty()
                    .then_tool_raw("terminal", "{\"command\": \"touch /workspace/cut")
                    .finish("length"),
                Turn::text("").finish("length"),
            ],
            "⚠ I could not answer: the model ran out of output tokens before it said anything.",
        ),
        (
            vec![
                Turn::text("The answer is for").finish("length"),
                Turn::text("ty-two."),
            ],
            "The answer is forty-two.",
        ),
        (
            [" one", " two", " three", " four"]
                .map(|word| Turn::text(word).finish("length"))
                .to_vec(),
            "one two three four\n\n⚠ The answer was cut: the model reached its output limit.",
        ),
    ] {
        let before = pair.telegram.chat(A, OWNER).len();
        for turn in turns {
            pair.script("p", turn);
        }
        pair.ask(A, "hi");
        let seen = pair.seen(A, before + 1).await;
        assert_eq!(words(&seen).last(), Some(&sentence));
    }
    let before = pair.telegram.chat(A, OWNER).len();
    pair.script("p", Turn::empty().then_tool_raw("terminal", "not json"));
    pair.script("p", Turn::tool("weather", json!({})));
    pair.script(
        "p",
        Turn::tool("terminal", json!({ "command": "ls /workspace" })),
    );
    pair.script("p", Turn::text("fine"));
    pair.ask(A, "hi");
    let seen = pair.seen(A, before + 1).await;
    assert_eq!(words(&seen).last(), Some(&"fine"));
    let results: Vec<String> = pair
        .model
        .requests()
        .last()
        .unwrap()
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(
        results.iter().any(|text| text.contains("nothing was run")),
        "{results:?}"
    );
    assert!(
        results
            .iter()
            .any(|text| text.contains("no tool 'weather'")),
        "{results:?}"
    );
    assert!(
        !results.last().unwrap().contains("cut"),
        "a cut call ran: {results:?}"
    );
    pair.clean();
}

#[tokio::test]
async fn t6_quoted_words_are_named_as_somebody_elses() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script("p", Turn::text("first"));
    pair.ask(A, "hi");
    let first = pair.seen(A, 1).await.first().unwrap().message_id;
    pair.script("p", Turn::text("second"));
    pair.telegram.say(
        A,
        Said::text("what is this?")
            .by(OWNER, "Owner")
            .replying_to(first),
    );
    pair.seen(A, 2).await;
    let text = pair.model.requests().last().unwrap().last_text("user");
    assert!(
        text.contains("quoted as data")
            && text.contains("> first")
            && text.ends_with("what is this?"),
        "{text}"
    );
    pair.clean();
}

#[tokio::test]
async fn a_file_promised_before_a_crash_arrives_after_it() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let gate = Gate::new();
    pair.script(
        "p",
        Turn::tool("terminal", json!({ "command": "printf done > report.txt" })),
    );
    pair.script(
        "p",
        Turn::tool("send_file", json!({ "path": "report.txt" })),
    );
    pair.script("p", Turn::text("Here is").pause_until(&gate));
    pair.ask(A, "report");
    assert!(gate.reached(PATIENCE).await);
    gateway.kill().await;
    pair.script("p", Turn::text("Here is the report."));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    assert_eq!(words(&seen), ["Here is the report."]);
    assert_eq!(
        files(&pair.telegram.chat(A, OWNER)),
        [("report.txt", b"done".as_slice())]
    );
    pair.clean();
}

#[tokio::test]
async fn an_answer_that_was_kept_for_its_correction_survives_a_crash() {
    let pair = Pair::in_processes().await;
    let gateway = pair.up().await;
    let gate = Gate::new();
    pair.script(
        "p",
        Turn::text("The whole answer.\nMEDIA:/workspace/no.txt"),
    );
    pair.script("p", Turn::text("MEDIA:").pause_until(&gate));
    pair.ask(A, "tell me");
    assert!(gate.reached(PATIENCE).await);
    gateway.kill().await;
    pair.script("p", Turn::text("It was never made."));
    let _gateway = pair.up().await;
    let seen = pair.seen(A, 1).await;
    pair.settled().await;
    let said = "The whole answer.\n\nIt was never made.\n\n⚠ no.txt was not attached: no such file in the sandbox (/workspace/no.txt)";
    assert_eq!(words(&seen), [said]);
    pair.clean();
}

#[tokio::test]
async fn stopped_while_its_files_are_corrected_the_answer_stays() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let gate = Gate::new();
    pair.script(
        "p",
        Turn::text("The whole answer.\nMEDIA:/workspace/no.txt"),
    );
    pair.script("p", Turn::text("Let me see").pause_until(&gate));
    pair.ask(A, "tell me");
    assert!(gate.reached(PATIENCE).await);
    pair.ask(A, "/stop");
    let seen = pair.seen(A, 1).await;
    let said = words(&seen).first().unwrap().to_string();
    assert!(
        said.starts_with("The whole answer.") && said.ends_with("⏹ Stopped."),
        "{said}"
    );
    pair.clean();
}

#[tokio::test]
async fn words_beside_a_tool_call_are_not_lost() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let calls = json!({ "command": "printf x > sum.csv" });
    pair.script(
        "p",
        Turn::text("Here is your summary: 42.").then_tool("terminal", calls),
    );
    for _ in 0..3 {
        pair.script("p", Turn::text(""));
    }
    pair.ask(A, "sum it up");
    let seen = pair.seen(A, 1).await;
    assert_eq!(
        words(&seen),
        ["Here is your summary: 42.\n\n⚠ I could not answer: the model gave an empty answer."]
    );
    pair.clean();
}

#[tokio::test]
async fn a_file_that_failed_is_told_though_another_one_came() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    pair.script("p", Turn::tool("send_file", json!({ "path": "a.pdf" })));
    pair.script(
        "p",
        Turn::tool("terminal", json!({ "command": "printf b > b.pdf" })),
    );
    pair.script("p", Turn::tool("send_file", json!({ "path": "b.pdf" })));
    pair.script("p", Turn::text("Here are both."));
    pair.ask(A, "send both");
    let seen = pair.seen(A, 2).await;
    pair.settled().await;
    let said = "Here are both.\n\n⚠ a.pdf was not attached: no such file in the sandbox (/workspace/a.pdf)";
    assert_eq!(words(&seen), [said]);
    assert_eq!(files(&seen), [("b.pdf", b"b".as_slice())]);
    pair.clean();
}

#[tokio::test]
async fn words_beside_a_tool_call_come_though_the_model_fails_afterwards() {
    let pair = Pair::in_processes().await;
    let _gateway = pair.up().await;
    let calls = json!({ "command": "true" });
    pair.script(
        "p",
        Turn::text("The first half.").then_tool("terminal", calls),
    );
    pair.script(
        "p",
        Turn::status(401, "{\"error\":{\"message\":\"bad key\"}}", &[]),
    );
    pair.ask(A, "tell me");
    let seen = pair.seen(A, 1).await;
    let said = words(&seen).first().unwrap().to_string();
    assert!(
        said.starts_with("The first half.\n\n⚠ I could not answer: "),
        "{said}"
    );
    pair.clean();
}
