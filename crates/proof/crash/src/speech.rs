//! What people write, what the model answers, and what must be seen for it.

use checker::Inbound;
use serde_json::{Value, json};
use testkit::model_server::Turn;

/// What a person asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A short answer.
    Text,
    /// An answer of two parts.
    Long,
    /// An answer of so many parts that they go by a carrier.
    Carried,
    /// A small file.
    File,
    /// A file of several pieces.
    Heavy,
    /// A file so large that it goes by a carrier.
    Big,
    /// A file that is not there.
    Missing,
    /// A file that the platform refuses for good.
    Refused,
    /// A slash command; its answer needs no model.
    Command,
}

/// Bytes of a heavy file: some pieces of an upload.
const HEAVY: usize = 300_000;
/// Bytes of a big file: over the size from which files are carried (a million).
const BIG: usize = 1_050_000;
/// Paragraphs of a long answer: about 7,000 characters.
const LONG: usize = 60;
/// Paragraphs of an answer that is carried: about 17,000 characters.
const CARRIED: usize = 150;

impl Kind {
    const ALL: [Self; 9] = [
        Self::Text,
        Self::Long,
        Self::Carried,
        Self::File,
        Self::Heavy,
        Self::Big,
        Self::Missing,
        Self::Refused,
        Self::Command,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Long => "long",
            Self::Carried => "carried",
            Self::File => "file",
            Self::Heavy => "heavy",
            Self::Big => "big",
            Self::Missing => "missing",
            Self::Refused => "refused",
            Self::Command => "command",
        }
    }

    fn paragraphs(self) -> usize {
        match self {
            Self::Long => LONG,
            Self::Carried => CARRIED,
            Self::Text
            | Self::File
            | Self::Heavy
            | Self::Big
            | Self::Missing
            | Self::Refused
            | Self::Command => 1,
        }
    }

    fn is_file(self) -> bool {
        match self {
            Self::File | Self::Heavy | Self::Big | Self::Refused => true,
            Self::Text | Self::Long | Self::Carried | Self::Missing | Self::Command => false,
        }
    }
}

/// One message that a person writes.
#[derive(Debug, Clone)]
pub(crate) struct Speech {
    pub(crate) number: usize,
    pub(crate) bot: usize,
    pub(crate) chat: i64,
    pub(crate) kind: Kind,
}

impl Speech {
    fn token(&self) -> String {
        format!("m{:06}z", self.number)
    }

    /// The person's words.
    pub(crate) fn words(&self) -> String {
        if self.kind == Kind::Command {
            return "/whoami".to_owned();
        }
        format!("{} please: {}", self.token(), self.kind.name())
    }

    /// What the judge expects for it.
    pub(crate) fn inbound(&self, account: &str) -> Inbound {
        if self.kind == Kind::Command {
            // Who asks who he is reads his own number.
            return Inbound {
                token: self.chat.to_string(),
                account: account.to_owned(),
                chat: self.chat,
                markers: vec![format!("Your id is {}", self.chat)],
                may_die: false,
            };
        }
        let token = self.token();
        let mut markers: Vec<String> = (1..=self.kind.paragraphs())
            .map(|number| format!("{token}/{number};"))
            .collect();
        if self.kind.is_file() {
            markers.push(first_line(&token));
        }
        if self.kind == Kind::Missing {
            markers.push(format!("{token}/2;"));
            markers.push(format!("{token}-none.txt was not attached"));
        }
        Inbound {
            token,
            account: account.to_owned(),
            chat: self.chat,
            markers,
            may_die: self.kind == Kind::Refused,
        }
    }
}

fn first_line(token: &str) -> String {
    format!("{token} file")
}

/// The model: what it answers follows from the conversation alone, so that a turn that is taken up again comes to the same.
pub(crate) fn answer(body: &Value) -> Turn {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages: Vec<&Value> = messages.into_iter().flatten().collect();
    let asked = messages.iter().enumerate().rev().find_map(|(at, message)| {
        let text = (role(message) == "user").then(|| text(message))?;
        request(&text).map(|(token, kind)| (at, token, kind))
    });
    let Some((at, token, kind)) = asked else {
        return Turn::text("I was asked nothing that I know.");
    };
    let after: Vec<&Value> = messages.into_iter().skip(at + 1).collect();
    // A call whose result was lost is made again: these calls write a file as a whole.
    let worked = after
        .iter()
        .any(|message| role(message) == "tool" && !text(message).starts_with("interrupted"));
    let corrected = after.iter().any(|message| role(message) == "user");
    if corrected {
        return Turn::text(&format!("{token}/2; it is not there."));
    }
    if kind.is_file() && !worked {
        return make(&token, kind);
    }
    let mut words: Vec<String> = (1..=kind.paragraphs())
        .map(|number| paragraph(&token, number))
        .collect();
    match kind {
        Kind::Missing => words.push(format!("MEDIA:/workspace/{token}-none.txt")),
        Kind::File | Kind::Heavy | Kind::Big | Kind::Refused => {
            words.push(format!("MEDIA:/workspace/{}", file_name(&token, kind)));
        }
        Kind::Text | Kind::Long | Kind::Carried | Kind::Command => {}
    }
    Turn::text(&words.join("\n\n"))
}

fn paragraph(token: &str, number: usize) -> String {
    format!(
        "{token}/{number}; the quick brown fox jumps over the lazy dog, and the lazy dog sleeps on until noon."
    )
}

fn file_name(token: &str, kind: Kind) -> String {
    if kind == Kind::Refused {
        return format!("{token}-{REFUSED}.txt");
    }
    format!("{token}.txt")
}

/// Stands in the names of files that the platform refuses.
pub(crate) const REFUSED: &str = "refused";

/// The tool call that makes a file.
fn make(token: &str, kind: Kind) -> Turn {
    let path = format!("/workspace/{}", file_name(token, kind));
    let line = first_line(token);
    let size = match kind {
        Kind::Heavy => HEAVY,
        Kind::Big => BIG,
        Kind::Text
        | Kind::Long
        | Kind::Carried
        | Kind::File
        | Kind::Missing
        | Kind::Refused
        | Kind::Command => {
            return Turn::tool(
                "write_file",
                json!({ "path": path, "content": line + "\n" }),
            );
        }
    };
    let command = format!("yes '{line}' | head -c {size} > {path}");
    Turn::tool("terminal", json!({ "command": command }))
}

fn role(message: &Value) -> &str {
    message
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}

/// The token and the kind of a person's words.
fn request(text: &str) -> Option<(String, Kind)> {
    let (before, kind) = text.split_once(" please: ")?;
    let token = before.split_whitespace().next_back()?.to_owned();
    let name = kind.split_whitespace().next()?;
    let kind = Kind::ALL.into_iter().find(|known| known.name() == name)?;
    Some((token, kind))
}
