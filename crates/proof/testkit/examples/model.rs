//! The scripted model server by itself, for clients of others: `model PORT` (0 is a free one) prints its address and serves until it is
//! killed. What it says depends on what stands in the request; see `turn`.

use std::time::Duration;

use serde_json::{Value, json};
use tidings_testkit::model_server::{ModelServer, Turn};

/// The script, by words of the conversation; the first that fits.
fn turn(body: &Value) -> Turn {
    let words = body.to_string();
    for (said, turn) in [
        (
            "heron-42",
            Turn::deltas(["Forty-two ", "herons 🦆."]).usage(400, 6),
        ),
        ("how many herons", calls()),
        (
            "say too much",
            Turn::text("It goes on and").finish("length"),
        ),
        (
            "say nothing of it",
            Turn::text("No.").finish("content_filter"),
        ),
        (
            "slow down",
            Turn::status(
                429,
                &json!({ "error": { "message": "slow down", "type": "rate_limit_error" } })
                    .to_string(),
                &[("retry-after", "7")],
            ),
        ),
        (
            "break off",
            Turn::text("It begi")
                .then_pause(Duration::from_millis(20))
                .cut(),
        ),
    ] {
        if words.contains(said) {
            return turn;
        }
    }
    Turn::deltas(["Hel", "lo, żółw."])
}

/// A thought, words, and two calls at once.
fn calls() -> Turn {
    Turn::empty()
        .then_reasoning("They want ")
        .then_reasoning("a sum.")
        .then_text("I'll ")
        .then_text("look.")
        .then_tool(
            "terminal",
            json!({ "command": "echo \"heron\"", "deep": { "list": [1, "żółw", null] } }),
        )
        .then_tool("clock", json!({}))
        .usage(321, 45)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_default();
    let server = ModelServer::start_on(port.parse()?).await?;
    server.answer_by(turn);
    println!("{}", server.base_url());
    std::future::pending::<()>().await;
    Ok(())
}
