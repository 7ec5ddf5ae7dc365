//! What a person sees of the demo, step by step.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that can't set up its world should stop"
)]

use model::{
    Content, Delta, Message, ModelPort as _, Reply, Request, StopReason, ToolCall, ToolSpec,
};
use serde_json::{Value, json};
use tidings_model_demo::DemoModel;

const TOOLS: &[&str] = &[
    "terminal",
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "send_file",
];

struct Talk {
    request: Request,
    open: Option<ToolCall>,
}

impl Talk {
    fn begin(tools: &[&str]) -> Self {
        let tool = |name: &&str| ToolSpec {
            name: (*name).to_owned(),
            description: String::new(),
            parameters: json!({ "type": "object" }),
        };
        let request = Request {
            system: String::new(),
            messages: Vec::new(),
            tools: tools.iter().map(tool).collect(),
        };
        Self {
            request,
            open: None,
        }
    }

    async fn say(&mut self, text: &str) -> Reply {
        self.request.messages.push(Message::User {
            content: vec![Content::Text {
                text: text.to_owned(),
            }],
        });
        self.ask().await
    }

    async fn answer(&mut self, content: &str, failed: bool) -> Reply {
        let call = self.open.take().expect("a call is open");
        self.request.messages.push(Message::Tool {
            call: call.id,
            name: call.name,
            content: content.to_owned(),
            failed,
        });
        self.ask().await
    }

    async fn ask(&mut self) -> Reply {
        let mut text = String::new();
        let reply = DemoModel::new()
            .ask(&self.request, &mut |delta| match delta {
                Delta::Text(piece) => text.push_str(&piece),
                Delta::Reasoning(_) | Delta::Tool(_) => {}
            })
            .await
            .unwrap();
        assert_eq!(text, reply.text, "the pieces are the text");
        assert_eq!(reply.stop == StopReason::ToolUse, !reply.calls.is_empty());
        self.request.messages.push(Message::Assistant {
            text: reply.text.clone(),
            calls: reply.calls.clone(),
            replay: None,
        });
        self.open = reply.calls.first().cloned();
        reply
    }
}

fn call(reply: &Reply) -> (String, Value) {
    assert_eq!(reply.calls.len(), 1, "{reply:?}");
    let call = reply.calls.first().unwrap();
    (
        call.name.clone(),
        Value::Object(call.arguments.clone().unwrap()),
    )
}

#[tokio::test(start_paused = true)]
async fn a_greeting_tells_who_it_is_and_how_to_connect_a_real_model() {
    let reply = Talk::begin(TOOLS).say("hi there").await;
    for part in [
        "demo model",
        "OPENROUTER_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "Ollama",
        "tidings.toml",
        "draw a chart",
    ] {
        assert!(reply.text.contains(part), "{part}");
    }
    assert_eq!(reply.stop, StopReason::End);
}

#[tokio::test(start_paused = true)]
async fn a_chart_is_drawn_and_sent() {
    let mut talk = Talk::begin(TOOLS);
    let (tool, arguments) = call(&talk.say("draw a chart of 3, 5, 8").await);
    assert_eq!(tool, "terminal");
    assert!(
        arguments["command"]
            .as_str()
            .unwrap()
            .contains("values='3 5 8'"),
        "{arguments}"
    );
    let sent = call(
        &talk
            .answer("The chart is written to /workspace/chart.png\n", false)
            .await,
    );
    let expected = json!({ "path": "/workspace/chart.png", "caption": "Your numbers: 3, 5, 8", "as": "photo" });
    assert_eq!(sent, ("send_file".to_owned(), expected));
    let last = talk.answer("sent", false).await;
    assert!(last.text.starts_with("There it is"), "{last:?}");
    let again = talk.say("thanks").await;
    assert!(again.text.contains("demo model") && again.calls.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_chart_that_fails_is_told_with_the_error() {
    let mut talk = Talk::begin(TOOLS);
    talk.say("plot something").await;
    let told = talk.answer("sh: awk: not found", true).await;
    assert!(
        told.text.contains("could not be drawn") && told.text.contains("sh: awk: not found"),
        "{told:?}"
    );
    assert!(told.calls.is_empty());

    talk.say("plot something").await;
    let told = talk
        .answer("exit code 1: the picture is not whole", false)
        .await;
    assert!(
        told.text.contains("could not be drawn") && told.calls.is_empty(),
        "{told:?}"
    );

    talk.say("plot something").await;
    talk.answer("The chart is written to /workspace/chart.png", false)
        .await;
    let told = talk.answer("too large for this channel", true).await;
    assert!(
        told.text.contains("could not be sent") && told.text.contains("too large"),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_command_is_run_and_its_output_shown() {
    let mut talk = Talk::begin(TOOLS);
    let (tool, arguments) = call(&talk.say("run `echo hi`").await);
    assert_eq!(
        (tool.as_str(), &arguments["command"]),
        ("terminal", &json!("echo hi"))
    );
    assert_eq!(
        talk.answer("hi\n", false).await.text,
        "Done:\n\n```\nhi\n```"
    );
    talk.say("$ false").await;
    assert_eq!(
        talk.answer("exit code 1", true).await.text,
        "That did not work:\n\n```\nexit code 1\n```"
    );
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read() {
    let mut talk = Talk::begin(TOOLS);
    let read = call(
        &talk
            .say("[attached: /inbox/report.txt (text/plain, 1.2 KB)]")
            .await,
    );
    assert_eq!(
        read,
        (
            "read_file".to_owned(),
            json!({ "path": "/inbox/report.txt", "limit": 20 })
        )
    );
    let told = talk
        .answer("Quarterly report\nAll is well", false)
        .await
        .text;
    assert_eq!(
        told,
        "I got your file **report.txt** (1.2 KB, text/plain). It begins:\n\n```\nQuarterly report\nAll is well\n```"
    );
    let told = talk
        .say("[attached: /inbox/cat.png (image/png, 3 MB)]")
        .await;
    assert!(
        told.text.contains("**cat.png** (3 MB, image/png)") && told.calls.is_empty(),
        "{told:?}"
    );
    let back = call(
        &talk
            .say("send it back [attached: /inbox/cat.png (image/png, 3 MB)]")
            .await,
    );
    assert_eq!(
        back,
        ("send_file".to_owned(), json!({ "path": "/inbox/cat.png" }))
    );
}

#[tokio::test(start_paused = true)]
async fn files_are_listed_and_written() {
    let mut talk = Talk::begin(TOOLS);
    assert_eq!(call(&talk.say("list files").await).0, "list_files");
    assert!(
        talk.answer("chart.png", false)
            .await
            .text
            .contains("```\nchart.png\n```")
    );
    let written = call(&talk.say("write milk to list.txt").await);
    assert_eq!(
        written,
        (
            "write_file".to_owned(),
            json!({ "path": "list.txt", "content": "milk" })
        )
    );
    let told = talk.answer("no space left", true).await.text;
    assert!(
        told.contains("That did not work") && told.contains("no space left"),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_off_is_told() {
    let told = Talk::begin(&["read_file"]).say("run `ls`").await;
    assert!(
        told.text.contains("`terminal`") && told.calls.is_empty(),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn ids_never_repeat_in_a_conversation() {
    let mut talk = Talk::begin(TOOLS);
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(talk.say("run `ls`").await.calls.first().unwrap().id.clone());
        talk.answer("x", false).await;
    }
    assert_eq!(ids, ["demo_1", "demo_2", "demo_3"]);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_of_nothing_is_a_greeting() {
    let mut talk = Talk::begin(TOOLS);
    assert!(talk.ask().await.text.contains("demo model"));
}
