//! Models that say what a script says, one line for each call, and keep what they were asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use model::{Delta, DeltaSink, Facts, ModelError, ModelPort, Reply, Request};

pub(crate) struct Scripted {
    name: String,
    facts: Facts,
    lines: Mutex<VecDeque<Result<Reply, ModelError>>>,
    asked: Mutex<Vec<Request>>,
}

impl Scripted {
    /// A model that fails when its script is over.
    pub(crate) fn new(
        name: &str,
        lines: impl IntoIterator<Item = Result<Reply, ModelError>>,
    ) -> Arc<Self> {
        Self::with(name, Facts::default(), lines)
    }

    pub(crate) fn with(
        name: &str,
        facts: Facts,
        lines: impl IntoIterator<Item = Result<Reply, ModelError>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            facts,
            lines: Mutex::new(lines.into_iter().collect()),
            asked: Mutex::default(),
        })
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.asked().len()
    }
}

#[async_trait]
impl ModelPort for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> Facts {
        self.facts
    }

    async fn ask(&self, request: &Request, deltas: DeltaSink<'_>) -> Result<Reply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let line = self.lines.lock().unwrap().pop_front();
        let reply = line.unwrap_or_else(|| Err(failed("the script is over")))?;
        for sign in reply.text.chars() {
            deltas(Delta::Text(sign.to_string()));
        }
        Ok(reply)
    }
}

pub(crate) fn failed(cause: &str) -> ModelError {
    ModelError::Failed {
        provider: "acme".to_owned(),
        cause: cause.to_owned(),
    }
}
