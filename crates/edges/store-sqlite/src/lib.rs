//! The store on SQLite, and artifacts on disk.
//!
//! Use this room for everything that must outlive the process: the outbox, the inbox, conversations, the web chat's
//! entries, dashboard logins, API keys, and captured bytes. It is the only room that knows SQL. It refuses to decide anything about
//! a part (that is `outbox::decide`), to read a clock, and to make an empty database where one may have been lost.
//!
//! Invariants:
//! * What a call returned is durable: one writer thread owns the connection, groups what waits into one transaction, and
//!   answers after its commit (`synchronous=FULL`). A job that fails takes nothing back but itself.
//! * A part goes on the wire only after its attempt row is durable; a lane has at most one part `sending`, and that is
//!   its head.
//! * `lane.ready_at` says when a lane's head may go, and is made anew in each transition; claims are index look-ups.
//! * A row never points to missing bytes: a blob's file, then its folder are synced before its hash is handed out.
//! * A row that can't be read is set aside for the owner, with a recorded state; what stands beside it goes on.
//! * A file that is not this gateway's database is left as it is, and one that lies on another machine is not opened.
//! * A database that was put back from a copy is noticed: nothing that it calls open goes out as if it were new.
//!
//! Start reading at [`Store::open`], then `writer` (group commit), then `outbox::settle`.

mod access;
mod amend;
mod api;
mod aside;
mod blobs;
mod care;
mod compaction;
mod desk;
mod error;
mod inbox;
mod last_words;
mod ledger;
mod moved;
mod open;
mod outbox;
mod plan;
mod readers;
mod retention;
mod schema;
mod search;
mod session;
mod store;
mod value;
mod visible;
mod writer;

pub use blobs::DiskBlobs;
pub use care::{BackupError, Ballast, Copied, Entered, GenerationError, Stock};
pub use error::OpenError;
pub use open::Options;
pub use search::Search;
pub use store::Store;
