//! The identity that an outgoing message carries.

use serde::{Deserialize, Serialize};

use crate::{
    AccountId, ChatKey, Origin, ProfileId, ProfileScope, SessionId, SessionKey, SessionScope,
    TaskId, TurnId, TurnScope,
};

/// A platform's id of a message that another one answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Anchor(String);

impl Anchor {
    /// Takes the platform's id as it is.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The platform's id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The scope's origin is no chat: who sends must say where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this work was not asked for in a chat, so its words need a destination")]
pub struct NoDestination;

/// Whose message it is, on whose behalf, and where it goes. Made from a scope, stored on the row, never reconstructed.
///
/// There is no constructor that takes parts:
/// ```compile_fail
/// let waybill = tidings_waybill::Waybill::default();
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waybill {
    profile: ProfileId,
    chat: ChatKey,
    session: Option<(SessionKey, SessionId)>,
    turn: Option<TurnId>,
    task: Option<TaskId>,
    origin: Origin,
    anchor: Option<Anchor>,
}

impl Waybill {
    /// Back to the chat that the turn was asked in.
    ///
    /// # Errors
    /// [`NoDestination`] if the turn was not asked in a chat.
    pub fn reply(scope: &TurnScope) -> Result<Self, NoDestination> {
        match scope.origin() {
            Origin::Chat(chat) => Ok(Self::addressed(scope, chat.clone())),
            Origin::Cron { .. } | Origin::Child { .. } | Origin::Api { .. } | Origin::Operator => {
                Err(NoDestination)
            }
        }
    }

    /// To a chat that the turn's owner stored with the work (a job's or a task's return address).
    #[must_use]
    pub fn addressed(scope: &TurnScope, chat: ChatKey) -> Self {
        Self {
            profile: scope.profile().clone(),
            chat,
            session: Some((scope.session().key().clone(), scope.session().id())),
            turn: Some(scope.turn()),
            task: Some(scope.task()),
            origin: scope.origin().clone(),
            anchor: None,
        }
    }

    /// A word of the gateway itself to the people of a conversation, outside any turn.
    ///
    /// # Errors
    /// [`NoDestination`] if the conversation is not held in a chat.
    pub fn notice(scope: &SessionScope) -> Result<Self, NoDestination> {
        let chat = scope.chat().ok_or(NoDestination)?.clone();
        Ok(Self {
            profile: scope.profile().clone(),
            origin: Origin::Chat(chat.clone()),
            chat,
            session: Some((scope.key().clone(), scope.id())),
            turn: None,
            task: None,
            anchor: None,
        })
    }

    /// A word of the owner or to the owner, outside any conversation.
    #[must_use]
    pub fn operator(scope: &ProfileScope, chat: ChatKey) -> Self {
        Self {
            profile: scope.profile().clone(),
            chat,
            session: None,
            turn: None,
            task: None,
            origin: Origin::Operator,
            anchor: None,
        }
    }

    /// About another message, to where that one went: the notice of a parcel that died.
    #[must_use]
    pub fn about(other: &Self) -> Self {
        Self {
            anchor: None,
            ..other.clone()
        }
    }

    /// As an answer to a platform message.
    #[must_use]
    pub fn answering(mut self, anchor: Option<Anchor>) -> Self {
        self.anchor = anchor;
        self
    }

    /// To where the platform moved the chat. The same login must carry it: for a chat of another account nothing changes.
    #[must_use]
    pub fn redirected(&self, to: ChatKey) -> Self {
        if to.account != self.chat.account {
            return self.clone();
        }
        // Message ids begin anew where a chat moved to: the anchor would point at somebody else's words.
        let anchor = self
            .anchor
            .clone()
            .filter(|_anchor| to.conversation == self.chat.conversation);
        Self {
            chat: to,
            anchor,
            ..self.clone()
        }
    }

    /// The tenant.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        &self.profile
    }

    /// The login that must carry it. No other ever does.
    #[must_use]
    pub fn account(&self) -> &AccountId {
        &self.chat.account
    }

    /// Where it goes; also its lane.
    #[must_use]
    pub fn chat(&self) -> &ChatKey {
        &self.chat
    }

    /// The conversation that it belongs to.
    #[must_use]
    pub fn session(&self) -> Option<&(SessionKey, SessionId)> {
        self.session.as_ref()
    }

    /// The turn that made it.
    #[must_use]
    pub fn turn(&self) -> Option<TurnId> {
        self.turn
    }

    /// The task that made it.
    #[must_use]
    pub fn task(&self) -> Option<TaskId> {
        self.task
    }

    /// What set it going.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The platform message that it answers.
    #[must_use]
    pub fn anchor(&self) -> Option<&Anchor> {
        self.anchor.as_ref()
    }
}
