//! The script as a model.

use std::time::Duration;

use async_trait::async_trait;
use model::{
    Delta, DeltaSink, Facts, Message, ModelError, ModelPort, Price, Reply, Request, StopReason,
    ToolCall, Usage,
};

use crate::plan::{self, Step};

/// Slow enough to be seen growing.
const PAUSE: Duration = Duration::from_millis(12);
/// With the pause, at most half a second for any text.
const MOST_PIECES: usize = 40;

/// A scripted assistant.
#[derive(Debug, Clone, Copy, Default)]
pub struct DemoModel;

impl DemoModel {
    /// The assistant.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

#[async_trait]
impl ModelPort for DemoModel {
    fn name(&self) -> &'static str {
        "demo"
    }

    fn facts(&self) -> Facts {
        let price = Price {
            input: 0,
            cached: 0,
            output: 0,
        };
        Facts {
            price: Some(price),
            ..Facts::default()
        }
    }

    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        let Step { text, call } = plan::next(request);
        for piece in pieces(&text) {
            deltas(Delta::Text(piece));
            tokio::time::sleep(PAUSE).await;
        }
        let calls: Vec<ToolCall> = call
            .into_iter()
            .map(|(name, arguments)| {
                deltas(Delta::Tool(name.to_owned()));
                let id = format!("demo_{}", calls_before(request) + 1);
                ToolCall {
                    id,
                    name: name.to_owned(),
                    arguments: Ok(arguments),
                }
            })
            .collect();
        let stop = if calls.is_empty() {
            StopReason::End
        } else {
            StopReason::ToolUse
        };
        Ok(Reply {
            text,
            reasoning: String::new(),
            calls,
            stop,
            // Nobody was asked, so nothing was read and nothing is owed.
            usage: Some(Usage::default()),
            replay: None,
        })
    }
}

fn calls_before(request: &Request) -> usize {
    let calls = |message: &Message| match message {
        Message::Assistant { calls, .. } => calls.len(),
        Message::User { .. } | Message::Tool { .. } => 0,
    };
    request.messages.iter().map(calls).sum()
}

/// Cuts after words, into pieces of about the same size.
fn pieces(text: &str) -> Vec<String> {
    let size = text.len().div_ceil(MOST_PIECES).max(8);
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for word in text.split_inclusive(' ') {
        piece.push_str(word);
        if piece.len() >= size {
            pieces.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_text() {
        for text in [
            "",
            "Hi",
            "one two three four five six seven",
            &"word ".repeat(1000),
            &"x".repeat(1000),
        ] {
            let pieces = pieces(text);
            assert_eq!(pieces.concat(), text);
            assert!(pieces.len() <= MOST_PIECES + 1, "{}", pieces.len());
        }
    }
}
