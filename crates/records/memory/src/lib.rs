//! What a profile remembers beyond a conversation: short entries, in one notebook for the profile and one for each person.
//!
//! Use this room to say what a notebook holds, what a change makes of it, and what a model reads of it. It refuses to open a
//! file ([`NoteStore`] does) and to decide who may change one (that is the agent's choke point).
//!
//! Invariants:
//! * A change is all of it or nothing, measured by what would be there afterwards ([`apply`]).
//! * What is written stays within [`Whose::most`] characters; what does not fit is refused with the reason, never cut.
//! * What is replaced or removed is not gone: it is [`Former`], and can be searched.
//! * An id is never given twice, so that an old prompt's id means no other entry.
//! * An entry holds nothing that its owner would not see ([`markup::unseen`]).
//! * A person's notebook is found by account and sender, and by nothing else.
//!
//! Start reading at [`Notebook`], then [`apply`], then [`NoteStore`].

mod block;
mod change;
mod former;
mod notebook;
mod store;

pub use block::block;
pub use change::{Change, Changed, Refused, apply};
pub use former::{Former, MOST_ARCHIVE, Why, archive, search};
pub use notebook::{Entry, EntryId, LONGEST_ENTRY, NoEntryId, Notebook};
pub use store::{NoteError, NoteStore, Whose};
