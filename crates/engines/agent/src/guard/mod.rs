//! The guard at the one choke point of every tool call: what it is, whether it may be done, who is asked.
//!
//! The decision itself is [`policy::decide`]; here is what it is made from. A call is sorted by its tool and its arguments
//! ([`sort`]); what the turn has read by then comes from the transcript and from what was promised ([`read`]); who is there comes
//! from whose messages the turn answers. A tool that is in the table and has no place in [`sort`] is refused, and a test says so.

mod loops;
mod permit;
mod read;
mod sort;

pub(crate) use loops::{Loops, Verdict};
pub(crate) use read::{brings, of_message};

#[cfg(test)]
mod tests;
