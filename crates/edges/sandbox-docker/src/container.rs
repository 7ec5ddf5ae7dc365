//! A key's container: found, compared, started, made, or made anew.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use sandbox::{SandboxError, SandboxKey, SandboxSpec};
use sandbox_folders::Layout;
use tokio::fs;

use crate::driver::Inner;
use crate::egress::{self, Door};
use crate::lease::{self, Use};
use crate::network::Wanted;
use crate::recipe::{INSTALL, LEASE, PROFILE, SANDBOX, SPEC, body};
use crate::sentence::Failure;
use crate::verify::{Look, Seen};
use crate::{fingerprint, names};

/// A container that was seen running.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) id: String,
    /// The fingerprint of the spec that it was compared with.
    wanted: String,
    /// How often memory had run out in it.
    pub(crate) kills: Arc<AtomicU64>,
    /// Its way out, if it has one.
    pub(crate) door: Option<Arc<Door>>,
}

/// What is known of one key.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) live: Option<Live>,
    note: Option<String>,
}

/// All that a key's container is made of.
struct Make<'a> {
    key: &'a SandboxKey,
    spec: &'a SandboxSpec,
    layout: Layout,
    user: String,
    name: String,
    network: Wanted,
}

const LOST: &str = "the sandbox was made anew; files outside /workspace and /root are gone";
const CHANGED: &str = "the sandbox was made anew, since its settings or its image changed; files outside /workspace and /root are gone";
const OTHER: &str = "the sandbox's settings changed since it was made; restart the gateway, or end it with `tidings sandboxes stop`";
const STOPPED: &str =
    "the sandbox had stopped and was started again; files in /tmp and running programs are gone";

impl Inner {
    /// The key's container, running and made of exactly this spec, and in use from now on.
    pub(crate) async fn ensure(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
    ) -> Result<(Live, Use), SandboxError> {
        egress::check(spec, self.options.egress.as_ref())?;
        let room = self.room(key);
        if let Some(there) = self.enter(&room, key, spec).await? {
            return Ok(there);
        }
        // It may take half an hour, and the owner may stop the sandbox meanwhile: nobody waits for this but who needs it.
        self.engine.pull(&spec.image).await?;
        let there = self.enter(&room, key, spec).await?;
        there.ok_or_else(|| {
            SandboxError::Image(format!(
                "the image {} was removed from the Docker engine while the sandbox was made; try again",
                spec.image
            ))
        })
    }

    /// The same under the key's lock; `None` if an image has to be fetched first.
    async fn enter(
        self: &Arc<Self>,
        room: &tokio::sync::Mutex<Room>,
        key: &SandboxKey,
        spec: &SandboxSpec,
    ) -> Result<Option<(Live, Use)>, SandboxError> {
        let mut room = room.lock().await;
        let wanted = fingerprint::of_spec(spec);
        let known = room.live.as_ref().filter(|live| live.wanted == wanted);
        if let Some(live) = known
            && self.door_stands(live).await
        {
            let usage = self.begin_use(&live.id, key, spec);
            return Ok(Some((live.clone(), usage)));
        }
        let Some((live, note)) = self.find_or_make(key, spec, wanted).await? else {
            return Ok(None);
        };
        room.note = note.map(str::to_owned).or_else(|| room.note.take());
        room.live = Some(live.clone());
        let usage = self.begin_use(&live.id, key, spec);
        Ok(Some((live, usage)))
    }

