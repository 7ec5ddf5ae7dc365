//! The API's keys, its requests, and what became of them.

mod answers;
mod keys;
