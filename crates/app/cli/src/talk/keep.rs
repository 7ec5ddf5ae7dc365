//! Files that come back, saved where the person is. Nothing that is there already is touched.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::door::Door;
use crate::exit::Failure;

/// Longest silence of a download.
const SILENCE: Duration = Duration::from_secs(60);
/// Names that are tried: `report.pdf`, `report (1).pdf`, …
const TRIES: u32 = 1_000;

/// Saves a file under its name; returns where it is.
pub(crate) async fn save(
    door: &Door,
    folder: &Path,
    name: &str,
    url: &str,
) -> Result<PathBuf, Failure> {
    let mut answer = door.open_get(url).await?;
    let (mut file, path) = fresh(folder, &harmless(name))?;
    loop {
        let piece = answer.chunk_within(SILENCE).await;
        let piece = match piece {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(path),
            Err(error) => {
                drop(file);
                let half = std::fs::remove_file(&path);
                half.with_context(|| format!("{} is half of a file", path.display()))?;
                return Err(Failure::Failed(format!("{name} was not saved: {error}")));
            }
        };
        if let Err(error) = file.write_all(&piece) {
            drop(file);
            let half = std::fs::remove_file(&path);
            half.with_context(|| format!("{} is half of a file", path.display()))?;
            return Err(Failure::Failed(format!("{name} was not saved: {error}")));
        }
    }
}

/// A file that was not there before.
fn fresh(folder: &Path, name: &str) -> Result<(std::fs::File, PathBuf), Failure> {
    for number in 0..TRIES {
        let path = folder.join(numbered(name, number));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(Failure::Failed(format!(
                    "{} can't be saved: {error}; another folder is chosen with --save-to",
                    path.display()
                )));
            }
        }
    }
    Err(Failure::Failed(format!(
        "{name} is there {TRIES} times already in {}",
        folder.display()
    )))
}

fn numbered(name: &str, number: u32) -> String {
    if number == 0 {
        return name.to_owned();
    }
    match name.rsplit_once('.') {
        Some((stem, kind)) if !stem.is_empty() => format!("{stem} ({number}).{kind}"),
        Some(_) | None => format!("{name} ({number})"),
    }
}

/// A name without a folder in it, that is not hidden and that no program takes for an option.
fn harmless(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|sign| {
            if sign == '/' || sign == '\\' || sign.is_control() {
                '_'
            } else {
                sign
            }
        })
        .collect();
    let name = name.trim_start_matches(['.', '-', ' ']).trim_end();
    if name.is_empty() {
        "file".to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_never_lands_elsewhere_and_never_takes_anothers_place() {
        assert_eq!(harmless("../../.bashrc"), "_.._.bashrc");
        assert_eq!(harmless(".profile"), "profile");
        assert_eq!(harmless("--help"), "help");
        assert_eq!(harmless("a\u{1b}[2J/b"), "a_[2J_b");
        assert_eq!(harmless("..."), "file");
        assert_eq!(numbered("report.pdf", 0), "report.pdf");
        assert_eq!(numbered("report.pdf", 2), "report (2).pdf");
        assert_eq!(numbered("README", 1), "README (1)");
        let folder = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for _ in 0..3 {
            paths.push(
                fresh(folder.path(), "a.txt")
                    .unwrap_or_else(|_| panic!("no place"))
                    .1,
            );
        }
        paths.dedup();
        assert_eq!(paths.len(), 3);
    }
}
