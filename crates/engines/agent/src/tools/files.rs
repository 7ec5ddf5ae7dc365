//! `read_file`, `write_file`, `edit_file`, `list_files`.

use sandbox::{EntryKind, SandboxPath, WriteMode, size_text};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};

/// Bytes that `read_file` looks at.
const READ: usize = 1 << 20;
/// Lines that it shows unless told otherwise.
const LINES: usize = 400;
/// Entries of a folder that are listed.
const ENTRIES: usize = 500;

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
}

fn path(text: &str) -> Result<SandboxPath, String> {
    SandboxPath::parse(text).map_err(|error| error.to_string())
}

impl Bench<'_> {
    pub(super) async fn read_file(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: ReadArguments = read(arguments)?;
        let path = path(&arguments.path)?;
        let (bytes, size) = self
            .tenant
            .sandbox
            .read(self.scope, &self.tenant.spec, &path, 0, READ)
            .await
            .map_err(|error| error.to_string())?;
        if bytes.contains(&0) {
            return Err(format!(
                "{path} is not text ({}); look at it with a command",
                size_text(size)
            ));
        }
        let text = String::from_utf8_lossy(&bytes);
        let first = arguments.offset.unwrap_or(1).max(1);
        let most = arguments.limit.unwrap_or(LINES).max(1);
        let total = text.lines().count();
        if first > total.max(1) {
            return Err(format!("{path} has {total} lines"));
        }
        let mut shown: String = text
            .lines()
            .skip(first - 1)
            .take(most)
            .collect::<Vec<_>>()
            .join("\n");
        let last = (first - 1 + most).min(total);
        if last < total || size > READ as u64 {
            let more = if size > READ as u64 { "+" } else { "" };
            shown.push_str(&format!(
                "\n[lines {first} to {last} of {total}{more}; {}]",
                size_text(size)
            ));
        }
        if shown.is_empty() {
            shown.push_str("[the file is empty]");
        }
        Ok(shown)
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
        let (bytes, size) = self
            .tenant
            .sandbox
            .read(self.scope, &self.tenant.spec, &path, 0, READ)
            .await
            .map_err(|error| error.to_string())?;
        if size > READ as u64 {
            return Err(format!(
                "{path} is larger than {}: edit it with a command",
                size_text(READ as u64)
            ));
        }
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| {
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

    pub(super) async fn list_files(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: ListArguments = read(arguments)?;
        let path = path(arguments.path.as_deref().unwrap_or(SandboxPath::WORKSPACE))?;
        let (entries, left_out) = self
            .tenant
            .sandbox
            .list(self.scope, &self.tenant.spec, &path, ENTRIES)
            .await
            .map_err(|error| error.to_string())?;
        if entries.is_empty() {
            return Ok(format!("{path} is empty"));
        }
        let mut lines: Vec<String> = entries
            .iter()
            .map(|entry| match entry.kind {
                EntryKind::Folder => format!("{}/", entry.name),
                EntryKind::File => format!("{} ({})", entry.name, size_text(entry.size)),
                EntryKind::Other => format!("{} (neither file nor folder)", entry.name),
            })
            .collect();
        if left_out > 0 {
            lines.push(format!("[{left_out} more]"));
        }
        Ok(lines.join("\n"))
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
