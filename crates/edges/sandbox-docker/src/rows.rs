//! This gateway's own containers, for the owner and for the reaper.

use std::collections::HashMap;

use bollard::models::{ContainerSummary, ContainerSummaryStateEnum};
use bollard::query_parameters::{ListContainersOptionsBuilder, RemoveContainerOptionsBuilder};
use sandbox::{SandboxError, SandboxKey};
use waybill::{ProfileId, Timestamp};

use crate::driver::Inner;
use crate::porter::is_helper;
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

/// Was there anything to remove?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    Now,
    WasNotThere,
}

impl Inner {
    /// What carries this gateway's label, running or not, helpers included.
    pub(crate) async fn own_containers(&self) -> Result<Vec<ContainerSummary>, SandboxError> {
        let docker = self.engine.docker().await?;
        let own = HashMap::from([(
            "label".to_owned(),
            vec![format!("{INSTALL}={}", self.options.install)],
        )]);
        let options = ListContainersOptionsBuilder::default()
            .all(true)
            .filters(&own)
            .build();
        self.engine
            .ask(docker.list_containers(Some(options)))
            .await
            .map_err(Failure::into_error)
    }

    pub(crate) async fn rows(&self) -> Result<Vec<Row>, SandboxError> {
        let found = self.own_containers().await?;
        let mut rows = Vec::with_capacity(found.len());
        for container in found {
            if is_helper(&container) {
                continue;
            }
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

    pub(crate) async fn remove_own(&self, id: &str) -> Result<Removed, SandboxError> {
        let docker = self.engine.docker().await?;
        let found = match self.engine.ask(docker.inspect_container(id, None)).await {
            Ok(found) => found,
            Err(Failure::Gone) => return Ok(Removed::WasNotThere),
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
        let id = found.id.unwrap_or_else(|| id.to_owned());
        self.discard(&id).await?;
        let key: Option<SandboxKey> = labels.get(SANDBOX).and_then(|text| text.parse().ok());
        if let Some(key) = key {
            self.forget(&key, &id).await;
        }
        Ok(Removed::Now)
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
            Ok(()) | Err(Failure::Gone) => {
                self.leases.forget(id);
                Ok(())
            }
            Err(failure) => Err(failure.into_error()),
        }
    }
}
