//! From tar to zip, both as streams.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::rc::Rc;

use bytes::{Buf, Bytes};
use sandbox::{Refusal, SandboxPath};
use tar::{Archive, Entry, EntryType};
use tokio::sync::mpsc;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::names::Names;
use super::{Error, Rules};

/// Bytes that are handed on in one piece.
const PIECE: usize = 64 << 10;
/// Bytes that may stand in the archive around an entry: its header, and what that says in other headers. The reader of the
/// archive keeps all of these in memory.
const HEADERS: u64 = 1 << 20;
/// Longest name of an entry in bytes (Linux `PATH_MAX`).
const NAME: usize = 4096;

/// What may be packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) entries: usize,
    /// Bytes of all files together.
    pub(super) unpacked: u64,
}

/// What was packed and what was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) files: usize,
    folders: usize,
    pub(super) links: usize,
    pub(super) linked: usize,
    pub(super) special: usize,
    unpacked: u64,
}

impl Tally {
    /// All that the archive holds, left out or not.
    fn entries(&self) -> usize {
        self.files + self.folders + self.links + self.linked + self.special
    }
}

/// Why nothing was packed.
#[derive(Debug)]
pub(super) enum Trouble {
    TooMany,
    TooLarge,
    /// It lies in this place.
    Forbidden(String),
    /// The archive is cut or broken, or nobody takes the zip any more.
    Broken(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

impl From<zip::result::ZipError> for Trouble {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Broken(error.into())
    }
}

impl Trouble {
    pub(super) fn told(self, path: &SandboxPath, bounds: Bounds, limit: u64) -> Error {
        let path = path.clone();
        match self {
            Self::TooMany => Error::TooMany(path),
            Self::TooLarge => {
                tracing::info!(%path, most = bounds.unpacked, "a folder is too large to be packed");
                Error::TooLarge { path, limit }
            }
            Self::Forbidden(place) => Error::Refused(Refusal::Forbidden { path, place }),
            Self::Broken(error) => {
                tracing::info!(%path, %error, "a folder could not be packed");
                Error::Unstable(path)
            }
        }
    }
}

/// Reads a tar from one side and says a zip to the other. Blocks.
pub(super) fn zip(
    tar: mpsc::Receiver<Bytes>,
    zip: mpsc::Sender<Bytes>,
    rules: &Rules,
    bounds: Bounds,
) -> Result<Tally, Trouble> {
    let allowance = Rc::new(Allowance::default());
    let source = Source {
        pieces: tar,
        piece: Bytes::new(),
        allowance: Rc::clone(&allowance),
    };
    let sink = Sink {
        pieces: zip,
        piece: Vec::with_capacity(PIECE),
    };
    let packer = Packer {
        zip: ZipWriter::new_stream(sink),
        rules,
        bounds,
        names: Names::default(),
        tally: Tally::default(),
    };
    packer.all(source, &allowance).map_err(|trouble| {
        if allowance.over.get() {
            Trouble::TooLarge
        } else {
            trouble
        }
    })
}

struct Packer<'a> {
    zip: ZipWriter<StreamWriter<Sink>>,
    rules: &'a Rules,
    bounds: Bounds,
    names: Names,
    tally: Tally,
}

