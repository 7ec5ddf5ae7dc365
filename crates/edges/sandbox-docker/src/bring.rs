//! Attachments on their way into a volume.
//!
//! They are laid into the inbox of the gateway's home, whether the engine is there or not, and stay there. A sandbox that has
//! its inbox in a volume gets them before its next command, by a container of the driver's own that may write there: the
//! sandbox itself may not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::CreateContainerOptionsBuilder;
use futures_util::StreamExt;
use sandbox::{SandboxError, SandboxPath};
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::container::Live;
use crate::driver::Inner;
use crate::process::argv;
use crate::sentence::Failure;
use crate::storage::Volumes;
use crate::{files, porter, recipe, scripts};

/// How long the inbox may take to be listed.
const LISTING: Duration = Duration::from_secs(20);

/// How long an engine may take for one piece, and to say that all came.
const STANDSTILL: Duration = Duration::from_secs(60);

/// Bytes that are read of a file at once.
const PIECE: usize = 64 << 10;

/// Bytes of what a script says that are kept.
const WORDS: usize = 4 << 10;

/// Names and sizes of what lies in the sandbox's inbox.
pub(crate) type Brought = BTreeMap<String, u64>;

impl Inner {
    /// Brings what the sandbox does not have yet; `None` is unknown, and it is looked. Says why, if something could not be
    /// brought; it is tried again the next time.
    pub(crate) async fn bring(
        self: &Arc<Self>,
        inbox: &Path,
        volumes: &Volumes,
        live: &Live,
        brought: &mut Option<Brought>,
    ) -> Result<(), SandboxError> {
        let here = here(inbox).await?;
        if here.is_empty() {
            return Ok(());
        }
        let there = match brought {
            Some(there) => there,
            None => brought.insert(self.in_the_inbox(live).await?),
        };
        let missing: Vec<(&String, &u64)> = here
            .iter()
            .filter(|(name, size)| there.get(*name) != Some(size))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let helper = self.make_helper(&live.image, volumes).await?;
        let _removed = self.lend(&helper);
        let docker = self.engine.docker().await?;
        self.engine
            .ask(docker.start_container(&helper, None))
            .await
            .map_err(Failure::into_error)?;
        for (name, size) in missing {
            self.carry(&helper, &inbox.join(name), name, *size).await?;
            there.insert(name.clone(), *size);
        }
        Ok(())
    }

    /// By the sandbox's own word: one that lies misleads itself alone.
    async fn in_the_inbox(&self, live: &Live) -> Result<Brought, SandboxError> {
        let said = self
            .quick_up_to(
                &live.id,
                scripts::LIST,
                SandboxPath::INBOX,
                LISTING,
                files::LISTING,
            )
            .await
            .map_err(Failure::into_error)?;
        let mut halves = said.splitn(2, |byte| *byte == 0);
        let (head, listing) = (halves.next(), halves.next());
        let listing = match (head, listing) {
            (Some(b"ok\n"), Some(listing)) => String::from_utf8_lossy(listing).into_owned(),
            _ => {
                return Err(SandboxError::Failed(
                    "the sandbox does not say what lies in its inbox".to_owned(),
                ));
            }
        };
        let entries = files::parse_listing(&listing).into_iter();
        Ok(entries.map(|entry| (entry.name, entry.size)).collect())
    }

