//! A key's container: found, compared, started, made, or made anew.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum, HostConfig};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use sandbox::{SandboxError, SandboxKey, SandboxSpec};
use sandbox_folders::Layout;
use tokio::fs;

use crate::bring::Brought;
use crate::driver::Inner;
use crate::egress::{self, Door};
use crate::engine::Kind;
use crate::lease::{self, Use};
use crate::network::Wanted;
use crate::recipe::{INSTALL, LEASE, PROFILE, SANDBOX, SPEC, body};
use crate::sentence::Failure;
use crate::storage::{Files, Storage, Volumes};
use crate::verify::{Look, Seen};
use crate::volumes::Kept;
use crate::{fingerprint, names, recipe, scripts};

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
    /// The id of its image.
    pub(crate) image: String,
    /// What its own files lie in, if not in folders of this machine.
    volumes: Option<Volumes>,
}

/// What is known of one key.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) live: Option<Live>,
    note: Option<String>,
    /// What lies in its inbox, of a sandbox with volumes; none: it was not looked yet.
    brought: Option<Brought>,
    /// Why not everything could be brought into its inbox.
    unbrought: Option<String>,
}

/// All that a key's container is made of.
struct Make<'a> {
    key: &'a SandboxKey,
    spec: &'a SandboxSpec,
    /// Its folder in the gateway's home.
    layout: Layout,
    files: Files,
    user: String,
    name: String,
    network: Wanted,
}

