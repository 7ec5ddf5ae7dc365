//! What single texts and ids must be. A refusal continues the sentence that begins with the key's name, and never
//! repeats a text that could hold a secret.

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};

use sandbox::Destination;
use waybill::{AccountId, ProfileId};

use crate::nearest::shown;
use crate::shape::Context;

/// Checks a text.
pub(crate) type Rule = fn(&str, &Context) -> Result<(), String>;

/// Account names that mean something else where a destination is written.
const TAKEN: [&str; 4] = ["web", "api", "local", "origin"];

/// Longest free text in bytes.
const LONGEST: usize = 4096;

fn plain(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        Err("must not be empty".to_owned())
    } else if text.len() > LONGEST {
        Err(format!("is longer than {LONGEST} bytes"))
    } else if text.chars().any(char::is_control) {
        Err("holds a control character".to_owned())
    } else {
        Ok(())
    }
}

fn unspaced(text: &str) -> Result<(), String> {
    plain(text)?;
    if text.chars().any(char::is_whitespace) {
        Err("must not hold blanks".to_owned())
    } else {
        Ok(())
    }
}

/// Reads the address that the gateway listens on, as `up --listen` gives it; the same rule as `gateway.listen`.
///
/// # Errors
/// A text that continues "'listen' …".
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_not_an_address| {
        "must be an IP address and a port, such as 127.0.0.1:7717".to_owned()
    })?;
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!(
            "is {address}, which others can reach: that needs TLS or a trusted proxy, and authentication, which this \
             version does not have; listen on 127.0.0.1:{} and reach it through an SSH tunnel",
            address.port()
        ))
    }
}

pub(crate) fn listen(text: &str, _: &Context) -> Result<(), String> {
    listen_address(text).map(|_address| ())
}

pub(crate) fn log_filter(text: &str, _: &Context) -> Result<(), String> {
    plain(text)
}

pub(crate) fn image(text: &str, _: &Context) -> Result<(), String> {
    unspaced(text)?;
    if text.starts_with('-') {
        Err("must not begin with '-'".to_owned())
    } else {
        Ok(())
    }
}

/// `auto`, `demo` or `PROVIDER/MODEL`.
pub(crate) fn model(text: &str, context: &Context) -> Result<(), String> {
    if text == "auto" || text == "demo" {
        return Ok(());
    }
    unspaced(text)?;
    let wrong = || "must be \"PROVIDER/MODEL\", \"demo\" or \"auto\"".to_owned();
    let (provider, model) = text.split_once('/').ok_or_else(wrong)?;
    if model.is_empty() {
        return Err(wrong());
    }
    provider_name(provider, context).map_err(|_malformed| wrong())
}

pub(crate) fn provider_name(text: &str, _: &Context) -> Result<(), String> {
    let good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
        Err("is no provider's name: 1 to 64 letters, digits, '-', '_' and '.'".to_owned())
    } else {
        Ok(())
    }
}

/// The provider's own name for a model: what stands after the first slash of `PROVIDER/MODEL`.
pub(crate) fn model_name(text: &str, _: &Context) -> Result<(), String> {
    unspaced(text).map_err(|wrong| format!("is no model's name: it {wrong}"))
}

