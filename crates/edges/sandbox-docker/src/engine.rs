//! The engine: found, asked for its version, asked again.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bollard::errors::Error;
use bollard::models::{SystemInfoCgroupVersionEnum, SystemVersion};
use bollard::query_parameters::CreateImageOptionsBuilder;
use bollard::{API_DEFAULT_VERSION, ClientVersion, Docker};
use futures_util::StreamExt;
use sandbox::SandboxError;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::{Instant, sleep, timeout};

use crate::fetch::Fetches;
use crate::sentence::{Failure, explain, slow, sort};
use crate::storage::Storage;

/// Where Docker listens unless its owner says otherwise.
const SOCKET: &str = "/var/run/docker.sock";

/// How long an engine may think about an ordinary request.
pub(crate) const ANSWER: Duration = Duration::from_secs(60);

/// How long it may take to say its version.
const GREETING: Duration = Duration::from_secs(5);

/// How long an image may take to arrive.
const PULL: Duration = Duration::from_secs(1_800);

/// How long a registry may say nothing of an image that it sends.
const PULL_SILENCE: Duration = Duration::from_secs(120);

/// The oldest API that is spoken: Docker Engine 20.10 of December 2020.
const OLDEST_API: ClientVersion = ClientVersion {
    major_version: 1,
    minor_version: 41,
};

/// How often an engine that went away is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// Which engine it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Docker Engine, or what calls itself so.
    Docker,
    /// Podman, through its socket that speaks Docker's language.
    Podman,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Docker => "Docker",
            Self::Podman => "Podman",
        })
    }
}

/// What the engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
    /// Which engine it is.
    pub kind: Kind,
    /// Where it listens.
    pub socket: String,
    /// Its version: `20.10.24`.
    pub version: String,
    /// The API version that is spoken with it: `1.41`.
    pub api: String,
    /// Processor cores that it has.
    pub cpus: u32,
    /// Root inside is not root outside.
    pub rootless: bool,
    /// It is reached over a network: sandboxes' files lie in its volumes, and no allow list can be served.
    pub remote: bool,
    /// It filters system calls.
    pub seccomp: bool,
    /// It keeps the bounds on memory, processors and processes. Without rights of its own it does only with control groups of
    /// version 2 that were delegated to its user.
    pub bounded: bool,
    /// What it complains of itself.
    pub warnings: Vec<String>,
}

pub(crate) struct Engine {
    socket: String,
    connected: Mutex<Option<Connected>>,
    pub(crate) fetches: Fetches,
    /// One lock for each image that was fetched.
    pulls: Mutex<HashMap<String, Arc<Mutex<()>>>>,
}

/// A connection to an engine, and what was found out over it.
struct Connected {
    docker: Docker,
    known: Arc<Known>,
}

/// What was found out over a connection to an engine: another connection may lead to another engine.
#[derive(Default)]
pub(crate) struct Known {
    about: OnceCell<EngineInfo>,
    /// Where sandboxes' files lie.
    pub(crate) storage: OnceCell<Storage>,
}

impl Engine {
    pub(crate) fn new(socket: Option<String>) -> Self {
        Self {
            socket: socket.unwrap_or_else(|| SOCKET.to_owned()),
            connected: Mutex::new(None),
            fetches: Fetches::default(),
            pulls: Mutex::default(),
        }
    }

    /// A client that speaks the engine's own API version.
    pub(crate) async fn docker(&self) -> Result<Docker, SandboxError> {
        let mut connected = self.connected.lock().await;
        if let Some(connected) = connected.as_ref() {
            return Ok(connected.docker.clone());
        }
        // Above every bound of ours, so that ours decide.
        let seconds = PULL.as_secs() + 10;
        let docker = if !self.is_here() {
            Docker::connect_with_http(&self.socket, seconds, API_DEFAULT_VERSION)
        } else {
            Docker::connect_with_unix(&self.socket, seconds, API_DEFAULT_VERSION)
        }
        .map_err(|error| explain(&error, &self.socket))?;
        let docker = timeout(GREETING, docker.negotiate_version())
            .await
            .map_err(|_elapsed| slow(&self.socket))?
            .map_err(|error| explain(&error, &self.socket))?;
        young_enough(docker.client_version(), &self.socket)?;
        *connected = Some(Connected {
            docker: docker.clone(),
            known: Arc::default(),
        });
        Ok(docker)
    }