const LOST: &str = "the sandbox was made anew; files outside /workspace and /root are gone";
const CHANGED: &str = "the sandbox was made anew, since its settings or its image changed; files outside /workspace and /root are gone";
const OTHER: &str = "the sandbox's settings changed since it was made; restart the gateway, or end it with `tidings sandboxes stop`";
const TO_VOLUMES: &str = "the sandbox was made anew: the container engine does not see the gateway's folders any more, so that /workspace and /root are kept in the engine's volumes; what they had before lies in the gateway's home";
const EMPTIED: &str = "the sandbox was made anew: the volumes that held its files were removed, so that /workspace and /root are empty";
const TO_FOLDERS: &str = "the sandbox was made anew: the container engine sees the gateway's folders now, so that /workspace and /root are kept there; what they had before lies in the engine's volumes";
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
            let live = live.clone();
            let usage = self.begin_use(&live.id, key, spec);
            self.fill_inbox(&mut room, key, &live).await;
            return Ok(Some((live, usage)));
        }
        let Some((live, note)) = self.find_or_make(key, spec, wanted).await? else {
            return Ok(None);
        };
        room.note = note.map(str::to_owned).or_else(|| room.note.take());
        room.live = Some(live.clone());
        room.brought = None;
        let usage = self.begin_use(&live.id, key, spec);
        self.fill_inbox(&mut room, key, &live).await;
        Ok(Some((live, usage)))
    }

    /// Attachments that a sandbox with volumes does not have yet. That one can't be brought is told to the agent with the
    /// next command, and is no reason to run none.
    async fn fill_inbox(self: &Arc<Self>, room: &mut Room, key: &SandboxKey, live: &Live) {
        let Some(volumes) = &live.volumes else { return };
        let inbox = self.options.folders.layout(key).inbox;
        let brought = &mut room.brought;
        let bringing = self.bring(inbox.as_path(), volumes, live, brought).await;
        room.unbrought = bringing.err().map(|error| {
            tracing::warn!(%key, "attachments could not be brought into a sandbox: {error}");
            format!("not all attachments could be brought into /inbox: {error}")
        });
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
        let room = self.room(key);
        let mut room = room.lock().await;
        let notes = [room.note.take(), room.unbrought.take()];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join("; "))
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
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        wanted: String,
    ) -> Result<Option<(Live, Option<&'static str>)>, SandboxError> {
        let layout = self.options.folders.ensure(key).await?;
        let name = names::container(&self.options.install, key);
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
        let Some(image) = self.image(spec, found.as_ref()).await? else {
            return Ok(None);
        };
        let (files, kept) = self.files(key, &layout, &image).await?;
        let make = Make {
            key,
            spec,
            user: self.user(&files).await?,
            name,
            network: self.wanted_network(key, spec).await?,
            layout,
            files,
        };
        let label = fingerprint::of_container(
            &wanted,
            &image,
            &make.user,
            key,
            make.network.name(),
            &make.files,
        );
        let mut note = None;
        if let Some(found) = &found {
            let id = found.id.clone().unwrap_or_default();
            if fits(found, &label, &make.network)
                && let Some((look, woken)) = self.reuse(found, &id, &make).await?
            {
                let live = self.live(id, wanted, image, &make, look).await?;
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
        if let Some(moved) = moved(&make, kept).await {
            tracing::warn!(%key, "{moved}");
            note = Some(moved);
        }
        let (id, look) = self.make(&make, &label).await?;
        let live = self.live(id, wanted, image, &make, look).await?;
        Ok(Some((live, note)))
    }

    /// What the sandbox's own places are made of, made where it is missing.
    async fn files(
        self: &Arc<Self>,
        key: &SandboxKey,
        layout: &Layout,
        image: &str,
    ) -> Result<(Files, Kept), SandboxError> {
        Ok(match self.storage(image).await? {
            Storage::Folders => (Files::Folders(layout.clone()), Kept::Whole),
            Storage::Volumes => {
                let volumes = Volumes::of(&self.options.install, key);
                let kept = self.ensure_volumes(&volumes, key).await?;
                (Files::Volumes(volumes), kept)
            }
        })
    }

    /// Containers run as whoever owns the folders: the gateway's own user. An engine without rights of its own is that user, and
    /// calls itself root inside; the root of volumes is the engine's.
    async fn user(&self, files: &Files) -> Result<String, SandboxError> {
        let Files::Folders(layout) = files else {
            return Ok(recipe::ROOT.to_owned());
        };
        if self.engine.about().await?.rootless {
            return Ok(recipe::ROOT.to_owned());
        }
        owner(layout).await
    }

    async fn live(
        &self,
        id: String,
        wanted: String,
        image: String,
        make: &Make<'_>,
        look: Look,
    ) -> Result<Live, SandboxError> {
        let door = self.open_door(make.key, make.spec, &look.place).await?;
        let kills = Arc::new(AtomicU64::new(look.kills));
        Ok(Live {
            id,
            wanted,
            kills,
            door,
            image,
            volumes: match &make.files {
                Files::Folders(_) => None,
                Files::Volumes(volumes) => Some(volumes.clone()),
            },
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
        let owned = recipe::owned(make.spec);
        let mut seen = self.verify(id, &make.network, &make.files, &owned).await;
        if matches!(seen, Ok(Seen::Elsewhere { .. })) && runs(found) {
            // Others may work in it: one answer that was cut short is no reason to end what they do.
            seen = self.verify(id, &make.network, &make.files, &owned).await;
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
                let text = match make.files.storage() {
                    Storage::Folders => id.clone(),
                    Storage::Volumes => format!("{id}{IN_VOLUMES}"),
                };
                fs::write(&trace, text).await.map_err(|source| {
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
        let engine = self.engine.about().await?;
        let cpus = engine.cpus;
        if !engine.bounded {
            tracing::warn!(
                container = make.name,
                "the container engine can't keep bounds on memory, processors and processes; it needs control groups of version 2, delegated to its user"
            );
        }
        let profile = make.key.profile();
        let until = lease::end(self.options.clock.now(), lease::idle(make.spec));
        let labels = HashMap::from([
            (INSTALL.to_owned(), self.options.install.clone()),
            (PROFILE.to_owned(), profile.to_string()),
            (SANDBOX.to_owned(), make.key.to_string()),
            (SPEC.to_owned(), label.to_owned()),
            (LEASE.to_owned(), lease::seconds(until).to_string()),
        ]);
        if make.files.storage() == Storage::Folders {
            self.refuse_missing(make.spec).await?;
        }
        let network = make.network.name();
        let mut body = body(make.spec, &make.files, &make.user, labels, network, cpus)?;
        let options = CreateContainerOptionsBuilder::default()
            .name(&make.name)
            .build();
        let _no_network_is_reaped_meanwhile = self.making.lock().await;
        self.ensure_network(&make.network, profile).await?;
        let made = match self
            .engine
            .ask(docker.create_container(Some(options.clone()), body.clone()))
            .await
        {
            Err(Failure::Other(error)) if lacks_init(&error) => {
                // The idle shell buries the dead as well; an init only does it for shells that don't.
                body.host_config
                    .get_or_insert_with(HostConfig::default)
                    .init = None;
                self.engine
                    .ask(docker.create_container(Some(options), body))
                    .await
            }
            made => made,
        }
        .map_err(Failure::into_error)?;
        for warning in &made.warnings {
            tracing::warn!(container = make.name, "the Docker engine warns: {warning}");
        }
        Ok(made.id)
    }

    /// Podman makes a folder that is not there, which Docker refuses. A gateway that itself runs in a container does not see what
    /// the engine sees.
    async fn refuse_missing(&self, spec: &SandboxSpec) -> Result<(), SandboxError> {
        if spec.mounts.is_empty()
            || self.engine.about().await?.kind != Kind::Podman
            || self.is_inside().await?
        {
            return Ok(());
        }
        for mount in &spec.mounts {
            if !fs::try_exists(&mount.host).await.unwrap_or(true) {
                return Err(SandboxError::Failed(format!(
                    "the mount of {} is not possible: there is no such file or folder",
                    mount.host
                )));
            }
        }
        Ok(())
    }

    /// Starts a new container and looks at it before anything of the agent's runs there.
    async fn begin(&self, id: &str, make: &Make<'_>) -> Result<Look, SandboxError> {
        let docker = self.engine.docker().await?;
        self.engine
            .ask(docker.start_container(id, None))
            .await
            .map_err(Failure::into_error)?;
        if make.files.storage() == Storage::Volumes {
            self.check_mounts(id, make.spec).await?;
        }
        let owned = recipe::owned(make.spec);
        let seen = self.verify(id, &make.network, &make.files, &owned).await;
        match seen.map_err(Failure::into_error)? {
            Seen::Right(look) => Ok(look),
            Seen::Networked => Err(SandboxError::Failed(
                "the Docker engine put the sandbox on a network that was not asked for; nothing was run".to_owned(),
            )),
            Seen::Elsewhere { said } => Err(SandboxError::Failed(format!(
                "the container does not see its own files ({said}): the image needs sh and coreutils or busybox, and on a system with SELinux the gateway's folder {} a label that containers may read",
                make.layout.inbox.as_path().display(),
            ))),
        }
    }

    /// The owner's mounts are the engine's own folders then, which the gateway can't look at itself: a sandbox that can speak to
    /// a socket, such as the engine's, is none. Nothing of the agent's has run in the container yet.
    async fn check_mounts(&self, id: &str, spec: &SandboxSpec) -> Result<(), SandboxError> {
        for mount in &spec.mounts {
            let said = self
                .quick(id, scripts::MOUNTED, mount.at.as_str(), LOOK)
                .await
                .map_err(Failure::into_error)?;
            if said != b"plain\n" {
                return Err(SandboxError::Failed(format!(
                    "the mount of {} is not possible: on the container engine's machine that is no folder and no file but a socket, a device or a pipe",
                    mount.host
                )));
            }
        }
        Ok(())
    }
}

/// How long a container may take to look at one of its mounts.
const LOOK: Duration = Duration::from_secs(20);

/// Behind the container's id in the trace of one with volumes.
const IN_VOLUMES: &str = " volumes";

/// What to tell if the sandbox's files lay elsewhere before, or are gone.
async fn moved(make: &Make<'_>, kept: Kept) -> Option<&'static str> {
    let before = fs::read_to_string(trace(&make.layout)).await.ok()?;
    match (before.ends_with(IN_VOLUMES), make.files.storage()) {
        (false, Storage::Volumes) => Some(TO_VOLUMES),
        (true, Storage::Folders) => Some(TO_FOLDERS),
        (true, Storage::Volumes) => (kept == Kept::Anew).then_some(EMPTIED),
        (false, Storage::Folders) => None,
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

/// Podman without the package that has its init (`catatonit` in most systems).
fn lacks_init(error: &SandboxError) -> bool {
    error
        .to_string()
        .contains("container-init binary not found")
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
