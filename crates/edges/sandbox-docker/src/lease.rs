//! Leases: how long a sandbox that nobody uses may stand.
//!
//! A container's label has its first lease; labels can't be changed, so the lease that counts lies in a file beside the
//! sandbox's folders. It outlives the gateway, and anybody may read it: the second of the epoch when the lease ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sandbox::{SandboxError, SandboxKey, SandboxSpec};
use tokio::fs;
use waybill::Timestamp;

use crate::driver::Inner;

/// A lease is written anew at most this often: what is used all the time costs one small file a minute.
const RENEWAL: Duration = Duration::from_secs(60);

/// No lease is written shorter: others would take what is in use for unused between two renewals.
const SHORTEST: Duration = Duration::from_secs(2 * RENEWAL.as_secs());

/// Which containers this gateway uses, and since when no more.
#[derive(Default)]
pub(crate) struct Leases(Mutex<HashMap<String, Usage>>);

struct Usage {
    key: SandboxKey,
    idle: Duration,
    running: usize,
    last: Timestamp,
    written: Option<Timestamp>,
    /// The container is no more; what believes to run in it has not ended yet.
    gone: bool,
}

impl Usage {
    fn over(&self) -> bool {
        self.gone && self.running == 0
    }
}

impl Leases {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Usage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, container: &str, key: &SandboxKey, idle: Duration, now: Timestamp) {
        let mut all = self.all();
        if !all.contains_key(container) {
            // It took the place of another, and the lease is its now.
            for usage in all.values_mut().filter(|usage| usage.key == *key) {
                usage.gone = true;
            }
            all.retain(|_, usage| !usage.over());
        }
        let usage = all.entry(container.to_owned()).or_insert_with(|| Usage {
            key: key.clone(),
            idle,
            running: 0,
            last: now,
            written: None,
            gone: false,
        });
        usage.idle = idle;
        usage.running += 1;
        usage.last = now;
    }

    fn end(&self, container: &str, now: Timestamp) {
        let mut all = self.all();
        if let Some(usage) = all.get_mut(container) {
            usage.running = usage.running.saturating_sub(1);
            usage.last = now;
            if usage.over() {
                all.remove(container);
            }
        }
    }

    /// The lease to write, if it is time for it; it counts as written.
    fn due(
        &self,
        container: &str,
        now: Timestamp,
        every: Duration,
    ) -> Option<(SandboxKey, Timestamp)> {
        let mut all = self.all();
        let usage = all.get_mut(container)?;
        if usage.running > 0 {
            usage.last = now;
        }
        let recent = usage
            .written
            .is_some_and(|written| now < end(written, every) && now >= written);
        if recent || usage.gone || (usage.written.is_some_and(|written| written >= usage.last)) {
            return None;
        }
        usage.written = Some(now);
        Some((usage.key.clone(), end(usage.last, usage.idle.max(SHORTEST))))
    }

    /// Runs something of this gateway's in the container?
    pub(crate) fn in_use(&self, container: &str) -> bool {
        self.all()
            .get(container)
            .is_some_and(|usage| usage.running > 0)
    }

    /// The lease that this gateway knows of; `now` counts for what is in use.
    fn known(&self, container: &str, now: Timestamp) -> Option<Timestamp> {
        let all = self.all();
        let usage = all.get(container)?;
        let last = if usage.running > 0 { now } else { usage.last };
        Some(end(last, usage.idle))
    }

    fn containers(&self) -> Vec<String> {
        self.all().keys().cloned().collect()
    }

    /// The container is no more.
    pub(crate) fn forget(&self, container: &str) {
        let mut all = self.all();
        if let Some(usage) = all.get_mut(container) {
            usage.gone = true;
        }
        all.retain(|_, usage| !usage.over());
    }
}

/// When a lease that begins at an instant ends; the end of time, if it is further away.
pub(crate) fn end(from: Timestamp, idle: Duration) -> Timestamp {
    from.checked_add(idle).unwrap_or(Timestamp::MAX)
}

/// How long a sandbox may stand unused.
pub(crate) fn idle(spec: &SandboxSpec) -> Duration {
    Duration::from_secs(spec.limits.idle_seconds)
}