    /// What is known over this connection.
    pub(crate) async fn known(&self) -> Result<Arc<Known>, SandboxError> {
        self.docker().await?;
        let connected = self.connected.lock().await;
        // A connection that broke just now has found out nothing.
        Ok(connected
            .as_ref()
            .map(|connected| Arc::clone(&connected.known))
            .unwrap_or_default())
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> &str {
        &self.socket
    }

    /// Is it reached over a network?
    pub(crate) fn is_remote(&self) -> bool {
        is_remote(&self.socket)
    }

    /// Is it reached over a socket of this machine?
    pub(crate) fn is_here(&self) -> bool {
        !self.socket.starts_with("tcp://") && !self.socket.starts_with("http://")
    }

    /// Waits for an engine that went away, not for long.
    pub(crate) async fn come_back(&self, within: Duration) -> Result<(), SandboxError> {
        let deadline = Instant::now() + within;
        loop {
            match self.docker().await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() >= deadline => return Err(error),
                Err(_) => sleep(LOOK).await,
            }
        }
    }

    /// Waits for an answer, not for ever. After a failure of the connection the engine is greeted anew: it may be another.
    pub(crate) async fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let failure = match timeout(ANSWER, request).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => sort(&error, &self.socket),
            Err(_elapsed) => Failure::Other(slow(&self.socket)),
        };
        if matches!(failure, Failure::Other(SandboxError::Unavailable(_))) {
            *self.connected.lock().await = None;
        }
        Err(failure)
    }

    /// Explains a failure in the middle of a stream.
    pub(crate) fn explain(&self, error: &Error) -> SandboxError {
        explain(error, &self.socket)
    }

    /// What it said of itself over this connection. Podman asks the system's package manager for its version, each time.
    pub(crate) async fn about(&self) -> Result<EngineInfo, SandboxError> {
        let known = self.known().await?;
        let about = known.about.get_or_try_init(|| self.info()).await?;
        Ok(about.clone())
    }

    /// Asks it anew.
    pub(crate) async fn info(&self) -> Result<EngineInfo, SandboxError> {
        let docker = self.docker().await?;
        let info = timeout(GREETING, self.ask(docker.info()))
            .await
            .map_err(|_elapsed| slow(&self.socket))?
            .map_err(Failure::into_error)?;
        let version = self
            .ask(docker.version())
            .await
            .map_err(Failure::into_error)?;
        let security = info.security_options.unwrap_or_default();
        let has = |name: &str| security.iter().any(|option| option.contains(name));
        let kind = kind(&version);
        let rootless =
            has("name=rootless") || (kind == Kind::Podman && self.is_rootless_podman().await?);
        Ok(EngineInfo {
            kind,
            remote: self.is_remote(),
            socket: self.socket.clone(),
            version: info.server_version.unwrap_or_default(),
            api: docker.client_version().to_string(),
            cpus: info
                .ncpu
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            rootless,
            seccomp: has("name=seccomp"),
            // What does not say that it can't, can.
            bounded: [info.memory_limit, info.pids_limit, info.cpu_cfs_quota]
                .iter()
                .all(|can| *can != Some(false))
                && !(rootless && info.cgroup_version == Some(SystemInfoCgroupVersionEnum::_1)),
            warnings: info.warnings.unwrap_or_default(),
        })
    }

    /// The id of an image that the engine has.
    pub(crate) async fn image_id(&self, image: &str) -> Result<Option<String>, SandboxError> {
        let docker = self.docker().await?;
        match self.ask(docker.inspect_image(image)).await {
            Ok(found) => Ok(found.id),
            Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
    }

    /// Fetches an image that is not there, once for all who want it; its id.
    pub(crate) async fn pull(&self, image: &str) -> Result<String, SandboxError> {
        let one = Arc::clone(self.pulls.lock().await.entry(image.to_owned()).or_default());
        let _others_wait = one.lock().await;
        match self.image_id(image).await? {
            Some(id) => Ok(id),
            None => self.fetch(image).await,
        }
    }

    async fn fetch(&self, image: &str) -> Result<String, SandboxError> {
        let refused = |reason: &str| {
            SandboxError::Image(format!(
                "the image {image} is not on the Docker engine and could not be fetched: {reason}; `docker pull {image}` tries again"
            ))
        };
        let docker = self.docker().await?;
        let options = CreateImageOptionsBuilder::default()
            .from_image(&tagged(image))
            .build();
        tracing::info!(image, "the Docker engine fetches an image");
        let fetch = self.fetches.begin(image);
        let fetching = async {
            let mut steps = docker.create_image(Some(options), None, None);
            loop {
                let step = timeout(PULL_SILENCE, steps.next())
                    .await
                    .map_err(|_elapsed| "nothing came for two minutes".to_owned())?;
                let Some(step) = step else { break };
                let step = step.map_err(|error| {
                    if let Error::DockerResponseServerError { message, .. } = error {
                        message
                    } else {
                        error.to_string()
                    }
                })?;
                fetch.step(&step);
                if let Some(detail) = step.error_detail {
                    return Err(detail.message.unwrap_or_default());
                }
            }
            Ok(())
        };
        match timeout(PULL, fetching).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Err(refused(reason.trim())),
            Err(_elapsed) => return Err(refused("it took longer than half an hour")),
        }
        self.image_id(image)
            .await?
            .ok_or_else(|| refused("the registry sent something else"))
    }
}

