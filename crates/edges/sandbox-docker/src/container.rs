//! A key's container: found, compared, started, made, or made anew.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use sandbox::{SandboxError, SandboxKey, SandboxPath, SandboxSpec};
use sandbox_folders::Layout;
use tokio::fs;

use crate::driver::Inner;
use crate::recipe::{INSTALL, LEASE, PROFILE, SANDBOX, SPEC, body, network};
use crate::sentence::Failure;
use crate::{fingerprint, scripts};

/// A container that was seen running.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    pub(crate) id: String,
    /// The fingerprint of the spec that it was compared with.
    wanted: String,
    /// How often memory had run out in it.
    pub(crate) kills: Arc<AtomicU64>,
}

/// What is known of one key.
#[derive(Debug, Default)]
pub(crate) struct Room {
    live: Option<Live>,
    note: Option<String>,
}

/// Does a container see the gateway's folders?
enum Seen {
    /// It does; so often memory had run out in it.
    Yes { kills: u64 },
    /// It does not; this is what it said.
    No { said: String },
}

impl Seen {
    fn kills(&self) -> Option<u64> {
        match self {
            Self::Yes { kills } => Some(*kills),
            Self::No { .. } => None,
        }
    }
}

const LOST: &str = "the sandbox was made anew; files outside /workspace and /root are gone";
const CHANGED: &str = "the sandbox was made anew, since its settings or its image changed; files outside /workspace and /root are gone";
const STOPPED: &str =
    "the sandbox had stopped and was started again; files in /tmp and running programs are gone";

/// Laid into the inbox for a moment, to see whether the container sees it.
const SEEN: &str = ".seen";

/// How long a container may take to read one small file.
const PROBE: Duration = Duration::from_secs(20);

impl Inner {
    /// The key's container, running and made of exactly this spec.
    pub(crate) async fn ensure(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
    ) -> Result<Live, SandboxError> {
        let room = self.room(key);
        let mut room = room.lock().await;
        let wanted = fingerprint::of_spec(spec);
        if let Some(live) = room.live.as_ref().filter(|live| live.wanted == wanted) {
            return Ok(live.clone());
        }
        let (live, note) = self.find_or_make(key, spec, wanted).await?;
        room.note = note.map(str::to_owned).or_else(|| room.note.take());
        room.live = Some(live.clone());
        Ok(live)
    }

    /// What the agent should be told once about its sandbox.
    pub(crate) async fn take_note(&self, key: &SandboxKey) -> Option<String> {
        self.room(key).lock().await.note.take()
    }

    /// The container did not answer: look for it again.
    pub(crate) async fn forget(&self, key: &SandboxKey, id: &str) {
        let room = self.room(key);
        let mut room = room.lock().await;
        if room.live.as_ref().is_some_and(|live| live.id == id) {
            room.live = None;
        }
    }

    async fn find_or_make(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        wanted: String,
    ) -> Result<(Live, Option<&'static str>), SandboxError> {
        let layout = self.options.folders.ensure(key).await?;
        let user = owner(&layout).await?;
        let name = waybill::label::name(&format!("tidings:{}:{key}", self.options.install));
        let docker = self.engine.docker().await?;
        let found = match self.engine.ask(docker.inspect_container(&name, None)).await {
            Ok(found) => Some(found),
            Err(Failure::Gone) => None,
            Err(failure) => return Err(failure.into_error()),
        };
        if let Some(found) = &found
            && !self.is_of(found, key)
        {
            return Err(Failure::Taken.into_error());
        }
        let image = self.image(spec, found.as_ref()).await?;
        let label = fingerprint::of_container(&wanted, &image, &user, &layout);
        let mut note = None;
        if let Some(found) = &found {
            let id = found.id.clone().unwrap_or_default();
            if fits(found, &label, spec) {
                let note = self.wake(found, &id).await?;
                // Its folders may have been moved away under it, and others put in their place.
                if let Some(kills) = self.verify(&id, spec, &layout).await?.kills() {
                    let kills = Arc::new(AtomicU64::new(kills));
                    return Ok((Live { id, wanted, kills }, note));
                }
            }
            self.discard(&id).await?;
            // One that never ran had nothing to lose.
            note = (!never_ran(found)).then_some(CHANGED);
        } else if fs::try_exists(trace(&layout)).await.unwrap_or(false) {
            note = Some(LOST);
        }
        let id = self.make(key, spec, &layout, &user, &name, &label).await?;
        let kills = Arc::default();
        Ok((Live { id, wanted, kills }, note))
    }