/// Held while a container is used. A container in use is never reaped by its own gateway.
pub(crate) struct Use {
    inner: Arc<Inner>,
    container: String,
}

impl Drop for Use {
    fn drop(&mut self) {
        let now = self.inner.options.clock.now();
        self.inner.leases.end(&self.container, now);
    }
}

impl Inner {
    /// Begins to use a container. Its key's lock is held meanwhile, as it is while a container is reaped.
    pub(crate) fn begin_use(
        self: &Arc<Self>,
        container: &str,
        key: &SandboxKey,
        spec: &SandboxSpec,
    ) -> Use {
        let now = self.options.clock.now();
        self.leases.begin(container, key, idle(spec), now);
        Use {
            inner: Arc::clone(self),
            container: container.to_owned(),
        }
    }

    /// Renews a container's lease, if it was not renewed within the last minute.
    pub(crate) async fn renew(&self, container: &str) {
        self.renew_every(container, RENEWAL).await;
    }

    /// Writes all leases as they are, for an orderly stop.
    pub(crate) async fn renew_all(&self) {
        for container in self.leases.containers() {
            self.renew_every(&container, Duration::ZERO).await;
        }
    }

    async fn renew_every(&self, container: &str, every: Duration) {
        let now = self.options.clock.now();
        let Some((key, until)) = self.leases.due(container, now, every) else {
            return;
        };
        if let Err(error) = self.write_lease(&key, until).await {
            tracing::warn!(container, "a sandbox's lease could not be renewed: {error}");
        }
    }

    /// When the container may be reaped: the latest of what its file, its label and this gateway say. `None`, and so never, if
    /// the file can't be understood.
    pub(crate) async fn lease(
        &self,
        container: &str,
        key: Option<&SandboxKey>,
        label: Option<&str>,
    ) -> Option<Timestamp> {
        let now = self.options.clock.now();
        let kept = match key {
            Some(key) => kept(&self.lease_file(key)).await?,
            None => None,
        };
        [
            self.leases.known(container, now),
            label.and_then(parse),
            kept,
        ]
        .into_iter()
        .flatten()
        .max()
    }

    fn lease_file(&self, key: &SandboxKey) -> PathBuf {
        let workspace = self.options.folders.layout(key).workspace;
        workspace.as_path().with_file_name("lease")
    }

    /// Whole or not at all: it is laid beside the old one, under a name of this process's own, and put in its place. It is done
    /// though nobody waits for it.
    async fn write_lease(&self, key: &SandboxKey, until: Timestamp) -> Result<(), SandboxError> {
        let file = self.lease_file(key);
        let beside = file.with_file_name(format!("lease.{}.new", std::process::id()));
        let place = file.display().to_string();
        let writing = tokio::task::spawn_blocking(move || {
            std::fs::write(&beside, format!("{}\n", seconds(until)))?;
            std::fs::rename(&beside, &file)
        });
        let failed = |source: &dyn std::fmt::Display| {
            SandboxError::Failed(format!("{place} could not be written: {source}"))
        };
        writing
            .await
            .map_err(|error| failed(&error))?
            .map_err(|error| failed(&error))
    }
}

