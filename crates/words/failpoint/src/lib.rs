//! Failpoints: named places at which the proof kills the process, makes an operation fail or leaves a protection out.
//!
//! Use this room where a crash or a failure has to be shown harmless: `failpoint::point("C5")` stands exactly between the
//! two things that must not come apart. It refuses to do anything in a release build: there the body of each function is
//! compiled out, and [`arm`] is an error. `docs/crash-matrix.md` says which name stands where.
//!
//! Invariants:
//! * Unarmed, a passage costs one load of a pointer.
//! * A point that acted says so on standard error first ([`REACHED`]): a run whose point was never reached proves nothing,
//!   and the runner can tell.
//! * One static holds what is armed. Points stand deep in code whose arguments are a message's identity and must not grow a
//!   parameter for the proof, so it is ambient on purpose. It is set once, before any thread, holds counters and no
//!   identity, and exists in debug builds alone.
//!
//! Start reading at [`arm`].

#[cfg(debug_assertions)]
mod armory;
#[cfg(debug_assertions)]
mod spec;

/// What a line on standard error begins with when a point acts; the point's name follows.
pub const REACHED: &str = "failpoint reached: ";

#[cfg(debug_assertions)]
static ARMED: std::sync::OnceLock<armory::Armory> = std::sync::OnceLock::new();

/// Arms points, once in the life of a process.
///
/// `spec` is `NAME[@N][!ACTION]`, or several with commas between them. `@3` acts at the third passage, `@2..4` from the second
/// to the fourth, `@2..` from the second on. Actions: `kill` (the default), `panic`, `error` (what [`error`] asks for) and
/// `skip` (what [`skips`] asks for). Without `@` a `skip` acts at every passage and the others at the first.
///
/// # Errors
/// A sentence that says what is wrong with `spec`, that points are armed already, or that this is a release build.
pub fn arm(spec: &str) -> Result<(), String> {
    #[cfg(debug_assertions)]
    {
        let armory = armory::Armory::new(spec::parse(spec)?);
        ARMED
            .set(armory)
            .map_err(|_again| "failpoints are armed already".to_owned())
    }
    #[cfg(not(debug_assertions))]
    {
        Err(format!(
            "'{spec}' can't be armed: a release build holds no failpoints"
        ))
    }
}

/// A place where the process may die. Armed with `kill` it never returns; armed with `panic` it panics.
#[inline]
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    if let Some(armory) = ARMED.get() {
        armory.point(name);
    }
    #[cfg(not(debug_assertions))]
    let _: &str = name;
}

/// Whether the operation that begins here should fail: the caller then acts as if it had. Armed with `kill` it never returns.
#[inline]
#[must_use]
pub fn error(name: &str) -> bool {
    #[cfg(debug_assertions)]
    {
        ARMED
            .get()
            .is_some_and(|armory| armory.asks(name, spec::Action::Error))
    }
    #[cfg(not(debug_assertions))]
    {
        let _: &str = name;
        false
    }
}

/// Whether the protection that stands here should be left out: a mutant, with which a proof has to go red.
#[inline]
#[must_use]
pub fn skips(name: &str) -> bool {
    #[cfg(debug_assertions)]
    {
        ARMED
            .get()
            .is_some_and(|armory| armory.asks(name, spec::Action::Skip))
    }
    #[cfg(not(debug_assertions))]
    {
        let _: &str = name;
        false
    }
}