    fn is_of(&self, found: &ContainerInspectResponse, key: &SandboxKey) -> bool {
        let labels = found
            .config
            .as_ref()
            .and_then(|config| config.labels.as_ref());
        labels.is_some_and(|labels| {
            labels.get(INSTALL) == Some(&self.options.install)
                && labels.get(SANDBOX) == Some(&key.to_string())
        })
    }

    /// The id of the spec's image. A container that was made of it keeps it, even if its name is gone meanwhile.
    async fn image(
        &self,
        spec: &SandboxSpec,
        found: Option<&ContainerInspectResponse>,
    ) -> Result<String, SandboxError> {
        if let Some(id) = self.engine.image_id(&spec.image).await? {
            return Ok(id);
        }
        let kept = found.filter(|found| {
            let made_of = found
                .config
                .as_ref()
                .and_then(|config| config.image.as_ref());
            made_of == Some(&spec.image)
        });
        match kept.and_then(|found| found.image.clone()) {
            Some(id) => Ok(id),
            None => self.engine.pull(&spec.image).await,
        }
    }

    /// Makes a container that fits run; what to tell of it.
    async fn wake(
        &self,
        found: &ContainerInspectResponse,
        id: &str,
    ) -> Result<Option<&'static str>, SandboxError> {
        let docker = self.engine.docker().await?;
        let state = found.state.as_ref();
        if state.and_then(|state| state.paused) == Some(true) {
            self.engine
                .ask(docker.unpause_container(id))
                .await
                .map_err(Failure::into_error)?;
        } else if state.and_then(|state| state.running) != Some(true) {
            self.engine
                .ask(docker.start_container(id, None))
                .await
                .map_err(Failure::into_error)?;
            return Ok(Some(STOPPED));
        }
        Ok(None)
    }

    /// How often memory ran out in a container since it was started.
    pub(crate) async fn kills(&self, id: &str) -> Result<u64, SandboxError> {
        let said = self
            .quick(id, scripts::PROBE, "", PROBE)
            .await
            .map_err(Failure::into_error)?;
        Ok(kills_said(&said))
    }

    async fn make(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        layout: &Layout,
        user: &str,
        name: &str,
        label: &str,
    ) -> Result<String, SandboxError> {
        let docker = self.engine.docker().await?;
        let cpus = self.engine.info().await?.cpus;
        let labels = HashMap::from([
            (INSTALL.to_owned(), self.options.install.clone()),
            (PROFILE.to_owned(), key.profile().to_string()),
            (SANDBOX.to_owned(), key.to_string()),
            (SPEC.to_owned(), label.to_owned()),
            (
                LEASE.to_owned(),
                self.options.clock.now().as_second().to_string(),
            ),
        ]);
        let body = body(spec, layout, user, labels, cpus)?;
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        let made = self
            .engine
            .ask(docker.create_container(Some(options), body))
            .await
            .map_err(Failure::into_error)?;
        for warning in &made.warnings {
            tracing::warn!(container = name, "the Docker engine warns: {warning}");
        }
        let started = async {
            self.engine
                .ask(docker.start_container(&made.id, None))
                .await
                .map_err(Failure::into_error)?;
            match self.verify(&made.id, spec, layout).await? {
                Seen::Yes { .. } => Ok(()),
                Seen::No { said } => Err(SandboxError::Failed(format!(
                    "the container does not see the gateway's folder {} ({said}): the Docker engine must run on this machine and see the same paths, and the image needs sh and coreutils or busybox",
                    layout.inbox.as_path().display(),
                ))),
            }
        };
        if let Err(error) = started.await {
            // The first failure is the one to tell; the engine may be unable to remove it for the same reason.
            if let Err(second) = self.discard(&made.id).await {
                tracing::warn!(container = name, "a container that failed stays: {second}");
            }
            return Err(error);
        }
        fs::write(trace(layout), &made.id).await.map_err(|source| {
            SandboxError::Failed(format!(
                "{} could not be written: {source}",
                trace(layout).display()
            ))
        })?;
        Ok(made.id)
    }

    /// Looks at the running container itself: is it off the network, and are its folders the gateway's folders? An
    /// engine on another machine, or one that sees other paths, would bind other folders of the same name. Says how often
    /// memory had run out in it.
    async fn verify(
        &self,
        id: &str,
        spec: &SandboxSpec,
        layout: &Layout,
    ) -> Result<Seen, SandboxError> {
        let docker = self.engine.docker().await?;
        let running = self
            .engine
            .ask(docker.inspect_container(id, None))
            .await
            .map_err(Failure::into_error)?;
        if !on_its_network(&running, spec) {
            return Err(SandboxError::Failed(
                "the Docker engine put the sandbox on a network that was not asked for; nothing was run".to_owned(),
            ));
        }
        // One name, under the key's lock: what a dropped call leaves behind is overwritten.
        let host = layout.inbox.as_path().join(SEEN);
        let word = format!("{id} {}", self.mark());
        fs::write(&host, &word).await.map_err(|source| {
            SandboxError::Failed(format!("{} could not be written: {source}", host.display()))
        })?;
        let inside = format!("{}/{SEEN}", SandboxPath::INBOX);
        let said = self.quick(id, scripts::PROBE, &inside, PROBE).await;
        // Only untidy if it stays; the answer above is what counts.
        fs::remove_file(&host).await.unwrap_or_default();
        let said = said.map_err(Failure::into_error)?;
        let text = String::from_utf8_lossy(&said);
        if text.ends_with(&word) {
            return Ok(Seen::Yes {
                kills: kills_said(&said),
            });
        }
        Ok(Seen::No {
            said: text.trim().to_owned(),
        })
    }

    /// After a command died of SIGKILL: was it the memory? `before` is what was known when it began.
    pub(crate) async fn out_of_memory(&self, live: &Live, before: u64) -> bool {
        let now = match self.kills(&live.id).await {
            Ok(kills) => kills,
            // With the container went its counter.
            Err(_) => return self.died_of_memory(&live.id).await,
        };
        live.kills.fetch_max(now, Ordering::SeqCst);
        now > before
    }

    async fn died_of_memory(&self, id: &str) -> bool {
        let Ok(docker) = self.engine.docker().await else {
            return false;
        };
        let found = self.engine.ask(docker.inspect_container(id, None)).await;
        found.is_ok_and(|found| found.state.and_then(|state| state.oom_killed) == Some(true))
    }
}

