//! A profile's own folders on disk: `profiles/NAME/memory/` and `profiles/NAME/skills/`.
//!
//! Use this room for the files that an owner reads and changes by hand and that a model reads through its tools. No sandbox can
//! write to them. It refuses to say what an entry or a skill is: [`memory`] and [`skills`] do.
//!
//! Invariants:
//! * Below the two folders no link is followed, whoever made it: a skill that came from elsewhere can't show a file of the
//!   machine. The two folders themselves may be links of the owner.
//! * Only regular files are read, and of each only a bounded part.
//! * A file is replaced whole and durably, with mode 0600, or it stays as it was.
//! * Changes of one profile's notebooks come one after the other; what they drop is in the archive first.
//!
//! Start reading at [`Notes`] and [`SkillFolder`], then `folder`.

mod folder;
mod notes;
mod shelf;

pub use notes::Notes;
pub use shelf::SkillFolder;
