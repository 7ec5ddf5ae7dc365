//! What the gateway's own executable does when it is started with the hidden argument: it becomes the sandbox.
//!
//! The binary's `main` calls [`run`] before it starts a thread, a runtime or a logger: a process with a second thread can't
//! enter a user namespace.

mod capture;
mod command;
mod devices;
mod egress;
mod files;
mod gateway;
mod hand;
mod inner;
mod limits;
mod loopback;
mod mounts;
mod outer;
mod proc;
mod seccomp;
mod system;
mod terminal;
mod walls;

use std::io::{self, Write as _};
use std::os::fd::AsFd as _;

use crate::plan::Report;

/// The stage that enters the namespaces.
pub(crate) const OUTER: &str = "outer";
/// The stage that is process 1 in them.
const INNER: &str = "inner";

/// Becomes a stage of the sandbox. `arguments` are all of the command line after the program's name: the hidden argument or
/// arguments that the caller knows the launcher by, then the stage's name.
pub fn run(arguments: &[String]) -> ! {
    let code = match arguments.split_last() {
        Some((stage, rest)) if stage == OUTER => ended(outer::run(rest)),
        Some((stage, _)) if stage == INNER => ended(inner::run()),
        Some(_) | None => {
            report(&Report::Failed(
                "the sandbox's launcher is not meant to be started by hand".to_owned(),
            ));
            2
        }
    };
    std::process::exit(code)
}

fn ended(result: Result<i32, Stop>) -> i32 {
    match result {
        Ok(code) => code,
        Err(Stop::Floor { step, error }) => {
            report(&Report::NoFloor {
                step: step.to_owned(),
                error: error.to_string(),
            });
            125
        }
        Err(Stop::Failed(text)) => {
            report(&Report::Failed(text));
            125
        }
        Err(Stop::File(text)) => {
            report(&Report::File(text));
            125
        }
    }
}

/// Why a stage gave up.
pub(crate) enum Stop {
    /// A wall that must stand doesn't.
    Floor {
        step: &'static str,
        error: io::Error,
    },
    Failed(String),
    File(String),
}

impl Stop {
    fn floor<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Floor {
            step,
            error: error.into(),
        }
    }
}

/// Tells the driver. If it is gone, nobody is left to tell.
pub(crate) fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        io::stderr().write_all(&line).unwrap_or_default();
    }
}

/// Standard input without a buffer: what a stage doesn't read stays for the next one.
pub(crate) struct Unbuffered;

impl io::Read for Unbuffered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin().as_fd(), into)?)
    }
}
