//! The same call again and again: the model goes round in circles.

use model::ToolCall;
use serde_json::{Map, Value};

use crate::tools::Done;

/// So often in a row the same call may come to the same.
const MOST: u32 = 3;
/// The same for looks at what runs in the background: waiting is not going round in circles.
const MOST_LOOKS: u32 = 20;

/// What follows from a call and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Go,
    /// The model should read this under the result.
    Warn(String),
    /// The turn ends, for this reason.
    Halt(String),
}

/// The last call and what it came to.
#[derive(Debug)]
struct Last {
    tool: String,
    arguments: Result<Map<String, Value>, String>,
    result: String,
}

/// Counts how often in a row the same call came to the same.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    last: Option<Last>,
    times: u32,
}

impl Loops {
    /// Takes a call and what it came to.
    pub(crate) fn count(&mut self, call: &ToolCall, done: &Done) -> Verdict {
        let same = self.last.as_ref().is_some_and(|last| {
            last.tool == call.name && last.arguments == call.arguments && last.result == done.text
        });
        if same {
            self.times += 1;
        } else {
            self.last = Some(Last {
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                result: done.text.clone(),
            });
            self.times = 1;
        }
        let most = if call.name == "process" {
            MOST_LOOKS
        } else {
            MOST
        };
        if self.times >= most {
            let fails = if done.failed {
                " that fails"
            } else {
                ", which came to the same each time"
            };
            return Verdict::Halt(format!("the model kept repeating a call{fails}"));
        }
        if self.times + 1 >= most {
            return Verdict::Warn(
                "[gateway] This is the same call with the same result as before. Once more and the turn is ended: do something \
                 else, or tell the person what stands in the way."
                    .to_owned(),
            );
        }
        Verdict::Go
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: Value) -> ToolCall {
        ToolCall {
            id: "any".to_owned(),
            name: name.to_owned(),
            arguments: Ok(arguments.as_object().unwrap().clone()),
        }
    }

    fn done(text: &str, failed: bool) -> Done {
        Done {
            text: text.to_owned(),
            failed,
        }
    }

    #[test]
    fn the_third_time_of_the_same_ends_the_turn_and_the_second_warns() {
        for failed in [true, false] {
            let mut loops = Loops::default();
            let call = call("weather", json!({"at": "home"}));
            let done = done("no such tool", failed);
            assert_eq!(loops.count(&call, &done), Verdict::Go);
            assert!(matches!(loops.count(&call, &done), Verdict::Warn(_)));
            assert!(matches!(loops.count(&call, &done), Verdict::Halt(_)));
        }
    }

    #[test]
    fn another_call_or_another_result_begins_anew() {
        let mut loops = Loops::default();
        let one = call("terminal", json!({"command": "date"}));
        let other = call("terminal", json!({"command": "uptime"}));
        for n in 0..20 {
            assert_eq!(loops.count(&one, &done(&n.to_string(), false)), Verdict::Go);
        }
        for _ in 0..20 {
            assert_eq!(loops.count(&one, &done("x", false)), Verdict::Go);
            assert_eq!(loops.count(&other, &done("x", false)), Verdict::Go);
        }
    }

    #[test]
    fn waiting_for_what_runs_is_no_circle() {
        let mut loops = Loops::default();
        let look = call("process", json!({"action": "wait", "id": "p1"}));
        for _ in 0..10 {
            assert_eq!(loops.count(&look, &done("[p1 runs]", false)), Verdict::Go);
        }
        let last = (0..20).map(|_| loops.count(&look, &done("[p1 runs]", false)));
        assert!(
            last.into_iter()
                .any(|verdict| matches!(verdict, Verdict::Halt(_)))
        );
    }
}
