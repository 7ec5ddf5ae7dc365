//! Networks of containers: none, or one of the profile's own.
//!
//! Docker keeps two bridges apart, so a bridge for each profile keeps profiles apart; on it, containers don't hear each other
//! either. Podman's bridges don't do: one can't keep its own containers apart, and with netavark 1.4 (Debian 12) the end of one
//! isolated bridge takes away the rule that keeps all others apart. So each container gets a network in user space there.

use std::collections::{HashMap, HashSet};

use bollard::models::{ContainerInspectResponse, Network as Found, NetworkCreateRequest};
use bollard::query_parameters::ListNetworksOptionsBuilder;
use sandbox::{Network, SandboxError, SandboxKey, SandboxSpec};
use waybill::ProfileId;

use crate::driver::Inner;
use crate::engine::Kind;
use crate::names;
use crate::recipe::{INSTALL, PROFILE};
use crate::sentence::Failure;

/// The engine's name of no network.
const NONE: &str = "none";

/// Podman's name of a network in user space, which nobody else is on.
const ALONE: &str = "slirp4netns";

/// The one network that a container may be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// None, but for loopback.
    None,
    /// The bridge of this name.
    Bridge(String),
    /// One that the container has to itself.
    Alone,
}

impl Wanted {
    /// The engine's name of it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::None => NONE,
            Self::Bridge(name) => name,
            Self::Alone => ALONE,
        }
    }

    /// Is the container on it, and on no other? By what the engine did, not by what it was asked for: somebody may have
    /// connected the container since.
    pub(crate) fn is_of(&self, found: &ContainerInspectResponse) -> bool {
        let mode = found
            .host_config
            .as_ref()
            .and_then(|host| host.network_mode.as_deref());
        let networks = found
            .network_settings
            .as_ref()
            .and_then(|settings| settings.networks.as_ref());
        let only = |networks: &HashMap<String, _>| networks.keys().all(|name| name == self.name());
        match self {
            Self::None => {
                let addressed = networks.is_some_and(|networks| {
                    networks.values().any(|endpoint| {
                        let is_set = |text: &Option<String>| {
                            text.as_deref().is_some_and(|text| !text.is_empty())
                        };
                        is_set(&endpoint.ip_address) || is_set(&endpoint.global_ipv6_address)
                    })
                });
                mode == Some(NONE) && networks.is_none_or(only) && !addressed
            }
            Self::Alone => mode == Some(ALONE) && networks.is_none_or(HashMap::is_empty),
            Self::Bridge(name) => {
                mode == Some(name)
                    && networks.is_some_and(|networks| !networks.is_empty() && only(networks))
            }
        }
    }
}

impl Inner {
    /// The network of a key's container.
    pub(crate) async fn wanted_network(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
    ) -> Result<Wanted, SandboxError> {
        if spec.network == Network::None {
            return Ok(Wanted::None);
        }
        Ok(match self.engine.about().await?.kind {
            Kind::Docker => Wanted::Bridge(names::network(&self.options.install, key.profile())),
            Kind::Podman => Wanted::Alone,
        })
    }

    /// Makes the network where it is missing. The lock on the networks is held until a container is on it.
    pub(crate) async fn ensure_network(
        &self,
        wanted: &Wanted,
        profile: &ProfileId,
    ) -> Result<(), SandboxError> {
        let Wanted::Bridge(name) = wanted else {
            return Ok(());
        };
        let filter = HashMap::from([("name".to_owned(), vec![name.clone()])]);
        // The engine's filter finds what has the name in the middle, too.
        let found = self.networks(filter).await?;
        let found = found.iter().find(|found| found.name.as_ref() == Some(name));
        match found {
            Some(found) if self.is_of_profile(found, profile) => Ok(()),
            Some(_) => Err(SandboxError::Failed(format!(
                "another network has the name {name}, and nothing was run; `docker network inspect {name}` shows whose it is"
            ))),
            None => self.make_network(name, profile).await,
        }
    }

    fn is_of_profile(&self, found: &Found, profile: &ProfileId) -> bool {
        let labels = found.labels.as_ref();
        labels.is_some_and(|labels| {
            labels.get(INSTALL) == Some(&self.options.install)
                && labels
                    .get(PROFILE)
                    .is_some_and(|label| label == profile.as_str())
        })
    }

