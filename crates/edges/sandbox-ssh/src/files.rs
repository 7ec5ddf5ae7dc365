//! Files of the sandbox, through its own view: what a path means there, it means here.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use sandbox::{Entry, EntryKind, SandboxError, SandboxKey, SandboxPath, SandboxSpec, WriteMode};
use tokio::time::timeout;

use crate::failure::printable;
use crate::header::entry;
use crate::line::with_arguments;
use crate::machine::Over;
use crate::process::{End, Process, Source};
use crate::view::View;
use crate::{SshSandbox, scripts};

/// How long a file may take to be read, written or listed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Bytes of a script's own words and of its complaints.
const WORDS: usize = 8 << 10;

/// Most bytes of one read, whatever was asked for.
const MOST_READ: usize = 64 << 20;

/// Bytes of a folder's listing.
const LISTING: usize = 8 << 20;

/// What a script said.
pub(crate) struct Answer {
    out: Vec<u8>,
    complaint: Vec<u8>,
    end: End,
}

impl Answer {
    /// All of it.
    pub(crate) fn all(&self) -> &[u8] {
        &self.out
    }

    /// Its first line, and what follows.
    pub(crate) fn split(&self) -> (String, &[u8]) {
        let mut halves = self.out.splitn(2, |byte| *byte == b'\n');
        let head = String::from_utf8_lossy(halves.next().unwrap_or_default()).into_owned();
        (head, halves.next().unwrap_or_default())
    }

    /// What follows its first line, without a copy: a read may be of many megabytes.
    fn rest(self) -> Bytes {
        let mut all = Bytes::from(self.out);
        let end = all.iter().position(|byte| *byte == b'\n');
        all.split_off(end.map_or(all.len(), |end| end + 1))
    }

    /// The last thing that a program complained of: `sh: 5: cannot create x: Read-only file system` says the end of it.
    pub(crate) fn reason(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaint);
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        match line.and_then(|line| line.rsplit(": ").next()) {
            Some(reason) => printable(reason).to_lowercase(),
            None => format!("the machine's shell ended with {:?}", self.end),
        }
    }
}

/// With the environment that our own scripts read numbers in.
fn script(text: &str, arguments: &[&str]) -> String {
    format!("export LC_ALL=C\n{}", with_arguments(text, arguments))
}

