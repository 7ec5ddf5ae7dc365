//! Skills: folders with a `SKILL.md` in the agentskills format, in which somebody wrote down how a kind of work is done.
//!
//! Use this room to say what a `SKILL.md` means, which line of it a model reads in every conversation, and which command it
//! is. It refuses to open a file: a [`Shelf`] does.
//!
//! Invariants:
//! * A skill is whole or it is [`Broken`] with a sentence for its owner; one that is broken takes none of the others along.
//! * What the index costs is bounded, however many skills there are ([`index()`]); the rest is listed on demand.
//! * A text that hides something from the eyes of its owner is no skill ([`markup::unseen`]).
//! * A skill never takes the place of one of the gateway's own commands ([`command()`]).
//!
//! Start reading at [`Skill::read`], then [`Shelf`].

mod command;
mod fault;
mod header;
mod index;
mod name;
mod shelf;
mod skill;

pub use command::{Invocation, called, command, invocation};
pub use fault::Fault;
pub use index::{INDEX_BYTES, MOST_LISTED, index};
pub use name::{LONGEST_NAME, SkillName};
pub use shelf::{Broken, Opened, Shelf, ShelfError, Shelved, SkillFile};
pub use skill::{FILE, LONGEST_DESCRIPTION, MOST_BYTES, Skill};
