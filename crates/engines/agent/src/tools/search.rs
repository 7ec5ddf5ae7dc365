//! `search_files`: by what stands in files, or by their names.

use std::collections::BTreeMap;
use std::time::Duration;

use sandbox::{Exec, Exit, SandboxPath};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};

/// Matches that are shown.
const MATCHES: usize = 200;
/// Bytes that are shown.
const BYTES: usize = 32 << 10;
/// Bytes of a line that are shown.
const LINE: usize = 400;
/// Longest search, in seconds.
const SECONDS: u64 = 60;

/// The search, as text that is always the same: what is searched for comes through the environment and is never read as shell.
/// Folders of version control and of installed packages are passed by. Exit code 3: there is no such path; 4: the pattern is
/// wrong.
const CONTENT: &str = r#"
[ -e "$TIDINGS_PATH" ] || exit 3
if command -v rg >/dev/null 2>&1; then
  rg -q -e "$TIDINGS_PATTERN" /dev/null 2>&1; [ $? -gt 1 ] && exit 4
  set -- --no-config --no-heading --with-filename --line-number --color never --hidden --no-ignore -g '!.git' -g '!node_modules'
  [ -n "$TIDINGS_GLOB" ] && set -- "$@" -g "$TIDINGS_GLOB"
  rg "$@" -e "$TIDINGS_PATTERN" -- "$TIDINGS_PATH" 2>/dev/null | cut -b 1-"$TIDINGS_LINE" | head -n "$TIDINGS_MATCHES"
else
  grep -qE -e "$TIDINGS_PATTERN" /dev/null 2>&1; [ $? -gt 1 ] && exit 4
  binary=-I; grep -I x /dev/null >/dev/null 2>&1; [ $? -gt 1 ] && binary=
  set -- -type d \( -name .git -o -name node_modules \) -prune -o -type f
  case "$TIDINGS_GLOB" in
    '') ;;
    */*) set -- "$@" -path "*/${TIDINGS_GLOB#/}" ;;
    *) set -- "$@" -name "$TIDINGS_GLOB" ;;
  esac
  find -H "$TIDINGS_PATH" "$@" -print0 2>/dev/null | xargs -0 grep -nHE $binary -e "$TIDINGS_PATTERN" /dev/null 2>/dev/null \
    | cut -b 1-"$TIDINGS_LINE" | head -n "$TIDINGS_MATCHES"
fi
exit 0
"#;

/// The same for names.
const NAMES: &str = r#"
[ -e "$TIDINGS_PATH" ] || exit 3
find -H "$TIDINGS_PATH" -type d \( -name .git -o -name node_modules \) -prune -o -iname "$TIDINGS_PATTERN" -print 2>/dev/null \
  | cut -b 1-4095 | head -n "$TIDINGS_MATCHES"
exit 0
"#;

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    Names,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    mode: Mode,
}

