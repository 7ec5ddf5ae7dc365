//! This gateway's own containers, for the owner and for the reaper.

use std::collections::HashMap;

use bollard::models::ContainerSummaryStateEnum;
use bollard::query_parameters::{ListContainersOptionsBuilder, RemoveContainerOptionsBuilder};
use sandbox::{SandboxError, SandboxKey};
use waybill::{ProfileId, Timestamp};

use crate::driver::Inner;
use crate::recipe::{INSTALL, PROFILE, SANDBOX};
use crate::sentence::Failure;

/// One container of this gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The engine's id of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is; `None` if the label is no profile's name.
    pub profile: Option<ProfileId>,
    /// Which sandbox; `None` if the label is no key.
    pub sandbox: Option<SandboxKey>,
    /// Does it run?
    pub running: bool,
    /// When it was made.
    pub created: Timestamp,
}

impl Inner {
    pub(crate) async fn rows(&self) -> Result<Vec<Row>, SandboxError> {
        let docker = self.engine.docker().await?;
        let own = HashMap::from([(
            "label".to_owned(),
            vec![format!("{INSTALL}={}", self.options.install)],
        )]);
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&own)
            .build();
        let found = self
            .engine
            .ask(docker.list_containers(Some(options)))
            .await
            .map_err(Failure::into_error)?;
        let mut rows = Vec::with_capacity(found.len());
        for container in found {
            let labels = container.labels.unwrap_or_default();
            let names = container.names.unwrap_or_default();
            rows.push(Row {
                id: container.id.unwrap_or_default(),
                name: names
                    .first()
                    .map(|name| name.trim_start_matches('/').to_owned())
                    .unwrap_or_default(),
                profile: labels.get(PROFILE).and_then(|text| text.parse().ok()),
                sandbox: labels.get(SANDBOX).and_then(|text| text.parse().ok()),
                running: container.state == Some(ContainerSummaryStateEnum::RUNNING),
                created: Timestamp::from_second(container.created.unwrap_or_default())
                    .unwrap_or(Timestamp::UNIX_EPOCH),
            });
        }
        rows.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(rows)
    }

    pub(crate) async fn remove_own(&self, id: &str) -> Result<(), SandboxError> {
        let docker = self.engine.docker().await?;
        let found = match self.engine.ask(docker.inspect_container(id, None)).await {
            Ok(found) => found,
            Err(Failure::Gone) => return Ok(()),
            Err(failure) => return Err(failure.into_error()),
        };
        let labels = found
            .config
            .and_then(|config| config.labels)
            .unwrap_or_default();
        if labels.get(INSTALL) != Some(&self.options.install) {
            return Err(SandboxError::Failed(format!(
                "the container {id} is not of this gateway and was left alone"
            )));
        }
        self.discard(found.id.as_deref().unwrap_or(id)).await
    }

    /// Removes a container that was seen to be this gateway's own.
    pub(crate) async fn discard(&self, id: &str) -> Result<(), SandboxError> {
        let docker = self.engine.docker().await?;
        let options = RemoveContainerOptionsBuilder::default()
            .force(true)
            .v(true)
            .build();
        match self
            .engine
            .ask(docker.remove_container(id, Some(options)))
            .await
        {
            Ok(()) | Err(Failure::Gone) => Ok(()),
            Err(failure) => Err(failure.into_error()),
        }
    }
}
