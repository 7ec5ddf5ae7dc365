//! `read_file`, `write_file`, `edit_file`, `list_files`.

use std::collections::VecDeque;

use bytes::Bytes;
use sandbox::{Entry, EntryKind, SandboxPath, WriteMode, size_text};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::jump::Ahead;
use super::lines::Lines;
use super::{Bench, path, read};

/// Bytes of a file that are looked at in one go.
const WINDOW: usize = 1 << 20;
/// The same further on, where lines are looked for that lie far inside.
const FARTHER: usize = 16 << 20;
/// Bytes of a file that `read_file` fetches to find its lines where they can't be counted in the sandbox.
const FARTHEST: u64 = 100 << 20;
/// Largest file that `edit_file` changes.
const EDITED: u64 = 10 << 20;
/// Lines that `read_file` shows unless told otherwise.
const LINES: usize = 400;
/// Entries of a folder that are listed.
const ENTRIES: usize = 500;
/// Folders below folders that `list_files` goes into.
const DEPTH: usize = 5;
/// Folders that it looks into in one go.
const FOLDERS: usize = 60;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditArguments {
    path: String,
    old: String,
    new: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    path: Option<String>,
    depth: Option<usize>,
}

impl Bench<'_> {
    pub(super) async fn read_file(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: ReadArguments = read(arguments)?;
        let path = path(&arguments.path)?;
        let first = arguments.offset.unwrap_or(1).max(1);
        let most = arguments.limit.unwrap_or(LINES).max(1);
        let mut lines = Lines::new(first, most);
        let (mut place, mut fetched) = (0, 0);
        let mut note = None;
        let mut ahead: Option<Ahead> = None;
        let size = loop {
            let (bytes, size) = match ahead.take() {
                Some(ahead) => {
                    place = ahead.place;
                    (ahead.bytes, ahead.size)
                }
                None => self.window(&path, place, most_at(place, &lines)).await?,
            };
            if place == 0 && bytes.contains(&0) {
                return Err(format!(
                    "{path} is not text ({}); look at it with a command",
                    size_text(size)
                ));
            }
            let is_first = place == 0;
            place += bytes.len() as u64;
            fetched += bytes.len() as u64;
            let end = bytes.is_empty() || place >= size;
            lines.feed(&bytes);
            if end {
                lines.end();
                break size;
            }
            // Small files are read to their end, so that it can be said how many lines they have.
            if lines.enough() && place > WINDOW as u64 {
                break size;
            }
            if fetched >= FARTHEST {
                return Err(format!(
                    "line {first} of {path} lies beyond the first {}; read it with a command",
                    size_text(FARTHEST)
                ));
            }
            if is_first && lines.lie_ahead() {
                (ahead, note) = self.jump(&path, &mut lines, (place, size), WINDOW).await;
            }
        };
        let shown = lines.shown(&path, size);
        let Some(note) = note else {
            return shown;
        };
        let with_note = |text: String| format!("{text}\n[{note}]");
        shown.map(with_note).map_err(with_note)
    }

    /// The next bytes of a file, and its size.
    pub(super) async fn window(
        &self,
        path: &SandboxPath,
        place: u64,
        most: usize,
    ) -> Result<(Bytes, u64), String> {
        self.tenant
            .sandbox
            .read(self.scope, &self.tenant.spec, path, place, most)
            .await
            .map_err(|error| error.to_string())
    }

    pub(super) async fn write_file(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: WriteArguments = read(arguments)?;
        let path = path(&arguments.path)?;
        self.write(&path, arguments.content.as_bytes()).await?;
        Ok(format!(
            "wrote {} to {path}",
            size_text(arguments.content.len() as u64)
        ))
    }

    pub(super) async fn edit_file(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: EditArguments = read(arguments)?;
        let path = path(&arguments.path)?;
        if arguments.old.is_empty() {
            return Err("`old` is empty: use write_file to write a whole file".to_owned());
        }
        let text = String::from_utf8(self.whole(&path).await?).map_err(|error| {
            format!("{path} is not UTF-8 text, so it was left as it is: {error}")
        })?;
        match text.matches(&arguments.old).count() {
            1 => {}
            0 => {
                return Err(format!(
                    "`old` does not stand in {path}; read the file and copy the text exactly"
                ));
            }
            many => {
                return Err(format!(
                    "`old` stands {many} times in {path}; take more of the text around it"
                ));
            }
        }
        self.write(
            &path,
            text.replacen(&arguments.old, &arguments.new, 1).as_bytes(),
        )
        .await?;
        Ok(format!("edited {path}"))
    }

    /// All of a file that is small enough to be edited.
    async fn whole(&self, path: &SandboxPath) -> Result<Vec<u8>, String> {
        let mut whole = Vec::new();
        loop {
            let most = if whole.is_empty() { WINDOW } else { FARTHER };
            let (bytes, size) = self.window(path, whole.len() as u64, most).await?;
            if size > EDITED {
                return Err(format!(
                    "{path} is larger than {}: edit it with a command",
                    size_text(EDITED)
                ));
            }
            whole.extend_from_slice(&bytes);
            if whole.len() as u64 >= size {
                return Ok(whole);
            }
            if bytes.is_empty() {
                return Err(format!("{path} changed while it was read; try again"));
            }
        }
    }

    pub(super) async fn list_files(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: ListArguments = read(arguments)?;
        let top = path(arguments.path.as_deref().unwrap_or(SandboxPath::WORKSPACE))?;
        let depth = arguments.depth.unwrap_or(1).clamp(1, DEPTH);
        let mut lines = Vec::new();
        let mut left_out = 0;
        // Folders still to be listed: how each is called, and how deep it lies.
        let mut open = VecDeque::from([(String::new(), 1)]);
        let mut looked_at = 0;
        while let Some((folder, level)) = open.pop_front() {
            if lines.len() >= ENTRIES || looked_at >= FOLDERS {
                lines.push(format!(
                    "[{} more folders were not looked into]",
                    open.len() + 1
                ));
                break;
            }
            looked_at += 1;
            let listed = self.entries(&top, &folder, ENTRIES - lines.len()).await;
            let (entries, more) = match listed {
                Ok(listed) => listed,
                Err(error) if level == 1 => return Err(error),
                Err(error) => {
                    lines.push(format!("{folder} [{error}]"));
                    continue;
                }
            };
            left_out += more;
            for entry in entries {
                let name = format!("{folder}{}", entry.name);
                lines.push(match entry.kind {
                    EntryKind::Folder => format!("{name}/"),
                    EntryKind::File => format!("{name} ({})", size_text(entry.size)),
                    EntryKind::Other => format!("{name} (neither file nor folder)"),
                });
                if entry.kind == EntryKind::Folder && level < depth {
                    open.push_back((format!("{name}/"), level + 1));
                }
            }
        }
        if lines.is_empty() {
            return Ok(format!("{top} is empty"));
        }
        if left_out > 0 {
            lines.push(format!("[{left_out} more]"));
        }
        Ok(lines.join("\n"))
    }

    async fn entries(
        &self,
        top: &SandboxPath,
        folder: &str,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), String> {
        let at = if folder.is_empty() {
            top.clone()
        } else {
            let top = top.as_str().trim_end_matches('/');
            path(&format!("{top}/{folder}"))?
        };
        self.tenant
            .sandbox
            .list(self.scope, &self.tenant.spec, &at, most)
            .await
            .map_err(|error| error.to_string())
    }

    async fn write(&self, path: &SandboxPath, bytes: &[u8]) -> Result<(), String> {
        self.tenant
            .sandbox
            .write(
                self.scope,
                &self.tenant.spec,
                path,
                bytes,
                WriteMode::Replace,
            )
            .await
            .map_err(|error| error.to_string())
    }
}

/// How much of a file is looked at next.
fn most_at(place: u64, lines: &Lines) -> usize {
    if place == 0 || lines.enough() {
        WINDOW
    } else {
        FARTHER
    }
}
