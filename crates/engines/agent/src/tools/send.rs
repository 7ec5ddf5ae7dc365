//! `send_file`: the documented way for a file to reach the person.

use chat::Shape;
use sandbox::size_text;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};
use crate::attach::{Captured, Told, capture};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    caption: Option<String>,
    #[serde(rename = "as", default)]
    shape: Shape,
}

impl Bench<'_> {
    pub(super) async fn send_file(
        &mut self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        match capture(self.ports, self.tenant, self.scope, &arguments.path).await {
            Ok(Captured { artifact, note }) => {
                let mut told = format!(
                    "{} ({}, {}) is copied and goes out with your answer",
                    artifact.name,
                    artifact.blob.mime,
                    size_text(artifact.blob.size)
                );
                if let Some(note) = &note {
                    told.push_str(&format!("; {note}"));
                }
                self.gathered.note(note);
                self.gathered
                    .take(self.step, artifact, arguments.shape, arguments.caption);
                Ok(told)
            }
            Err(refused) => {
                let told = match &refused.hint {
                    Some(hint) => format!("not attached: {} ({hint})", refused.reason),
                    None => format!("not attached: {}", refused.reason),
                };
                self.gathered.refuse(self.step, refused, Told::Yes);
                Err(told)
            }
        }
    }
}
