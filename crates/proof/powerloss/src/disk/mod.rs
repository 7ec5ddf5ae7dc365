//! A disk and its cache: what is safe, and what is only on its way.
//!
//! As unkind as POSIX lets it be. What a sync covered is there. Of the rest any part may be there: any of the writes, any
//! sector of a write, a length without its bytes, a name without its file's bytes, one of two names in one folder. What no
//! disk does is left out: sectors that hold anything but old bytes, new bytes or zeros, and a moved file under no name.
//!
//! Start reading at [`Disk::advance`], then `loss`.

mod loss;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::log::{Act, Kind, Log, Node, Step};

pub use loss::{Entry, Picture};

/// What is on the disk, and what waits, after some steps of a log.
#[derive(Debug, Clone)]
pub struct Disk {
    files: HashMap<Node, File>,
    folders: HashMap<Node, Folder>,
    steps: usize,
}

#[derive(Debug, Clone, Default)]
struct File {
    safe: Vec<u8>,
    /// Writes and new sizes.
    waiting: Vec<Arc<Step>>,
}

#[derive(Debug, Clone, Default)]
struct Folder {
    safe: BTreeMap<String, Node>,
    waiting: Vec<Change>,
}

/// A change of a folder's entries. One that moves a name between folders is a change in both, with the same `step`.
#[derive(Debug, Clone)]
struct Change {
    what: What,
    step: usize,
    done: usize,
}

#[derive(Debug, Clone)]
enum What {
    Put(String, Node),
    Remove(String, Node),
    /// Inside one folder: one entry in the journal.
    Move(String, String, Node),
    /// The half of a move where the name comes to.
    Arrive(String, Node),
    /// The half where it was; never without the other one.
    Leave(String, Node, Node),
}

impl Disk {
    /// The disk before the first step: an empty folder.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            files: HashMap::new(),
            folders: HashMap::from([(Node::ROOT, Folder::default())]),
            steps: 0,
        }
    }

    /// How many steps it saw.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Lets it see the steps up to `end`; returns what was said on the way.
    pub fn advance<'a>(&mut self, log: &'a Log, end: usize) -> Vec<&'a str> {
        let mut said = Vec::new();
        while self.steps < end
            && let Some(step) = log.steps.get(self.steps)
        {
            self.see(log, step, &mut said);
            self.steps += 1;
        }
        said
    }

    fn see<'a>(&mut self, log: &Log, step: &'a Arc<Step>, said: &mut Vec<&'a str>) {
        match &step.act {
            Act::Write { file, .. } | Act::Resize { file, .. } => {
                let file = self.files.entry(*file).or_default();
                file.waiting.push(Arc::clone(step));
            }
            Act::Sync { file } => {
                self.files.entry(*file).or_default().sync(step.begun);
            }
            Act::SyncFolder { folder } => self.sync_folder(*folder, step.begun),
            Act::Put { folder, name, node } => {
                if log.kind(*node) == Kind::Folder {
                    self.folders.entry(*node).or_default();
                }
                self.change(*folder, step, What::Put(name.clone(), *node));
            }
            Act::Remove { folder, name, node } => {
                self.change(*folder, step, What::Remove(name.clone(), *node));
            }
            Act::Move {
                from,
                old,
                to,
                new,
                node,
            } if from == to => {
                self.change(*from, step, What::Move(old.clone(), new.clone(), *node));
            }
            Act::Move {
                from,
                old,
                to,
                new,
                node,
            } => {
                self.change(*to, step, What::Arrive(new.clone(), *node));
                self.change(*from, step, What::Leave(old.clone(), *node, *to));
            }
            Act::Say(line) => said.push(line),
        }
    }

    fn change(&mut self, folder: Node, step: &Step, what: What) {
        let change = Change {
            what,
            step: self.steps,
            done: step.done,
        };
        let folder = self.folders.entry(folder).or_default();
        folder.waiting.push(change);
    }

    fn sync_folder(&mut self, node: Node, begun: usize) {
        let folder = self.folders.entry(node).or_default();
        let (covered, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut folder.waiting)
            .into_iter()
            .partition(|change| change.done < begun);
        folder.waiting = rest;
        for change in covered {
            // A name that safely left is safely where it went to.
            if let What::Leave(_, _, to) = &change.what {
                self.arrived(*to, change.step);
            }
            let folder = self.folders.entry(node).or_default();
            change.what.apply(&mut folder.safe);
        }
    }

    fn arrived(&mut self, to: Node, step: usize) {
        let folder = self.folders.entry(to).or_default();
        let arrival = folder.waiting.iter().position(|change| change.step == step);
        if let Some(at) = arrival {
            let change = folder.waiting.remove(at);
            change.what.apply(&mut folder.safe);
        }
    }
}

impl File {
    fn sync(&mut self, begun: usize) {
        let (covered, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|step| step.done < begun);
        self.waiting = rest;
        for step in covered {
            if let Act::Write { at, bytes, .. } = &step.act {
                put(&mut self.safe, *at, bytes);
            } else if let Act::Resize { size, .. } = &step.act {
                self.safe.resize(length(*size), 0);
            }
        }
    }
}

fn length(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Writes bytes into a file, which grows with zeros if it must.
fn put(file: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let from = length(at);
    let end = from.saturating_add(bytes.len());
    if file.len() < end {
        file.resize(end, 0);
    }
    if let Some(place) = file.get_mut(from..end) {
        place.copy_from_slice(bytes);
    }
}

impl What {
    /// A name is taken away only from what it was taken from: it may be another one's by now.
    fn apply(&self, entries: &mut BTreeMap<String, Node>) {
        let mut leave = |name: &String, node: &Node| {
            if entries.get(name) == Some(node) {
                entries.remove(name);
            }
        };
        match self {
            Self::Remove(name, node) | Self::Leave(name, node, _) => leave(name, node),
            Self::Put(name, node) | Self::Arrive(name, node) => {
                entries.insert(name.clone(), *node);
            }
            Self::Move(old, new, node) => {
                leave(old, node);
                entries.insert(new.clone(), *node);
            }
        }
    }
}