impl SshSandbox {
    pub(crate) async fn read_file(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let failed = |why: &str| SandboxError::File(format!("{path} could not be read: {why}"));
        let most = most.min(MOST_READ);
        let first = offset.saturating_add(1).to_string();
        let inside = |view: &View<'_>| {
            Ok(script(
                scripts::READ,
                &[&view.path(path), &first, &most.to_string()],
            ))
        };
        let process = self.launch(key, spec, Over::Shared, None, &inside).await?;
        let answer = hear(process, &[], WORDS + most)
            .await?
            .ok_or_else(|| failed("it took too long"))?;
        let (head, _) = answer.split();
        if let Some(size) = head.strip_prefix("ok ") {
            let size = size
                .parse()
                .map_err(|_odd| failed("its size is not known"))?;
            return Ok((answer.rest(), size));
        }
        Err(failed(&match head.as_str() {
            "missing" => "no such file".to_owned(),
            "folder" => "it is a folder".to_owned(),
            "special" => "it is not a regular file".to_owned(),
            "closed" => "permission denied".to_owned(),
            _ => answer.reason(),
        }))
    }

    pub(crate) async fn write_file(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        let failed = |why: &str| SandboxError::File(format!("{path} could not be written: {why}"));
        let mode = match mode {
            WriteMode::Replace => "replace",
            WriteMode::CreateNew => "new",
        };
        let size = bytes.len().to_string();
        let folder = path.parent();
        let inside = |view: &View<'_>| {
            Ok(script(
                scripts::WRITE,
                &[&view.path(path), &view.path(&folder), &size, mode],
            ))
        };
        let process = self.launch(key, spec, Over::Shared, None, &inside).await?;
        let answer = hear(process, bytes, WORDS)
            .await?
            .ok_or_else(|| failed("it took too long; the old file is as it was"))?;
        let (head, _) = answer.split();
        Err(failed(&match head.as_str() {
            "ok" => return Ok(()),
            "exists" => "it is already there".to_owned(),
            "folder" => "it is a folder".to_owned(),
            "special" => "it is not a regular file".to_owned(),
            "closed" => "permission denied".to_owned(),
            "short" => "not all bytes arrived; the old file is as it was".to_owned(),
            _ => answer.reason(),
        }))
    }

    pub(crate) async fn entries(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        let failed = |why: &str| SandboxError::File(format!("{path} could not be listed: {why}"));
        let inside = |view: &View<'_>| Ok(script(scripts::LIST, &[&view.path(path)]));
        let process = self.launch(key, spec, Over::Shared, None, &inside).await?;
        let answer = hear(process, &[], LISTING)
            .await?
            .ok_or_else(|| failed("it took too long"))?;
        let (head, listing) = answer.split();
        if head != "ok" {
            return Err(failed(&match head.as_str() {
                "missing" => "no such folder".to_owned(),
                "special" => "it is not a folder".to_owned(),
                "closed" => "permission denied".to_owned(),
                _ => answer.reason(),
            }));
        }
        let mut entries = listed(&String::from_utf8_lossy(listing));
        entries.sort_by(|one, other| {
            rank(one.kind)
                .cmp(&rank(other.kind))
                .then_with(|| one.name.cmp(&other.name))
        });
        let left_out = entries.len().saturating_sub(most);
        entries.truncate(most);
        Ok((entries, left_out))
    }
}

/// Folders, then files, then all else.
fn rank(kind: EntryKind) -> u8 {
    match kind {
        EntryKind::Folder => 0,
        EntryKind::File => 1,
        EntryKind::Other => 2,
    }
}

/// A line that is no entry continues the name before it: that name holds a line break.
fn listed(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        match (entry(line), entries.last_mut()) {
            (Some(entry), _) => entries.push(entry),
            (None, Some(last)) => {
                last.name.push('\n');
                last.name.push_str(line);
            }
            (None, None) => {}
        }
    }
    entries
}

/// Gives a script its input and gathers what it says, up to a bound; `None` if it took too long.
pub(crate) async fn hear(
    mut process: Process,
    stdin: &[u8],
    most: usize,
) -> Result<Option<Answer>, SandboxError> {
    let (mut out, mut complaint) = (Vec::new(), Vec::new());
    let input = process.input();
    let gathering = async {
        let mut feeding = pin!(input.feed(stdin));
        let mut fed = false;
        loop {
            tokio::select! {
                piece = process.next() => match piece {
                    Some((Source::Out, bytes)) => extend(&mut out, &bytes, most),
                    Some((Source::Err, bytes)) => extend(&mut complaint, &bytes, WORDS),
                    None => return,
                },
                () = &mut feeding, if !fed => fed = true,
            }
        }
    };
    if timeout(PATIENCE, gathering).await.is_err() {
        return Ok(None);
    }
    let end = process.end().map_err(|_lost| {
        SandboxError::Failed(
            "the connection to the other machine was lost meanwhile; try again".to_owned(),
        )
    })?;
    Ok(Some(Answer {
        out,
        complaint,
        end,
    }))
}

/// Adds what there is room for.
fn extend(to: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = most.saturating_sub(to.len());
    let (kept, _) = bytes.split_at(room.min(bytes.len()));
    to.extend_from_slice(kept);
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_line_break_in_a_name_belongs_to_the_name() {
        let names: Vec<String> = listed("81a4 1 ./a\n81a4 1 ./b\nsecond line\n")
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["a", "b\nsecond line"]);
    }
}
