//! Commands whose gateway was killed: nobody hears them any more, and nobody else would end them.

use sandbox::SandboxError;

use crate::driver::Inner;
use crate::scripts;
use crate::sentence::Failure;

impl Inner {
    /// Ends all commands that run in this gateway's containers and were started by another life of it.
    pub(crate) async fn end_orphans(&self) -> Result<usize, SandboxError> {
        let mut ended = 0;
        for container in self.own_containers().await? {
            let id = container.id.unwrap_or_default();
            for (exec, mark) in self.orphans(&id).await.map_err(Failure::into_error)? {
                ended += usize::from(self.end_orphan(&id, &exec, &mark).await);
            }
        }
        Ok(ended)
    }

    /// Says whether it is gone. What this life runs in the same container is worth more than its end.
    async fn end_orphan(&self, container: &str, exec: &str, mark: &str) -> bool {
        if self.kill_marked(container, exec, mark).await {
            return true;
        }
        if self.leases.in_use(container) {
            tracing::warn!(
                container,
                "a command of an earlier life of this gateway could not be killed, and its container is in use"
            );
            return false;
        }
        tracing::warn!(container, "a command could not be killed; its container is");
        self.kill_container(container).await;
        true
    }

    /// The engine remembers who was started and how; the mark stands behind the script's name.
    async fn orphans(&self, container: &str) -> Result<Vec<(String, String)>, Failure> {
        let docker = self.engine.docker().await?;
        let found = match self
            .engine
            .ask(docker.inspect_container(container, None))
            .await
        {
            Ok(found) => found,
            Err(Failure::Gone) => return Ok(Vec::new()),
            Err(failure) => return Err(failure),
        };
        let mut orphans = Vec::new();
        for exec in found.exec_ids.unwrap_or_default() {
            let state = match self.engine.ask(docker.inspect_exec(&exec)).await {
                Ok(state) => state,
                Err(Failure::Gone) => continue,
                Err(failure) => return Err(failure),
            };
            let arguments = state
                .process_config
                .and_then(|config| config.arguments)
                .unwrap_or_default();
            let mark = arguments.iter().find_map(|argument| mark_of(argument));
            if state.running == Some(true)
                && let Some(mark) = mark.filter(|mark| !self.is_own(mark))
            {
                orphans.push((exec, mark.to_owned()));
            }
        }
        Ok(orphans)
    }
}

/// The mark in `$0` of a script of ours; a person's own commands in the container have none.
fn mark_of(argument: &str) -> Option<&str> {
    let mark = argument.strip_prefix(scripts::NAME)?.strip_prefix(' ')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (mark.contains('-') && mark.bytes().all(plain)).then_some(mark)
}

#[cfg(test)]
mod tests {
    use super::mark_of;

    #[test]
    fn only_the_drivers_own_scripts_have_a_mark() {
        assert_eq!(
            mark_of("tidings 0011223344556677-12"),
            Some("0011223344556677-12")
        );
        for other in [
            "tidings",
            "tidings ",
            "tidings x",
            "tidings a-1; rm",
            "sh",
            "tidings-1",
            "",
        ] {
            assert_eq!(mark_of(other), None, "{other:?}");
        }
    }
}
