//! `tidings chat`: the same conversation in a terminal, with and without a gateway that runs.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::model_server::{ModelServer, Turn};
use tokio::io::AsyncWriteExt as _;

use crate::world::{Gateway, Home, PATIENCE, tidings};

/// A home whose model is scripted, and the folder that a person is in.
struct Desk {
    model: ModelServer,
    home: Home,
    folder: TempDir,
}

impl Desk {
    async fn new() -> Self {
        let model = ModelServer::start().await.unwrap();
        let home = Home::new();
        home.write_config(&format!(
            "[defaults]\nmodel = \"fake/m\"\nsandbox = {{ driver = \"process\" }}\n\
             [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
            model.base_url()
        ));
        Self {
            model,
            home,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs `tidings chat` in the folder, with this on standard input.
    async fn chat(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = tidings()
            .arg("chat")
            .args(arguments)
            .arg("--home")
            .arg(self.home.path())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        tokio::time::timeout(PATIENCE, child.wait_with_output())
            .await
            .expect("the chat ended")
            .unwrap()
    }

    fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = all
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn one_question_is_answered_and_its_file_lies_in_the_folder() {
    let desk = Desk::new().await;
    let write = "printf '1,2\\n' > sums.csv";
    for _ in 0..2 {
        desk.model
            .push(Turn::tool("terminal", json!({ "command": write })));
        desk.model.push(Turn::text(
            "Here are the **sums**.\nMEDIA:/workspace/sums.csv",
        ));
    }
    let first = desk.chat(&["-m", "sum it up"], "").await;
    let said = out(&first);
    assert!(first.status.success(), "{first:?}");
    assert!(said.starts_with("Here are the **sums**.\n"), "{said}");
    assert!(said.contains("saved ./sums.csv (4 bytes)"), "{said}");
    // What is there already is not touched.
    let second = desk.chat(&["-m", "again"], "").await;
    assert!(out(&second).contains("sums (1).csv"), "{second:?}");
    assert_eq!(desk.names(), ["sums (1).csv", "sums.csv"]);
    let kept = std::fs::read_to_string(desk.folder.path().join("sums.csv")).unwrap();
    assert_eq!(kept, "1,2\n");
}

#[tokio::test]
async fn beside_a_gateway_that_runs_the_answer_is_an_object_for_a_program() {
    let desk = Desk::new().await;
    let gateway = Gateway::start(&desk.home, &[]).await;
    desk.model.push(Turn::text("Four."));
    let output = desk.chat(&["--json"], "what is two and two?").await;
    let answer: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(answer["text"], "Four.");
    assert_eq!(
        (&answer["end"], &answer["files"]),
        (&json!("answered"), &json!([]))
    );
    let asked = desk.model.requests().last().unwrap().clone();
    assert!(asked.last_text("user").contains("what is two and two?"));
    // It goes on with the same conversation where it is told to.
    desk.model.push(Turn::text("Eight."));
    let output = desk.chat(&["-c", "-m", "and twice that?"], "").await;
    assert_eq!(out(&output), "Eight.\n");
    let asked = desk.model.requests().last().unwrap().clone();
    assert_eq!(
        asked
            .messages()
            .iter()
            .filter(|one| one["role"] == "user")
            .count(),
        2
    );
    gateway.terminate().await;
}

#[tokio::test]
async fn a_file_goes_along_and_the_agent_reads_it() {
    let desk = Desk::new().await;
    std::fs::write(
        desk.folder.path().join("notes.txt"),
        "the code word is heron",
    )
    .unwrap();
    desk.model.push(Turn::tool(
        "terminal",
        json!({ "command": "cat /inbox/notes.txt" }),
    ));
    desk.model.push(Turn::text("Read."));
    let output = desk.chat(&["-m", "read this", "-f", "notes.txt"], "").await;
    assert_eq!(out(&output), "Read.\n");
    let asked = desk.model.requests().last().unwrap().clone();
    assert!(asked.body.to_string().contains("the code word is heron"));
}

#[tokio::test]
async fn a_turn_that_fails_fails_the_command_and_says_why() {
    let desk = Desk::new().await;
    let refused = "{\"error\":{\"message\":\"bad key\"}}";
    desk.model.push(Turn::status(401, refused, &[]));
    let output = desk.chat(&["-m", "hi"], "").await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(out(&output).contains("fake refused the key: HTTP 401: bad key"));
    desk.model.push(Turn::status(401, refused, &[]));
    let output = desk.chat(&["--json", "-m", "hi"], "").await;
    let answer: Value = serde_json::from_str(&out(&output)).unwrap();
    assert_eq!(answer["end"], "failed");
    assert!(answer["reason"].as_str().unwrap().contains("bad key"));
    for nothing in [vec!["-m", " "], vec![]] {
        let output = desk.chat(&nothing, "").await;
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("nothing to say"));
    }
    let output = desk.chat(&["-p", "nobody", "-m", "hi"], "").await;
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("nobody"),
        "{output:?}"
    );
}

#[tokio::test]
async fn what_a_model_writes_moves_no_cursor() {
    let desk = Desk::new().await;
    desk.model.push(Turn::text(
        "before\u{1b}[2J\u{1b}]0;owned\u{7}after\u{202e}",
    ));
    let output = desk.chat(&["-m", "hi"], "").await;
    let said = out(&output);
    assert!(
        said.contains("before") && said.contains("after"),
        "{said:?}"
    );
    assert!(!said.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{said:?}");
}
