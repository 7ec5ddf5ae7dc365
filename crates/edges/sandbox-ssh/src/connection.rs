//! One connection: its host is the pinned one, its account is let in, its watch stands.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{AuthResult, Config, Handle, Handler, Msg, connect_stream};
use russh::keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{AlgorithmKind, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Error, Preferred, Pty};
use sandbox::{Remote, Window};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use crate::Failure;
use crate::facts::Facts;
use crate::failure::printable;
use crate::line::{encode, login_command, with_arguments};
use crate::pin::{self, HostKey, Login};
use crate::scripts;
use crate::watch::Watch;

/// How long the network may take.
const REACHING: Duration = Duration::from_secs(10);
/// How long keys and login may take; a host that looks names up takes its time.
const ENTERING: Duration = Duration::from_secs(30);
/// How long the machine may take to say what it is like.
const DESCRIBING: Duration = Duration::from_secs(30);
/// How long a channel may take to be there. A connection that takes longer is taken for dead.
const OPENING: Duration = Duration::from_secs(15);
/// So often an idle connection is asked whether it still stands; three times without an answer, and it does not.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Commands over one connection. OpenSSH takes ten sessions (`MaxSessions`); one is the watch's, and one that ends may overlap
/// with one that begins.
pub(crate) const SLOTS: usize = 8;
/// Most bytes of what a machine says of itself.
const DESCRIPTION: usize = 64 << 10;

pub(crate) struct Connection {
    handle: Handle<Pinned>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) watch: Watch,
    pub(crate) facts: Facts,
    /// What must go on though nobody waits for it.
    pub(crate) tasks: TaskTracker,
    commands: AtomicU64,
}

/// A channel with a shell at its end that waits for its line.
pub(crate) type Open = (ChannelReadHalf, ChannelWriteHalf<Msg>);

/// Why there is no channel.
pub(crate) enum Stop {
    /// The connection is gone.
    Dead,
    /// It holds as many as the host allows.
    Full,
    /// The host won't start anything.
    Refused(String),
}

impl Connection {
    pub(crate) async fn establish(remote: &Remote, tasks: &TaskTracker) -> Result<Self, Failure> {
        let login = pin::login(remote)?;
        let machine = pin::machine(remote);
        let handle = enter(remote, &login, &machine).await?;
        let unfit = |reason: String| Failure::Unfit {
            machine: machine.clone(),
            reason,
        };
        let (mut read, write) = match open(&handle, None).await {
            Ok(channel) => channel,
            Err(Stop::Dead) => {
                return Err(unreachable(
                    &machine,
                    "it closed the connection after the login",
                ));
            }
            Err(Stop::Full) => return Err(Failure::Full { machine }),
            Err(Stop::Refused(reason)) => return Err(unfit(reason)),
        };
        let line = encode(&with_arguments(scripts::WATCH, &[&remote.folder])).unwrap_or_default();
        let asking = async {
            if write.data_bytes(line.into_bytes()).await.is_err() {
                return Err(unreachable(
                    &machine,
                    "it closed the connection after the login",
                ));
            }
            Ok(describe(&mut read).await)
        };
        let said = timeout(DESCRIBING, asking)
            .await
            .map_err(|_elapsed| unfit("its account's shell does not answer".to_owned()))??;
        let facts = said.and_then(|said| {
            Facts::parse(&said).map_err(|missing| {
                format!("it did not say its '{missing}'; its account needs a POSIX shell")
            })
        });
        let facts = facts.map_err(&unfit)?;
        if !facts.system.starts_with("Linux ") {
            return Err(unfit(format!(
                "it runs {}; only Linux will do",
                facts.system
            )));
        }
        let (watch, talk) = Watch::over(read, write);
        tasks.spawn(talk);
        Ok(Self {
            handle,
            slots: Arc::new(Semaphore::new(SLOTS)),
            watch,
            facts,
            tasks: tasks.clone(),
            commands: AtomicU64::new(0),
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.handle.is_closed() || self.watch.is_gone()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.slots.available_permits() >= SLOTS
    }

    pub(crate) async fn open(&self, terminal: Option<Window>) -> Result<Open, Stop> {
        open(&self.handle, terminal).await
    }

    /// A mark for one command's processes that no other ever had. The dot ends it, so that no mark is the beginning of another.
    pub(crate) fn mark(&self) -> String {
        let number = self.commands.fetch_add(1, Ordering::Relaxed);
        format!("{}.{number}.", self.facts.mark)
    }
}

/// Lets nobody in but the pinned host, and remembers who stood there.
struct Pinned {
    host_key: HostKey,
    seen: Arc<Mutex<Option<String>>>,
}

impl Handler for Pinned {
    type Error = Error;

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Error> {
        // A certificate is as good as who signed it, and nobody was named who may.
        if let PublicKeyOrCertificate::PublicKey { key, .. } = key
            && self.host_key.is(key)
        {
            return Ok(true);
        }
        let key = key.public_key();
        let seen = format!(
            "{} ({})",
            pin::fingerprint(&key),
            printable(key.algorithm().as_ref())
        );
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        Ok(false)
    }
}

fn unreachable(machine: &str, reason: &str) -> Failure {
    Failure::Unreachable {
        machine: machine.to_owned(),
        reason: printable(reason),
    }
}

async fn enter(remote: &Remote, login: &Login, machine: &str) -> Result<Handle<Pinned>, Failure> {
    let reaching = TcpStream::connect((remote.host.as_str(), remote.port));
    let stream = match timeout(REACHING, reaching).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(source)) => return Err(unreachable(machine, &source.to_string())),
        Err(_elapsed) => return Err(unreachable(machine, "no answer within 10 seconds")),
    };
    // Without it, small packets wait for one another; with it unset, they only come later.
    stream.set_nodelay(true).unwrap_or_default();
    let entering = async {
        let mut handle = greet(stream, login, machine).await?;
        let key = PrivateKeyWithHashAlg::new(Arc::new(login.key.clone()), None);
        match handle.authenticate_publickey(&remote.user, key).await {
            Ok(AuthResult::Success) => Ok(handle),
            Ok(AuthResult::Failure { .. }) => Err(Failure::Login {
                machine: machine.to_owned(),
                public: login.key.public_key().to_openssh().unwrap_or_default(),
            }),
            Err(source) => Err(unreachable(
                machine,
                &format!("the login broke off: {source}"),
            )),
        }
    };
    timeout(ENTERING, entering)
        .await
        .map_err(|_elapsed| unreachable(machine, "no login within 30 seconds"))?
}

