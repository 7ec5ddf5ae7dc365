//! Places from which nothing is ever sent. One list for every driver.

use crate::{Mount, MountMode, SandboxPath, SandboxSpec};

/// What the system keeps for itself. `/var/run` stands here too, for sandboxes where it is no link to `/run`.
const SYSTEM: [&str; 7] = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/var/run"];

/// Files and folders of a home that open other people's doors.
const CREDENTIALS: [&str; 18] = [
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".docker",
    ".env",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".terraform.d",
    ".vault-token",
];

/// Is a file in a place from which nothing is ever sent? Then its name, for [`crate::Refusal::Forbidden`].
///
/// `canonical` must be the path of the file that was *opened*, as the sandbox's kernel gives it (the link behind
/// `/proc/self/fd/N`); a name that was only written down may lead elsewhere. `secret_mounts` are
/// [`SandboxSpec::secret_places`].
///
/// Text that is no absolute path is forbidden: what the kernel can't place, nobody sends.
#[must_use]
pub fn forbidden_place(canonical: &str, secret_mounts: &[&SandboxPath]) -> Option<String> {
    if !canonical.starts_with('/') {
        return Some("outside the sandbox".to_owned());
    }
    let secret = secret_mounts
        .iter()
        .map(|mount| mount.as_str().trim_end_matches('/'))
        .find(|mount| within(canonical, mount));
    if let Some(mount) = secret {
        return Some(if mount.is_empty() { "/" } else { mount }.to_owned());
    }
    if let Some(place) = SYSTEM.iter().find(|place| within(canonical, place)) {
        return Some((*place).to_owned());
    }
    let in_home = in_home(canonical)?;
    CREDENTIALS
        .iter()
        .find(|place| within(in_home, place))
        .map(|place| format!("~/{place}"))
}

fn within(path: &str, place: &str) -> bool {
    path.strip_prefix(place)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What follows `/root/` or `/home/NAME/`.
fn in_home(path: &str) -> Option<&str> {
    if let Some(rest) = path
        .strip_prefix(SandboxPath::HOME)
        .and_then(|rest| rest.strip_prefix('/'))
    {
        return Some(rest);
    }
    let (_name, rest) = path.strip_prefix("/home/")?.split_once('/')?;
    Some(rest)
}

impl SandboxSpec {
    /// Where the sandbox sees folders that are secret: the secret mounts, and their folders once more where another mount
    /// shows a folder around them.
    #[must_use]
    pub fn secret_places(&self) -> Vec<SandboxPath> {
        let secret = self
            .mounts
            .iter()
            .filter(|mount| mount.mode == MountMode::Secret);
        let mut places = Vec::new();
        for mount in secret {
            places.push(mount.at.clone());
            places.extend(
                self.mounts
                    .iter()
                    .filter_map(|around| seen_through(around, mount)),
            );
        }
        places.sort();
        places.dedup();
        places
    }
}

fn seen_through(around: &Mount, secret: &Mount) -> Option<SandboxPath> {
    let rest = secret
        .host
        .trim_end_matches('/')
        .strip_prefix(around.host.trim_end_matches('/'))?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    let at = format!("{}{rest}", around.at.as_str().trim_end_matches('/'));
    SandboxPath::parse(&at).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::forbidden_place;
    use crate::{Driver, Limits, Mount, MountMode, Network, SandboxPath, SandboxSpec};

    fn path(text: &str) -> SandboxPath {
        SandboxPath::parse(text).unwrap()
    }

    #[test]
    fn system_places_credentials_and_secret_mounts_are_never_sent_and_all_else_is() {
        let secrets = path("/secrets/");
        for (canonical, place) in [
            ("/proc/self/environ", Some("/proc")),
            ("/proc", Some("/proc")),
            ("/sys/kernel/x", Some("/sys")),
            ("/dev/shm/x", Some("/dev")),
            ("/etc/passwd", Some("/etc")),
            ("/run/secrets/token", Some("/run")),
            ("/var/run/secrets/token", Some("/var/run")),
            ("/boot/vmlinuz", Some("/boot")),
            ("/secrets", Some("/secrets")),
            ("/secrets/key", Some("/secrets")),
            ("/root/.netrc", Some("~/.netrc")),
            ("/root/.ssh/id_rsa", Some("~/.ssh")),
            ("/root/.config/gcloud/x.json", Some("~/.config/gcloud")),
            ("/home/ana/.aws/credentials", Some("~/.aws")),
            ("relative", Some("outside the sandbox")),
            ("", Some("outside the sandbox")),
            ("/secretsauce.txt", None),
            ("/process.txt", None),
            ("/etcetera/x", None),
            ("/root/.netrc.example", None),
            ("/root/.sshd/x", None),
            ("/root/.bashrc", None),
            ("/rootkit/.netrc", None),
            ("/workspace/.env", None),
            ("/workspace/proc/x", None),
            ("/tmp/chart.png", None),
            ("/opt/x", None),
            ("/data/x", None),
            ("/home/.netrc", None),
        ] {
            assert_eq!(
                forbidden_place(canonical, &[&secrets]).as_deref(),
                place,
                "{canonical:?}"
            );
        }
    }

    #[test]
    fn a_secret_folder_is_secret_through_the_mount_around_it_too() {
        let mount = |host: &str, at: &str, mode| Mount {
            host: host.to_owned(),
            at: path(at),
            mode,
        };
        let spec = SandboxSpec {
            driver: Driver::Process,
            image: String::new(),
            mounts: vec![
                mount("/srv/data", "/data", MountMode::Rw),
                mount("/srv/data/keys/", "/secrets", MountMode::Secret),
                mount("/srv/data/keys", "/again", MountMode::Ro),
                mount("/srv/database", "/db", MountMode::Ro),
            ],
            env: BTreeMap::new(),
            secret_env: BTreeMap::new(),
            network: Network::None,
            allow: Vec::new(),
            remote: None,
            limits: Limits::default(),
        };
        assert_eq!(
            spec.secret_places(),
            [path("/again"), path("/data/keys"), path("/secrets")]
        );
    }
}
