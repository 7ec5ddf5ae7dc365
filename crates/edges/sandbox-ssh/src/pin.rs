//! The one host key that a machine may show, and the key that opens it.

use russh::keys::ssh_key::Fingerprint;
use russh::keys::{Algorithm, EcdsaCurve, HashAlg, PrivateKey, PublicKey};
use sandbox::Remote;

use crate::Failure;

/// What the host must show. There is no trust at first sight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostKey {
    fingerprint: Fingerprint,
    /// Known where the whole key was written down: then no other kind of key is asked for.
    algorithm: Option<Algorithm>,
}

impl HostKey {
    /// Reads `SHA256:…`, `ssh-ed25519 AAAA…` or a whole line of `known_hosts`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.starts_with("SHA256:") {
            let fingerprint = text.parse().map_err(|_malformed| {
                format!("its host_key '{text}' is no fingerprint; `ssh-keyscan HOST | ssh-keygen -lf -` shows it, to be compared with what the machine itself says")
            })?;
            return Ok(Self {
                fingerprint,
                algorithm: None,
            });
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let key = words
            .windows(2)
            .take(3)
            .find_map(|pair| PublicKey::from_openssh(&pair.join(" ")).ok())
            .ok_or("its host_key is neither 'ssh-ed25519 AAAA…' nor 'SHA256:…'; /etc/ssh/ssh_host_ed25519_key.pub on that machine has it")?;
        if !offered().contains(&key.algorithm()) {
            return Err(format!(
                "its host_key is of the kind {}, which is not used here; take the one of /etc/ssh/ssh_host_ed25519_key.pub",
                key.algorithm()
            ));
        }
        Ok(Self {
            fingerprint: fingerprint(&key),
            algorithm: Some(key.algorithm()),
        })
    }

    pub(crate) fn is(&self, key: &PublicKey) -> bool {
        self.fingerprint == fingerprint(key)
    }

    /// Kinds of keys to ask the host for.
    pub(crate) fn algorithms(&self) -> Vec<Algorithm> {
        match &self.algorithm {
            Some(algorithm) => vec![algorithm.clone()],
            None => offered(),
        }
    }
}

impl std::fmt::Display for HostKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.algorithm {
            Some(algorithm) => write!(out, "{} ({algorithm})", self.fingerprint),
            None => write!(out, "{}", self.fingerprint),
        }
    }
}

/// RSA is left out: no implementation of it in Rust keeps its secrets from who measures time (RUSTSEC-2023-0071).
fn offered() -> Vec<Algorithm> {
    let ecdsa = |curve| Algorithm::Ecdsa { curve };
    vec![
        Algorithm::Ed25519,
        ecdsa(EcdsaCurve::NistP256),
        ecdsa(EcdsaCurve::NistP384),
        ecdsa(EcdsaCurve::NistP521),
    ]
}

pub(crate) fn fingerprint(key: &PublicKey) -> Fingerprint {
    key.fingerprint(HashAlg::Sha256)
}

/// What a remote's settings come to.
pub(crate) struct Login {
    pub(crate) key: PrivateKey,
    pub(crate) host_key: HostKey,
}

/// What people see it called.
pub(crate) fn machine(remote: &Remote) -> String {
    let host = if remote.host.contains(':') {
        format!("[{}]", remote.host)
    } else {
        remote.host.clone()
    };
    format!("{}@{host}:{}", remote.user, remote.port)
}

pub(crate) fn login(remote: &Remote) -> Result<Login, Failure> {
    let setting = |reason: String| Failure::Setting {
        machine: machine(remote),
        reason,
    };
    if remote.folder.trim_matches('/').is_empty() || remote.folder.chars().any(char::is_control) {
        return Err(setting(
            "its folder must name a folder, like 'tidings'".to_owned(),
        ));
    }
    let host_key = HostKey::parse(&remote.host_key).map_err(setting)?;
    let make = "make one with `ssh-keygen -t ed25519 -N '' -f FILE` and give what is in FILE";
    // The library's own words may quote the text: they stay here.
    let key = PrivateKey::from_openssh(format!("{}\n", remote.key.reveal().trim())).map_err(
        |_unread| {
            setting(format!(
                "its key is no private key in OpenSSH's format; {make}"
            ))
        },
    )?;
    if key.is_encrypted() {
        return Err(setting(format!(
            "its key has a passphrase, which nobody could type here; {make}"
        )));
    }
    if !offered().contains(&key.algorithm()) {
        return Err(setting(format!(
            "its key is of the kind {}, which is not used here; {make}",
            key.algorithm()
        )));
    }
    Ok(Login { key, host_key })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::HostKey;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn a_host_key_is_read_as_files_and_programs_of_ssh_write_it() {
        let plain = HostKey::parse(KEY).unwrap();
        for text in [
            format!("{KEY} root@host"),
            format!("host,10.0.0.1 {KEY}"),
            format!("@marker host {KEY}\n"),
        ] {
            assert_eq!(HostKey::parse(&text), Ok(plain.clone()), "{text}");
        }
        let print = plain.fingerprint.to_string();
        assert!(print.starts_with("SHA256:"));
        let pinned = HostKey::parse(&format!(" {print} ")).unwrap();
        assert_eq!(pinned.fingerprint, plain.fingerprint);
        assert_eq!(
            (plain.algorithms().len(), pinned.algorithms().len()),
            (1, 4)
        );
        for text in [
            "",
            "SHA256:",
            "SHA256:short",
            "MD5:aa:bb",
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "yes",
            "*",
        ] {
            assert!(HostKey::parse(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_taken_for_any_key(text in "(?s).{0,60}") {
            prop_assert!(HostKey::parse(&text).is_err());
        }

        #[test]
        fn a_cut_key_is_no_key(cut in 0..KEY.len()) {
            prop_assert!(HostKey::parse(KEY.get(..cut).unwrap()).is_err());
        }
    }
}
