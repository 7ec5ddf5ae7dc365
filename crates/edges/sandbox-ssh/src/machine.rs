//! A machine and the connections to it: shared, made anew where they broke, and never trusted to have done half a thing.

use std::sync::Arc;
use std::time::Duration;

use sandbox::{Remote, SandboxError, Window};
use tokio::sync::{Mutex, OwnedSemaphorePermit};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Open, Stop};
use crate::facts::Facts;
use crate::process::Process;
use crate::{Failure, pin};

/// Connections to one machine at once, those that programs have for themselves not counted.
const MOST: usize = 8;

/// How long a line may take to be on its way. A machine that takes nothing must not hold up whoever speaks to it.
const SENDING: Duration = Duration::from_secs(30);

/// Which connection a channel is opened over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// One that others use as well.
    Shared,
    /// One of its own: if nobody listens to it, it holds up nobody else.
    Own,
}

pub(crate) struct Machine {
    pub(crate) remote: Remote,
    pub(crate) name: String,
    connections: Mutex<Vec<Arc<Connection>>>,
    tasks: TaskTracker,
}

/// What a process is told, line by line, once it is known what the machine is like. It may be asked for more than once.
pub(crate) type Lines<'a> =
    &'a (dyn Fn(&Facts, &str) -> Result<Vec<String>, SandboxError> + Send + Sync);

/// A connection with room for one more.
type Slot = (Arc<Connection>, OwnedSemaphorePermit);

impl Machine {
    pub(crate) fn new(remote: Remote) -> Self {
        Self {
            name: pin::machine(&remote),
            remote,
            connections: Mutex::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// Is this the machine that is meant, with the same key and the same pin?
    pub(crate) fn is(&self, remote: &Remote) -> bool {
        let own = &self.remote;
        own.host == remote.host
            && own.port == remote.port
            && own.user == remote.user
            && own.folder == remote.folder
            && own.host_key == remote.host_key
            && own.key.reveal() == remote.key.reveal()
    }

    /// A connection that stands, made where there is none.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        Ok(self.slot(Over::Shared).await?.0)
    }

    /// Starts a shell there and gives it its lines. If the connection turns out to be dead before the first of them was sent,
    /// nothing can have begun, and it is tried once more over a new one.
    pub(crate) async fn launch(
        &self,
        over: Over,
        terminal: Option<Window>,
        lines: Lines<'_>,
    ) -> Result<Process, SandboxError> {
        let (connection, slot, (read, write)) = self.open(over, terminal).await?;
        let mark = connection.mark();
        let lines = lines(&connection.facts, &mark)?;
        let process = Process::new(self.name.clone(), connection, slot, mark, read, write);
        for line in lines {
            let line = crate::line::encode(&line).ok_or_else(|| {
                SandboxError::Failed("a command, a path or an environment with a NUL character can't be given to a shell".to_owned())
            })?;
            let said = timeout(SENDING, process.input().say(line.into_bytes().into())).await;
            said.map_err(|_elapsed| Failure::Lost {
                machine: self.name.clone(),
            })??;
        }
        Ok(process)
    }

    async fn open(
        &self,
        over: Over,
        terminal: Option<Window>,
    ) -> Result<(Arc<Connection>, OwnedSemaphorePermit, Open), Failure> {
        let mut again = true;
        loop {
            let (connection, slot) = self.slot(over).await?;
            match connection.open(terminal).await {
                Ok(open) => return Ok((connection, slot, open)),
                Err(Stop::Dead) if again => {
                    again = false;
                    self.forget(&connection).await;
                }
                Err(Stop::Dead) => {
                    return Err(Failure::Unreachable {
                        machine: self.name.clone(),
                        reason: "it closes its connections".to_owned(),
                    });
                }
                Err(Stop::Full) => {
                    // The host allows fewer than usual: this many fewer are tried from now on.
                    if connection.slots.available_permits() + 1 >= crate::connection::SLOTS {
                        return Err(Failure::Full {
                            machine: self.name.clone(),
                        });
                    }
                    slot.forget();
                }
                Err(Stop::Refused(reason)) => {
                    return Err(Failure::Unfit {
                        machine: self.name.clone(),
                        reason,
                    });
                }
            }
        }
    }

    async fn slot(&self, over: Over) -> Result<Slot, Failure> {
        if over == Over::Own {
            return self.fresh().await;
        }
        let mut connections = self.connections.lock().await;
        connections.retain(|connection| !connection.is_dead());
        let mut spare = connections
            .iter()
            .filter(|connection| connection.is_idle())
            .count();
        connections.retain(|connection| {
            let goes = spare > 1 && connection.is_idle();
            spare -= usize::from(goes);
            !goes
        });
        let free = connections.iter().find_map(|connection| {
            Some((
                Arc::clone(connection),
                Arc::clone(&connection.slots).try_acquire_owned().ok()?,
            ))
        });
        if let Some(slot) = free {
            return Ok(slot);
        }
        if connections.len() >= MOST {
            return Err(Failure::Full {
                machine: self.name.clone(),
            });
        }
        // Others wait here and use it too. Each step of it has its time.
        let slot = self.fresh().await?;
        connections.push(Arc::clone(&slot.0));
        Ok(slot)
    }

    async fn fresh(&self) -> Result<Slot, Failure> {
        let connection = Arc::new(Connection::establish(&self.remote, &self.tasks).await?);
        let slot = Arc::clone(&connection.slots)
            .try_acquire_owned()
            .map_err(|_none| Failure::Full {
                machine: self.name.clone(),
            })?;
        Ok((connection, slot))
    }

    async fn forget(&self, dead: &Arc<Connection>) {
        let mut connections = self.connections.lock().await;
        connections.retain(|connection| !Arc::ptr_eq(connection, dead));
    }
}
