//! What an agent has to do in a conversation, as it wrote it down: it outlives compaction and restarts.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use waybill::{SessionId, Timestamp};

use crate::StoreError;

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not begun.
    #[default]
    Open,
    /// Under way.
    Doing,
    /// Done.
    Done,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What is to be done, in a line.
    pub text: String,
    /// How far it is.
    #[serde(default)]
    pub state: StepState,
}

/// Plans at rest, one for each stretch of a conversation.
#[async_trait]
pub trait PlanStore: Send + Sync {
    /// The plan of a stretch; empty if there is none.
    async fn plan(&self, session: SessionId) -> Result<Vec<PlanStep>, StoreError>;

    /// Replaces it, durably.
    async fn set_plan(
        &self,
        session: SessionId,
        steps: Vec<PlanStep>,
        now: Timestamp,
    ) -> Result<(), StoreError>;
}
