//! Files of the sandbox, through its own view.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sandbox::{Entry, EntryKind, SandboxError, SandboxKey, SandboxPath, SandboxSpec, WriteMode};
use tokio::time::timeout;

use crate::driver::Inner;
use crate::header::entry;
use crate::process::{Launch, Source, feed};
use crate::scripts;

/// How long a file may take to be read, written or listed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a script's own words and of its complaints.
const WORDS: usize = 8 << 10;

/// Most bytes of one read, whatever was asked for.
const MOST_READ: usize = 64 << 20;

/// Bytes of a folder's listing.
pub(crate) const LISTING: usize = 8 << 20;

/// What a script said.
struct Answer {
    out: Vec<u8>,
    complaint: Vec<u8>,
    code: i64,
}

impl Answer {
    /// The words before the first NUL, without the line's end; and what follows.
    fn split(&self) -> (String, &[u8]) {
        let mut halves = self.out.splitn(2, |byte| *byte == 0);
        let head = halves.next().unwrap_or_default();
        let head = String::from_utf8_lossy(head)
            .trim_end_matches('\n')
            .to_owned();
        (head, halves.next().unwrap_or_default())
    }

    /// The last thing that a command complained of: `sh: 5: cannot create x: Read-only file system` says the end of it.
    fn reason(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaint);
        let line = text.lines().rfind(|line| !line.trim().is_empty());
        match line.and_then(|line| line.rsplit(": ").next()) {
            Some(reason) => reason.trim().to_lowercase(),
            None => format!("the sandbox's shell ended with {}", self.code),
        }
    }
}

impl Inner {
    pub(crate) async fn read(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let failed = |why: &str| SandboxError::File(format!("{path} could not be read: {why}"));
        let most = most.min(MOST_READ);
        let first = offset.saturating_add(1).to_string();
        let launch = Launch::own(scripts::READ, &[path.as_str(), &first, &most.to_string()]);
        let answer = self
            .ask_file(key, spec, launch, &[], WORDS + most)
            .await?
            .ok_or_else(|| failed("it took too long"))?;
        let (head, bytes) = answer.split();
        if let Some(size) = head.strip_prefix("ok ") {
            let size = size
                .parse()
                .map_err(|_odd| failed("its size is not known"))?;
            return Ok((Bytes::copy_from_slice(bytes), size));
        }
        Err(failed(&match head.as_str() {
            "missing" => "no such file".to_owned(),
            "folder" => "it is a folder".to_owned(),
            "special" => "it is not a regular file".to_owned(),
            "closed" => "permission denied".to_owned(),
            _ => answer.reason(),
        }))
    }

    pub(crate) async fn write(
        self: &Arc<Self>,
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
        let launch = Launch::own(
            scripts::WRITE,
            &[path.as_str(), folder.as_str(), &size, mode],
        );
        let answer = self
            .ask_file(key, spec, launch, bytes, WORDS)
            .await?
            .ok_or_else(|| failed("it took too long"))?;
        let (head, _) = answer.split();
        let why = match head.as_str() {
            "ok" => return Ok(()),
            "exists" => "it is already there".to_owned(),
            "folder" => "it is a folder".to_owned(),
            "special" => "it is not a regular file".to_owned(),
            "short" => "not all bytes arrived; the old file is as it was".to_owned(),
            _ => answer.reason(),
        };
        Err(failed(&why))
    }

    pub(crate) async fn entries(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        let failed = |why: &str| SandboxError::File(format!("{path} could not be listed: {why}"));
        let launch = Launch::own(scripts::LIST, &[path.as_str()]);
        let answer = self
            .ask_file(key, spec, launch, &[], LISTING)
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
        let mut entries = parse_listing(&String::from_utf8_lossy(listing));
        entries.sort_by(|one, other| {
            let kind = |entry: &Entry| entry.kind != EntryKind::Folder;
            kind(one).cmp(&kind(other)).then_with(|| {
                let other_kind = |entry: &Entry| entry.kind == EntryKind::Other;
                other_kind(one)
                    .cmp(&other_kind(other))
                    .then_with(|| one.name.cmp(&other.name))
            })
        });
        let left_out = entries.len().saturating_sub(most);
        entries.truncate(most);
        Ok((entries, left_out))
    }

    /// Runs a script and gathers what it says, up to a bound; `None` if it took too long.
    async fn ask_file(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        launch: Launch,
        stdin: &[u8],
        most: usize,
    ) -> Result<Option<Answer>, SandboxError> {
        let (_live, mut process) = self.launch(key, spec, launch).await?;
        let input = process.take_input();
        let (mut out, mut complaint) = (Vec::new(), Vec::new());
        let gathering = async {
            let mut feeding = pin!(feed(input, stdin));
            let mut fed = false;
            loop {
                tokio::select! {
                    piece = process.next() => match piece? {
                        Some((Source::Out, bytes)) => out.extend(bytes.iter().take(most - out.len())),
                        Some((Source::Err, bytes)) => complaint.extend(bytes.iter().take(WORDS - complaint.len())),
                        None => return Ok::<(), SandboxError>(()),
                    },
                    () = &mut feeding, if !fed => fed = true,
                }
            }
        };
        match timeout(PATIENCE, gathering).await {
            Ok(gathered) => gathered?,
            Err(_elapsed) => return Ok(None),
        }
        let code = process.exit().await?;
        Ok(Some(Answer {
            out,
            complaint,
            code,
        }))
    }
}

/// A line that is no entry continues the name before it: that name holds a line break.
pub(crate) fn parse_listing(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines() {
        match entry(line) {
            Some((kind, size, name)) => entries.push(Entry {
                name: name.to_owned(),
                kind,
                size,
            }),
            None => {
                if let Some(last) = entries.last_mut() {
                    last.name.push('\n');
                    last.name.push_str(line);
                }
            }
        }
    }
    entries
}