/// Remembers on the host that the sandbox has had a container, and which.
fn trace(layout: &Layout) -> PathBuf {
    layout.workspace.as_path().with_file_name("container")
}

/// Containers run as whoever owns the folders: the gateway's own user.
async fn owner(layout: &Layout) -> Result<String, SandboxError> {
    let folder = layout.workspace.as_path();
    let about = fs::metadata(folder).await.map_err(|source| {
        SandboxError::Failed(format!(
            "{} could not be looked at: {source}",
            folder.display()
        ))
    })?;
    Ok(format!("{}:{}", about.uid(), about.gid()))
}

fn fits(found: &ContainerInspectResponse, label: &str, spec: &SandboxSpec) -> bool {
    let labels = found
        .config
        .as_ref()
        .and_then(|config| config.labels.as_ref());
    let same = labels
        .and_then(|labels| labels.get(SPEC))
        .is_some_and(|has| has == label);
    let status = found.state.as_ref().and_then(|state| state.status);
    let dying = matches!(
        status,
        Some(ContainerStateStatusEnum::DEAD | ContainerStateStatusEnum::REMOVING)
    );
    same && !dying && !never_ran(found) && on_its_network(found, spec)
}

/// Made, and given up before it was started.
fn never_ran(found: &ContainerInspectResponse) -> bool {
    let status = found.state.as_ref().and_then(|state| state.status);
    status == Some(ContainerStateStatusEnum::CREATED)
}

/// By what the engine did, not by what it was asked for: somebody may have connected the container since.
fn on_its_network(found: &ContainerInspectResponse, spec: &SandboxSpec) -> bool {
    let wanted = network(spec.network);
    let mode = found
        .host_config
        .as_ref()
        .and_then(|host| host.network_mode.as_deref());
    let networks = found
        .network_settings
        .as_ref()
        .and_then(|settings| settings.networks.as_ref());
    let only = networks.is_none_or(|networks| networks.keys().all(|name| name == wanted));
    mode == Some(wanted) && only
}

fn kills_said(said: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(said);
    let number = text.lines().find_map(|line| line.strip_prefix("kills "));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
