//! Where sandboxes' own files lie: in the gateway's folders, or in volumes of an engine that does not see them.

use std::path::PathBuf;
use std::sync::Arc;

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    ContainerArchiveInfoOptionsBuilder, CreateContainerOptionsBuilder,
};
use sandbox::{SandboxError, SandboxKey};
use sandbox_folders::Layout;
use tokio::fs;

use crate::driver::Inner;
use crate::names;
use crate::porter;
use crate::recipe::{bind, text};
use crate::sentence::Failure;

/// The folder that is laid into the home for a moment. Podman makes it where it does not see it, so that it is always the same
/// one.
const LAID: &str = ".seen";

/// Where a container would see it.
const AT: &str = "/tidings-home";

/// Where an engine can keep what is the sandbox's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// In the gateway's home: the engine sees it under the same path.
    Folders,
    /// In volumes: the engine does not see the home. It is on another machine, or the gateway runs in a container.
    Volumes,
}

/// What a sandbox's own places are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Files {
    /// Folders of this machine.
    Folders(Layout),
    /// Volumes of the engine.
    Volumes(Volumes),
}

/// The names of a sandbox's volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volumes {
    /// Seen as `/workspace`.
    pub(crate) workspace: String,
    /// Seen as `/root`.
    pub(crate) home: String,
    /// Seen as `/inbox`, read-only.
    pub(crate) inbox: String,
}

impl Volumes {
    pub(crate) fn of(install: &str, key: &SandboxKey) -> Self {
        let volume = |place| names::volume(install, key, place);
        Self {
            workspace: volume("workspace"),
            home: volume("home"),
            inbox: volume("inbox"),
        }
    }
}

impl Files {
    pub(crate) fn storage(&self) -> Storage {
        match self {
            Self::Folders(_) => Storage::Folders,
            Self::Volumes(_) => Storage::Volumes,
        }
    }
}

/// A file that lies in a folder for a moment. Dropped, both are removed, but for a folder in which another's lies.
struct Laid {
    folder: PathBuf,
    file: String,
}

impl Drop for Laid {
    fn drop(&mut self) {
        // Only untidy if something stays; what the engine said is what counts.
        std::fs::remove_file(self.folder.join(&self.file)).unwrap_or_default();
        std::fs::remove_dir(&self.folder).unwrap_or_default();
    }
}

impl Inner {
    /// Where the files of sandboxes lie. Looked at once for each connection to the engine: another one may be another engine.
    /// `image` is any that the engine has.
    pub(crate) async fn storage(self: &Arc<Self>, image: &str) -> Result<Storage, SandboxError> {
        let known = self.engine.known().await?;
        known
            .storage
            .get_or_try_init(|| self.look_for_home(image))
            .await
            .copied()
    }

    /// Lays a file with a name that nothing else has into the home, and asks the engine for it. Nothing is run for that.
    async fn look_for_home(self: &Arc<Self>, image: &str) -> Result<Storage, SandboxError> {
        let root = self.options.folders.root().as_path();
        let folder = std::path::absolute(root.join(LAID));
        let failed = |source: std::io::Error| {
            let place = root.display();
            SandboxError::Failed(format!("{place} could not be written: {source}"))
        };
        let folder = folder.map_err(failed)?;
        let laid = Laid {
            folder,
            file: self.mark(),
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        let mut written = Ok(());
        // Another's look may end between the two steps and take the folder away.
        for _ in 0..3 {
            builder.create(&laid.folder).await.map_err(failed)?;
            written = fs::write(laid.folder.join(&laid.file), b"").await;
            if written.is_ok() {
                break;
            }
        }
        written.map_err(failed)?;
        let seen = self.sees(&laid, image).await?;
        if seen == Storage::Volumes {
            tracing::info!(
                home = %root.display(),
                "the container engine does not see the gateway's folders; sandboxes' files are kept in its volumes"
            );
        }
        Ok(seen)
    }

    async fn sees(self: &Arc<Self>, laid: &Laid, image: &str) -> Result<Storage, SandboxError> {
        let docker = self.engine.docker().await?;
        let text = text(&laid.folder)?;
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(vec!["/bin/sh".to_owned()]),
            labels: Some(self.helper_labels(porter::LOOK)),
            host_config: Some(HostConfig {
                mounts: Some(vec![bind(text.clone(), AT, true)]),
                network_mode: Some("none".to_owned()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::default()
            .name(&self.helper_name())
            .build();
        let made = self
            .engine
            .ask(docker.create_container(Some(options), body))
            .await;
        let id = match made {
            Ok(made) => made.id,
            Err(Failure::Other(SandboxError::Failed(why))) if is_unseen(&why, &text) => {
                return Ok(Storage::Volumes);
            }
            Err(failure) => return Err(failure.into_error()),
        };
        let _removed = self.lend(&id);
        let options = ContainerArchiveInfoOptionsBuilder::default()
            .path(&format!("{AT}/{}", laid.file))
            .build();
        let asked = docker.get_container_archive_info(&id, Some(options));
        match self.engine.ask(asked).await {
            Ok(_) => Ok(Storage::Folders),
            // An engine that makes folders where they are missing has made an empty one.
            Err(Failure::Gone) => Ok(Storage::Volumes),
            Err(failure) => Err(failure.into_error()),
        }
    }
}

/// Does the engine say of a path that it is not there, or not for it?
fn is_unseen(why: &str, path: &str) -> bool {
    let why_small = why.to_ascii_lowercase();
    why.contains(path)
        && ["does not exist", "no such file", "permission denied"]
            .iter()
            .any(|words| why_small.contains(words))
}

#[cfg(test)]
mod tests {
    use super::is_unseen;

    #[test]
    fn a_folder_that_the_engine_does_not_see_is_told_from_other_trouble() {
        let path = "/srv/t/profiles/.seen";
        for unseen in [
            "invalid mount config for type \"bind\": bind source path does not exist: /srv/t/profiles/.seen",
            "container create: statfs /srv/t/profiles/.seen: no such file or directory",
            "bind source path: stat /srv/t/profiles/.seen: permission denied",
        ] {
            assert!(is_unseen(unseen, path), "{unseen}");
        }
        for other in [
            "No such image: x",
            "no such file or directory: /usr/bin/runc",
            "invalid mount config for type \"bind\": /srv/t/profiles/.seen is odd",
            "",
        ] {
            assert!(!is_unseen(other, path), "{other}");
        }
    }
}
