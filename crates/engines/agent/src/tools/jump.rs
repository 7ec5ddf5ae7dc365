//! Where a line far inside a file begins, counted where the file is.
//!
//! Bytes that only have to be counted don't need to come through the port: for a container or another machine that is most of the
//! time that `read_file` takes.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use sandbox::{Exec, Exit, SandboxPath};

use super::Bench;
use super::lines::Lines;

/// Longest count, in seconds: some ten gigabytes of a file that lies on a disk.
const SECONDS: u64 = 60;
/// Bytes of output that are looked at: two numbers, and room for what is none.
const OUTPUT: usize = 1 << 10;

/// How many line breaks and bytes the first lines have; always the same text, and the path comes through the environment.
/// Nothing is opened that is no regular file: a pipe would never end.
const COUNT: &str = r#"
[ -f "$TIDINGS_PATH" ] || exit 3
head -n "$TIDINGS_LINES" < "$TIDINGS_PATH" 2>/dev/null | wc -lc
"#;

/// What stands behind the lines that were passed by.
pub(super) struct Ahead {
    /// Where it begins.
    pub(super) place: u64,
    /// The first bytes of it.
    pub(super) bytes: Bytes,
    /// Bytes of the file.
    pub(super) size: u64,
}

impl Bench<'_> {
    /// Passes by what stands before the wanted lines. `place` bytes were read, of `size`; `most` are wanted from there on.
    ///
    /// `None`: it could not be counted, or what was counted does not fit the file. Then nothing is changed and the caller reads on.
    /// Beside it stands what the sandbox said of itself, which is said only once.
    pub(super) async fn jump(
        &self,
        path: &SandboxPath,
        lines: &mut Lines,
        (place, size): (u64, u64),
        most: usize,
    ) -> (Option<Ahead>, Option<String>) {
        let Some((counted, note)) = self.count(path, lines.before()).await else {
            return (None, None);
        };
        let ahead = async {
            let (breaks, bytes) = counted?;
            if bytes < place {
                return None;
            }
            // With the byte before, which shows whether a line ends there.
            let (mut read, now) = self.window(path, bytes.checked_sub(1)?, most).await.ok()?;
            let last = (!read.is_empty()).then(|| read.split_to(1))?;
            let fits = now >= size && lines.pass(breaks, last.as_ref());
            fits.then_some(Ahead {
                place: bytes,
                bytes: read,
                size: now,
            })
        };
        (ahead.await, note)
    }

    /// Line breaks and bytes of the first `lines` lines, or of all if there are fewer.
    async fn count(
        &self,
        path: &SandboxPath,
        lines: usize,
    ) -> Option<(Option<(usize, u64)>, Option<String>)> {
        // What `..` leads to is for the driver to say, and a command would find it another way.
        if path.as_str().split('/').any(|part| part == "..") {
            return None;
        }
        // From its folder: the file itself may be a mount, and nothing starts in a file.
        let folder = self.place(path.parent().as_str()).ok()?;
        let limits = &self.tenant.spec.limits;
        let exec = Exec {
            command: COUNT.to_owned(),
            directory: folder.root,
            env: BTreeMap::from([
                (
                    "TIDINGS_PATH".to_owned(),
                    format!("{}/{}", folder.target, path.file_name()),
                ),
                ("TIDINGS_LINES".to_owned(), lines.to_string()),
                ("LC_ALL".to_owned(), "C".to_owned()),
            ]),
            stdin: Vec::new(),
            timeout: Duration::from_secs(SECONDS.min(limits.command_seconds.max(1))),
            output_bytes: OUTPUT,
        };
        let exec = self
            .tenant
            .sandbox
            .exec(self.scope, &self.tenant.spec, exec);
        let output = exec.await.ok()?;
        let counted = match output.exit {
            Exit::Code(0) if output.left_out == 0 => numbers(&output.bytes),
            Exit::Code(_) | Exit::TimedOut | Exit::OutOfMemory => None,
        };
        Some((counted, output.note))
    }
}

/// Two numbers and nothing else.
fn numbers(said: &[u8]) -> Option<(usize, u64)> {
    let mut words = std::str::from_utf8(said).ok()?.split_ascii_whitespace();
    let numbers = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    words.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_numbers_are_a_count() {
        for (said, numbers) in [
            ("12 345\n", Some((12, 345))),
            ("     12     345\n", Some((12, 345))),
            ("12345\n", None),
            ("12 345 file\n", None),
            ("-1 345\n", None),
            ("12 345\nsh: warning\n", None),
            ("sh: head: not found\n", None),
            ("0 99999999999999999999\n", None),
            ("", None),
        ] {
            assert_eq!(super::numbers(said.as_bytes()), numbers, "{said:?}");
        }
        assert_eq!(numbers(b"\xff 1"), None);
    }
}
