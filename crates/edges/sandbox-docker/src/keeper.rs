//! Who looks after all containers of this gateway: what stands, and what has stood unused for too long.

use std::collections::HashMap;

use async_trait::async_trait;
use bollard::models::{
    ContainerStatsResponse, ContainerSummary, ContainerSummaryStateEnum, ContainerTopResponse,
};
use bollard::query_parameters::{
    InspectContainerOptionsBuilder, StatsOptionsBuilder, TopOptionsBuilder,
};
use futures_util::{StreamExt, stream};
use sandbox::{Driver, Keeper, SandboxError, SandboxKey, Standing, State};
use waybill::Timestamp;

use crate::driver::{DockerSandbox, Inner};
use crate::engine::Kind;
use crate::porter::is_helper;
use crate::recipe::{LEASE, PROFILE, SANDBOX};
use crate::rows::Removed;
use crate::scripts;

/// Most processes that are told of one sandbox.
const MOST_PROCESSES: usize = 100;

/// Sandboxes that are looked at side by side: each costs the engine three questions.
const AT_ONCE: usize = 4;

#[async_trait]
impl Keeper for DockerSandbox {
    async fn standing(&self) -> Result<Vec<Standing>, SandboxError> {
        let found = self.inner.own_containers().await?;
        let sandboxes = found.into_iter().filter(|found| !is_helper(found));
        let mut all: Vec<Standing> = stream::iter(sandboxes)
            .map(|container| self.inner.look_at(container))
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        all.sort_by(|one, other| (&one.key, &one.id).cmp(&(&other.key, &other.id)));
        Ok(all)
    }

    fn under_way(&self) -> Vec<String> {
        self.inner.engine.fetches.all()
    }

    async fn stop(&self, id: &str) -> Result<(), SandboxError> {
        match self.inner.remove_own(id).await? {
            Removed::Now => Ok(()),
            Removed::WasNotThere => Err(SandboxError::Failed(format!(
                "there is no sandbox {id}; `tidings sandboxes list` shows what there is"
            ))),
        }
    }

    async fn reap(&self, now: Timestamp) -> Result<Vec<Standing>, SandboxError> {
        let mut reaped = Vec::new();
        for container in self.inner.own_containers().await? {
            let standing = self.inner.standing(&container).await;
            match self.inner.reap_one(&standing, &container, now).await {
                Ok(true) if is_helper(&container) => {
                    tracing::debug!(
                        container = standing.id,
                        "a helper that was left behind is gone"
                    );
                }
                Ok(true) => reaped.push(standing),
                Ok(false) => {}
                // One that can't be removed is no reason to leave the others.
                Err(error) => {
                    tracing::warn!(
                        container = standing.id,
                        "a sandbox past its lease stays: {error}"
                    );
                }
            }
        }
        self.inner.reap_networks().await?;
        Ok(reaped)
    }
}

impl Inner {
    /// Removes a container past its lease. The key's lock is held, so that no command begins in it meanwhile.
    async fn reap_one(
        &self,
        standing: &Standing,
        container: &ContainerSummary,
        now: Timestamp,
    ) -> Result<bool, SandboxError> {
        let id = &standing.id;
        let key = key_of(container);
        let room = key.as_ref().map(|key| self.room(key));
        let mut room = match &room {
            Some(room) => Some(room.lock().await),
            None => None,
        };
        if self.leases.in_use(id) {
            self.renew(id).await;
            return Ok(false);
        }
        let lease = self.lease(id, key.as_ref(), label(container, LEASE)).await;
        if lease.is_none_or(|lease| lease > now) {
            return Ok(false);
        }
        self.discard(id).await?;
        if let Some(room) = room.as_mut()
            && room.live.as_ref().is_some_and(|live| live.id == *id)
        {
            room.live = None;
        }
        Ok(true)
    }

    /// What the list of containers tells, and the lease.
    async fn standing(&self, container: &ContainerSummary) -> Standing {
        let id = container.id.clone().unwrap_or_default();
        let key = key_of(container);
        let running = matches!(
            container.state,
            Some(
                ContainerSummaryStateEnum::RUNNING
                    | ContainerSummaryStateEnum::PAUSED
                    | ContainerSummaryStateEnum::RESTARTING
            )
        );
        Standing {
            lease: self.lease(&id, key.as_ref(), label(container, LEASE)).await,
            id,
            profile: label(container, PROFILE).and_then(|text| text.parse().ok()),
            key: label(container, SANDBOX).unwrap_or_default().to_owned(),
            driver: Driver::Docker,
            made_of: container.image.clone().unwrap_or_default(),
            state: if running {
                State::Running
            } else {
                State::Stopped
            },
            since: container
                .created
                .and_then(|second| Timestamp::from_second(second).ok()),
            disk: None,
            memory: None,
            processes: Vec::new(),
        }
    }

    /// And what only each container itself tells. One that goes away meanwhile tells less.
    async fn look_at(&self, container: ContainerSummary) -> Standing {
        let mut standing = self.standing(&container).await;
        standing.disk = self.disk(&standing.id).await;
        if standing.state == State::Running {
            standing.memory = self.memory(&standing.id).await;
            standing.processes = self.processes(&standing.id).await;
        }
        standing
    }

    /// What the container wrote outside its mounts. The workspace and the home are not in it.
    async fn disk(&self, id: &str) -> Option<u64> {
        let docker = self.engine.docker().await.ok()?;
        let options = InspectContainerOptionsBuilder::default().size(true).build();
        let asked = self.engine.ask(docker.inspect_container(id, Some(options)));
        u64::try_from(asked.await.ok()?.size_rw?).ok()
    }

