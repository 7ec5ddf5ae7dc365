//! What `strace` wrote, as calls.
//!
//! Each call knows when it began and when it was done, in lines of the trace: a sync covers what was done before it began,
//! and no more. Refuses a line that it does not understand: a call that is passed over would be a write that is not torn.

mod arguments;
mod lines;

pub use arguments::bytes;
pub use lines::{Call, Outcome, read};
