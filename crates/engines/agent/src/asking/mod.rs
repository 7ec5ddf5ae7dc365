//! Questions that running turns have asked, and what their answers allow for a while.
//!
//! All of it is in memory: a question ends with its turn, and a turn that is taken up after a restart asks anew. What is durable is
//! the question's message (it leaves by the outbox) and every answer (it comes by the inbox).
//!
//! A question takes one answer, of one whom it asks, before its time is over; each answer's token is made of a number that
//! nobody can guess. A plain message answers an `ask` question alone, never an approval.

mod board;
mod grants;
mod person;

pub(crate) use board::{Kind, Questions, Reply, Said};
pub(crate) use grants::{Until, Wanted};
pub(crate) use person::{Question, Unanswered, ask};

#[cfg(test)]
mod tests;
