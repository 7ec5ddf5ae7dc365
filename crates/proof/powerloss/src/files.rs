//! From calls to what they did: descriptors and paths become nodes.
//!
//! Refuses what it can't follow (a write through a mapping, a copy inside the kernel, a link): the proof would say that
//! such bytes are safe. One process with one table of descriptors is understood, whose working folder is `/`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::log::{Act, Kind, Log, Node, Step};
use crate::trace::{Call, Outcome, bytes};

/// The calls that must be in the trace. A `?` is for calls that not every machine has.
pub(crate) const CALLS: &str = "?open,openat,?openat2,?creat,close,?close_range,dup,?dup2,dup3,fcntl,lseek,write,pwrite64,\
    writev,pwritev,?pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,?rename,renameat,?renameat2,?link,linkat,?symlink,\
    symlinkat,?unlink,unlinkat,?rmdir,?mkdir,mkdirat,mmap,?copy_file_range,?sendfile,splice,?io_uring_setup";

/// What ends the name of the file that SQLite maps: it is made anew after a loss of power, so nothing of it is kept.
const MAPPED: &str = "-shm";

/// The descriptor that acknowledgements are said to.
const VOICE: u64 = 1;

/// Reads what calls did below `root`, an absolute path.
///
/// # Errors
/// Names the call that can't be followed.
pub fn follow(calls: &[Call], root: &str) -> anyhow::Result<Log> {
    let mut moments: Vec<(usize, &Call)> = calls
        .iter()
        .filter(|call| call.outcome != Outcome::Failed)
        .map(|call| (moment(call), call))
        .collect();
    moments.sort_by_key(|(at, _)| *at);
    let mut files = Files {
        root: root.trim_end_matches('/').to_owned(),
        nodes: vec![(Kind::Folder, String::new())],
        folders: HashMap::from([(Node::ROOT, BTreeMap::new())]),
        sizes: HashMap::new(),
        open: HashMap::new(),
        said: Vec::new(),
        steps: Vec::new(),
    };
    for (_, call) in moments {
        let line = call.begun + 1;
        let followed = files.call(call);
        followed.with_context(|| format!("{} in line {line} of the trace", call.name))?;
    }
    let Files {
        mut steps, nodes, ..
    } = files;
    steps.sort_by_key(Step::at);
    let steps = steps.into_iter().map(Arc::new).collect();
    Ok(Log { steps, nodes })
}

