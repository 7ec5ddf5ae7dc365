//! Tools that reach outside the sandbox: the web, and programs that offer tools of their own.
//!
//! Use this room for the words between the agent and whatever serves such a tool. It refuses to know a protocol, a vendor or a
//! runtime, and to decide whether a call is allowed: that is the agent's choke point.
//!
//! Invariants:
//! * What comes back is somebody else's text: [`Page`] and [`Output`] are untrusted, whatever they say.
//! * A failure is a sentence for the model ([`ToolError`]); it names what to do and holds no secret.
//!
//! Start reading at [`Web`] and [`Toolbox`].

mod error;
mod toolbox;
mod web;

pub use error::ToolError;
pub use toolbox::{Effect, File, Output, OutsideTool, Server, ServerState, Toolbox};
pub use web::{Download, Hit, Page, Web};
