//! The sandboxes, to see and to end: a page for people and an API for programs over the same port, [`sandbox::Keeper`].
//!
//! What runs in a sandbox is what an agent chose: its command lines are text on the page, never markup.

mod api;
mod page;
mod view;

pub(crate) use api::{list, stop};
pub(crate) use page::all;