/// A descriptor is there when its call came back, and may be another one's as soon as it is to be closed.
fn moment(call: &Call) -> usize {
    match call.name.as_str() {
        "open" | "openat" | "openat2" | "dup" | "dup2" | "dup3" | "fcntl" | "lseek" => {
            call.done.unwrap_or(usize::MAX)
        }
        _ => call.begun,
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    node: Node,
    /// Where a plain `write` goes; none where reads may have moved it.
    place: Option<u64>,
    reads: bool,
    appends: bool,
}

struct Files {
    root: String,
    nodes: Vec<(Kind, String)>,
    folders: HashMap<Node, BTreeMap<String, Node>>,
    sizes: HashMap<Node, u64>,
    open: HashMap<u64, Open>,
    said: Vec<u8>,
    steps: Vec<Step>,
}

/// A place below the root: its folder and its name there.
type Place = (Node, String);

impl Files {
    fn call(&mut self, call: &Call) -> anyhow::Result<()> {
        match call.name.as_str() {
            "open" => self.opened(call, None, 0),
            "openat" => self.opened(call, Some(0), 1),
            "close" => {
                self.open.remove(&descriptor(call.argument(0)?)?);
                Ok(())
            }
            "dup" | "dup2" | "dup3" => self.doubled(call),
            "fcntl" if call.argument(1)?.starts_with("F_DUPFD") => self.doubled(call),
            "fcntl" => Ok(()),
            "lseek" => self.sought(call),
            "write" => self.written(call, &bytes_of(call, 1)?, Where::Here),
            "writev" => self.written(call, &vector(call.argument(1)?)?, Where::Here),
            "pwrite64" => {
                let at = Where::At(number(call.argument(3)?)?);
                self.written(call, &bytes_of(call, 1)?, at)
            }
            "pwritev" | "pwritev2" => {
                let at = Where::At(number(call.argument(3)?)?);
                self.written(call, &vector(call.argument(1)?)?, at)
            }
            "ftruncate" | "fallocate" => self.resized(call),
            "fsync" | "fdatasync" => self.synced(call),
            "mkdir" => self.made_folder(call, None, 0),
            "mkdirat" => self.made_folder(call, Some(0), 1),
            "unlink" | "rmdir" => self.removed(call, None, 0),
            "unlinkat" => self.removed(call, Some(0), 1),
            "rename" => self.moved(call, (None, 0), (None, 1)),
            "renameat" | "renameat2" => self.moved(call, (Some(0), 1), (Some(2), 3)),
            "mmap" => self.mapped(call),
            _ => self.strange(call),
        }
    }

    fn step(&mut self, call: &Call, act: Act) {
        self.steps.push(Step {
            act,
            begun: call.begun,
            done: call.done.unwrap_or(usize::MAX),
        });
    }

    /// The place that a call names; none if it is not below the root.
    fn place(
        &self,
        call: &Call,
        folder: Option<usize>,
        path: usize,
    ) -> anyhow::Result<Option<Place>> {
        let path = bytes(call.argument(path)?)?;
        let path = String::from_utf8(path).context("a path is not UTF-8")?;
        let (mut here, below) = if path.starts_with('/') {
            let below = path
                .strip_prefix(&self.root)
                .filter(|below| below.is_empty() || below.starts_with('/'));
            let Some(below) = below else { return Ok(None) };
            (Node::ROOT, below.to_owned())
        } else {
            let from = folder.map(|folder| call.argument(folder)).transpose()?;
            match from {
                // The working folder, which is above the root.
                None | Some("AT_FDCWD") => return Ok(None),
                Some(from) => match self.open.get(&descriptor(from)?) {
                    Some(open) => (open.node, path.clone()),
                    None => return Ok(None),
                },
            }
        };
        let mut names: Vec<&str> = below
            .split('/')
            .filter(|name| !name.is_empty() && *name != ".")
            .collect();
        anyhow::ensure!(!names.contains(&".."), "{path} leads upwards");
        let Some(last) = names.pop() else {
            return Ok(Some((here, String::new())));
        };
        for name in names {
            here = self
                .entry(here, name)
                .with_context(|| format!("{path} leads through a folder that was never made"))?;
        }
        Ok(Some((here, last.to_owned())))
    }

    /// What has a name; the empty name is the folder itself.
    fn entry(&self, folder: Node, name: &str) -> Option<Node> {
        if name.is_empty() {
            return Some(folder);
        }
        self.folders.get(&folder)?.get(name).copied()
    }

    fn new_node(&mut self, kind: Kind, folder: Node, name: &str) -> Node {
        let node = Node(self.nodes.len());
        let above = self
            .nodes
            .get(folder.0)
            .map_or("", |(_, path)| path.as_str());
        let path = if above.is_empty() {
            name.to_owned()
        } else {
            format!("{above}/{name}")
        };
        self.nodes.push((kind, path));
        match kind {
            Kind::File => {
                self.sizes.insert(node, 0);
            }
            Kind::Folder => {
                self.folders.insert(node, BTreeMap::new());
            }
        }
        node
    }

    fn put(&mut self, call: &Call, (folder, name): Place, node: Node) {
        if let Some(entries) = self.folders.get_mut(&folder) {
            entries.insert(name.clone(), node);
        }
        self.step(call, Act::Put { folder, name, node });
    }

    fn opened(&mut self, call: &Call, folder: Option<usize>, path: usize) -> anyhow::Result<()> {
        let flags: Vec<&str> = call.argument(path + 1)?.split('|').collect();
        let has = |flag: &str| flags.contains(&flag);
        let Some(place) = self.place(call, folder, path)? else {
            return Ok(());
        };
        let Outcome::Gave(descriptor) = call.outcome else {
            return Ok(());
        };
        anyhow::ensure!(!has("O_TMPFILE"), "a file without a name can't be followed");
        let node = match self.entry(place.0, &place.1) {
            Some(node) => node,
            None if has("O_CREAT") => {
                let node = self.new_node(Kind::File, place.0, &place.1);
                self.put(call, place, node);
                node
            }
            None => bail!("{} was opened and never made", place.1),
        };
        if has("O_TRUNC") {
            self.sizes.insert(node, 0);
            self.step(
                call,
                Act::Resize {
                    file: node,
                    size: 0,
                },
            );
        }
        let open = Open {
            node,
            place: Some(0),
            reads: has("O_RDWR"),
            appends: has("O_APPEND"),
        };
        self.open.insert(descriptor, open);
        Ok(())
    }

    fn doubled(&mut self, call: &Call) -> anyhow::Result<()> {
        let Outcome::Gave(copy) = call.outcome else {
            return Ok(());
        };
        match self.open.get(&descriptor(call.argument(0)?)?).copied() {
            // Both share their place from now on, which is not followed.
            Some(open) => {
                self.open.insert(
                    copy,
                    Open {
                        place: None,
                        ..open
                    },
                );
            }
            None => {
                self.open.remove(&copy);
            }
        }
        Ok(())
    }

    fn sought(&mut self, call: &Call) -> anyhow::Result<()> {
        let file = descriptor(call.argument(0)?)?;
        if let (Some(open), Outcome::Gave(place)) = (self.open.get_mut(&file), call.outcome) {
            open.place = Some(place);
        }
        Ok(())
    }

    fn written(&mut self, call: &Call, bytes: &[u8], at: Where) -> anyhow::Result<()> {
        let file = descriptor(call.argument(0)?)?;
        let length = match call.outcome {
            Outcome::Gave(length) => usize::try_from(length)?,
            Outcome::Failed | Outcome::Lost => bytes.len(),
        };
        let bytes = bytes
            .get(..length)
            .context("more was written than the trace shows")?;
        if file == VOICE {
            return self.say(call, bytes);
        }
        let Some(open) = self.open.get(&file).copied() else {
            return Ok(());
        };
        let size = self.sizes.get(&open.node).copied().unwrap_or(0);
        let from = match at {
            _ if open.appends => size,
            Where::At(at) => at,
            Where::Here => open
                .place
                .context("where this write goes was not followed")?,
        };
        let end = from + u64::try_from(length)?;
        self.sizes.insert(open.node, size.max(end));
        if let (Where::Here, Some(open)) = (at, self.open.get_mut(&file)) {
            open.place = (!open.reads).then_some(end);
        }
        let act = Act::Write {
            file: open.node,
            at: from,
            bytes: bytes.to_vec(),
        };
        self.step(call, act);
        Ok(())
    }

    fn say(&mut self, call: &Call, bytes: &[u8]) -> anyhow::Result<()> {
        self.said.extend_from_slice(bytes);
        while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            let line = String::from_utf8(line).context("an acknowledgement is not UTF-8")?;
            self.step(call, Act::Say(line.trim_end().to_owned()));
        }
        Ok(())
    }

    fn resized(&mut self, call: &Call) -> anyhow::Result<()> {
        let Some(open) = self.open.get(&descriptor(call.argument(0)?)?).copied() else {
            return Ok(());
        };
        let size = if call.name == "fallocate" {
            anyhow::ensure!(call.argument(1)? == "0", "this form is not understood");
            let end = number(call.argument(2)?)? + number(call.argument(3)?)?;
            end.max(self.sizes.get(&open.node).copied().unwrap_or(0))
        } else {
            number(call.argument(1)?)?
        };
        self.sizes.insert(open.node, size);
        let act = Act::Resize {
            file: open.node,
            size,
        };
        self.step(call, act);
        Ok(())
    }

    fn synced(&mut self, call: &Call) -> anyhow::Result<()> {
        let open = self.open.get(&descriptor(call.argument(0)?)?).copied();
        let (Some(open), Outcome::Gave(_)) = (open, call.outcome) else {
            return Ok(());
        };
        let act = if self.folders.contains_key(&open.node) {
            Act::SyncFolder { folder: open.node }
        } else {
            Act::Sync { file: open.node }
        };
        self.step(call, act);
        Ok(())
    }

    fn made_folder(
        &mut self,
        call: &Call,
        folder: Option<usize>,
        path: usize,
    ) -> anyhow::Result<()> {
        if let Some(place) = self.place(call, folder, path)? {
            let node = self.new_node(Kind::Folder, place.0, &place.1);
            self.put(call, place, node);
        }
        Ok(())
    }

    fn removed(&mut self, call: &Call, folder: Option<usize>, path: usize) -> anyhow::Result<()> {
        let Some((folder, name)) = self.place(call, folder, path)? else {
            return Ok(());
        };
        let entries = self.folders.get_mut(&folder);
        let node = entries.and_then(|entries| entries.remove(&name));
        let node = node.with_context(|| format!("{name} was removed and never made"))?;
        self.step(call, Act::Remove { folder, name, node });
        Ok(())
    }

    fn moved(
        &mut self,
        call: &Call,
        from: (Option<usize>, usize),
        to: (Option<usize>, usize),
    ) -> anyhow::Result<()> {
        let source = self.place(call, from.0, from.1)?;
        let target = self.place(call, to.0, to.1)?;
        let ((from, old), (to, new)) = match (source, target) {
            (None, None) => return Ok(()),
            (Some(source), Some(target)) => (source, target),
            (Some(_), None) | (None, Some(_)) => bail!("a file came or went over the border"),
        };
        let swaps = call
            .arguments
            .get(4)
            .is_some_and(|flags| flags.contains("EXCHANGE"));
        anyhow::ensure!(!swaps, "two names that change places can't be followed");
        let entries = self.folders.get_mut(&from);
        let node = entries.and_then(|entries| entries.remove(&old));
        let node = node.with_context(|| format!("{old} was moved and never made"))?;
        if let Some(entries) = self.folders.get_mut(&to) {
            entries.insert(new.clone(), node);
        }
        let act = Act::Move {
            from,
            old,
            to,
            new,
            node,
        };
        self.step(call, act);
        Ok(())
    }

    fn mapped(&self, call: &Call) -> anyhow::Result<()> {
        let shared = call.argument(3)?.contains("MAP_SHARED");
        let written = call.argument(2)?.contains("PROT_WRITE");
        if !shared || !written || call.argument(4)? == "-1" {
            return Ok(());
        }
        let Some(open) = self.open.get(&descriptor(call.argument(4)?)?) else {
            return Ok(());
        };
        let path = self.nodes.get(open.node.0).map_or("", |(_, path)| path);
        anyhow::ensure!(
            path.ends_with(MAPPED),
            "{path} is written through a mapping, which no trace shows"
        );
        Ok(())
    }

    /// Calls that are refused if they touch what is followed.
    fn strange(&self, call: &Call) -> anyhow::Result<()> {
        let touches = call.arguments.iter().any(|argument| {
            let opened = descriptor(argument).is_ok_and(|file| self.open.contains_key(&file));
            let named = bytes(argument).is_ok_and(|path| path.starts_with(self.root.as_bytes()));
            opened || named
        });
        // These could touch anything later, without another call.
        let blind = ["io_uring_setup", "openat2", "close_range"].contains(&call.name.as_str());
        anyhow::ensure!(!touches && !blind, "what this call did can't be followed");
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Where {
    Here,
    At(u64),
}

/// `9`, or `9</path>` as `-y` writes it.
fn descriptor(argument: &str) -> anyhow::Result<u64> {
    let digits = argument.split('<').next().unwrap_or_default();
    digits
        .parse()
        .with_context(|| format!("{argument} is no descriptor"))
}

fn number(argument: &str) -> anyhow::Result<u64> {
    argument
        .parse()
        .with_context(|| format!("{argument} is no number of bytes"))
}

fn bytes_of(call: &Call, place: usize) -> anyhow::Result<Vec<u8>> {
    bytes(call.argument(place)?)
}

/// `[{iov_base="a", iov_len=1}, {iov_base="b", iov_len=1}]`.
fn vector(argument: &str) -> anyhow::Result<Vec<u8>> {
    let mut all = Vec::new();
    for piece in argument.split("iov_base=").skip(1) {
        let (text, _) = piece
            .split_once(", iov_len=")
            .context("a vector is not understood")?;
        all.extend(bytes(text)?);
    }
    Ok(all)
}
