//! How far a message is.

use serde_json::{Value, json};
use session::{Progress, TurnEnd};

/// As programs read it.
pub(crate) fn view(progress: &Progress) -> Value {
    match progress {
        Progress::Waits => json!({ "state": "waits" }),
        Progress::Runs { .. } => json!({ "state": "runs" }),
        Progress::Refused { reason } => json!({ "state": "refused", "reason": reason }),
        Progress::Ended(answer) => {
            let parts: Vec<&str> = answer.parts.iter().map(|part| part.state.name()).collect();
            let mut view = json!({ "state": "ended", "end": answer.end.name(), "parts": parts });
            if let Some(reason) = reason(&answer.end) {
                view["reason"] = reason.into();
            }
            view
        }
    }
}

fn reason(end: &TurnEnd) -> Option<&str> {
    match end {
        TurnEnd::Answered | TurnEnd::Interrupted | TurnEnd::StepsExhausted => None,
        TurnEnd::BudgetExhausted { reason }
        | TurnEnd::Halted { reason }
        | TurnEnd::Failed { reason } => Some(reason),
    }
}
