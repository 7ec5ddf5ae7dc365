//! Commands that run now, for whoever looks after them.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sandbox::SandboxKey;

use crate::control::{Control, Cut};

/// How much of a command is remembered, in characters.
const REMEMBERED: usize = 200;

/// What runs.
#[derive(Debug, Default)]
pub(crate) struct Lives {
    all: Mutex<(u64, BTreeMap<u64, Life>)>,
}

#[derive(Debug)]
struct Life {
    key: SandboxKey,
    pid: u32,
    command: String,
    control: Arc<Control>,
    /// Readable once the process has ended.
    process: Arc<OwnedFd>,
}

/// A command that runs; dropped, it is forgotten.
#[derive(Debug)]
pub(crate) struct Lived {
    lives: Arc<Lives>,
    number: u64,
}

impl Drop for Lived {
    fn drop(&mut self) {
        self.lives.all().1.remove(&self.number);
    }
}

impl Lives {
    fn all(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Life>)> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a run whose process was not waited for yet. None if the process can't be watched.
    pub(crate) fn add(
        self: &Arc<Self>,
        key: &SandboxKey,
        pid: u32,
        command: &str,
        control: &Arc<Control>,
    ) -> Option<Lived> {
        let process = pidfd_open(
            Pid::from_raw(i32::try_from(pid).ok()?)?,
            PidfdFlags::empty(),
        )
        .ok()?;
        let mut all = self.all();
        all.0 += 1;
        let number = all.0;
        let life = Life {
            key: key.clone(),
            pid,
            command: command.chars().take(REMEMBERED).collect(),
            control: Arc::clone(control),
            process: Arc::new(process),
        };
        all.1.insert(number, life);
        Some(Lived {
            lives: Arc::clone(self),
            number,
        })
    }

    /// Process ids and the beginnings of the commands of those of a sandbox that have not ended.
    pub(crate) fn of(&self, is_meant: impl Fn(&SandboxKey) -> bool) -> Vec<(u32, String)> {
        self.all()
            .1
            .values()
            .filter(|life| is_meant(&life.key) && !has_ended(&life.process))
            .map(|life| (life.pid, life.command.clone()))
            .collect()
    }

    /// Ends all runs of a sandbox and returns when they are gone, or after a while. Says how many there were.
    pub(crate) async fn stop(
        &self,
        is_meant: impl Fn(&SandboxKey) -> bool,
        patience: Duration,
    ) -> usize {
        let processes: Vec<Arc<OwnedFd>> = self
            .all()
            .1
            .values()
            .filter(|life| is_meant(&life.key))
            .map(|life| {
                life.control.end(Cut::Stopped);
                Arc::clone(&life.process)
            })
            .collect();
        let many = processes.len();
        let all_ended = tokio::task::spawn_blocking(move || {
            processes.iter().all(|process| ends(process, patience))
        });
        if !all_ended.await.unwrap_or(false) {
            tracing::warn!("a command outlived its own end; the kernel still holds it");
        }
        many
    }
}

/// Has a process ended?
fn has_ended(process: &OwnedFd) -> bool {
    ends(process, Duration::ZERO)
}

/// Does a process end within a time? Blocks.
fn ends(process: &OwnedFd, patience: Duration) -> bool {
    let mut watched = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
    let patience = Timespec::try_from(patience).ok();
    matches!(poll(&mut watched, patience.as_ref()), Ok(ready) if ready > 0)
}