impl Bench<'_> {
    pub(super) async fn search_files(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        let path = super::path(arguments.path.as_deref().unwrap_or(SandboxPath::WORKSPACE))?;
        let glob = arguments.glob.unwrap_or_default();
        if arguments.pattern.is_empty() {
            return Err("`pattern` is empty; list_files shows what is there".to_owned());
        }
        if arguments.pattern.contains(['\0', '\n']) || glob.contains(['\0', '\n']) {
            return Err("a pattern is one line".to_owned());
        }
        let (command, pattern) = match arguments.mode {
            Mode::Content => (CONTENT, arguments.pattern),
            Mode::Names if arguments.pattern.contains(['*', '?', '[']) => {
                (NAMES, arguments.pattern)
            }
            Mode::Names => (NAMES, format!("*{}*", arguments.pattern)),
        };
        let place = self.place(path.as_str())?;
        let limits = &self.tenant.spec.limits;
        let exec = Exec {
            command: command.to_owned(),
            directory: place.root.clone(),
            env: BTreeMap::from([
                ("TIDINGS_PATTERN".to_owned(), pattern),
                ("TIDINGS_PATH".to_owned(), place.target.clone()),
                ("TIDINGS_GLOB".to_owned(), glob),
                ("TIDINGS_LINE".to_owned(), LINE.to_string()),
                ("TIDINGS_MATCHES".to_owned(), (MATCHES + 1).to_string()),
                ("LC_ALL".to_owned(), "C.UTF-8".to_owned()),
            ]),
            stdin: Vec::new(),
            timeout: Duration::from_secs(SECONDS.min(limits.command_seconds.max(1))),
            output_bytes: 1 << 20,
        };
        let output = self
            .tenant
            .sandbox
            .exec(self.scope, &self.tenant.spec, exec)
            .await
            .map_err(|error| error.to_string())?;
        match output.exit {
            Exit::Code(0) => {
                let mut text = shown(&place.told(&output.bytes));
                // It is said only once.
                if let Some(note) = output.note {
                    text = format!("{}\n[{note}]", text.trim_end());
                }
                Ok(text)
            }
            Exit::Code(3) => Err(format!("there is no {path}")),
            Exit::Code(4) => Err(
                "the pattern is no regular expression; escape signs like ( [ { + ? with a backslash"
                    .to_owned(),
            ),
            Exit::Code(code) => Err(format!(
                "the search failed with exit code {code}: {}",
                shown(&output.bytes)
            )),
            Exit::TimedOut => Err(format!(
                "the search took too long; search a smaller folder than {path}"
            )),
            Exit::OutOfMemory => Err("the sandbox ran out of memory".to_owned()),
        }
    }

    /// The search begins in a folder that the sandbox finds by whatever name it has there, and goes on from it.
    pub(super) fn place(&self, path: &str) -> Result<Place, String> {
        let path = match path.trim_end_matches('/') {
            "" => "/",
            path => path,
        };
        let own = [
            SandboxPath::WORKSPACE,
            SandboxPath::HOME,
            SandboxPath::INBOX,
        ];
        let mounts = self
            .tenant
            .spec
            .mounts
            .iter()
            .map(|mount| mount.at.as_str());
        let below = |root: &str| {
            let rest = path.strip_prefix(root.trim_end_matches('/'))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
        };
        let roots = own.into_iter().chain(mounts).chain(["/"]);
        let (root, rest) = roots
            .filter_map(|root| Some((root, below(root)?)))
            .max_by_key(|(root, _)| root.len())
            .unwrap_or(("/", path.to_owned()));
        Ok(Place {
            path: path.to_owned(),
            root: super::path(root)?,
            target: match rest.trim_start_matches('/') {
                "" => ".".to_owned(),
                rest => format!("./{rest}"),
            },
        })
    }
}

/// Where is searched.
pub(super) struct Place {
    /// As it was asked for.
    path: String,
    /// Where the search begins.
    pub(super) root: SandboxPath,
    /// The same place, from there.
    pub(super) target: String,
}

impl Place {
    /// What the search said, with paths of the sandbox.
    fn told(&self, bytes: &[u8]) -> Vec<u8> {
        let mut told = Vec::with_capacity(bytes.len());
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match line.strip_prefix(self.target.as_bytes()) {
                Some(rest) => {
                    let path = if rest.starts_with(b"/") {
                        self.path.trim_end_matches('/')
                    } else {
                        &self.path
                    };
                    told.extend_from_slice(path.as_bytes());
                    told.extend_from_slice(rest);
                }
                None => told.extend_from_slice(line),
            }
        }
        told
    }
}

/// Whole lines within the bounds; lines of what is no text are left out.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut matches, mut more) = (0, false);
    for line in bytes.split(|byte| *byte == b'\n') {
        if line.is_empty() || line.contains(&0) {
            continue;
        }
        if matches == MATCHES || text.len() + line.len() > BYTES {
            more = true;
            break;
        }
        matches += 1;
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    if matches == 0 {
        return "[nothing found]".to_owned();
    }
    if more {
        text.push_str(&format!(
            "[there is more than these {matches}: search a smaller folder, or for something rarer]"
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_shows_so_many_lines_and_bytes_and_says_that_there_are_more() {
        assert_eq!(shown(b""), "[nothing found]");
        assert_eq!(shown(b"/a:1:x\n/b:2:\0bin\n"), "/a:1:x\n");
        let many = "/a:1:x\n".repeat(MATCHES + 1);
        assert!(shown(many.as_bytes()).contains("more than these 200"));
        let wide = format!("{}\n", "y".repeat(400)).repeat(MATCHES);
        let text = shown(wide.as_bytes());
        assert!(
            text.len() < BYTES + 200 && text.contains("there is more"),
            "{}",
            text.len()
        );
    }
}
