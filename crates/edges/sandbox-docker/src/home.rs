//! A gateway that runs in a container with the engine of the machine around it, or whose engine is on another machine: said at
//! the start. What counts is what each engine is asked once there is an image: see `storage`.

use std::path::{Path, PathBuf};

use bollard::models::{ContainerInspectResponse, MountPoint};
use sandbox::SandboxError;
use tokio::fs;

use crate::driver::Inner;
use crate::sentence::Failure;

/// Files that engines lay into their containers.
const SIGNS: [&str; 2] = ["/.dockerenv", "/run/.containerenv"];

/// What follows from it.
const KEPT: &str = "so that sandboxes' files are kept in its volumes (`docker volume ls --filter label=tidings.install`), and `mounts` name folders of its machine";

/// Hexadecimal digits of a container's id.
const ID: usize = 64;

impl Inner {
    pub(crate) async fn check_home(&self) -> Result<Option<String>, SandboxError> {
        if self.engine.is_remote() {
            let socket = self.engine.socket();
            return Ok(Some(format!(
                "the container engine at {socket} is on another machine, {KEPT}"
            )));
        }
        let Some(found) = self.around().await? else {
            return Ok(None);
        };
        let folder = self.options.folders.root().as_path();
        let home = std::path::absolute(folder).map_err(|source| {
            SandboxError::Failed(format!(
                "{} has no absolute path: {source}",
                folder.display()
            ))
        })?;
        Ok(complaint(&home, &found.mounts.unwrap_or_default()))
    }

    /// The container of this engine that the gateway itself runs in, if it does.
    async fn around(&self) -> Result<Option<ContainerInspectResponse>, SandboxError> {
        let Some(id) = own_container().await else {
            return Ok(None);
        };
        let docker = self.engine.docker().await?;
        match self.engine.ask(docker.inspect_container(&id, None)).await {
            Ok(found) => Ok(Some(found)),
            // Another engine's container; what matters is whether the folders are seen, and that is looked at.
            Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// Does the gateway itself run in a container of this engine?
    pub(crate) async fn is_inside(&self) -> Result<bool, SandboxError> {
        Ok(self.around().await?.is_some())
    }
}

/// The id of the container that this process runs in, if it does.
async fn own_container() -> Option<String> {
    let mut inside = false;
    for sign in SIGNS {
        inside |= fs::try_exists(sign).await.unwrap_or(false);
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").await.ok()?;
    match id_in(&mounts) {
        Some(id) => Some(id),
        None if inside => {
            let name = fs::read_to_string("/proc/sys/kernel/hostname").await.ok()?;
            Some(name.trim().to_owned())
        }
        None => None,
    }
}

/// Engines mount `/etc/hostname` from a folder that bears the container's id.
fn id_in(mountinfo: &str) -> Option<String> {
    let is_id = |part: &&str| part.len() == ID && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    mountinfo
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(3);
            let (source, at) = (fields.next()?, fields.next()?);
            (at == "/etc/hostname").then_some(source)
        })
        .find_map(|source| source.split('/').find(is_id).map(str::to_owned))
}

/// What is wrong with where the engine sees the home.
fn complaint(home: &Path, mounts: &[MountPoint]) -> Option<String> {
    let remedy = "to keep them in the home, mount its folder under the very same path on both sides, as in `-v /srv/tidings:/srv/tidings`, and set TIDINGS_HOME to it";
    let seen = mounts
        .iter()
        .filter_map(|mount| {
            let at = mount.destination.as_deref()?;
            let rest = home.strip_prefix(at).ok()?;
            let source = mount.source.as_deref().filter(|source| !source.is_empty());
            Some((at.len(), source.map(|source| joined(source, rest))))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, seen)| seen);
    let home_text = home.display();
    match seen {
        Some(Some(seen)) if seen == home => None,
        Some(Some(seen)) => Some(format!(
            "the gateway runs in a container, and the engine sees its folder {home_text} as {}, {KEPT}; {remedy}",
            seen.display()
        )),
        Some(None) | None => Some(format!(
            "the gateway runs in a container, and its folder {home_text} lies where the engine does not see it, {KEPT}; {remedy}"
        )),
    }
}

fn joined(source: &str, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        PathBuf::from(source)
    } else {
        Path::new(source).join(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bollard::models::MountPoint;

    use super::{complaint, id_in};

    fn mount(source: &str, destination: &str) -> MountPoint {
        MountPoint {
            source: Some(source.to_owned()),
            destination: Some(destination.to_owned()),
            ..MountPoint::default()
        }
    }

    #[test]
    fn a_gateway_in_a_container_is_told_where_its_home_has_to_lie() {
        let home = Path::new("/srv/tidings/profiles");
        for fine in [
            vec![mount("/srv/tidings", "/srv/tidings")],
            vec![mount("/srv", "/srv")],
            vec![mount("/", "/"), mount("/x", "/y")],
            vec![
                mount("/other", "/srv"),
                mount("/srv/tidings", "/srv/tidings"),
            ],
        ] {
            assert_eq!(complaint(home, &fine), None, "{fine:?}");
        }
        for (wrong, word) in [
            (vec![], "does not see it"),
            (vec![mount("/srv/tidings", "/srv/tid")], "does not see it"),
            (vec![mount("", "/srv/tidings")], "does not see it"),
            (
                vec![mount("/home/me", "/srv/tidings")],
                "sees its folder /srv/tidings/profiles as /home/me/profiles,",
            ),
            (
                vec![mount("/var/lib/docker/volumes/t/_data", "/srv/tidings")],
                "as /var/lib/docker/volumes/t/_data/profiles,",
            ),
            (
                vec![
                    mount("/srv", "/srv"),
                    mount("/else", "/srv/tidings/profiles"),
                ],
                "as /else,",
            ),
        ] {
            let said = complaint(home, &wrong).unwrap();
            assert!(
                said.contains(word) && said.contains("TIDINGS_HOME"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_gateways_own_container_is_read_from_its_mounts() {
        let id = "0123456789abcdef".repeat(4);
        for (line, found) in [
            (
                format!(
                    "612 594 8:1 /var/lib/docker/containers/{id}/hostname /etc/hostname rw - ext4 /dev/sda1 rw"
                ),
                true,
            ),
            (
                format!(
                    "612 594 0:24 /containers/overlay-containers/{id}/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw"
                ),
                true,
            ),
            (
                format!(
                    "612 594 8:1 /var/lib/docker/containers/{id}/hostname /mnt rw - ext4 /dev/sda1 rw"
                ),
                false,
            ),
            ("22 1 8:1 / / rw - ext4 /dev/sda1 rw".to_owned(), false),
            ("odd".to_owned(), false),
        ] {
            assert_eq!(id_in(&line).is_some(), found, "{line}");
        }
    }
}