    async fn memory(&self, id: &str) -> Option<u64> {
        let docker = self.engine.docker().await.ok()?;
        let options = StatsOptionsBuilder::default()
            .stream(false)
            .one_shot(true)
            .build();
        let mut stats = docker.stats(id, Some(options));
        let first = async { stats.next().await.transpose() };
        memory_in(&self.engine.ask(first).await.ok()??)
    }

    async fn processes(&self, id: &str) -> Vec<(u32, String)> {
        let Ok(docker) = self.engine.docker().await else {
            return Vec::new();
        };
        let Ok(info) = self.engine.about().await else {
            return Vec::new();
        };
        let wanted = match info.kind {
            Kind::Docker => "-eo pid,ppid,args",
            // It takes options for those of a `ps` in the container, which may not be there and is the agent's anyway.
            Kind::Podman => "pid,ppid,args",
        };
        let options = TopOptionsBuilder::default().ps_args(wanted).build();
        let asked = self.engine.ask(docker.top_processes(id, Some(options)));
        asked.await.map(processes_in).unwrap_or_default()
    }
}

fn label<'a>(container: &'a ContainerSummary, name: &str) -> Option<&'a str> {
    let labels = container.labels.as_ref()?;
    labels.get(name).map(String::as_str)
}

fn key_of(container: &ContainerSummary) -> Option<SandboxKey> {
    label(container, SANDBOX)?.parse().ok()
}

/// Memory in use, without what the kernel only keeps because there is room for it.
fn memory_in(stats: &ContainerStatsResponse) -> Option<u64> {
    let memory = stats.memory_stats.as_ref()?;
    let counted = memory.stats.as_ref();
    let cache = counted.and_then(|counted| {
        ["inactive_file", "total_inactive_file"]
            .iter()
            .find_map(|name| counted.get(*name))
    });
    Some(memory.usage?.saturating_sub(cache.copied().unwrap_or(0)))
}

/// What runs, without what only keeps the container alive.
fn processes_in(top: ContainerTopResponse) -> Vec<(u32, String)> {
    let titles = top.titles.unwrap_or_default();
    let place = |names: &[&str]| {
        titles
            .iter()
            .position(|title| names.contains(&title.as_str()))
    };
    let (Some(pid), Some(command)) = (place(&["PID"]), place(&["COMMAND", "CMD"])) else {
        return Vec::new();
    };
    let parent = place(&["PPID"]);
    let rows = top.processes.unwrap_or_default();
    let number = |row: &[String], place: usize| row.get(place)?.trim().parse::<u32>().ok();
    let all: HashMap<u32, (Option<u32>, String)> = rows
        .iter()
        .filter_map(|row| {
            let above = parent.and_then(|parent| number(row, parent));
            let command = row.get(command)?.trim_end().to_owned();
            Some((number(row, pid)?, (above, command)))
        })
        .collect();
    let idles = |pid: Option<u32>| {
        let known = pid.and_then(|pid| all.get(&pid));
        known.is_some_and(|(_, command)| command.contains(scripts::IDLE))
    };
    let mut shown: Vec<(u32, String)> = all
        .iter()
        .filter(|(pid, (above, command))| {
            let keeps = idles(Some(**pid)) || (command == "sleep 3600" && idles(*above));
            !keeps
        })
        .map(|(pid, (_, command))| (*pid, command.clone()))
        .collect();
    shown.sort();
    shown.truncate(MOST_PROCESSES);
    shown
}

#[cfg(test)]
mod tests {
    use bollard::models::ContainerTopResponse;

    use super::{MOST_PROCESSES, processes_in};
    use crate::scripts::IDLE;

    fn top(titles: &[&str], rows: Vec<Vec<String>>) -> ContainerTopResponse {
        ContainerTopResponse {
            titles: Some(titles.iter().map(|title| (*title).to_owned()).collect()),
            processes: Some(rows),
        }
    }

    fn row(fields: &[&str]) -> Vec<String> {
        fields.iter().map(|field| (*field).to_owned()).collect()
    }

    #[test]
    fn what_keeps_a_container_alive_is_no_process_of_the_agents() {
        let init = format!("/sbin/docker-init -- /bin/sh -c {IDLE}");
        let shell = format!("/bin/sh -c {IDLE}");
        let rows = vec![
            row(&["100", "1", &init]),
            row(&["101", "100", &shell]),
            row(&["102", "101", "sleep 3600"]),
            row(&["200", "1", "sleep 3600 "]),
            row(&["odd", "1", "x"]),
            row(&["201"]),
        ];
        assert_eq!(
            processes_in(top(&["PID", "PPID", "COMMAND"], rows)),
            [(200, "sleep 3600".to_owned())]
        );
    }

    #[test]
    fn a_list_of_another_make_is_read_as_far_as_it_goes_and_never_too_long() {
        let rows = vec![row(&["root", "7", "top"])];
        assert_eq!(
            processes_in(top(&["USER", "PID", "CMD"], rows)),
            [(7, "top".to_owned())]
        );
        assert_eq!(processes_in(top(&["WHAT"], vec![row(&["7"])])), []);
        assert_eq!(processes_in(ContainerTopResponse::default()), []);
        let many = (1..=500)
            .map(|pid| row(&[&format!("{pid}"), "x"]))
            .collect();
        assert_eq!(
            processes_in(top(&["PID", "CMD"], many)).len(),
            MOST_PROCESSES
        );
    }
}
