//! The host's side of a sandbox: its folders, and what is laid into them.
//!
//! Both drivers use this room. It refuses to know how a sandbox is walled in; it knows where its folders lie:
//! `profiles/NAME/sandboxes/KEY/{workspace,home,inbox}`.
//!
//! Invariants:
//! * Two [`SandboxKey`]s never share a folder: the name comes from [`waybill::label`], which is injective.
//! * Nothing here follows a link: the sandbox can write to `workspace` and `home`, so the gateway opens nothing below them.
//! * `inbox` is written by the gateway alone and shown to the sandbox read-only.
//!
//! Start reading at [`Folders`].

mod folders;
mod name;
mod near;

pub use folders::{Folders, Found, HostPath, Layout};
pub use name::{numbered, shown};
pub use near::near;
