//! What stands, for whoever looks after it. Here nothing stands but folders, and what runs in them now.

use std::path::PathBuf;

use async_trait::async_trait;
use sandbox::{Driver, Keeper, Limits, SandboxError, SandboxKey, Standing, State};
use sandbox_folders::{Found, Layout};
use waybill::{Timestamp, label};

use crate::ProcessSandbox;
use crate::driver::own_folder;
use crate::run::BURIAL;
use crate::usage;
use crate::view::temporary;

/// Running commands that are told of one sandbox.
const TOLD: usize = 100;

#[async_trait]
impl Keeper for ProcessSandbox {
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let mut standing = Vec::new();
        for found in self.options.folders.all().await? {
            // Other drivers keep their folders here as well; only this one has a `/tmp` among them.
            if tokio::fs::try_exists(temporary(&found.layout))
                .await
                .unwrap_or(false)
            {
                standing.push(self.look(found, Disk::Counted).await);
            }
        }
        Ok(standing)
    }

    async fn stop(&self, id: &str) -> Result<(), SandboxError> {
        let all = self.options.folders.all().await?;
        if !all.iter().any(|found| found.name == id) {
            return Err(SandboxError::Failed(format!(
                "there is no process sandbox '{id}'; `tidings sandboxes list` names them"
            )));
        }
        if self.options.beside {
            return Err(SandboxError::Failed(
                "a process sandbox is there while its commands run, and those belong to the gateway that started them: \
                 stop them on its page Sandboxes, or with /stop in the chat"
                    .to_owned(),
            ));
        }
        self.lives.stop(|key| is_called(key, id), BURIAL).await;
        Ok(())
    }

    /// Nothing runs beyond its call; what is left to reap are files in the `/tmp` of sandboxes that nobody uses.
    async fn reap(&self, now: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        let mut reaped = Vec::new();
        if self.options.beside {
            return Ok(reaped);
        }
        for found in self.options.folders.all().await? {
            let Some(key) = key(&found.name) else {
                continue;
            };
            let layout = found.layout.clone();
            let before = self.look(found, Disk::Uncounted).await;
            if !is_over(&before, now) || has_nothing(temporary(&layout)).await {
                continue;
            }
            let idle = self.begun(&key, None).idle_seconds;
            let is_idle = async || {
                let lease = lease(used(&layout).await, idle);
                self.lives.of(|other| *other == key).is_empty()
                    && lease.is_some_and(|lease| lease <= now)
            };
            if self.empty_if(&key, &layout, is_idle).await? {
                reaped.push(before);
            }
        }
        Ok(reaped)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    Counted,
    Uncounted,
}

impl ProcessSandbox {
    async fn look(&self, found: Found, disk: Disk) -> Standing {
        let is_meant = |key: &SandboxKey| is_called(key, &found.name);
        let mut processes = self.lives.of(is_meant);
        processes.truncate(TOLD);
        let key = key(&found.name);
        let idle = key.as_ref().map_or_else(
            || Limits::default().idle_seconds,
            |key| self.begun(key, None).idle_seconds,
        );
        let folder = own_folder(&found.layout).to_owned();
        Standing {
            key: key.map_or_else(|| found.name.clone(), |key| key.to_string()),
            profile: found.profile,
            driver: Driver::Process,
            made_of: "this machine's programs".to_owned(),
            state: if processes.is_empty() {
                State::Stopped
            } else {
                State::Running
            },
            since: since(folder.clone()).await,
            lease: lease(used(&found.layout).await, idle),
            disk: match disk {
                Disk::Counted => counted(folder).await,
                Disk::Uncounted => None,
            },
            memory: self
                .groups()
                .await
                .ok()
                .and_then(|groups| groups.memory(is_meant)),
            processes,
            id: found.name,
        }
    }
}

fn is_called(key: &SandboxKey, name: &str) -> bool {
    label::name(&key.to_string()) == name
}

/// The key that a folder is named for, where the name tells it: a hashed one does not.
fn key(name: &str) -> Option<SandboxKey> {
    let key: SandboxKey = name.replace('.', ":").parse().ok()?;
    is_called(&key, name).then_some(key)
}

fn is_over(standing: &Standing, now: Timestamp) -> bool {
    standing.state == State::Stopped && standing.lease.is_some_and(|lease| lease <= now)
}

/// When a sandbox was used last: its folder's time.
async fn used(layout: &Layout) -> Option<Timestamp> {
    let found = tokio::fs::symlink_metadata(own_folder(layout)).await.ok()?;
    Timestamp::try_from(found.modified().ok()?).ok()
}

async fn since(folder: PathBuf) -> Option<Timestamp> {
    let found = tokio::fs::symlink_metadata(folder).await.ok()?;
    Timestamp::try_from(found.created().ok()?).ok()
}

fn lease(used: Option<Timestamp>, idle_seconds: u64) -> Option<Timestamp> {
    let idle = i64::try_from(idle_seconds).ok()?;
    Timestamp::from_second(used?.as_second().checked_add(idle)?).ok()
}

async fn counted(folder: PathBuf) -> Option<u64> {
    tokio::task::spawn_blocking(move || usage::of(&folder))
        .await
        .ok()?
}

async fn has_nothing(folder: PathBuf) -> bool {
    tokio::task::spawn_blocking(move || usage::is_empty(&folder))
        .await
        .unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use sandbox::SandboxKey;
    use waybill::label;

    use super::{key, lease};

    #[test]
    fn a_folder_tells_its_key_unless_its_name_is_hashed() {
        for text in ["profile:work", "session:work:local:a"] {
            let wanted: SandboxKey = text.parse().unwrap();
            assert_eq!(key(&label::name(text)), Some(wanted));
        }
        assert_eq!(key(&label::name("session:work:local:A b")), None);
        for name in ["", "work", "profile", "..", "profile.work.x"] {
            assert_eq!(key(name), None, "{name}");
        }
    }

    #[test]
    fn an_endless_lease_is_none_and_never_reaped() {
        let used = "2026-01-01T00:00:00Z".parse().ok();
        assert!(lease(used, 60).is_some());
        assert_eq!(lease(used, u64::MAX), None);
        assert_eq!(lease(None, 60), None);
    }
}
