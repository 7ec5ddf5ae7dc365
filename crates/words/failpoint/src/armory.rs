//! What is armed, and how often each name was passed.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

use crate::REACHED;
use crate::spec::{Action, Spec};

/// Armed points with their counts.
#[derive(Debug)]
pub(crate) struct Armory {
    armed: Vec<(Spec, AtomicU64)>,
}

impl Armory {
    pub(crate) fn new(specs: Vec<Spec>) -> Self {
        Self {
            armed: specs
                .into_iter()
                .map(|spec| (spec, AtomicU64::new(0)))
                .collect(),
        }
    }

    /// Passes a place where the process may die.
    pub(crate) fn point(&self, name: &str) {
        self.passed(name, None);
    }

    /// Passes a place that can do `asked`; says whether it should.
    pub(crate) fn asks(&self, name: &str, asked: Action) -> bool {
        self.passed(name, Some(asked))
    }

    fn passed(&self, name: &str, asked: Option<Action>) -> bool {
        let mut acts = false;
        for (spec, count) in self.armed.iter().filter(|(spec, _)| spec.name == name) {
            let passage = count.fetch_add(1, Ordering::Relaxed).saturating_add(1);
            if passage < spec.first || passage > spec.last {
                continue;
            }
            match spec.action {
                Action::Kill => {
                    tell(name);
                    die();
                }
                Action::Panic => {
                    tell(name);
                    panic_here(name);
                }
                // What nobody at this place can do is not told either: the runner then sees a point that never acted.
                Action::Error | Action::Skip if asked == Some(spec.action) => {
                    tell(name);
                    acts = true;
                }
                Action::Error | Action::Skip => {}
            }
        }
        acts
    }
}

/// Says that a point acts. A closed standard error must not save the process.
fn tell(name: &str) {
    if writeln!(std::io::stderr(), "{REACHED}{name}").is_err() {}
}

/// Dies as by a power cut for the process: no destructor, no flush, no answer.
fn die() -> ! {
    if kill_process(getpid(), Signal::KILL).is_err() {
        // Nothing forbids a process to kill itself; should something, this is the next worst end.
        std::process::abort();
    }
    loop {
        std::thread::park();
    }
}

#[expect(
    clippy::panic,
    reason = "a panic in somebody's code is what this action is there to show"
)]
fn panic_here(name: &str) -> ! {
    panic!("failpoint {name}");
}

#[cfg(test)]
mod tests {
    use super::Armory;
    use crate::spec::{Action, parse};

    fn armory(text: &str) -> Armory {
        Armory::new(parse(text).unwrap())
    }

    #[test]
    fn an_error_comes_at_the_counted_passages_alone() {
        let armory = armory("C17@2..3!error");
        let seen: Vec<bool> = (0..5).map(|_| armory.asks("C17", Action::Error)).collect();
        assert_eq!(seen, [false, true, true, false, false]);
    }

    #[test]
    fn another_name_is_neither_counted_nor_struck() {
        let armory = armory("C17@2!error");
        assert!(!armory.asks("C18", Action::Error));
        assert!(!armory.asks("C17", Action::Error));
        assert!(armory.asks("C17", Action::Error));
    }

    #[test]
    fn a_mutant_skips_every_time() {
        let armory = armory("attempt-fence!skip");
        assert!((0..3).all(|_| armory.asks("attempt-fence", Action::Skip)));
    }

    #[test]
    fn a_place_that_cannot_skip_goes_on() {
        let armory = armory("C5!skip");
        armory.point("C5");
        assert!(!armory.asks("C5", Action::Error));
    }

    #[test]
    #[should_panic(expected = "failpoint C22")]
    fn a_panic_comes_at_its_passage() {
        let armory = armory("C22@2!panic");
        armory.point("C22");
        armory.point("C22");
    }
}
