//! What the fixed prompt says of what a profile remembers and can read up.
//!
//! It is looked at once in each stretch of a conversation, so that every request of the stretch begins with the same bytes; what
//! is changed meanwhile shows in tools at once, and in the prompt of the next stretch or after a compaction.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chat::{Inbound, InboundKind, Place};
use memory::{NoteError, Whose};
use policy::Standing;
use session::Asker;
use skills::ShelfError;
use waybill::{SessionId, TurnScope};

use crate::line::Seat;
use crate::ports::Knowledge;
use crate::{Ports, Tenant};

/// Stretches whose prompt is kept. With more, all are looked at anew.
const REMEMBERED: usize = 4_000;

/// What the prompts of conversations say, in memory alone: a start of the gateway looks anew.
#[derive(Default)]
pub(crate) struct Frozen(Mutex<HashMap<SessionId, Arc<str>>>);

impl Frozen {
    fn blocks(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, session: SessionId) -> Option<Arc<str>> {
        self.blocks().get(&session).cloned()
    }

    fn keep(&self, session: SessionId, block: &Arc<str>) {
        let mut blocks = self.blocks();
        if blocks.len() >= REMEMBERED && !blocks.contains_key(&session) {
            blocks.clear();
        }
        blocks.insert(session, Arc::clone(block));
    }

    /// Whether a conversation's prompt holds what was remembered.
    pub(crate) fn remembers(&self, session: SessionId) -> bool {
        self.get(session)
            .is_some_and(|block| block.contains("\n# What you remember"))
    }

    /// The next turn looks anew: the beginning of its requests is another one anyway.
    pub(crate) fn thaw(&self, session: SessionId) {
        self.blocks().remove(&session);
    }
}

/// The part of the fixed prompt about what is remembered and what can be read up; may be empty. `askers`: whose messages the turn
/// answers. What can't be read is left out, and looked at again in the next turn.
pub(crate) async fn block(
    ports: &Ports,
    tenant: &Tenant,
    seat: Seat<'_>,
    scope: &TurnScope,
    askers: &[Asker],
) -> Arc<str> {
    let Some(knowledge) = &tenant.knowledge else {
        return Arc::from("");
    };
    let session = scope.session().id();
    if let Some(block) = seat.frozen().get(session) {
        return block;
    }
    // Several read along in a group: there the person's own notes are read by the tool alone.
    let alone = askers.iter().all(|asker| asker.place == Place::Direct);
    let person = person(ports, scope, askers).filter(|_| alone);
    let remembered = remembered(knowledge, person.as_ref()).await;
    let index = index(knowledge).await;
    if let (Ok(remembered), Ok(index)) = (&remembered, &index) {
        let block = Arc::from(format!("{remembered}{index}"));
        seat.frozen().keep(session, &block);
        return block;
    }
    let mut whole = String::new();
    match remembered {
        Ok(text) => whole.push_str(&text),
        Err(error) => {
            tracing::error!(profile = %scope.profile(), %error, "a turn goes on without memory")
        }
    }
    match index {
        Ok(text) => whole.push_str(&text),
        Err(error) => {
            tracing::error!(profile = %scope.profile(), %error, "a turn goes on without skills")
        }
    }
    Arc::from(whole)
}

async fn remembered(knowledge: &Knowledge, person: Option<&Whose>) -> Result<String, NoteError> {
    let profile = knowledge.notes.read(&Whose::Profile).await?;
    let own = match person {
        Some(whose) => Some(knowledge.notes.read(whose).await?),
        None => None,
    };
    Ok(memory::block(&profile, own.as_ref()))
}

async fn index(knowledge: &Knowledge) -> Result<String, ShelfError> {
    let index = skills::index(&knowledge.skills.all().await?.skills);
    if index.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "\n\n# Skills\nHow particular work is done here. When a request fits one, read it with `skill` before you begin, and follow \
         it.\n{}",
        index.trim_end()
    ))
}

/// The notebook of the one person whose messages a turn answers; none if there are several, or nobody that an account knows.
pub(crate) fn person(ports: &Ports, scope: &TurnScope, askers: &[Asker]) -> Option<Whose> {
    let account = &scope.session().chat()?.account;
    let (first, others) = askers.split_first()?;
    let sender = &first.sender.id;
    if others.iter().any(|other| other.sender.id != *sender) {
        return None;
    }
    match ports.people.standing(account, sender) {
        Standing::Owner | Standing::Allowed => Some(Whose::Person {
            account: account.clone(),
            sender: sender.clone(),
        }),
        Standing::Program | Standing::Stranger => None,
    }
}

/// What a person said; where that is a skill's command, what it means. Only their own new words command, and never what a program
/// passes on.
pub(crate) async fn spoken<'a>(
    ports: &Ports,
    tenant: &Tenant,
    inbound: &'a Inbound,
) -> Cow<'a, Inbound> {
    let own = inbound.kind == InboundKind::Message && inbound.forwarded_from.is_none();
    let (Some(asked), Some(knowledge), true) =
        (skills::invocation(&inbound.text), &tenant.knowledge, own)
    else {
        return Cow::Borrowed(inbound);
    };
    let (account, sender) = (&inbound.chat.account, &inbound.sender.id);
    match ports.people.standing(account, sender) {
        Standing::Owner | Standing::Allowed => {}
        Standing::Program | Standing::Stranger => return Cow::Borrowed(inbound),
    }
    let shelved = match knowledge.skills.all().await {
        Ok(shelved) => shelved,
        Err(error) => {
            tracing::error!(%error, "whether a message calls a skill can't be told");
            return Cow::Borrowed(inbound);
        }
    };
    let Some(skill) = skills::called(&shelved.skills, asked.word) else {
        return Cow::Borrowed(inbound);
    };
    let mut text = format!(
        "[The person calls the skill {}: read it with `skill` and do what it says.]",
        skill.name
    );
    if !asked.rest.is_empty() {
        text.push('\n');
        text.push_str(asked.rest);
    }
    Cow::Owned(Inbound {
        text,
        ..inbound.clone()
    })
}
