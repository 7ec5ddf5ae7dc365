//! `todo`: the plan of longer work, which the person sees.

use serde::Deserialize;
use serde_json::{Map, Value};
use session::{PlanStep, StepState};

use super::{Bench, read};

/// Steps of a plan.
const MOST: usize = 50;
/// Characters of a step.
const LONGEST: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    items: Option<Vec<PlanStep>>,
}

impl Bench<'_> {
    pub(super) async fn todo(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        let plans = &self.ports.plans;
        let session = self.scope.session().id();
        let steps = match arguments.items {
            None => plans
                .plan(session)
                .await
                .map_err(|error| error.to_string())?,
            Some(steps) => {
                let steps = sound(steps)?;
                let now = self.ports.clock.now();
                let kept = plans.set_plan(session, steps.clone(), now).await;
                kept.map_err(|error| format!("the plan was not kept: {error}"))?;
                steps
            }
        };
        if steps.is_empty() {
            return Ok("[there is no plan]".to_owned());
        }
        Ok(shown(&steps))
    }
}

fn sound(steps: Vec<PlanStep>) -> Result<Vec<PlanStep>, String> {
    if steps.len() > MOST {
        return Err(format!(
            "a plan has {MOST} steps at most; say several in one"
        ));
    }
    steps
        .into_iter()
        .map(|step| {
            let words: Vec<&str> = step.text.split_whitespace().collect();
            let text = words.join(" ");
            match text.chars().count() {
                0 => Err("a step needs words".to_owned()),
                long if long > LONGEST => Err(format!("a step has {LONGEST} characters at most")),
                _ => Ok(PlanStep { text, ..step }),
            }
        })
        .collect()
}

/// A plan as the model and the person read it.
pub(crate) fn shown(steps: &[PlanStep]) -> String {
    let lines: Vec<String> = steps
        .iter()
        .map(|step| {
            let mark = match step.state {
                StepState::Open => "☐",
                StepState::Doing => "▶",
                StepState::Done => "☑",
            };
            format!("{mark} {}", step.text)
        })
        .collect();
    lines.join("\n")
}

/// A line for the person about a call: how far the plan is.
pub(super) fn detail(arguments: &Map<String, Value>) -> Option<String> {
    let arguments: Arguments = read(arguments).ok()?;
    let steps = arguments.items?;
    let done = steps
        .iter()
        .filter(|step| step.state == StepState::Done)
        .count();
    let now = steps.iter().find(|step| step.state == StepState::Doing);
    let now = now.map_or_else(String::new, |step| format!(": {}", step.text));
    Some(format!("{done} of {} done{now}", steps.len()))
}
