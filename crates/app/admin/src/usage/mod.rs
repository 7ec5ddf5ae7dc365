//! What models were used for and what that cost: a page for people and an API for programs over [`session::Ledger`], and how full each
//! cap is, from [`crate::MoneyPort`].
//!
//! The ledger knows turns that have ended; running ones are in the caps alone.

mod api;
mod page;
mod view;

pub(crate) use api::list;
pub(crate) use page::all;
pub(crate) use view::MOST_DAYS;
