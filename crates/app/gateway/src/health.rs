//! How accounts fare: what is known of both sides of each, and what the owner is told of it.

mod board;
mod crier;
mod herald;
#[cfg(test)]
mod tests;

pub(crate) use board::{Board, Changes, Side};
pub(crate) use crier::Crier;
pub(crate) use herald::{Herald, home_chat};
