//! Whom to ask: a profile's model, and the ones to ask when it fails.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{ModelError, ModelPort, Request};
use policy::failover::{Left, Remedy, Rests, Tried, decide};
use session::Spent;
use waybill::{Timestamp, TurnScope};

use crate::step::{Hearer, Step, ask};
use crate::{Ports, Tenant};

/// Which models rest, for the whole gateway: a provider that is down is down for every profile.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    rests: Mutex<Rests>,
}

impl Routes {
    fn rests(&self) -> MutexGuard<'_, Rests> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer, and who gave it.
pub(crate) struct Answered {
    pub(crate) step: Step,
    pub(crate) model: Arc<dyn ModelPort>,
    /// What the person reads if another model answered than the one before.
    pub(crate) note: Option<String>,
}

/// Why there is no answer.
pub(crate) enum NoAnswer {
    /// The conversation does not fit into the window, and can still be made shorter. The words are for the person.
    TooLong(String),
    /// Nothing helped. The words are for the person.
    Failed(String),
}

/// The models of a profile during one step.
pub(crate) struct Route<'a> {
    routes: &'a Routes,
    models: Vec<Arc<dyn ModelPort>>,
    /// Those that gave up in this step, with the reason.
    out: Vec<(usize, String)>,
    /// Models whose answers broke off, once for each.
    broken: Vec<Arc<dyn ModelPort>>,
}

impl<'a> Route<'a> {
    pub(crate) fn new(routes: &'a Routes, tenant: &Tenant) -> Self {
        let models = std::iter::once(&tenant.model).chain(&tenant.fallback);
        Self {
            routes,
            models: models.cloned().collect(),
            out: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// The same models, for another question.
    pub(crate) fn again(&self) -> Self {
        Self {
            routes: self.routes,
            models: self.models.clone(),
            out: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// The models whose answers broke off since it was asked last.
    pub(crate) fn take_broken(&mut self) -> Vec<Arc<dyn ModelPort>> {
        std::mem::take(&mut self.broken)
    }

    /// The model that is asked next; `None` if each gave up.
    pub(crate) fn next(&self, now: Timestamp) -> Option<Arc<dyn ModelPort>> {
        self.choose(now)
            .and_then(|place| self.models.get(place).cloned())
    }

    fn choose(&self, now: Timestamp) -> Option<usize> {
        let left: Vec<usize> = (0..self.models.len())
            .filter(|place| self.out.iter().all(|(out, _)| out != place))
            .collect();
        let names = left
            .iter()
            .filter_map(|place| self.models.get(*place))
            .map(|model| model.name());
        let chosen = self.routes.rests().choose(names, now)?;
        left.get(chosen).copied()
    }

    /// Whether another model is left beside the next one.
    pub(crate) fn others(&self) -> Left {
        if self.models.len() > self.out.len() + 1 {
            Left::Yes
        } else {
            Left::No
        }
    }

    /// The model that is asked next has nothing to say: another one is asked. Says whether there is one.
    pub(crate) fn pass_over(&mut self, reason: &str, now: Timestamp) -> Left {
        let others = self.others();
        if others == Left::Yes
            && let Some(place) = self.choose(now)
        {
            self.out.push((place, reason.to_owned()));
        }
        others
    }

    /// Asks, until somebody answers or nobody is left. `spent` is what the turn has spent so far.
    #[expect(
        clippy::too_many_arguments,
        reason = "a call has this many sources, and each is a value"
    )]
    pub(crate) async fn ask(
        &mut self,
        ports: &Ports,
        tenant: &Tenant,
        scope: &TurnScope,
        hearer: Hearer<'_>,
        request: &Request,
        compaction: Left,
        spent: &[Spent],
    ) -> Result<Answered, NoAnswer> {
        let mut calls = 0;
        loop {
            let now = ports.clock.now();
            let chosen = self.choose(now);
            let Some((place, model)) =
                chosen.and_then(|place| Some((place, self.models.get(place)?.clone())))
            else {
                return Err(NoAnswer::Failed(self.told("no model is configured")));
            };
            calls += 1;
            let error =
                match ask(ports, tenant, model.as_ref(), scope, hearer, request, spent).await {
                    Ok(step) => {
                        self.routes.rests().answered(model.name());
                        let note = self.note(model.name());
                        return Ok(Answered { step, model, note });
                    }
                    Err(error) => error,
                };
            tracing::warn!(turn = %scope.turn(), model = model.name(), calls, %error, "the model did not answer");
            if let ModelError::BrokeOff { .. } = &error {
                self.broken.push(Arc::clone(&model));
            }
            let tried = Tried {
                calls,
                others: self.others(),
                compaction,
            };
            let spread = ports
                .ids
                .uuid()
                .into_bytes()
                .into_iter()
                .fold(0, |sum: u8, byte| sum.wrapping_mul(31).wrapping_add(byte));
            match decide(&error, tried, spread) {
                Remedy::Wait(wait) => tokio::time::sleep(wait).await,
                Remedy::Compact => return Err(NoAnswer::TooLong(error.to_string())),
                Remedy::Next { rest } => {
                    self.give_up(place, &model, &error, rest, ports.clock.now());
                    calls = 0;
                }
                Remedy::GiveUp { rest } => {
                    let now = ports.clock.now();
                    self.routes.rests().failed(model.name(), rest, now);
                    return Err(NoAnswer::Failed(self.told(&error.to_string())));
                }
            }
        }
    }

    fn give_up(
        &mut self,
        place: usize,
        model: &Arc<dyn ModelPort>,
        error: &ModelError,
        rest: std::time::Duration,
        now: Timestamp,
    ) {
        self.routes.rests().failed(model.name(), rest, now);
        self.out.push((place, error.to_string()));
    }

    /// Why nobody answered, one reason for each.
    fn told(&self, last: &str) -> String {
        let reasons: Vec<&str> = self
            .out
            .iter()
            .map(|(_, reason)| reason.as_str())
            .chain([last])
            .collect();
        reasons.join("; ")
    }

    fn note(&self, answered: &str) -> Option<String> {
        if self.out.is_empty() {
            return None;
        }
        let reasons: Vec<&str> = self.out.iter().map(|(_, reason)| reason.as_str()).collect();
        Some(format!(
            "{}; {answered} answered instead.",
            reasons.join("; ")
        ))
    }
}
