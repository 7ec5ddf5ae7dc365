//! What was said earlier, what is to be done, and who is known: told what to answer, and what it was asked.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use session::{
    Contact, Passage, PlanStep, PlanStore, Recall, RecallError, Recalled, StoreError, Within,
};
use tidings_agent::Contacts;
use waybill::{ProfileId, SessionId, Timestamp, TurnId};

/// The plan of a conversation.
type Plan = (SessionId, Vec<PlanStep>);

/// Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Archive {
    /// Where was looked, for what.
    pub(crate) looked: Arc<Mutex<Vec<(Within, String)>>>,
    /// What is found.
    pub(crate) passages: Arc<Mutex<Vec<Passage>>>,
    /// The plan of the conversation that has one.
    pub(crate) plan: Arc<Mutex<Option<Plan>>>,
    pub(crate) contacts: Arc<Mutex<Vec<Contact>>>,
}

#[async_trait]
impl Recall for Archive {
    async fn search(
        &self,
        within: &Within,
        _but: TurnId,
        query: &str,
        _most: usize,
    ) -> Result<Recalled, RecallError> {
        self.looked
            .lock()
            .unwrap()
            .push((within.clone(), query.to_owned()));
        Ok(Recalled {
            passages: self.passages.lock().unwrap().clone(),
            behind: 0,
        })
    }

    async fn around(
        &self,
        within: &Within,
        id: i64,
        _span: usize,
    ) -> Result<Vec<Passage>, RecallError> {
        self.looked
            .lock()
            .unwrap()
            .push((within.clone(), format!("#{id}")));
        let passages = self.passages.lock().unwrap().clone();
        if passages.is_empty() {
            return Err(RecallError::NoPassage(id));
        }
        Ok(passages)
    }
}

#[async_trait]
impl PlanStore for Archive {
    async fn plan(&self, session: SessionId) -> Result<Vec<PlanStep>, StoreError> {
        let plan = self.plan.lock().unwrap().clone();
        Ok(plan
            .filter(|(of, _)| *of == session)
            .map(|(_, steps)| steps)
            .unwrap_or_default())
    }

    async fn set_plan(
        &self,
        session: SessionId,
        steps: Vec<PlanStep>,
        _now: Timestamp,
    ) -> Result<(), StoreError> {
        *self.plan.lock().unwrap() = Some((session, steps));
        Ok(())
    }
}

#[async_trait]
impl Contacts for Archive {
    async fn of(&self, _profile: &ProfileId) -> Result<Vec<Contact>, StoreError> {
        Ok(self.contacts.lock().unwrap().clone())
    }
}
