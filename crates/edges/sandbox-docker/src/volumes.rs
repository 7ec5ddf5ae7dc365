//! Volumes of the engine that hold a sandbox's own files, where the engine does not see the gateway's folders.

use std::collections::HashMap;

use bollard::models::{ContainerInspectResponse, Volume, VolumeCreateRequest};
use bollard::query_parameters::{ListVolumesOptionsBuilder, RemoveVolumeOptions};
use sandbox::{SandboxError, SandboxKey, SandboxPath};
use waybill::ProfileId;

use crate::driver::Inner;
use crate::recipe::{INSTALL, PROFILE, SANDBOX};
use crate::sentence::Failure;
use crate::storage::Volumes;

/// The label that says as what a sandbox sees the volume: `workspace`, `home` or `inbox`.
const PLACE: &str = "tidings.volume";

/// One volume of this gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeRow {
    /// Its name.
    pub name: String,
    /// Whose it is; `None` if the label is no profile's name.
    pub profile: Option<ProfileId>,
    /// Which sandbox; `None` if the label is no key.
    pub sandbox: Option<SandboxKey>,
    /// What it holds: `workspace`, `home` or `inbox`.
    pub place: String,
}

/// Were a sandbox's volumes there?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of them.
    Whole,
    /// Not all.
    Anew,
}

impl Volumes {
    fn all(&self) -> [(&'static str, &str, &str); 3] {
        [
            ("workspace", &self.workspace, SandboxPath::WORKSPACE),
            ("home", &self.home, SandboxPath::HOME),
            ("inbox", &self.inbox, SandboxPath::INBOX),
        ]
    }

    /// Are these what a container has at the sandbox's own places? Those where the owner put a folder of his own are left out.
    pub(crate) fn are_of(&self, found: &ContainerInspectResponse, owned: &[&str]) -> bool {
        let mounts = found.mounts.as_deref().unwrap_or_default();
        self.all()
            .iter()
            .filter(|(_, _, at)| !owned.contains(at))
            .all(|(place, name, at)| {
                mounts.iter().any(|mount| {
                    mount.destination.as_deref() == Some(at)
                        && mount.name.as_deref() == Some(name)
                        && mount.rw == Some(*place != "inbox")
                })
            })
    }
}

impl Inner {
    /// Makes a key's volumes where they are missing; says whether all were there. The key's lock is held.
    pub(crate) async fn ensure_volumes(
        &self,
        volumes: &Volumes,
        key: &SandboxKey,
    ) -> Result<Kept, SandboxError> {
        let docker = self.engine.docker().await?;
        let mut kept = Kept::Whole;
        for (place, name, _at) in volumes.all() {
            let found = match self.engine.ask(docker.inspect_volume(name)).await {
                Ok(found) => found,
                Err(Failure::Gone) => {
                    kept = Kept::Anew;
                    let request = VolumeCreateRequest {
                        name: Some(name.to_owned()),
                        labels: Some(HashMap::from([
                            (INSTALL.to_owned(), self.options.install.clone()),
                            (PROFILE.to_owned(), key.profile().to_string()),
                            (SANDBOX.to_owned(), key.to_string()),
                            (PLACE.to_owned(), place.to_owned()),
                        ])),
                        ..VolumeCreateRequest::default()
                    };
                    // One that somebody made meanwhile is given, with that somebody's labels.
                    self.engine
                        .ask(docker.create_volume(request))
                        .await
                        .map_err(Failure::into_error)?
                }
                Err(failure) => return Err(failure.into_error()),
            };
            if !self.is_volume_of(&found, key, place) {
                return Err(SandboxError::Failed(format!(
                    "another volume has the name {name}, and nothing was run; `docker volume inspect {name}` shows whose it is"
                )));
            }
        }
        Ok(kept)
    }

    fn is_volume_of(&self, found: &Volume, key: &SandboxKey, place: &str) -> bool {
        let is = |label: &str, value: &str| found.labels.get(label).is_some_and(|has| has == value);
        is(INSTALL, &self.options.install) && is(SANDBOX, &key.to_string()) && is(PLACE, place)
    }

    /// All volumes with this gateway's label, by name.
    pub(crate) async fn own_volumes(&self) -> Result<Vec<VolumeRow>, SandboxError> {
        let docker = self.engine.docker().await?;
        let label = format!("{INSTALL}={}", self.options.install);
        let own = HashMap::from([("label".to_owned(), vec![label])]);
        let options = ListVolumesOptionsBuilder::default().filters(&own).build();
        let found = self
            .engine
            .ask(docker.list_volumes(Some(options)))
            .await
            .map_err(Failure::into_error)?;
        let mut rows: Vec<VolumeRow> = found
            .volumes
            .unwrap_or_default()
            .into_iter()
            // The engine's filter is trusted with a list, never with what is removed by it.
            .filter(|volume| volume.labels.get(INSTALL) == Some(&self.options.install))
            .filter_map(|volume| {
                let label = |name: &str| volume.labels.get(name).map(String::as_str);
                Some(VolumeRow {
                    profile: label(PROFILE).and_then(|text| text.parse().ok()),
                    sandbox: label(SANDBOX).and_then(|text| text.parse().ok()),
                    place: label(PLACE)?.to_owned(),
                    name: volume.name.clone(),
                })
            })
            .collect();
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(rows)
    }

    /// Removes the volumes of a sandbox that has no container any more; how many there were.
    pub(crate) async fn remove_volumes(&self, key: &SandboxKey) -> Result<usize, SandboxError> {
        let room = self.room(key);
        let _no_container_is_made_meanwhile = room.lock().await;
        let docker = self.engine.docker().await?;
        let mut removed = 0;
        for row in self.own_volumes().await? {
            if row.sandbox.as_ref() != Some(key) {
                continue;
            }
            let removing = docker.remove_volume(&row.name, None::<RemoveVolumeOptions>);
            match self.engine.ask(removing).await {
                Ok(()) => removed += 1,
                Err(Failure::Gone) => {}
                Err(failure) => return Err(failure.into_error()),
            }
        }
        Ok(removed)
    }
}
