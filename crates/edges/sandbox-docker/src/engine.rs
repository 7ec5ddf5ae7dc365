//! The engine: found, asked for its version, asked again.

use std::future::Future;
use std::time::Duration;

use bollard::errors::Error;
use bollard::query_parameters::CreateImageOptionsBuilder;
use bollard::{API_DEFAULT_VERSION, Docker};
use futures_util::StreamExt;
use sandbox::SandboxError;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::sentence::{Failure, explain, slow, sort};

/// Where Docker listens unless its owner says otherwise.
const SOCKET: &str = "/var/run/docker.sock";

/// How long an engine may think about an ordinary request.
const ANSWER: Duration = Duration::from_secs(60);

/// How long it may take to say its version.
const GREETING: Duration = Duration::from_secs(5);

/// How long an image may take to arrive.
const PULL: Duration = Duration::from_secs(120);

/// What the engine says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineInfo {
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
    /// It filters system calls.
    pub seccomp: bool,
    /// What it complains of itself.
    pub warnings: Vec<String>,
}

pub(crate) struct Engine {
    socket: String,
    connected: Mutex<Option<Docker>>,
}

impl Engine {
    pub(crate) fn new(socket: Option<String>) -> Self {
        Self {
            socket: socket.unwrap_or_else(|| SOCKET.to_owned()),
            connected: Mutex::new(None),
        }
    }

    /// A client that speaks the engine's own API version.
    pub(crate) async fn docker(&self) -> Result<Docker, SandboxError> {
        let mut connected = self.connected.lock().await;
        if let Some(docker) = connected.as_ref() {
            return Ok(docker.clone());
        }
        // Above every bound of ours, so that ours decide.
        let seconds = PULL.as_secs() + 10;
        let docker = if self.socket.starts_with("tcp://") || self.socket.starts_with("http://") {
            Docker::connect_with_http(&self.socket, seconds, API_DEFAULT_VERSION)
        } else {
            Docker::connect_with_unix(&self.socket, seconds, API_DEFAULT_VERSION)
        }
        .map_err(|error| explain(&error, &self.socket))?;
        let docker = timeout(GREETING, docker.negotiate_version())
            .await
            .map_err(|_elapsed| slow(&self.socket))?
            .map_err(|error| explain(&error, &self.socket))?;
        *connected = Some(docker.clone());
        Ok(docker)
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

    pub(crate) async fn info(&self) -> Result<EngineInfo, SandboxError> {
        let docker = self.docker().await?;
        let info = timeout(GREETING, self.ask(docker.info()))
            .await
            .map_err(|_elapsed| slow(&self.socket))?
            .map_err(Failure::into_error)?;
        let security = info.security_options.unwrap_or_default();
        let has = |name: &str| security.iter().any(|option| option.contains(name));
        Ok(EngineInfo {
            socket: self.socket.clone(),
            version: info.server_version.unwrap_or_default(),
            api: docker.client_version().to_string(),
            cpus: info
                .ncpu
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(1),
            rootless: has("name=rootless"),
            seccomp: has("name=seccomp"),
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

    /// Fetches an image once; its id.
    pub(crate) async fn pull(&self, image: &str) -> Result<String, SandboxError> {
        let refused = |reason: &str| {
            SandboxError::Image(format!(
                "the image {image} is not on the Docker engine and could not be fetched: {reason}; `docker pull {image}` tries again"
            ))
        };
        let docker = self.docker().await?;
        let options = CreateImageOptionsBuilder::default()
            .from_image(&tagged(image))
            .build();
        let fetching = async {
            let mut steps = docker.create_image(Some(options), None, None);
            while let Some(step) = steps.next().await {
                let step = step.map_err(|error| {
                    if let Error::DockerResponseServerError { message, .. } = error {
                        message
                    } else {
                        error.to_string()
                    }
                })?;
                if let Some(detail) = step.error_detail {
                    return Err(detail.message.unwrap_or_default());
                }
            }
            Ok(())
        };
        match timeout(PULL, fetching).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return Err(refused(reason.trim())),
            Err(_elapsed) => return Err(refused("it took longer than two minutes")),
        }
        self.image_id(image)
            .await?
            .ok_or_else(|| refused("the registry sent something else"))
    }
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
    use super::tagged;

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