fn kind(version: &SystemVersion) -> Kind {
    let components = version.components.iter().flatten();
    let podman = components
        .map(|component| component.name.as_str())
        .any(|name| name.to_ascii_lowercase().contains("podman"));
    if podman { Kind::Podman } else { Kind::Docker }
}

fn young_enough(api: ClientVersion, socket: &str) -> Result<(), SandboxError> {
    if api >= OLDEST_API {
        return Ok(());
    }
    Err(SandboxError::Unavailable(format!(
        "the Docker engine at {socket} is too old: it speaks API {api}, and {OLDEST_API} is needed; install Docker 20.10 or later"
    )))
}

/// An address that is this machine's own is none of another machine.
fn is_remote(socket: &str) -> bool {
    let address = ["tcp://", "http://"]
        .iter()
        .find_map(|scheme| socket.strip_prefix(scheme));
    let Some(address) = address else { return false };
    let host = address
        .rsplit_once(':')
        .map_or(address, |(host, _port)| host);
    let host = host.trim_matches(['[', ']']);
    let own = host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    !own
}

/// Without a tag the engine would fetch every tag there is.
fn tagged(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or(image);
    if last.contains(':') || last.contains('@') {
        image.to_owned()
    } else {
        format!("{image}:latest")
    }
}

#[cfg(test)]
mod tests {
    use bollard::ClientVersion;
    use bollard::models::{SystemVersion, SystemVersionComponents};

    use super::{Kind, is_remote, kind, tagged, young_enough};

    #[test]
    fn an_engine_before_20_10_is_refused_with_what_to_do() {
        let api = |minor_version| ClientVersion {
            major_version: 1,
            minor_version,
        };
        for accepted in [41, 43, 53] {
            young_enough(api(accepted), "s").unwrap();
        }
        let error = young_enough(api(40), "/run/old.sock")
            .unwrap_err()
            .to_string();
        for word in ["/run/old.sock", "1.40", "1.41", "20.10"] {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn podman_is_told_from_docker() {
        let engine = |name: &str| SystemVersion {
            components: Some(vec![SystemVersionComponents {
                name: name.to_owned(),
                version: "4.3.1".to_owned(),
                details: None,
            }]),
            ..SystemVersion::default()
        };
        assert_eq!(kind(&engine("Podman Engine")), Kind::Podman);
        assert_eq!(kind(&engine("Engine")), Kind::Docker);
        assert_eq!(kind(&SystemVersion::default()), Kind::Docker);
    }

    #[test]
    fn an_engine_behind_a_network_is_known() {
        for own in [
            "/var/run/docker.sock",
            "unix:///run/podman/podman.sock",
            "tcp://127.0.0.1:2375",
            "tcp://localhost:2375",
            "http://[::1]:2375",
        ] {
            assert!(!is_remote(own), "{own}");
        }
        for other in ["tcp://10.0.0.5:2375", "tcp://docker:2375", "tcp://host"] {
            assert!(is_remote(other), "{other}");
        }
    }

    #[test]
    fn an_image_without_a_tag_means_its_latest() {
        for (image, name) in [
            ("debian", "debian:latest"),
            ("debian:12", "debian:12"),
            ("host:5000/debian", "host:5000/debian:latest"),
            ("debian@sha256:00", "debian@sha256:00"),
        ] {
            assert_eq!(tagged(image), name);
        }
    }
}
