//! What is asked of a model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A piece of what a person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime: String,
        /// Base64 of the bytes.
        base64: String,
    },
}

/// A tool that the model wants run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Its arguments; `Err` holds what the model wrote where that is no JSON object.
    pub arguments: Result<Map<String, Value>, String>,
}

/// Reasoning that a provider demands back word for word, beside the calls that came of it. It is signed or sealed for one route, means
/// nothing to another, and is no part of what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// [`ModelPort::name`](crate::ModelPort::name) of the only route that may get it.
    pub route: String,
    /// In the order in which they came.
    pub blocks: Vec<ReplayBlock>,
}

/// One piece of a [`Replay`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayBlock {
    /// The call (counted from 0) that it comes before or belongs to; `None`: the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<usize>,
    /// As the provider wrote it.
    pub data: Value,
}

/// One message of the conversation, as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A person's.
    User {
        /// What was said.
        content: Vec<Content>,
    },
    /// The model's.
    Assistant {
        /// Words; may be empty when tools are called.
        text: String,
        /// Tools to run.
        calls: Vec<ToolCall>,
        /// Reasoning that the route which answered wants back beside these calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// A tool's result.
    Tool {
        /// The call that it answers.
        call: String,
        /// The tool's name.
        name: String,
        /// The result, or the error.
        content: String,
        /// Whether it is an error.
        failed: bool,
    },
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence or two.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Value,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The fixed prompt.
    pub system: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What may be called.
    pub tools: Vec<ToolSpec>,
}