    async fn make_network(&self, name: &str, profile: &ProfileId) -> Result<(), SandboxError> {
        let docker = self.engine.docker().await?;
        let apart = ("com.docker.network.bridge.enable_icc", "false");
        let request = NetworkCreateRequest {
            name: name.to_owned(),
            driver: Some("bridge".to_owned()),
            options: Some(HashMap::from([(apart.0.to_owned(), apart.1.to_owned())])),
            labels: Some(HashMap::from([
                (INSTALL.to_owned(), self.options.install.clone()),
                (PROFILE.to_owned(), profile.to_string()),
            ])),
            ..NetworkCreateRequest::default()
        };
        self.engine
            .ask(docker.create_network(request))
            .await
            .map_err(Failure::into_error)?;
        Ok(())
    }

    async fn networks(
        &self,
        filters: HashMap<String, Vec<String>>,
    ) -> Result<Vec<Found>, SandboxError> {
        let docker = self.engine.docker().await?;
        let options = ListNetworksOptionsBuilder::default()
            .filters(&filters)
            .build();
        self.engine
            .ask(docker.list_networks(Some(options)))
            .await
            .map_err(Failure::into_error)
    }

    /// Removes this gateway's networks on which none of its containers is, running or not.
    pub(crate) async fn reap_networks(&self) -> Result<(), SandboxError> {
        let _no_container_is_made_meanwhile = self.making.lock().await;
        let label = format!("{INSTALL}={}", self.options.install);
        let own = HashMap::from([("label".to_owned(), vec![label])]);
        let found = self.networks(own).await?;
        if found.is_empty() {
            return Ok(());
        }
        let containers = self.own_containers().await?;
        let used: HashSet<String> = containers.iter().flat_map(networks_of).collect();
        let docker = self.engine.docker().await?;
        for name in found.into_iter().filter_map(|found| found.name) {
            if used.contains(&name) {
                continue;
            }
            match self.engine.ask(docker.remove_network(&name)).await {
                Ok(()) | Err(Failure::Gone) => {}
                Err(failure) => {
                    let error = failure.into_error();
                    tracing::warn!(name, "an unused network could not be removed: {error}");
                }
            }
        }
        Ok(())
    }
}

fn networks_of(container: &bollard::models::ContainerSummary) -> Vec<String> {
    let connected = container
        .network_settings
        .as_ref()
        .and_then(|settings| settings.networks.as_ref());
    let mode = container
        .host_config
        .as_ref()
        .and_then(|host| host.network_mode.clone());
    connected
        .into_iter()
        .flat_map(|networks| networks.keys().cloned())
        .chain(mode)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use bollard::models::{
        ContainerInspectResponse, EndpointSettings, HostConfig, NetworkSettings,
    };

    use super::Wanted;

    fn container(mode: &str, networks: &[(&str, &str)]) -> ContainerInspectResponse {
        let networks: HashMap<String, EndpointSettings> = networks
            .iter()
            .map(|(name, address)| {
                let endpoint = EndpointSettings {
                    ip_address: Some((*address).to_owned()),
                    ..EndpointSettings::default()
                };
                ((*name).to_owned(), endpoint)
            })
            .collect();
        ContainerInspectResponse {
            host_config: Some(HostConfig {
                network_mode: Some(mode.to_owned()),
                ..HostConfig::default()
            }),
            network_settings: Some(NetworkSettings {
                networks: Some(networks),
                ..NetworkSettings::default()
            }),
            ..ContainerInspectResponse::default()
        }
    }

    #[test]
    fn a_container_on_any_other_network_is_refused() {
        let own = Wanted::Bridge("own".to_owned());
        for (wanted, mode, networks, right) in [
            (&Wanted::None, "none", &[("none", "")][..], true),
            (&Wanted::None, "none", &[], true),
            (
                &Wanted::None,
                "none",
                &[("none", ""), ("bridge", "172.17.0.2")],
                false,
            ),
            (&Wanted::None, "none", &[("none", "10.0.0.1")], false),
            (&Wanted::None, "bridge", &[("bridge", "172.17.0.2")], false),
            (&Wanted::None, "host", &[("host", "")], false),
            (&Wanted::None, "container:x", &[], false),
            (&Wanted::None, "default", &[], false),
            (&own, "own", &[("own", "172.18.0.2")], true),
            (&own, "bridge", &[("own", "10.89.0.2")], false),
            (&Wanted::Alone, "slirp4netns", &[], true),
            (&Wanted::Alone, "slirp4netns", &[("bridge", "")], false),
            (&Wanted::Alone, "bridge", &[], false),
            (&Wanted::Alone, "host", &[], false),
            (&own, "bridge", &[("bridge", "172.17.0.2")], false),
            (&own, "own", &[("own", "172.18.0.2"), ("other", "")], false),
            (&own, "own", &[], false),
            (&own, "host", &[("host", "")], false),
        ] {
            assert_eq!(
                wanted.is_of(&container(mode, networks)),
                right,
                "{wanted:?}: {mode} {networks:?}"
            );
        }
    }
}