impl Packer<'_> {
    fn all(mut self, source: Source, allowance: &Allowance) -> Result<Tally, Trouble> {
        let mut archive = Archive::new(source);
        allowance.grant(0);
        for entry in archive.entries()? {
            let entry = entry?;
            // All of it is read before the next, whether it is packed or not.
            allowance.grant(archived(&entry)?);
            self.take(entry)?;
        }
        // An archive that is cut at an entry's edge would end here, too; the exit code of what packed it tells.
        let mut sink = self.zip.finish()?.into_inner();
        sink.flush()?;
        let mut rest = archive.into_inner();
        allowance.grant(0);
        io::copy(&mut rest, &mut io::sink())?;
        Ok(self.tally)
    }

    fn take(&mut self, mut entry: Entry<'_, Source>) -> Result<(), Trouble> {
        let raw = entry.path_bytes().into_owned();
        let raw = raw.strip_prefix(b"./").unwrap_or(&raw);
        if raw.len() > NAME {
            return Err(io::Error::other("the name of an entry is too long").into());
        }
        let name = String::from_utf8_lossy(raw)
            .trim_end_matches('/')
            .to_owned();
        if name.is_empty() || name == "." {
            return Ok(());
        }
        let odd = name.starts_with('/') || name.split('/').any(|part| matches!(part, ".." | ""));
        if odd {
            return Err(io::Error::other("an entry lies outside the folder").into());
        }
        if let Some(place) = self.rules.forbids(&name) {
            return Err(Trouble::Forbidden(place));
        }
        let mut kind = kind(entry.header().entry_type());
        if kind == Kind::File && self.rules.linked.contains(raw) {
            kind = Kind::Linked;
        }
        let tally = &mut self.tally;
        let left_out = match kind {
            Kind::Folder => {
                tally.folders += 1;
                None
            }
            Kind::File => {
                tally.files += 1;
                None
            }
            Kind::Link => Some(&mut tally.links),
            Kind::Linked => Some(&mut tally.linked),
            Kind::Special => Some(&mut tally.special),
        };
        let packed = left_out.is_none();
        if let Some(count) = left_out {
            *count += 1;
        }
        if tally.entries() > self.bounds.entries {
            return Err(Trouble::TooMany);
        }
        if !packed {
            return Ok(());
        }
        let options = options(&entry);
        if kind == Kind::Folder {
            let told = self.names.folder(&name);
            self.bounded()?;
            return match told {
                Some(told) => Ok(self.zip.add_directory(told, options)?),
                None => Ok(()),
            };
        }
        let told = self.names.file(&name);
        self.bounded()?;
        let tally = &mut self.tally;
        tally.unpacked = tally.unpacked.saturating_add(entry.size());
        if tally.unpacked > self.bounds.unpacked {
            return Err(Trouble::TooLarge);
        }
        let large = entry.size() >= u64::from(u32::MAX);
        self.zip.start_file(told, options.large_file(large))?;
        io::copy(&mut entry, &mut self.zip)?;
        Ok(())
    }

    /// Folders that an archive only names on the way to a file count as well.
    fn bounded(&self) -> Result<(), Trouble> {
        if self.names.count() > self.bounds.entries {
            return Err(Trouble::TooMany);
        }
        Ok(())
    }
}

/// Bytes of an entry's contents in the archive.
fn archived(entry: &Entry<'_, Source>) -> io::Result<u64> {
    if entry.header().entry_type().is_gnu_sparse() {
        // Its own size counts the holes, too.
        return entry.header().entry_size();
    }
    Ok(entry.size())
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    /// A symbolic link.
    Link,
    /// A file with other names.
    Linked,
    /// A device, a pipe, or what nobody knows.
    Special,
}

fn kind(entry: EntryType) -> Kind {
    if entry.is_dir() {
        Kind::Folder
    } else if entry.is_file() || entry.is_contiguous() || entry.is_gnu_sparse() {
        Kind::File
    } else if entry.is_symlink() {
        Kind::Link
    } else if entry.is_hard_link() {
        Kind::Linked
    } else {
        Kind::Special
    }
}

fn options(entry: &Entry<'_, Source>) -> SimpleFileOptions {
    let header = entry.header();
    let mut options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    if let Ok(mode) = header.mode() {
        options = options.unix_permissions(mode & 0o777);
    }
    match header.mtime().ok().and_then(date) {
        Some(date) => options.last_modified_time(date),
        None => options,
    }
}

/// A time as zips have it: to two seconds, from 1980 on, without a zone; taken as UTC.
fn date(seconds: u64) -> Option<DateTime> {
    let at = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    let small = |number: i8| u8::try_from(number).ok();
    DateTime::from_date_and_time(
        u16::try_from(at.year()).ok()?,
        small(at.month())?,
        small(at.day())?,
        small(at.hour())?,
        small(at.minute())?,
        small(at.second())?,
    )
    .ok()
}

/// Bytes that may be read of the archive before the next entry is there.
#[derive(Default)]
struct Allowance {
    left: Cell<u64>,
    /// More were there.
    over: Cell<bool>,
}

impl Allowance {
    /// For these contents, and for what stands around them.
    fn grant(&self, contents: u64) {
        self.left.set(contents.saturating_add(HEADERS));
    }
}

/// Pieces as something to read.
struct Source {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
    allowance: Rc<Allowance>,
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let left = self.allowance.left.get();
        if left == 0 {
            self.allowance.over.set(true);
            return Err(io::Error::other("the archive's headers are too large"));
        }
        let most = into.len().min(self.piece.len());
        let most = usize::try_from(left).map_or(most, |left| most.min(left));
        self.allowance.left.set(left.saturating_sub(most as u64));
        let (part, _) = into.split_at_mut(most);
        self.piece.copy_to_slice(part);
        Ok(most)
    }
}

/// Something to write to, as pieces.
struct Sink {
    pieces: mpsc::Sender<Bytes>,
    piece: Vec<u8>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.piece));
        self.pieces
            .blocking_send(piece)
            .map_err(|_gone| io::Error::new(io::ErrorKind::BrokenPipe, "nobody takes the zip"))
    }
}

#[cfg(test)]
mod tests;
