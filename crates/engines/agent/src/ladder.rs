//! What is done with a reply that is no answer. Words that came beside a tool call are never taken for one.

use model::{Reply, StopReason};
use policy::failover::Left;

/// What a model reads that said nothing.
const SPEAK: &str =
    "[gateway] You said nothing that the person can read. Give your answer now, in words.";
/// What a model reads that ran out of output before it said anything.
const SHORT: &str = "[gateway] You ran out of output tokens before you said anything. Answer now, in a few words and without long reasoning.";

/// A step up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    /// The same request again.
    Again,
    /// The same request, with a line that is not kept in the transcript.
    Nudge(&'static str),
    /// The same request to the next model.
    Next(&'static str),
    /// That was the last; why there is no answer, for the person.
    End(&'static str),
}

/// How far a step has climbed.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    silences: u32,
}

impl Ladder {
    /// What to do with a reply without words, files and calls. Ends after four of them from each model at the latest.
    pub(crate) fn climb(&mut self, reply: &Reply, others: Left) -> Rung {
        self.silences += 1;
        let (reason, rungs): (&str, &[Rung]) = match reply.stop {
            StopReason::Length => (
                "the model ran out of output tokens before it said anything",
                &[Rung::Nudge(SHORT)],
            ),
            // Asked again, it refuses again.
            StopReason::Refused => ("the model refused to answer", &[]),
            StopReason::End | StopReason::ToolUse => (
                if reply.reasoning.trim().is_empty() {
                    "the model gave an empty answer"
                } else {
                    "the model thought, but gave no answer"
                },
                &[Rung::Again, Rung::Nudge(SPEAK)],
            ),
        };
        let climbed = self.silences as usize - 1;
        match (rungs.get(climbed), others) {
            (Some(rung), _) => *rung,
            (None, Left::Yes) => {
                self.silences = 0;
                Rung::Next(reason)
            }
            (None, Left::No) => Rung::End(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(stop: StopReason, reasoning: &str) -> Reply {
        Reply {
            text: String::new(),
            reasoning: reasoning.to_owned(),
            calls: Vec::new(),
            stop,
            usage: None,
            replay: None,
        }
    }

    fn climbs(stop: StopReason, others: &[Left]) -> Vec<Rung> {
        let mut ladder = Ladder::default();
        let mut seen = Vec::new();
        let mut others = others.iter().copied();
        let mut left = others.next().unwrap();
        for _ in 0..20 {
            let rung = ladder.climb(&silent(stop, ""), left);
            seen.push(rung);
            match rung {
                Rung::Again | Rung::Nudge(_) => {}
                Rung::Next(_) => left = others.next().unwrap(),
                Rung::End(_) => return seen,
            }
        }
        panic!("it never ends: {seen:?}")
    }

    #[test]
    fn silence_is_asked_again_then_spoken_to_and_then_told() {
        let rungs = climbs(StopReason::End, &[Left::No]);
        assert_eq!(
            rungs,
            [
                Rung::Again,
                Rung::Nudge(SPEAK),
                Rung::End("the model gave an empty answer")
            ]
        );
    }

    #[test]
    fn the_next_model_gets_the_whole_ladder() {
        assert_eq!(climbs(StopReason::End, &[Left::Yes, Left::No]).len(), 6);
        assert_eq!(
            climbs(StopReason::Refused, &[Left::Yes, Left::No]),
            [
                Rung::Next("the model refused to answer"),
                Rung::End("the model refused to answer")
            ]
        );
        assert_eq!(climbs(StopReason::Length, &[Left::Yes, Left::No]).len(), 4);
    }

    #[test]
    fn a_model_that_only_thinks_is_called_so() {
        let mut ladder = Ladder::default();
        let thinking = silent(StopReason::End, "hmm");
        ladder.climb(&thinking, Left::No);
        ladder.climb(&thinking, Left::No);
        let last = ladder.climb(&thinking, Left::No);
        assert_eq!(last, Rung::End("the model thought, but gave no answer"));
    }
}
