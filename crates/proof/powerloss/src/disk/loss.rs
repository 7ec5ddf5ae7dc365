//! The power goes: what may be found afterwards.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use super::{Disk, File, Folder, What, length, put};
use crate::dice::Dice;
use crate::log::{Act, Node};

/// Sizes of what a disk writes in one piece: old disks, and today's.
const SECTORS: [usize; 2] = [512, 4096];

/// What ends the names of files that mean nothing after a start of the machine: SQLite makes its shared memory anew.
const VOLATILE: &str = "-shm";

/// How the cache of one file or folder was written out. Each has its own, so that any order between files comes up.
#[derive(Debug, Clone, Copy)]
enum Mood {
    /// Nothing.
    Nothing,
    /// Everything.
    All,
    /// In order, up to some point.
    Prefix(usize),
    /// In no order: so many of a hundred.
    Some(usize),
    /// Lengths, without bytes.
    Hollow,
}

impl Mood {
    fn of(dice: &mut Dice, waiting: usize) -> Self {
        match dice.below(6) {
            0 => Self::Nothing,
            1 => Self::All,
            2 => Self::Prefix(dice.below(waiting + 1)),
            3 => Self::Hollow,
            _ => Self::Some(1 + dice.below(99)),
        }
    }

    /// Whether the change at this place is there.
    fn keeps(self, place: usize, dice: &mut Dice) -> bool {
        match self {
            Self::Nothing | Self::Hollow => false,
            Self::All => true,
            Self::Prefix(end) => place < end,
            Self::Some(share) => dice.percent(share),
        }
    }
}

/// What is found after the power came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File(Vec<u8>),
    /// A folder.
    Folder(Picture),
}

/// The entries of a folder after the power came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture(pub BTreeMap<String, Entry>);

impl Disk {
    /// Cuts the power now. The dice say what of the waiting changes is there.
    #[must_use]
    pub fn lose_power(&self, dice: &mut Dice) -> Picture {
        let sector = dice.pick(&SECTORS).copied().unwrap_or(512);
        let folders = self.entries(dice);
        let mut found = HashMap::new();
        self.picture(Node::ROOT, &folders, sector, dice, &mut found)
    }

    /// The entries of each folder. Those where names arrive come first: a name that left has arrived.
    fn entries(&self, dice: &mut Dice) -> HashMap<Node, BTreeMap<String, Node>> {
        let mut nodes: Vec<Node> = self.folders.keys().copied().collect();
        nodes.sort();
        let mut chosen: HashMap<Node, Vec<bool>> = HashMap::new();
        let mut absent: HashSet<usize> = HashSet::new();
        for node in &nodes {
            let Some(folder) = self.folders.get(node) else {
                continue;
            };
            let keeps = folder.choose(dice);
            for (change, kept) in folder.waiting.iter().zip(&keeps) {
                if matches!(change.what, What::Arrive(..)) && !kept {
                    absent.insert(change.step);
                }
            }
            chosen.insert(*node, keeps);
        }
        let mut all = HashMap::new();
        for (node, keeps) in chosen {
            let Some(folder) = self.folders.get(&node) else {
                continue;
            };
            let mut entries = folder.safe.clone();
            for (change, kept) in folder.waiting.iter().zip(keeps) {
                let left = matches!(change.what, What::Leave(..));
                if kept && !(left && absent.contains(&change.step)) {
                    change.what.apply(&mut entries);
                }
            }
            all.insert(node, entries);
        }
        all
    }

    fn picture(
        &self,
        node: Node,
        folders: &HashMap<Node, BTreeMap<String, Node>>,
        sector: usize,
        dice: &mut Dice,
        found: &mut HashMap<Node, Vec<u8>>,
    ) -> Picture {
        let mut picture = Picture::default();
        for (name, below) in folders.get(&node).into_iter().flatten() {
            if name.ends_with(VOLATILE) {
                continue;
            }
            let entry = if self.folders.contains_key(below) {
                Entry::Folder(self.picture(*below, folders, sector, dice, found))
            } else {
                // Two names of one file show the same bytes.
                let bytes = found
                    .entry(*below)
                    .or_insert_with(|| match self.files.get(below) {
                        Some(file) => file.after(sector, dice),
                        None => Vec::new(),
                    });
                Entry::File(bytes.clone())
            };
            picture.0.insert(name.clone(), entry);
        }
        picture
    }
}

impl Folder {
    fn choose(&self, dice: &mut Dice) -> Vec<bool> {
        let mood = Mood::of(dice, self.waiting.len());
        (0..self.waiting.len())
            .map(|place| mood.keeps(place, dice))
            .collect()
    }
}

impl File {
    fn after(&self, sector: usize, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        let mut size = bytes.len();
        let mood = Mood::of(dice, self.waiting.len());
        for (place, step) in self.waiting.iter().enumerate() {
            let hollow = matches!(mood, Mood::Hollow);
            let kept = mood.keeps(place, dice);
            if let Act::Resize { size: new, .. } = &step.act {
                if kept || hollow {
                    size = length(*new);
                    bytes.resize(size, 0);
                }
                continue;
            }
            let Act::Write { at, bytes: new, .. } = &step.act else {
                continue;
            };
            let end = length(*at).saturating_add(new.len());
            if kept || hollow {
                size = size.max(end);
            }
            // The write at the point where it stopped is torn; so is each one where there is no order.
            let torn = match mood {
                Mood::Prefix(stop) => place == stop,
                Mood::Some(_) => true,
                Mood::Nothing | Mood::All | Mood::Hollow => false,
            };
            if torn {
                let share = if kept { 80 } else { 20 };
                tear(&mut bytes, *at, new, sector, share, dice);
                // Bytes beyond the length are there only if the length came along.
                if dice.percent(50) {
                    size = size.max(end.min(bytes.len()));
                }
            } else if kept {
                put(&mut bytes, *at, new);
            }
        }
        bytes.resize(size, 0);
        bytes
    }
}

/// Writes some sectors of a write.
fn tear(file: &mut Vec<u8>, at: u64, bytes: &[u8], sector: usize, share: usize, dice: &mut Dice) {
    let mut from = length(at);
    let mut rest = bytes;
    while !rest.is_empty() {
        let room = sector - from % sector;
        let (piece, after) = rest.split_at(room.min(rest.len()));
        if dice.percent(share) {
            put(file, from as u64, piece);
        }
        from += piece.len();
        rest = after;
    }
}

impl Picture {
    /// Puts everything into an empty folder.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (name, entry) in &self.0 {
            let path = folder.join(name);
            match entry {
                Entry::File(bytes) => fs::write(path, bytes)?,
                Entry::Folder(below) => {
                    fs::create_dir(&path)?;
                    below.write(&path)?;
                }
            }
        }
        Ok(())
    }
}
