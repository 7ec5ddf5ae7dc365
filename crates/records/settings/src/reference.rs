//! Secrets by reference: `env:NAME` and `file:NAME`.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use waybill::Secret;

use crate::home::shell_word;
use crate::{Environment, Home};

/// Longest secret in bytes.
const LONGEST: u64 = 64 << 10;

/// Where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reference {
    Env(String),
    File(String),
}

/// What a secret looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecretLines {
    /// A word: a password, a token.
    One,
    /// A text of lines, which ends with a line end: a private key.
    Many,
}

impl Reference {
    /// Reads a reference. The refusal continues the sentence that begins with the key's name and doesn't repeat the
    /// text, which may be the secret itself. `example` is a good variable's name for this key.
    pub(crate) fn parse(text: &str, example: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("env:") {
            return if is_name(name) && !name.contains(['.', '-']) {
                Ok(Self::Env(name.to_owned()))
            } else {
                Err(format!(
                    "names no variable after \"env:\"; write \"env:{example}\""
                ))
            };
        }
        if let Some(name) = text.strip_prefix("file:") {
            return if is_name(name) && !name.starts_with('.') {
                Ok(Self::File(name.to_owned()))
            } else {
                Err("must name one file of the folder 'secrets' after \"file:\": letters, digits, '_', '-' and '.', no folders"
                    .to_owned())
            };
        }
        let inner = text.strip_prefix('$').map(|rest| {
            rest.strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'))
                .unwrap_or(rest)
        });
        match inner {
            Some(name) if is_name(name) && !name.contains(['.', '-']) => {
                Err(format!("is not expanded here; write \"env:{name}\""))
            }
            Some(_) => Err(format!("is not expanded here; write \"env:{example}\"")),
            None => Err(format!(
                "must not hold the secret itself, which would be copied with the file; write \"env:{example}\" or \"file:NAME\" \
                 (a file in the folder 'secrets')"
            )),
        }
    }

    /// The variable's or the file's name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Env(name) | Self::File(name) => name,
        }
    }

    /// Fetches the secret. The refusal is a whole sentence.
    pub(crate) fn resolve(
        &self,
        lines: SecretLines,
        home: &Home,
        environment: &dyn Environment,
    ) -> Result<Secret, String> {
        match self {
            Self::Env(name) => {
                let value = environment
                    .get(name)
                    .ok_or_else(|| format!("the variable {name} is not set (or is not UTF-8)"))?;
                clean(&value, lines).map_err(|wrong| format!("the variable {name} {wrong}"))
            }
            Self::File(name) => {
                let path = home.secrets().join(name);
                let text = read(&path)?;
                clean(&text, lines).map_err(|wrong| format!("{} {wrong}", path.display()))
            }
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 255
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// What stands between the blanks and line ends that editors and shells leave.
fn clean(text: &str, lines: SecretLines) -> Result<Secret, &'static str> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err("is empty");
    }
    match lines {
        SecretLines::One if text.chars().any(char::is_control) => {
            Err("holds a control character or a line break inside")
        }
        SecretLines::One => Ok(Secret::new(text.to_owned())),
        SecretLines::Many => {
            let text = text.replace("\r\n", "\n");
            if text.chars().any(|sign| sign.is_control() && sign != '\n') {
                Err("holds a control character")
            } else {
                Ok(Secret::new(format!("{text}\n")))
            }
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let broken = |source: std::io::Error| {
        if source.kind() == std::io::ErrorKind::NotFound {
            format!(
                "there is no file {shown}; put the secret there and run: chmod 600 {}",
                shell_word(path)
            )
        } else {
            format!("{shown} can't be read: {source}")
        }
    };
    // Looked at before it is opened, because opening a FIFO would wait for a writer.
    if !std::fs::metadata(path).map_err(broken)?.is_file() {
        return Err(format!("{shown} is not a file"));
    }
    let file = File::open(path).map_err(broken)?;
    let metadata = file.metadata().map_err(broken)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(format!(
            "{shown} can be read by others; run: chmod 600 {}",
            shell_word(path)
        ));
    }
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(broken)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("{shown} is larger than 64 KB"));
    }
    String::from_utf8(bytes).map_err(|_binary| format!("{shown} is not UTF-8 text"))
}
