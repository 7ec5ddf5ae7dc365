//! `memory`: what is remembered beyond a conversation.

use memory::{Change, EntryId, Former, NoteError, Notebook, Whose};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};
use crate::knowledge::person;

/// Changes in one call.
const MOST_CHANGES: usize = 50;
/// Former entries that one search shows.
const MOST_FORMER: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Change,
    Search,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Of {
    #[default]
    Profile,
    Person,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    #[serde(default)]
    of: Of,
    #[serde(default)]
    changes: Vec<Asked>,
    query: Option<String>,
}

/// A change as the model writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    id: Option<EntryId>,
    text: Option<String>,
}

impl Bench<'_> {
    pub(super) async fn memory(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let Arguments {
            action,
            of,
            changes,
            query,
        } = read(arguments)?;
        let whose = self.whose(of)?;
        let knowledge = self.tenant.knowledge.as_ref();
        let notes = &knowledge.ok_or("this profile keeps no memory")?.notes;
        match action {
            Action::List => {
                let book = notes.read(&whose).await;
                Ok(listed(&book.map_err(|error| error.to_string())?, &whose))
            }
            Action::Change => {
                let changes = wanted(changes)?;
                let now = self.ports.clock.now();
                match notes.change(&whose, changes, now).await {
                    Ok(book) => Ok(format!("[changed]\n{}", listed(&book, &whose))),
                    Err(NoteError::Refused { refused, notebook }) => Err(format!(
                        "nothing was changed: {refused}\n{}",
                        listed(&notebook, &whose)
                    )),
                    Err(error @ NoteError::Disk(_)) => Err(error.to_string()),
                }
            }
            Action::Search => {
                let query = query.unwrap_or_default();
                let found = notes.former(&whose, &query, MOST_FORMER).await;
                let found = found.map_err(|error| error.to_string())?;
                if found.is_empty() {
                    return Ok("[nothing that was replaced or removed has these words]".to_owned());
                }
                let lines: Vec<String> = found.iter().map(former).collect();
                Ok(lines.join("\n"))
            }
        }
    }

    /// The notebook that is meant. A person's is that of the one who asked, and of nobody else.
    fn whose(&self, of: Of) -> Result<Whose, String> {
        match of {
            Of::Profile => Ok(Whose::Profile),
            Of::Person => {
                let askers = &self.gathered.0.askers;
                person(self.ports, self.scope, askers).ok_or_else(|| {
                    if askers.len() > 1 {
                        "several people speak in this turn, so no one person's notes are used; wait until one of them asks alone".to_owned()
                    } else {
                        "there is no person here whose notes could be used; use of = \"profile\"".to_owned()
                    }
                })
            }
        }
    }
}

fn wanted(changes: Vec<Asked>) -> Result<Vec<Change>, String> {
    if changes.is_empty() {
        return Err("say what to change: `changes` is missing".to_owned());
    }
    if changes.len() > MOST_CHANGES {
        return Err(format!("one call takes {MOST_CHANGES} changes"));
    }
    changes
        .into_iter()
        .map(|asked| match (asked.id, asked.text) {
            (None, Some(text)) => Ok(Change::Add(text)),
            (Some(id), Some(text)) => Ok(Change::Replace(id, text)),
            (Some(id), None) => Ok(Change::Remove(id)),
            (None, None) => Err("a change needs an id, a text, or both".to_owned()),
        })
        .collect()
}

fn listed(book: &Notebook, whose: &Whose) -> String {
    let mut text = String::new();
    for entry in book.entries() {
        text.push_str(&format!("{entry}\n"));
    }
    if text.is_empty() {
        text.push_str("(nothing yet)\n");
    }
    text.push_str(&format!("[{} of {} characters]", book.size(), whose.most()));
    text
}

fn former(former: &Former) -> String {
    let how = match former.why {
        memory::Why::Replaced => "replaced",
        memory::Why::Removed => "removed",
    };
    format!(
        "{} ({how} on {}): {}",
        former.id,
        former.at.strftime("%Y-%m-%d"),
        former.text
    )
}