/// What a lease's file says: `Some(None)` if there is no file, `None` if nobody understands it.
async fn kept(file: &Path) -> Option<Option<Timestamp>> {
    match fs::read_to_string(file).await {
        Ok(text) => parse(&text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(None),
        Err(error) => {
            tracing::warn!("{} could not be read: {error}", file.display());
            None
        }
    }
}

/// The second of the epoch as labels and files have it; a part of a second counts as a whole one.
pub(crate) fn seconds(until: Timestamp) -> i64 {
    let whole = until.as_second();
    let part = i64::from(until.subsec_nanosecond() > 0);
    (whole + part).min(Timestamp::MAX.as_second())
}

fn parse(text: &str) -> Option<Timestamp> {
    Timestamp::from_second(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sandbox::SandboxKey;
    use waybill::{ProfileId, Timestamp};

    use super::{Leases, RENEWAL, end, parse, seconds};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_lease_is_renewed_in_use_at_most_once_a_minute_and_ends_an_idle_time_after_the_last_use() {
        let leases = Leases::default();
        let key = SandboxKey::Profile(ProfileId::parse("work").unwrap());
        leases.begin("c", &key, HOUR, at(1000));
        let due = |now| {
            leases
                .due("c", at(now), RENEWAL)
                .map(|(_, until)| until.as_second())
        };
        assert_eq!(due(1000), Some(4600));
        assert_eq!(due(1059), None, "within the minute");
        assert_eq!(due(1060), Some(4660), "it still runs");
        assert!(leases.in_use("c"));
        assert_eq!(leases.known("c", at(9000)), Some(at(9000 + 3600)));
        leases.end("c", at(9010));
        assert!(!leases.in_use("c"));
        assert_eq!(leases.known("c", at(99_000)), Some(at(9010 + 3600)));
        assert_eq!(
            due(9100),
            Some(9010 + 3600),
            "what is over is not lengthened"
        );
        assert_eq!(due(9999), None, "nobody used it since");
        leases.begin("c", &key, HOUR, at(9999));
        leases.begin("c", &key, HOUR, at(10_000));
        leases.end("c", at(10_001));
        assert!(leases.in_use("c"), "one of two still runs");
        leases.forget("c");
        leases.end("c", at(10_002));
        assert_eq!(leases.known("c", at(10_002)), None);
    }

    #[test]
    fn a_container_that_was_replaced_does_not_write_over_the_lease_of_its_successor() {
        let leases = Leases::default();
        let key = SandboxKey::Profile(ProfileId::parse("work").unwrap());
        let other = SandboxKey::Profile(ProfileId::parse("other").unwrap());
        leases.begin("stranger", &other, HOUR, at(1000));
        leases.begin("old", &key, HOUR, at(1000));
        leases.begin("new", &key, HOUR, at(2000));
        leases.end("old", at(2001));
        assert!(leases.due("old", at(9000), Duration::ZERO).is_none());
        assert!(leases.due("new", at(9000), Duration::ZERO).is_some());
        assert!(leases.due("stranger", at(9000), Duration::ZERO).is_some());
        let mut left = leases.containers();
        left.sort();
        assert_eq!(left, ["new", "stranger"]);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_stop_renewals() {
        let leases = Leases::default();
        let key = SandboxKey::Profile(ProfileId::parse("work").unwrap());
        leases.begin("c", &key, HOUR, at(5000));
        assert!(leases.due("c", at(5000), RENEWAL).is_some());
        leases.begin("c", &key, HOUR, at(1000));
        leases.end("c", at(1000));
        // The file has the later end; the next hour of use would not be seen otherwise.
        leases.begin("c", &key, HOUR, at(5100));
        assert!(leases.due("c", at(5100), RENEWAL).is_some());
    }

    #[test]
    fn a_short_lease_is_written_for_longer_than_it_takes_to_renew_it() {
        let leases = Leases::default();
        let key = SandboxKey::Profile(ProfileId::parse("work").unwrap());
        leases.begin("c", &key, Duration::from_secs(5), at(1000));
        let (_, until) = leases.due("c", at(1000), RENEWAL).unwrap();
        assert!(until >= at(1000) + RENEWAL + RENEWAL, "{until}");
        leases.end("c", at(1001));
        assert_eq!(leases.known("c", at(1010)), Some(at(1006)));
    }

    #[test]
    fn leases_are_whole_seconds_and_an_absurd_one_is_the_end_of_time() {
        assert_eq!(parse("1767225600\n"), Some(at(1_767_225_600)));
        for odd in ["", "soon", "1.5", "99999999999999999999"] {
            assert_eq!(parse(odd), None, "{odd}");
        }
        assert_eq!(end(at(0), Duration::from_secs(u64::MAX)), Timestamp::MAX);
        assert_eq!(seconds(Timestamp::from_millisecond(1500).unwrap()), 2);
        assert!(parse(&seconds(Timestamp::MAX).to_string()).is_some());
    }
}
