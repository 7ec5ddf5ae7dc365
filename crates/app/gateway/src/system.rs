//! The real clock and real ids: the one place that asks the machine.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use waybill::{Clock, Ids, Timestamp};

/// Files and connections that may be open at once, if the system allows so many.
const OPEN: u64 = 65_536;

/// Systems give a process 1,024 files at first and let it have more if it asks: chats, sandboxes and their proxies use them.
pub(crate) fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(OPEN).min(OPEN);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "no more files may be open at once than the system gives at first");
        }
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port's one real implementation"
    )]
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }
}

/// Fresh UUIDv7s.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl Ids for SystemIds {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port's one real implementation"
    )]
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}
