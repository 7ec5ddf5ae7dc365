//! Sandboxes on another machine, over SSH: for people whose work lives there.
//!
//! Use this room where commands must run on a machine that the gateway does not run on. It refuses to speak to a host whose
//! key is not the pinned one, to run anything on the gateway's own machine instead, and to show a folder of the gateway's
//! machine there.
//!
//! How: one connection for each machine, shared by its commands. At the end of each channel waits a plain shell that reads
//! two lines: the first makes the sandbox's folders and enters the walls (bubblewrap, where the machine has it), the second, read
//! inside, holds environment and command. Files go the same way, through the sandbox's own view, so that a link means in it what
//! it means to a command. A second shell, the watch, ends what it is told to, and everything once it hears no more.
//!
//! Invariants:
//! * Nothing is sent to a host that did not show the pinned key; there is no trust at first sight.
//! * Nothing variable stands on a command line there, and no environment is known outside the walls.
//! * A command is tried again only if nothing can have begun.
//! * A dropped future, a time-out, a lost connection and a lost gateway all end in the death of the command and of all that it
//!   started.
//! * What does not stand is said: [`SshSandbox::describe`](sandbox::SandboxPort::describe) names it.
//!
//! Start reading at [`SshSandbox`], then `machine::Machine::launch` and `view::View::enter`.

mod capture;
mod command;
mod connection;
mod driver;
mod facts;
mod failure;
mod files;
mod header;
mod line;
mod machine;
mod pin;
mod process;
mod running;
mod scripts;
mod stage;
mod standing;
mod view;
mod watch;

pub use driver::{Options, SshSandbox};
pub use failure::Failure;
