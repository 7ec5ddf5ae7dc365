//! The engine's failures as sentences for the owner, each with what to do.

use std::error::Error as StdError;
use std::io;

use bollard::errors::Error;
use sandbox::SandboxError;

/// How a request failed, as far as it matters here.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The container is gone or stands still: it may be made or started again, once.
    Gone,
    /// The name is taken.
    Taken,
    /// Anything else.
    Other(SandboxError),
}

impl Failure {
    pub(crate) fn into_error(self) -> SandboxError {
        match self {
            Self::Gone => SandboxError::Failed(
                "the sandbox's container went away twice in a row; `docker events` shows who removes it".to_owned(),
            ),
            Self::Taken => SandboxError::Failed(
                "another container has the sandbox's name; `docker ps -a` shows it".to_owned(),
            ),
            Self::Other(error) => error,
        }
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Other(error)
    }
}

/// Sorts an answer about a container.
pub(crate) fn sort(error: &Error, socket: &str) -> Failure {
    if let Error::DockerResponseServerError {
        status_code,
        message,
    } = error
    {
        let still = message.contains("is not running")
            || message.contains("is paused")
            || message.contains("is restarting");
        // Podman's word for all of these, whatever the status.
        if message.contains("container state improper") {
            return Failure::Gone;
        }
        match status_code {
            404 => return Failure::Gone,
            409 if still => return Failure::Gone,
            409 if message.contains("already in use") => return Failure::Taken,
            _ => {}
        }
    }
    Failure::Other(explain(error, socket))
}

/// Says what is wrong and what to do.
pub(crate) fn explain(error: &Error, socket: &str) -> SandboxError {
    if let Error::DockerResponseServerError { message, .. } = error {
        return SandboxError::Failed(format!("the Docker engine refused: {message}"));
    }
    if matches!(error, Error::SocketNotFoundError(_)) {
        return away(io::ErrorKind::NotFound, socket);
    }
    if matches!(error, Error::RequestTimeoutError) {
        return slow(socket);
    }
    // It passes its source through, so that it does not stand in the chain itself.
    if let Error::IOError { err } = error {
        return away(err.kind(), socket);
    }
    broken(error, socket)
}

/// A connection failed, or what came over it was no answer.
pub(crate) fn broken(error: &(dyn StdError + 'static), socket: &str) -> SandboxError {
    match io_kind(error) {
        Some(kind) => away(kind, socket),
        None => SandboxError::Unavailable(format!(
            "the Docker engine at {socket} gave no usable answer ({error}); `docker info` shows whether it works"
        )),
    }
}

/// It did not answer in time.
pub(crate) fn slow(socket: &str) -> SandboxError {
    SandboxError::Unavailable(format!(
        "the Docker engine at {socket} did not answer in time; `docker info` shows whether it lives, `systemctl restart docker` starts it anew"
    ))
}

fn io_kind(error: &(dyn StdError + 'static)) -> Option<io::ErrorKind> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io.kind());
        }
        next = error.source();
    }
    None
}

fn away(kind: io::ErrorKind, socket: &str) -> SandboxError {
    let text = if kind == io::ErrorKind::PermissionDenied {
        format!(
            "no permission on the Docker socket {socket}: add the gateway's user to the group `{group}` (`usermod -aG {group} USER`) and start the gateway again",
            group = group(socket)
        )
    } else if kind == io::ErrorKind::NotFound {
        format!(
            "Docker is not running: there is no socket {socket}; start it with `systemctl start docker`, or install Docker"
        )
    } else if kind == io::ErrorKind::ConnectionRefused {
        format!(
            "Docker is not running: nobody listens on {socket}; start it with `systemctl start docker`"
        )
    } else {
        format!(
            "the connection to the Docker engine at {socket} broke ({kind}); `systemctl status docker` shows why"
        )
    };
    SandboxError::Unavailable(text)
}

/// The group that may use the socket, by name where the machine knows one.
fn group(socket: &str) -> String {
    use std::os::unix::fs::MetadataExt;
    let path = socket.strip_prefix("unix://").unwrap_or(socket);
    let Ok(about) = std::fs::metadata(path) else {
        return "docker".to_owned();
    };
    let number = about.gid().to_string();
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find_map(|fields| match fields.as_slice() {
            [name, _, id, ..] if *id == number => Some((*name).to_owned()),
            _ => None,
        })
        .unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::{Failure, explain, sort};
    use bollard::errors::Error;
    use sandbox::SandboxError;
    use std::io;

    fn told(kind: io::ErrorKind) -> String {
        let error = explain(&Error::from(io::Error::from(kind)), "/no/such/docker.sock");
        assert!(matches!(error, SandboxError::Unavailable(_)), "{error:?}");
        error.to_string()
    }

    #[test]
    fn an_engine_that_is_away_says_what_to_do() {
        assert_eq!(
            told(io::ErrorKind::PermissionDenied),
            "no permission on the Docker socket /no/such/docker.sock: add the gateway's user to the group `docker` (`usermod -aG docker USER`) and start the gateway again"
        );
        assert!(
            told(io::ErrorKind::NotFound)
                .contains("no socket /no/such/docker.sock; start it with `systemctl start docker`")
        );
        assert!(
            told(io::ErrorKind::ConnectionRefused)
                .contains("nobody listens on /no/such/docker.sock")
        );
        assert!(told(io::ErrorKind::BrokenPipe).contains("/no/such/docker.sock"));
    }

    #[test]
    fn a_container_that_stands_still_is_told_from_other_conflicts() {
        let answer = |status_code, message: &str| {
            sort(
                &Error::DockerResponseServerError {
                    status_code,
                    message: message.to_owned(),
                },
                "s",
            )
        };
        assert!(matches!(answer(404, "No such container: x"), Failure::Gone));
        assert!(matches!(
            answer(409, "Container x is not running"),
            Failure::Gone
        ));
        assert!(matches!(
            answer(
                409,
                "Container x is paused, unpause the container before exec"
            ),
            Failure::Gone
        ));
        assert!(matches!(
            answer(
                500,
                "can only create exec sessions on running containers: container state improper"
            ),
            Failure::Gone
        ));
        assert!(matches!(
            answer(
                409,
                "Conflict. The container name \"/x\" is already in use by container y"
            ),
            Failure::Taken
        ));
        assert!(matches!(
            answer(500, "disk full"),
            Failure::Other(SandboxError::Failed(_))
        ));
    }
}
