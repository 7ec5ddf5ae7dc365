//! The outbox, to see and to act: a page for people and an API for programs over the same port, [`outbox::OutboxStore`].
//!
//! What is shown stays what it is: words of agents, strangers and platforms are text on the page, never markup. What can be
//! done with a part is asked of [`outbox::Verb::applied`] alone.
//!
//! Start reading at `page`; `timeline` tells a part's life.

mod api;
mod page;
mod parcel;
mod stamp;
mod timeline;
mod wanted;

pub(crate) use api::{act, list, show};
pub(crate) use page::{all, one};
pub(crate) use stamp::{Shown, Stamp};
pub(crate) use wanted::MOST;
