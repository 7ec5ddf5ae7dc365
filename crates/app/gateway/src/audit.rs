//! The record of what left a sandbox, or was kept from it: a file that only grows, until it is laid aside.
//!
//! Each line is a JSON object whose `chain` is the hash of the line before and of the line itself: a line that was changed or taken
//! out breaks every one after it. No argument's value is in it, so no secret is.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use policy::{Decided, Outcome};
use serde_json::{Value, json};

/// Past this it is laid aside, in place of the one before: some 20,000 decisions.
const LARGEST: u64 = 8 << 20;
/// Longer than any line.
const LINE: u64 = 16 << 10;

struct Book {
    file: File,
    size: u64,
    chain: blake3::Hash,
}

/// The record.
pub(crate) struct Record {
    path: PathBuf,
    book: Mutex<Option<Book>>,
}

impl Record {
    /// Opens it, or makes it.
    ///
    /// # Errors
    /// If it can't be opened: nothing is done unrecorded.
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let path = state.join("audit.jsonl");
        let book = open(&path, None)?;
        Ok(Self {
            path,
            book: Mutex::new(Some(book)),
        })
    }

    fn append(&self, mut object: Value) -> io::Result<()> {
        let mut place = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let mut book = match place.take() {
            Some(book) if book.size < LARGEST => book,
            Some(full) => {
                std::fs::rename(&self.path, self.path.with_extension("1.jsonl"))?;
                open(&self.path, Some(full.chain))?
            }
            // It failed before: look anew what is there.
            None => open(&self.path, None)?,
        };
        let chain = chained(&book.chain, &object);
        if let Some(fields) = object.as_object_mut() {
            fields.insert("chain".to_owned(), chain.to_hex().as_str().into());
        }
        let line = format!("{object}\n");
        book.file.write_all(line.as_bytes())?;
        book.size += line.len() as u64;
        book.chain = chain;
        *place = Some(book);
        Ok(())
    }
}

/// The hash of the line before and of a line without its own.
fn chained(before: &blake3::Hash, object: &Value) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before.as_bytes());
    hasher.update(object.to_string().as_bytes());
    hasher.finalize()
}

fn open(path: &Path, chain: Option<blake3::Hash>) -> io::Result<Book> {
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    let size = file.metadata()?.len();
    let chain = match chain {
        Some(chain) => chain,
        None => last(&mut file, size)?,
    };
    Ok(Book { file, size, chain })
}

/// The hash of the last whole line; a line that a crash cut is ended here.
fn last(file: &mut File, size: u64) -> io::Result<blake3::Hash> {
    let nothing = blake3::hash(b"");
    file.seek(SeekFrom::Start(size.saturating_sub(LINE)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    if end.last().is_some_and(|byte| *byte != b'\n') {
        file.write_all(b"\n")?;
    }
    let text = String::from_utf8_lossy(&end);
    let chain = text.lines().rev().find_map(|line| {
        let object: Value = serde_json::from_str(line).ok()?;
        blake3::Hash::from_hex(object.get("chain")?.as_str()?).ok()
    });
    Ok(chain.unwrap_or(nothing))
}

impl policy::Audit for Record {
    fn record(&self, decided: &Decided<'_>) {
        let (by, why) = match &decided.outcome {
            Outcome::Approved(by) | Outcome::Refused(by) => (Some(by.as_str()), None),
            Outcome::Denied(why) => (None, Some(*why)),
            Outcome::Allowed | Outcome::Granted | Outcome::Asked | Outcome::Unanswered => {
                (None, None)
            }
        };
        let class = decided.action.class();
        let object = json!({
            "at": decided.at.to_string(),
            "profile": decided.scope.profile(),
            "session": decided.scope.session().key().to_string(),
            "turn": decided.scope.turn(),
            "what": class.as_ref().map_or_else(|| decided.action.question(), |class| class.as_str().to_owned()),
            "call": decided.call.to_string(),
            "outcome": decided.outcome.name(),
            "by": by,
            "why": why,
            "untrusted": decided.labels.untrusted,
            "private": decided.labels.private,
            "context": decided.context.name(),
        });
        if let Err(error) = self.append(object) {
            tracing::error!(path = %self.path.display(), %error, turn = %decided.scope.turn(), "a decision could not be written down");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The lines whose chain holds, from the first on.
    fn whole(text: &str) -> usize {
        let mut before = blake3::hash(b"");
        let mut count = 0;
        for line in text.lines() {
            let mut object: Value = serde_json::from_str(line).unwrap();
            let said = object.as_object_mut().unwrap().remove("chain").unwrap();
            let is = chained(&before, &object);
            if said.as_str().unwrap() != is.to_hex().as_str() {
                break;
            }
            before = is;
            count += 1;
        }
        count
    }

    #[test]
    fn a_line_that_was_changed_or_taken_out_shows() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::open(folder.path()).unwrap();
        for n in 0..3 {
            record.append(json!({ "n": n })).unwrap();
        }
        drop(record);
        // The next start goes on where this one ended.
        let record = Record::open(folder.path()).unwrap();
        record.append(json!({ "n": 3 })).unwrap();
        let path = folder.path().join("audit.jsonl");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole(&text), 4);
        assert_eq!(whole(&text.replace("\"n\":1", "\"n\":9")), 1);
        let out: Vec<&str> = text
            .lines()
            .enumerate()
            .filter(|(n, _)| *n != 2)
            .map(|(_, line)| line)
            .collect();
        assert_eq!(whole(&out.join("\n")), 2);
    }

    #[test]
    fn a_line_that_a_crash_cut_takes_no_other_along() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let record = Record::open(folder.path()).unwrap();
        record.append(json!({ "n": 0 })).unwrap();
        drop(record);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"n\":1,\"cha").unwrap();
        let record = Record::open(folder.path()).unwrap();
        record.append(json!({ "n": 2 })).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(whole(&format!("{}\n{}\n", lines[0], lines[2])), 2);
    }

    #[test]
    fn a_full_record_is_laid_aside_once() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::open(folder.path()).unwrap();
        record.append(json!({ "n": 0 })).unwrap();
        record.book.lock().unwrap().as_mut().unwrap().size = LARGEST;
        record.append(json!({ "n": 1 })).unwrap();
        let aside = std::fs::read_to_string(folder.path().join("audit.1.jsonl")).unwrap();
        let now = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        assert_eq!(whole(&format!("{aside}{now}")), 2);
        assert_eq!(now.lines().count(), 1);
    }
}
