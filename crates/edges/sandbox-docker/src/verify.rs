//! A look at a running container itself, before anything runs in it.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sandbox::{SandboxError, SandboxPath};
use tokio::fs;

use crate::container::Live;
use crate::driver::Inner;
use crate::egress::Place;
use crate::network::Wanted;
use crate::scripts;
use crate::sentence::Failure;
use crate::storage::Files;

/// Begins the name of what is laid into the inbox for a moment, to see whether the container sees it.
const SEEN: &str = ".seen-";

/// How long a container may take to read one small file.
const PROBE: Duration = Duration::from_secs(20);

/// What a look at a container showed.
#[derive(Debug)]
pub(crate) enum Seen {
    /// It is as it must be.
    Right(Look),
    /// It is on another network than it was made for.
    Networked,
    /// It does not see the gateway's folders; this is what it said.
    Elsewhere { said: String },
}

/// A container as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    /// How often memory had run out in it.
    pub(crate) kills: u64,
    /// Where its network namespace is.
    pub(crate) place: Place,
}

/// A file that lies there for a moment. Dropped, it is removed.
struct Laid(PathBuf);

impl Drop for Laid {
    fn drop(&mut self) {
        // Only untidy if it stays; what the container said is what counts.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

impl Inner {
    /// Looks at a running container: is it on its network and no other, by the engine's word and by its own kernel's, and
    /// are its folders the gateway's folders, or its volumes its own? An engine on another machine, or one that sees other
    /// paths, would bind other folders of the same name. `owned` are the places of the owner's own mounts.
    pub(crate) async fn verify(
        &self,
        id: &str,
        network: &Wanted,
        files: &Files,
        owned: &[&str],
    ) -> Result<Seen, Failure> {
        let docker = self.engine.docker().await?;
        let running = self.engine.ask(docker.inspect_container(id, None)).await?;
        if !network.is_of(&running) {
            return Ok(Seen::Networked);
        }
        let pid = running.state.as_ref().and_then(|state| state.pid);
        let pid = pid.unwrap_or_default();
        let layout = match files {
            Files::Folders(layout) => layout,
            Files::Volumes(volumes) => {
                if !volumes.are_of(&running, owned) {
                    return Ok(Seen::Elsewhere {
                        said: "it has other volumes".to_owned(),
                    });
                }
                let said = self.quick(id, scripts::PROBE, "", PROBE).await?;
                return Ok(judge(&String::from_utf8_lossy(&said), "", network, pid));
            }
        };
        // A name of its own: another process may look at the same container at the same time.
        let mark = self.mark();
        let name = format!("{SEEN}{mark}");
        let laid = Laid(layout.inbox.as_path().join(&name));
        let word = format!("{id} {mark}");
        fs::write(&laid.0, &word).await.map_err(|source| {
            SandboxError::Failed(format!(
                "{} could not be written: {source}",
                laid.0.display()
            ))
        })?;
        let inside = format!("{}/{name}", SandboxPath::INBOX);
        let said = self.quick(id, scripts::PROBE, &inside, PROBE).await;
        drop(laid);
        let said = String::from_utf8_lossy(&said?).into_owned();
        Ok(judge(&said, &word, network, pid))
    }

    /// How often memory ran out in a container since it was started.
    async fn kills(&self, id: &str) -> Result<u64, Failure> {
        let said = self.quick(id, scripts::PROBE, "", PROBE).await?;
        let said = String::from_utf8_lossy(&said);
        Ok(number(&said, "kills ").unwrap_or(0))
    }

    /// After a command died of SIGKILL: was it the memory? What was known when it began is `before`.
    ///
    /// # Errors
    /// If the container itself ended, and not for its memory: then nobody knows what else the command would have said.
    pub(crate) async fn out_of_memory(
        &self,
        live: &Live,
        before: u64,
    ) -> Result<bool, SandboxError> {
        match self.kills(&live.id).await {
            Ok(now) => {
                live.kills.fetch_max(now, Ordering::SeqCst);
                Ok(now > before)
            }
            // With the container went its counter.
            Err(Failure::Gone) => self.died_of_memory(&live.id).await,
            Err(_) => Ok(false),
        }
    }

    async fn died_of_memory(&self, id: &str) -> Result<bool, SandboxError> {
        let docker = self.engine.docker().await?;
        let found = self.engine.ask(docker.inspect_container(id, None)).await;
        let state = found.ok().and_then(|found| found.state);
        if state.as_ref().and_then(|state| state.oom_killed) == Some(true) {
            return Ok(true);
        }
        if state.and_then(|state| state.running) == Some(true) {
            return Ok(false);
        }
        Err(SandboxError::Failed(
            "the sandbox's container was stopped while the command ran; the next command starts it again".to_owned(),
        ))
    }
}

/// What a container's own words mean. A route that leads out is a network, whatever the engine says.
fn judge(said: &str, word: &str, network: &Wanted, pid: i64) -> Seen {
    let elsewhere = || Seen::Elsewhere {
        said: said.trim().to_owned(),
    };
    if !said.ends_with(word) {
        return elsewhere();
    }
    let (Some(kills), Some(routes)) = (number(said, "kills "), number(said, "routes ")) else {
        return elsewhere();
    };
    if *network == Wanted::None && routes > 0 {
        return Seen::Networked;
    }
    let namespace = line(said, "namespace ").unwrap_or_default().to_owned();
    Seen::Right(Look {
        kills,
        place: Place { pid, namespace },
    })
}

fn line<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    said.lines().find_map(|line| line.strip_prefix(name))
}

fn number(said: &str, name: &str) -> Option<u64> {
    line(said, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Seen, judge};
    use crate::network::Wanted;

    #[test]
    fn a_container_is_judged_by_its_own_words() {
        let said = |routes| format!("kills 3\nroutes {routes}\nnamespace net:[7]\nword");
        let Seen::Right(look) = judge(&said(0), "word", &Wanted::None, 12) else {
            panic!("refused");
        };
        assert_eq!((look.kills, look.place.pid), (3, 12));
        assert_eq!(look.place.namespace, "net:[7]");
        assert!(matches!(
            judge(&said(1), "word", &Wanted::None, 12),
            Seen::Networked
        ));
        let own = Wanted::Bridge("own".to_owned());
        assert!(matches!(judge(&said(1), "word", &own, 12), Seen::Right(_)));
        for odd in [
            "",
            "kills 3\nroutes 0\nnamespace net:[7]\nother",
            "routes 0\nword",
            "kills 3\nword",
        ] {
            let seen = judge(odd, "word", &Wanted::None, 12);
            assert!(matches!(seen, Seen::Elsewhere { .. }), "{odd:?}: {seen:?}");
        }
    }
}
