//! What a loss of power leaves of what the store acknowledged.
//!
//! A program of this room works on a real store while `strace` writes down what it does to its files and what it
//! acknowledges, in one order. The proof then cuts the power after many steps of that trace: it makes the folder as an
//! unkind disk could have left it, opens the store there, and looks for everything that was acknowledged. Mutants of the
//! same trace (a sync left out, two steps swapped) must be found: see `docs/adr/0006-power-loss-by-replay.md`.
//!
//! Use this room for what must outlive the power. It refuses to skip: a machine without `strace`, or a call that can't be
//! followed, is an error.
//!
//! Invariants:
//! * What a sync covered before it began is there, whatever the dice say; of the rest any part may be missing.
//! * An acknowledgement counts from the moment at which its line was written.
//! * A cut is repeated by its trace, its place and its dice.
//!
//! Start reading at [`suite::healthy`], then [`disk`].

pub mod check;
pub mod dice;
pub mod disk;
pub mod fact;
pub mod files;
pub mod ledger;
pub mod log;
pub mod mutant;
pub mod prove;
pub mod record;
pub mod suite;
pub mod trace;
pub mod work;
