//! The identity that a function works under, passed by reference as the first argument.
//!
//! A scope is made only from the one above it. The topmost is made where a profile is chosen: by a route, by a job's
//! stored owner, or by an operator's command.

use serde::{Deserialize, Serialize};

use crate::{
    ChatKey, Origin, Placement, ProfileId, SandboxKey, SessionId, SessionKey, TaskId, TurnId,
};

/// A tenant.
///
/// It can be read back from the store with `serde`; nothing else makes one without naming the profile that was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProfileScope {
    profile: ProfileId,
}

impl ProfileScope {
    /// Enters a profile that a route, a stored owner or an operator chose.
    #[must_use]
    pub fn enter(profile: ProfileId) -> Self {
        Self { profile }
    }

    /// The tenant.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        &self.profile
    }

    /// Goes down to one conversation of this profile.
    #[must_use]
    pub fn session(&self, key: SessionKey, id: SessionId) -> SessionScope {
        SessionScope {
            profile: self.clone(),
            key,
            id,
        }
    }
}

/// One conversation of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionScope {
    profile: ProfileScope,
    key: SessionKey,
    id: SessionId,
}

impl SessionScope {
    /// The scope above.
    #[must_use]
    pub fn profile_scope(&self) -> &ProfileScope {
        &self.profile
    }

    /// The tenant.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        self.profile.profile()
    }

    /// Which conversation.
    #[must_use]
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Which stretch of it.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The chat of this conversation, if people talk in one.
    #[must_use]
    pub fn chat(&self) -> Option<&ChatKey> {
        match &self.key {
            SessionKey::Chat(chat) => Some(chat),
            SessionKey::Cron(_)
            | SessionKey::Child(_)
            | SessionKey::Api(..)
            | SessionKey::Local(_) => None,
        }
    }

    /// Begins a turn. Here, and nowhere else, the sandbox of the turn is decided.
    #[must_use]
    pub fn begin_turn(
        &self,
        turn: TurnId,
        task: TaskId,
        origin: Origin,
        placement: Placement,
    ) -> TurnScope {
        let profile = self.profile().clone();
        let sandbox = match placement {
            Placement::PerProfile => SandboxKey::Profile(profile),
            Placement::PerSession => SandboxKey::Session(profile, self.key.clone()),
            Placement::PerTask => SandboxKey::Task(profile, task),
        };
        TurnScope {
            session: self.clone(),
            turn,
            task,
            origin,
            sandbox,
        }
    }
}

/// One request handled to its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnScope {
    session: SessionScope,
    turn: TurnId,
    task: TaskId,
    origin: Origin,
    sandbox: SandboxKey,
}

impl TurnScope {
    /// The scope above.
    #[must_use]
    pub fn session(&self) -> &SessionScope {
        &self.session
    }

    /// The tenant.
    #[must_use]
    pub fn profile(&self) -> &ProfileId {
        self.session.profile()
    }

    /// Which turn.
    #[must_use]
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// Which task inside it.
    #[must_use]
    pub fn task(&self) -> TaskId {
        self.task
    }

    /// What set it going.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The sandbox that its commands run in and its files come from.
    #[must_use]
    pub fn sandbox(&self) -> &SandboxKey {
        &self.sandbox
    }
}
