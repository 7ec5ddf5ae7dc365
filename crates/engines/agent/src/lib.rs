//! The turn: one request handled to its end.
//!
//! Use this room for the loop between a model, its tools and a conversation. It refuses to know a vendor, a database or a
//! platform, and it sends nothing: what people see is committed with the turn and leaves by the outbox.
//!
//! Invariants:
//! * A turn's scope is made once; every command, capture and message of the turn uses that one scope.
//! * A file becomes an artifact while the turn runs: when a directive is complete in the stream, or when `send_file` is called.
//! * The transcript is written ahead: a call before its tool runs, a result before the next model call; with it, all that was
//!   promised by then ([`session::Promised`]), so that a turn that is taken up again forgets nothing.
//! * What outlives a turn, a background process, is seen by its own conversation alone and ends with the gateway.
//! * Values that the gateway knows to be secret stand in no transcript, no answer and no notice ([`Ports::redactor`]).
//! * Nothing leaves the sandbox that no rule allows and no person was asked for ([`policy::decide`]); who can't be asked has not
//!   said yes.
//! * A turn ends in exactly one [`session::TurnEnd`], and in words or in a sentence that says why not.
//!
//! Start reading at [`Agent`] (the lines), then `turn` (one turn), `talk` (model and tools), `step` (one model call).

mod answer;
mod asking;
mod attach;
mod commit;
mod compact;
mod fill;
mod folder;
mod guard;
mod insight;
mod knowledge;
mod ladder;
mod line;
mod logbook;
mod ports;
mod processes;
mod prompt;
mod purse;
mod receive;
mod redaction;
mod route;
mod service;
mod shell;
mod spill;
mod step;
mod talk;
mod tools;
mod turn;

pub use line::{AgentHandle, Background};
pub use ports::{Contacts, Files, Knowledge, People, Ports, Tenant, Tenants};
pub use prompt::system_prompt;
pub use purse::{Account, Purse};
pub use service::{Agent, Options};
pub use tools::specs as tool_specs;