/// Agrees on keys; here the host is judged.
async fn greet(stream: TcpStream, login: &Login, machine: &str) -> Result<Handle<Pinned>, Failure> {
    let seen = Arc::new(Mutex::new(None));
    let handler = Pinned {
        host_key: login.host_key.clone(),
        seen: Arc::clone(&seen),
    };
    let config = Config {
        preferred: Preferred {
            key: Cow::Owned(login.host_key.algorithms()),
            ..Preferred::DEFAULT
        },
        keepalive_interval: Some(KEEP_ALIVE),
        keepalive_max: 3,
        nodelay: true,
        ..Config::default()
    };
    connect_stream(Arc::new(config), stream, handler)
        .await
        .map_err(|source| {
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
            let seen = match (&source, seen) {
                (_, Some(seen)) => seen,
                (
                    Error::NoCommonAlgo {
                        kind: AlgorithmKind::Key,
                        theirs,
                        ..
                    },
                    None,
                ) => format!("of another kind ({})", printable(&theirs.join(", "))),
                (_, None) => return unreachable(machine, &source.to_string()),
            };
            Failure::HostKey {
                machine: machine.to_owned(),
                seen,
                pinned: login.host_key.to_string(),
            }
        })
}

async fn open(handle: &Handle<Pinned>, terminal: Option<Window>) -> Result<Open, Stop> {
    let opening = async {
        let channel = match handle.channel_open_session().await {
            Ok(channel) => channel,
            Err(Error::ChannelOpenFailure(_)) => return Err(Stop::Full),
            Err(_) => return Err(Stop::Dead),
        };
        let (mut read, write) = channel.split();
        if let Some(window) = terminal {
            let (columns, rows) = (u32::from(window.columns), u32::from(window.rows));
            // The shell's lines are longer than a terminal's, and must not be shown.
            let raw = [(Pty::ECHO, 0), (Pty::ICANON, 0)];
            let asked = write
                .request_pty(true, crate::process::TERM, columns, rows, 0, 0, &raw)
                .await;
            asked.map_err(|_gone| Stop::Dead)?;
            agreed(
                &mut read,
                "it gives no terminal; its sshd_config says so (PermitTTY)",
            )
            .await?;
        }
        let asked = write.exec(true, login_command()).await;
        asked.map_err(|_gone| Stop::Dead)?;
        agreed(&mut read, "it does not let the account run commands").await?;
        Ok((read, write))
    };
    timeout(OPENING, opening)
        .await
        .map_err(|_elapsed| Stop::Dead)?
}

async fn agreed(read: &mut ChannelReadHalf, otherwise: &str) -> Result<(), Stop> {
    loop {
        match read.wait().await {
            Some(ChannelMsg::Success) => return Ok(()),
            Some(ChannelMsg::Failure) => return Err(Stop::Refused(otherwise.to_owned())),
            Some(ChannelMsg::Close) | None => return Err(Stop::Dead),
            Some(_) => {}
        }
    }
}

/// What the watch says up to its last line; or what it says instead.
async fn describe(read: &mut ChannelReadHalf) -> Result<String, String> {
    let (mut said, mut complaint) = (Vec::new(), Vec::new());
    loop {
        match read.wait().await {
            Some(ChannelMsg::Data { data }) => said.extend_from_slice(&data),
            Some(ChannelMsg::ExtendedData { data, .. }) => complaint.extend_from_slice(&data),
            Some(ChannelMsg::Close) | None => break,
            Some(_) => {}
        }
        if said.len() + complaint.len() > DESCRIPTION {
            break;
        }
        let text = String::from_utf8_lossy(&said);
        if text.ends_with('\n')
            && text
                .lines()
                .last()
                .is_some_and(|line| line.starts_with("ready "))
        {
            return Ok(text.into_owned());
        }
    }
    complaint.extend_from_slice(&said);
    let text = String::from_utf8_lossy(&complaint);
    let line = text
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("nothing at all");
    Err(format!(
        "its account's shell ended with '{}'",
        printable(line)
    ))
}