    /// A container that was started again has another network namespace, and nobody listens there.
    async fn door_stands(&self, live: &Live) -> bool {
        let Some(door) = &live.door else { return true };
        let Ok(docker) = self.engine.docker().await else {
            return false;
        };
        let found = self
            .engine
            .ask(docker.inspect_container(&live.id, None))
            .await;
        let pid = found.ok().and_then(|found| found.state?.pid);
        pid == Some(door.pid)
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

    /// The container, and what to tell of it; `None` if its image is not there.
    async fn find_or_make(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        wanted: String,
    ) -> Result<Option<(Live, Option<&'static str>)>, SandboxError> {
        let layout = self.options.folders.ensure(key).await?;
        let make = Make {
            key,
            spec,
            user: owner(&layout).await?,
            name: names::container(&self.options.install, key),
            network: self.wanted_network(key, spec),
            layout,
        };
        let docker = self.engine.docker().await?;
        let found = match self
            .engine
            .ask(docker.inspect_container(&make.name, None))
            .await
        {
            Ok(found) => Some(found),
            Err(Failure::Gone) => None,
            Err(failure) => return Err(failure.into_error()),
        };
        if let Some(found) = &found
            && !self.is_of(found, key)
        {
            return Err(Failure::Taken.into_error());
        }
        let Some(image) = self.image(spec, found.as_ref()).await? else {
            return Ok(None);
        };
        let label = fingerprint::of_container(
            &wanted,
            &image,
            &make.user,
            key,
            make.network.name(),
            &make.layout,
        );
        let mut note = None;
        if let Some(found) = &found {
            let id = found.id.clone().unwrap_or_default();
            if fits(found, &label, &make.network)
                && let Some((look, woken)) = self.reuse(found, &id, &make).await?
            {
                let live = self.live(id, wanted, spec, look).await?;
                return Ok(Some((live, woken)));
            }
            if self.options.beside && runs(found) {
                return Err(SandboxError::Failed(OTHER.to_owned()));
            }
            self.discard(&id).await?;
            // One that never ran had nothing to lose.
            note = (!never_ran(found)).then_some(CHANGED);
        } else if fs::try_exists(trace(&make.layout)).await.unwrap_or(false) {
            note = Some(LOST);
        }
        let (id, look) = self.make(&make, &label).await?;
        Ok(Some((self.live(id, wanted, spec, look).await?, note)))
    }

    async fn live(
        &self,
        id: String,
        wanted: String,
        spec: &SandboxSpec,
        look: Look,
    ) -> Result<Live, SandboxError> {
        let door = self.open_door(spec, &look.place).await?;
        let kills = Arc::new(AtomicU64::new(look.kills));
        Ok(Live {
            id,
            wanted,
            kills,
            door,
        })
    }

    /// Makes a container that fits run, and looks at it; `None` if another has to take its place.
    async fn reuse(
        &self,
        found: &ContainerInspectResponse,
        id: &str,
        make: &Make<'_>,
    ) -> Result<Option<(Look, Option<&'static str>)>, SandboxError> {
        let woken = match self.wake(found, id).await {
            Ok(woken) => woken,
            // It went away meanwhile, or its network did.
            Err(Failure::Gone) => return Ok(None),
            Err(failure) => return Err(failure.into_error()),
        };
        // Its folders may have been moved away under it, and others put in their place.
        let mut seen = self.verify(id, &make.network, &make.layout).await;
        if matches!(seen, Ok(Seen::Elsewhere { .. })) && runs(found) {
            // Others may work in it: one answer that was cut short is no reason to end what they do.
            seen = self.verify(id, &make.network, &make.layout).await;
        }
        match seen {
            Ok(Seen::Right(look)) => Ok(Some((look, woken))),
            Ok(Seen::Networked | Seen::Elsewhere { .. }) | Err(Failure::Gone) => Ok(None),
            Err(failure) => Err(failure.into_error()),
        }
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

    /// The id of the spec's image, if the engine has it. A container that was made of it keeps it, even if its name is gone
    /// meanwhile.
    async fn image(
        &self,
        spec: &SandboxSpec,
        found: Option<&ContainerInspectResponse>,
    ) -> Result<Option<String>, SandboxError> {
        if let Some(id) = self.engine.image_id(&spec.image).await? {
            return Ok(Some(id));
        }
        let kept = found.filter(|found| {
            let made_of = found
                .config
                .as_ref()
                .and_then(|config| config.image.as_ref());
            made_of == Some(&spec.image)
        });
        Ok(kept.and_then(|found| found.image.clone()))
    }

    /// Makes a container that fits run; what to tell of it.
    async fn wake(
        &self,
        found: &ContainerInspectResponse,
        id: &str,
    ) -> Result<Option<&'static str>, Failure> {
        let docker = self.engine.docker().await?;
        let state = found.state.as_ref();
        if state.and_then(|state| state.paused) == Some(true) {
            self.engine.ask(docker.unpause_container(id)).await?;
        } else if state.and_then(|state| state.running) != Some(true) {
            self.engine.ask(docker.start_container(id, None)).await?;
            return Ok(Some(STOPPED));
        }
        Ok(None)
    }

    async fn make(&self, make: &Make<'_>, label: &str) -> Result<(String, Look), SandboxError> {
        let id = self.create(make, label).await?;
        match self.begin(&id, make).await {
            Ok(look) => {
                let trace = trace(&make.layout);
                fs::write(&trace, &id).await.map_err(|source| {
                    let place = trace.display();
                    SandboxError::Failed(format!("{place} could not be written: {source}"))
                })?;
                Ok((id, look))
            }
            Err(error) => {
                // The first failure is the one to tell; the engine may be unable to remove it for the same reason.
                if let Err(second) = self.discard(&id).await {
                    tracing::warn!(
                        container = make.name,
                        "a container that failed stays: {second}"
                    );
                }
                Err(error)
            }
        }
    }

    async fn create(&self, make: &Make<'_>, label: &str) -> Result<String, SandboxError> {
        let docker = self.engine.docker().await?;
        let cpus = self.engine.info().await?.cpus;
        let profile = make.key.profile();
        let until = lease::end(self.options.clock.now(), lease::idle(make.spec));
        let labels = HashMap::from([
            (INSTALL.to_owned(), self.options.install.clone()),
            (PROFILE.to_owned(), profile.to_string()),
            (SANDBOX.to_owned(), make.key.to_string()),
            (SPEC.to_owned(), label.to_owned()),
            (LEASE.to_owned(), lease::seconds(until).to_string()),
        ]);
        let network = make.network.name();
        let body = body(make.spec, &make.layout, &make.user, labels, network, cpus)?;
        let options = CreateContainerOptionsBuilder::default()
            .name(&make.name)
            .build();
        let _no_network_is_reaped_meanwhile = self.making.lock().await;
        self.ensure_network(&make.network, profile).await?;
        let made = self
            .engine
            .ask(docker.create_container(Some(options), body))
            .await
            .map_err(Failure::into_error)?;
        for warning in &made.warnings {
            tracing::warn!(container = make.name, "the Docker engine warns: {warning}");
        }
        Ok(made.id)
    }

    /// Starts a new container and looks at it before anything of the agent's runs there.
    async fn begin(&self, id: &str, make: &Make<'_>) -> Result<Look, SandboxError> {
        let docker = self.engine.docker().await?;
        self.engine
            .ask(docker.start_container(id, None))
            .await
            .map_err(Failure::into_error)?;
        let seen = self.verify(id, &make.network, &make.layout).await;
        match seen.map_err(Failure::into_error)? {
            Seen::Right(look) => Ok(look),
            Seen::Networked => Err(SandboxError::Failed(
                "the Docker engine put the sandbox on a network that was not asked for; nothing was run".to_owned(),
            )),
            Seen::Elsewhere { said } => Err(SandboxError::Failed(format!(
                "the container does not see the gateway's folder {} ({said}): the Docker engine must run on this machine and see the same paths, and the image needs sh and coreutils or busybox",
                make.layout.inbox.as_path().display(),
            ))),
        }
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

fn fits(found: &ContainerInspectResponse, label: &str, network: &Wanted) -> bool {
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
    same && !dying && !never_ran(found) && network.is_of(found)
}

/// Runs, or is paused.
fn runs(found: &ContainerInspectResponse) -> bool {
    let state = found.state.as_ref();
    state.and_then(|state| state.running) == Some(true)
}

/// Made, and given up before it was started.
fn never_ran(found: &ContainerInspectResponse) -> bool {
    let status = found.state.as_ref().and_then(|state| state.status);
    status == Some(ContainerStateStatusEnum::CREATED)
}
