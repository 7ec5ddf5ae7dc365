//! What was done to the files below one folder, in order.
//!
//! Names are kept apart from what they name: a file's bytes and a folder's entries reach the disk on roads of their own.

use std::fmt;
use std::sync::Arc;

/// A file or a folder, whatever it is called. The folder that was watched is [`Node::ROOT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(crate) usize);

impl Node {
    /// The folder that was watched. It is there before the first step, empty.
    pub const ROOT: Self = Self(0);
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    File,
    /// Entries.
    Folder,
}

/// One thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Bytes were written.
    Write {
        /// Into this file.
        file: Node,
        /// From this byte on.
        at: u64,
        /// These.
        bytes: Vec<u8>,
    },
    /// A file was cut or made longer.
    Resize {
        /// This one.
        file: Node,
        /// To so many bytes.
        size: u64,
    },
    /// `fsync` or `fdatasync` of a file came back.
    Sync {
        /// This one.
        file: Node,
    },
    /// A name was given.
    Put {
        /// In this folder.
        folder: Node,
        /// This name.
        name: String,
        /// To this.
        node: Node,
    },
    /// A name was taken away.
    Remove {
        /// From this folder.
        folder: Node,
        /// This name.
        name: String,
        /// From this.
        node: Node,
    },
    /// A name was moved, over what may have had that name.
    Move {
        /// From this folder.
        from: Node,
        /// That had it under this name.
        old: String,
        /// To this folder.
        to: Node,
        /// Which has it under this name.
        new: String,
        /// This.
        node: Node,
    },
    /// `fsync` of a folder came back.
    SyncFolder {
        /// This one.
        folder: Node,
    },
    /// The process said a line: what it says was acknowledged at that moment.
    Say(String),
}

/// An act with its time, in lines of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What was done.
    pub act: Act,
    /// When it began.
    pub begun: usize,
    /// When it was done; [`usize::MAX`] if it never was.
    pub done: usize,
}

impl Step {
    /// When it counts: a sync when it came back, everything else as soon as it began.
    #[must_use]
    pub fn at(&self) -> usize {
        match self.act {
            Act::Sync { .. } | Act::SyncFolder { .. } => self.done,
            Act::Write { .. }
            | Act::Resize { .. }
            | Act::Put { .. }
            | Act::Remove { .. }
            | Act::Move { .. }
            | Act::Say(_) => self.begun,
        }
    }
}

/// Everything that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// In the order in which it counts.
    pub steps: Vec<Arc<Step>>,
    /// What each node is, and the path that it was made under, relative to the root.
    pub nodes: Vec<(Kind, String)>,
}

impl Log {
    /// The path that a node was made under, relative to the root.
    #[must_use]
    pub fn path(&self, node: Node) -> &str {
        self.nodes.get(node.0).map_or("", |(_, path)| path.as_str())
    }

    /// What a node is; what is not known is a file.
    #[must_use]
    pub fn kind(&self, node: Node) -> Kind {
        self.nodes.get(node.0).map_or(Kind::File, |(kind, _)| *kind)
    }

    /// A step as a person reads it.
    #[must_use]
    pub fn describe(&self, step: &Step) -> String {
        Described(self, &step.act).to_string()
    }
}

struct Described<'a>(&'a Log, &'a Act);

impl fmt::Display for Described<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(log, act) = self;
        match act {
            Act::Write { file, at, bytes } => {
                write!(
                    out,
                    "write {} bytes at {at} of {}",
                    bytes.len(),
                    log.path(*file)
                )
            }
            Act::Resize { file, size } => write!(out, "resize {} to {size}", log.path(*file)),
            Act::Sync { file } => write!(out, "sync {}", log.path(*file)),
            Act::Put { folder, name, .. } => write!(out, "make {}/{name}", log.path(*folder)),
            Act::Remove { folder, name, .. } => write!(out, "remove {}/{name}", log.path(*folder)),
            Act::Move {
                from, old, to, new, ..
            } => write!(
                out,
                "move {}/{old} to {}/{new}",
                log.path(*from),
                log.path(*to)
            ),
            Act::SyncFolder { folder } => write!(out, "sync the folder {}/", log.path(*folder)),
            Act::Say(_) => write!(out, "acknowledge"),
        }
    }
}
