//! Servers of tools, to see and to accept: a page for people and an API for programs over [`ToolServers`].
//!
//! What a server says of its tools is somebody else's text: it is shown as text, never as markup, and whole as far as it is kept, since
//! that is what its owner accepts.

mod api;
mod page;
mod port;

pub(crate) use api::{accept, list};
pub(crate) use page::all;
pub use port::{NoServers, ToolOffer, ToolServer, ToolServerState, ToolServers, ToolWaiting};
