//! `skill`: how particular work is done.

mod lay;

use serde::Deserialize;
use serde_json::{Map, Value};
use skills::{Opened, Shelved};

use super::{Bench, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    name: Option<String>,
    file: Option<String>,
}

impl Bench<'_> {
    pub(super) async fn skill(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let Arguments { name, file } = read(arguments)?;
        let knowledge = self.tenant.knowledge.as_ref();
        let shelf = &knowledge.ok_or("this profile has no skills")?.skills;
        let Some(name) = name else {
            let all = shelf.all().await.map_err(|error| error.to_string())?;
            return Ok(listed(&all));
        };
        if let Some(file) = file {
            return shelf
                .file(&name, &file)
                .await
                .map_err(|error| error.to_string());
        }
        let opened = shelf.open(&name).await.map_err(|error| error.to_string())?;
        if opened.files.is_empty() {
            return Ok(opened.body);
        }
        let place = match shelf.pack(&name).await {
            Ok(files) => match lay::lay(self.tenant, self.scope, &name, files).await {
                Ok(place) => format!("lie in {place}, read-only"),
                Err(why) => {
                    format!("are not in the sandbox ({why}); `skill` reads those that are text")
                }
            },
            Err(error) => {
                format!("are not in the sandbox ({error}); `skill` reads those that are text")
            }
        };
        Ok(with_files(&opened, &place))
    }
}

fn with_files(opened: &Opened, place: &str) -> String {
    let more = match opened.left_out {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{}\n\n[Its files {place}: {}{more}]",
        opened.body,
        opened.files.join(", ")
    )
}

fn listed(all: &Shelved) -> String {
    let mut lines: Vec<String> = all
        .skills
        .iter()
        .map(|skill| format!("{}: {}", skill.name, skill.description))
        .collect();
    lines.extend(all.broken.iter().map(|broken| format!("[{broken}]")));
    if all.left_out > 0 {
        lines.push(format!(
            "[{} folders were not looked at: there are too many]",
            all.left_out
        ));
    }
    if lines.is_empty() {
        return "[there are no skills]".to_owned();
    }
    lines.join("\n")
}