/// The name of a server stands before the names of its tools, which have room for 64 signs in all.
pub(crate) fn server_name(text: &str, _: &Context) -> Result<(), String> {
    let good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if text.is_empty() || text.len() > 24 || !text.chars().all(good) {
        Err("is no server's name: 1 to 24 letters, digits, '-' and '_'".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn tool_name(text: &str, _: &Context) -> Result<(), String> {
    plain(text)
}

/// A program, or an argument of one, which may be empty.
pub(crate) fn argument(text: &str, _: &Context) -> Result<(), String> {
    if text.len() > LONGEST {
        Err(format!("is longer than {LONGEST} bytes"))
    } else if text.contains('\0') {
        Err("holds a NUL character".to_owned())
    } else {
        Ok(())
    }
}

/// RFC 9110, 5.6.2: a token. What the transport writes itself is not the owner's to write.
pub(crate) fn header_name(text: &str, _: &Context) -> Result<(), String> {
    const OURS: [&str; 7] = [
        "host",
        "content-length",
        "content-type",
        "transfer-encoding",
        "connection",
        "accept",
        "mcp-session-id",
    ];
    let good = |sign: char| sign.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(sign);
    if text.is_empty() || text.len() > 128 || !text.chars().all(good) {
        Err("is no header's name".to_owned())
    } else if OURS.contains(&text.to_ascii_lowercase().as_str()) {
        Err("is a header that the gateway writes itself".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn profile_name(text: &str, _: &Context) -> Result<(), String> {
    ProfileId::parse(text)
        .map(|_name| ())
        .map_err(|source| format!("is no profile's name: {source}"))
}

pub(crate) fn account_name(text: &str, _: &Context) -> Result<(), String> {
    AccountId::parse(text).map_err(|source| format!("is no account's name: {source}"))?;
    if TAKEN.contains(&text) {
        Err("is taken: 'web' is the web chat, where every profile can be reached without a route; 'local' and 'origin' \
             are destinations".to_owned())
    } else {
        Ok(())
    }
}

/// One file in a folder that is already known.
pub(crate) fn file_name(text: &str, _: &Context) -> Result<(), String> {
    plain(text)?;
    if text.contains(['/', '\\']) || text == "." || text == ".." || text.len() > 255 {
        Err("must be the name of one file, without a folder".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn url(text: &str, _: &Context) -> Result<(), String> {
    unspaced(text)?;
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .ok_or("must begin with https:// or http://")?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.starts_with(':') {
        Err("names no host".to_owned())
    } else if authority.contains('@') {
        Err(
            "must not hold a name or a password; keep secrets as \"env:NAME\" or \"file:NAME\""
                .to_owned(),
        )
    } else if rest.contains(['?', '#']) {
        Err("must not hold a query or a fragment".to_owned())
    } else {
        Ok(())
    }
}

/// What a sandbox without a network may still reach.
pub(crate) fn destination(text: &str, _: &Context) -> Result<(), String> {
    match text.parse::<Destination>() {
        Ok(_destination) => Ok(()),
        // What stands before an '@' may be a password.
        Err(_malformed) if text.contains('@') => {
            Err("must not hold a name or a password; write HOST:PORT".to_owned())
        }
        Err(_malformed) => Err(format!(
            "can't hold '{}': write HOST:PORT such as \"example.org:443\", or \"*.example.org:443\" for whatever is below it",
            shown(text)
        )),
    }
}

/// A name or an address, which never looks like an option.
pub(crate) fn ssh_host(text: &str, _: &Context) -> Result<(), String> {
    let good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.' | ':');
    if text.is_empty() || text.len() > 253 || text.starts_with('-') || !text.chars().all(good) {
        Err("must be the name or the address of a machine, without an account or a port".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn ssh_user(text: &str, _: &Context) -> Result<(), String> {
    let good = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.');
    if text.is_empty() || text.len() > 64 || text.starts_with('-') || !text.chars().all(good) {
        Err("must be the name of an account: letters, digits, '-', '_' and '.'".to_owned())
    } else {
        Ok(())
    }
}

/// A public key as `known_hosts` has it after the host's name, or its fingerprint.
pub(crate) fn ssh_host_key(text: &str, _: &Context) -> Result<(), String> {
    let base64 = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    };
    let words: Vec<&str> = text.split(' ').collect();
    let good = match words.as_slice() {
        [fingerprint] => fingerprint
            .strip_prefix("SHA256:")
            .is_some_and(|rest| rest.trim_end_matches('=').len() == 43 && base64(rest)),
        [kind, key] => {
            ["ssh-", "ecdsa-", "sk-"]
                .iter()
                .any(|start| kind.starts_with(start))
                && base64(key)
        }
        _ => false,
    };
    if good {
        Ok(())
    } else {
        Err("must be the machine's public key, \"ssh-ed25519 AAAA…\" or \"SHA256:…\"; run ssh-keyscan HOST, and compare it with what \
             the machine's owner says"
            .to_owned())
    }
}

pub(crate) fn ssh_folder(text: &str, _: &Context) -> Result<(), String> {
    plain(text)?;
    let inner = text.strip_prefix('/').unwrap_or(text).trim_end_matches('/');
    let odd = |part: &str| matches!(part, "" | "." | ".." | "~");
    if inner.split('/').any(odd) {
        Err("must be a folder below the account's home, or absolute, without '~', '.', '..' or '//'".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn env_name(text: &str, _: &Context) -> Result<(), String> {
    let first = text
        .chars()
        .next()
        .is_some_and(|sign| sign.is_ascii_alphabetic() || sign == '_');
    let good = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    if first && text.len() <= 256 && text.chars().all(good) {
        Ok(())
    } else {
        Err("is no variable's name: letters, digits and '_', not beginning with a digit".to_owned())
    }
}

pub(crate) fn env_value(text: &str, _: &Context) -> Result<(), String> {
    if text.len() > 32 << 10 {
        Err("is longer than 32 KB".to_owned())
    } else if text.contains('\0') {
        Err("holds a NUL character".to_owned())
    } else {
        Ok(())
    }
}

/// Checks an absolute path without `.`, `..` or empty components, so that its text means what it shows.
fn absolute(text: &str) -> Result<(), String> {
    plain(text)?;
    if !text.starts_with('/') {
        return Err("must be an absolute path".to_owned());
    }
    let inner = text.trim_end_matches('/');
    if inner
        .split('/')
        .skip(1)
        .any(|part| matches!(part, "" | "." | ".."))
    {
        return Err("must not hold '.', '..' or '//'".to_owned());
    }
    Ok(())
}

pub(crate) fn mount_host(text: &str, home: &Context) -> Result<(), String> {
    absolute(text)?;
    let host = real(Path::new(text));
    let home = real(home.path());
    if host.starts_with(&home) || home.starts_with(&host) {
        return Err(format!(
            "must not be the home of Tidings ({}), a part of it, or a folder around it: the agent would see every secret",
            home.display()
        ));
    }
    // What is not there yet is the driver's to refuse, when it is needed.
    match std::fs::metadata(&host) {
        Ok(found) if !found.is_dir() && !found.is_file() => Err(
            "must be a folder or a file, not a socket, a device or a pipe: a sandbox that can speak to what listens there, \
             such as a container engine, is no sandbox"
                .to_owned(),
        ),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The path with links resolved as far as it exists.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        if let Ok(found) = ancestor.canonicalize() {
            return found
                .components()
                .chain(missing.into_iter().rev())
                .collect();
        }
        missing.extend(
            ancestor
                .components()
                .next_back()
                .filter(|part| *part != Component::RootDir),
        );
    }
    path.to_owned()
}

pub(crate) fn mount_at(text: &str, _: &Context) -> Result<(), String> {
    absolute(text)?;
    let at = text.trim_end_matches('/');
    let whole = ["", "/workspace", "/root"].contains(&at);
    let under = ["/inbox", "/proc", "/sys", "/dev"].iter().any(|place| {
        at.strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    if whole || under {
        Err("is a place that the sandbox needs itself (/, /workspace, /root, /inbox, /proc, /sys, /dev)".to_owned())
    } else {
        Ok(())
    }
}

/// Where what the owner keeps secret would not be safe: the agent could rename a folder above it, and then it lies at a
/// place that nobody calls secret. `shared` are the places of what the owner lets the agent write.
pub(crate) fn secret_at(at: &str, shared: &[&str]) -> Result<(), String> {
    let own = ["/workspace", "/root", "/tmp", "/inbox"];
    let below = own
        .iter()
        .chain(shared)
        .find(|place| Path::new(at).starts_with(place));
    match below {
        Some(place) => Err(format!(
            "a secret mount can't be at {at}: the agent may write in {place} and could rename the folder above it; \
             choose a place such as /secrets"
        )),
        None => Ok(()),
    }
}

/// What an id names. So far every kind of channel here numbers its people and chats (Telegram Bot API: 64-bit
/// integers, negative for groups and channels).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    Person,
    Group,
    Chat,
    Thread,
}

impl IdRule {
    /// An id as a text: trimmed, in its shortest decimal form.
    pub(crate) fn text(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let number: i64 = text.parse().map_err(|_no_number| {
            if text.starts_with('@') || text.chars().any(char::is_alphabetic) {
                "takes ids only, never names (a name can change hands): write the number".to_owned()
            } else {
                "must be an id, a whole number".to_owned()
            }
        })?;
        self.number(number)
    }

    pub(crate) fn number(self, number: i64) -> Result<String, String> {
        match self {
            Self::Person if number <= 0 => {
                Err("must be the id of a person, which is more than 0".to_owned())
            }
            Self::Group if number >= 0 => Err(
                "must be the id of a group, which is less than 0 (such as -1001234567890)"
                    .to_owned(),
            ),
            Self::Chat if number == 0 => Err("must be the id of a chat, which is not 0".to_owned()),
            Self::Thread if number <= 0 => {
                Err("must be the id of a thread, which is more than 0".to_owned())
            }
            Self::Person | Self::Group | Self::Chat | Self::Thread => Ok(number.to_string()),
        }
    }
}

/// Bytes from a text such as `512m`: a whole number and one of `k`, `m`, `g`, `t` (powers of 1,024), maybe with `b`
/// or `ib` after it.
pub(crate) fn size(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|sign: char| !sign.is_ascii_digit());
    let unit = text.strip_prefix(digits)?.trim();
    let shift = match unit {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<i64>().ok()?.checked_mul(1 << shift)
}