    async fn make_helper(&self, image: &str, volumes: &Volumes) -> Result<String, SandboxError> {
        let docker = self.engine.docker().await?;
        let shell = ["/bin/sh", "-c", scripts::IDLE].map(str::to_owned).to_vec();
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(shell),
            cmd: Some(Vec::new()),
            user: Some(recipe::ROOT.to_owned()),
            labels: Some(self.helper_labels(porter::BRING)),
            healthcheck: Some(recipe::no_healthcheck()),
            host_config: Some(HostConfig {
                binds: Some(vec![recipe::volume(
                    &volumes.inbox,
                    SandboxPath::INBOX,
                    recipe::Access::Write,
                )]),
                network_mode: Some("none".to_owned()),
                cap_drop: Some(vec!["ALL".to_owned()]),
                security_opt: Some(vec!["no-new-privileges".to_owned()]),
                readonly_rootfs: Some(true),
                memory: Some(MEMORY),
                pids_limit: Some(PIDS),
                log_config: Some(recipe::no_log()),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        };
        let options = CreateContainerOptionsBuilder::default()
            .name(&self.helper_name())
            .build();
        let made = self
            .engine
            .ask(docker.create_container(Some(options), body))
            .await;
        Ok(made.map_err(Failure::into_error)?.id)
    }

    /// One file, whole or not at all.
    async fn carry(
        &self,
        helper: &str,
        file: &Path,
        name: &str,
        size: u64,
    ) -> Result<(), SandboxError> {
        let failed =
            |why: &str| SandboxError::Failed(format!("{name} could not be brought: {why}"));
        // One that is still being laid grows: it is brought again when it is whole.
        let mut file = File::open(file)
            .await
            .map_err(|source| failed(&source.to_string()))?
            .take(size);
        let docker = self.engine.docker().await?;
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(vec!["LC_ALL=C".to_owned()]),
            cmd: Some(argv(
                scripts::BRING,
                scripts::NAME,
                vec![name.to_owned(), size.to_string()],
            )),
            ..CreateExecOptions::default()
        };
        let exec = self
            .engine
            .ask(docker.create_exec(helper, options))
            .await
            .map_err(Failure::into_error)?
            .id;
        let started = self
            .engine
            .ask(docker.start_exec(&exec, None::<StartExecOptions>))
            .await
            .map_err(Failure::into_error)?;
        let StartExecResults::Attached {
            mut output,
            mut input,
        } = started
        else {
            return Err(failed("the engine gave no stream"));
        };
        let mut piece = vec![0; PIECE];
        loop {
            let read = file.read(&mut piece).await;
            let read = read.map_err(|source| failed(&source.to_string()))?;
            let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
                break;
            };
            let written = timeout(STANDSTILL, input.write_all(bytes)).await;
            if written
                .map_err(|_elapsed| failed("the engine takes no more bytes"))?
                .is_err()
            {
                // It says below why it takes no more.
                break;
            }
        }
        // What it says counts, and not how the stream was closed.
        input.shutdown().await.unwrap_or_default();
        let (mut said, mut complaint) = (Vec::<u8>::new(), Vec::<u8>::new());
        while let Some(piece) = timeout(STANDSTILL, output.next())
            .await
            .map_err(|_elapsed| failed("the engine does not say that it came"))?
        {
            match piece {
                Ok(LogOutput::StdErr { message }) => {
                    complaint.extend(message.iter().take(WORDS.saturating_sub(complaint.len())));
                }
                Ok(piece) => {
                    let bytes = piece.into_bytes();
                    said.extend(bytes.iter().take(WORDS.saturating_sub(said.len())));
                }
                Err(error) => return Err(self.engine.explain(&error)),
            }
        }
        if said == b"brought\n" {
            return Ok(());
        }
        let why = String::from_utf8_lossy(&complaint);
        let why = why.lines().last().unwrap_or("not all of it came");
        Err(failed(why))
    }
}

/// Bytes of memory of a helper, which copies and does nothing else.
const MEMORY: i64 = 64 << 20;

/// Its processes.
const PIDS: i64 = 16;

/// Attachments in the gateway's home: names and sizes. What begins with a dot is on its way.
async fn here(inbox: &Path) -> Result<Brought, SandboxError> {
    let failed = |source: std::io::Error| {
        SandboxError::Failed(format!("{} could not be read: {source}", inbox.display()))
    };
    let mut entries = fs::read_dir(inbox).await.map_err(failed)?;
    let mut found = Brought::new();
    while let Some(entry) = entries.next_entry().await.map_err(failed)? {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let about = entry.metadata().await.map_err(failed)?;
        if about.is_file() && !name.starts_with('.') {
            found.insert(name, about.len());
        }
    }
    Ok(found)
}
