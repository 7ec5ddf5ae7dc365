//! `send_message`: a message to another chat of the same profile.

use chat::Shape;
use outbox::Attachment;
use policy::Standing;
use serde::Deserialize;
use serde_json::{Map, Value};
use session::{Contact, Elsewhere};
use waybill::ChatKey;

use super::{Bench, read};
use crate::attach::{MOST as MOST_FILES, capture};

/// Messages to other chats in one turn.
const MOST: usize = 10;
/// Characters of one.
const LONGEST: usize = 20_000;
/// Chats that are listed.
const LISTED: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    to: Option<String>,
    text: Option<String>,
    file: Option<String>,
}

impl Bench<'_> {
    pub(super) async fn send_message(
        &mut self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let Arguments { to, text, file } = read(arguments)?;
        if !self.asked_by_owner() {
            return Err(
                "only the owner of this account can have messages sent to other chats, and somebody else asks here".to_owned(),
            );
        }
        let contacts = self.ports.contacts.of(self.scope.profile()).await;
        let mut contacts = contacts.map_err(|error| error.to_string())?;
        contacts.retain(|contact| Some(&contact.chat) != self.chat);
        let to = to.unwrap_or_default();
        let to = to.trim();
        if to.is_empty() {
            return Ok(listed(&contacts));
        }
        let to = self.target(to, &contacts)?;
        let text = text.unwrap_or_default();
        if text.trim().is_empty() && file.is_none() {
            return Err("there is nothing to send: give `text` or `file`".to_owned());
        }
        if text.chars().count() > LONGEST {
            return Err(format!(
                "a message has {LONGEST} characters at most; send the rest as a file"
            ));
        }
        if self.gathered.0.elsewhere.len() >= MOST {
            return Err(format!(
                "one turn sends {MOST} messages to other chats at most"
            ));
        }
        let mut told = String::new();
        let mut attachments = Vec::new();
        if let Some(file) = file {
            let elsewhere = self.gathered.0.elsewhere.iter();
            let files: usize = elsewhere.map(|message| message.attachments.len()).sum();
            if files + self.gathered.0.attachments.len() >= MOST_FILES {
                return Err(format!("one turn sends {MOST_FILES} files at most"));
            }
            let captured = capture(self.ports, self.tenant, self.scope, &file).await;
            let captured = captured.map_err(|refused| {
                let hint = refused
                    .hint
                    .map_or_else(String::new, |hint| format!(" ({hint})"));
                format!("nothing was sent: {}{hint}", refused.reason)
            })?;
            told = format!(" with {}", captured.artifact.name);
            if let Some(note) = captured.note {
                told.push_str(&format!(" ({note})"));
            }
            attachments.push(Attachment {
                artifact: captured.artifact,
                shape: Shape::Auto,
                caption: None,
            });
        }
        let message = Elsewhere {
            to: to.clone(),
            text,
            attachments,
        };
        if !self.gathered.0.elsewhere.contains(&message) {
            self.gathered.0.elsewhere.push(message);
        }
        Ok(format!(
            "the message to {to}{told} goes out when this turn ends"
        ))
    }

    /// Whether everybody whose message the turn answers is an owner of the account.
    fn asked_by_owner(&self) -> bool {
        let askers = &self.gathered.0.askers;
        let Some(chat) = self.chat else {
            return false;
        };
        let owner = |asker: &session::Asker| {
            self.ports.people.standing(&chat.account, &asker.sender.id) == Standing::Owner
        };
        !askers.is_empty() && askers.iter().all(owner)
    }

    fn target(&self, to: &str, contacts: &[Contact]) -> Result<ChatKey, String> {
        let chat: ChatKey = to.parse().map_err(|error| format!("{error}"))?;
        if Some(&chat) == self.chat {
            return Err("that is this chat: just answer".to_owned());
        }
        if contacts.iter().any(|contact| contact.chat == chat) {
            return Ok(chat);
        }
        Err(format!(
            "this profile knows no chat {chat}; a person has to write there first\n{}",
            listed(contacts)
        ))
    }
}

fn listed(contacts: &[Contact]) -> String {
    if contacts.is_empty() {
        return "[this profile knows no other chat]".to_owned();
    }
    let mut lines: Vec<String> = contacts
        .iter()
        .take(LISTED)
        .map(|contact| {
            let name = contact.name.as_deref().unwrap_or("no name");
            let name: String = name
                .chars()
                .filter(|sign| !sign.is_control())
                .take(80)
                .collect();
            format!("{} ({name})", contact.chat)
        })
        .collect();
    if contacts.len() > LISTED {
        lines.push(format!("[and {} more]", contacts.len() - LISTED));
    }
    lines.join("\n")
}
