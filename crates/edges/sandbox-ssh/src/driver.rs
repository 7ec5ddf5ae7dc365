//! The driver as others see it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Driver, Entry, Exec, Output, Refusal, Remote, Running,
    SandboxError, SandboxKey, SandboxPath, SandboxPort, SandboxSpec, Staged, Start, Window,
    WriteMode,
};
use waybill::TurnScope;

use crate::facts::{Facts, Walls};
use crate::line::is_variable;
use crate::machine::{Machine, Over};
use crate::process::Process;
use crate::view::View;

/// Machines that are remembered; past it, those that nobody uses just now are forgotten and their connections closed.
const MOST_MACHINES: usize = 64;

/// How long an owner's look waits for a machine unless told otherwise. The page waits ten seconds for all of them together.
const LOOKING: Duration = Duration::from_secs(8);

/// What the driver must be told.
#[derive(Debug, Clone)]
pub struct Options {
    /// The machines that are written down, for whoever asks what stands before anything ran. Others become known by being used.
    pub remotes: Vec<Remote>,
    /// How long [`Keeper::standing`](sandbox::Keeper::standing) waits for each machine, all at once; one that takes longer is
    /// away.
    pub looking: Duration,
}

impl Default for Options {
    /// No machines, and eight seconds.
    fn default() -> Self {
        Self {
            remotes: Vec::new(),
            looking: LOOKING,
        }
    }
}

/// Sandboxes on other machines. Cheap to clone.
#[derive(Clone)]
pub struct SshSandbox {
    machines: Arc<Mutex<Vec<Arc<Machine>>>>,
    numbers: Arc<AtomicU64>,
    pub(crate) looking: Duration,
    away: Arc<Mutex<Vec<String>>>,
}

/// What a shell inside the sandbox is told.
pub(crate) type Inside<'a> = &'a (dyn Fn(&View<'_>) -> Result<String, SandboxError> + Send + Sync);

impl SshSandbox {
    /// Makes a driver. Nobody is spoken to yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let driver = Self {
            machines: Arc::default(),
            numbers: Arc::default(),
            looking: options.looking,
            away: Arc::default(),
        };
        for remote in &options.remotes {
            driver.known(remote);
        }
        driver
    }

    pub(crate) fn machines(&self) -> Vec<Arc<Machine>> {
        self.machines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Machines that could not be asked when it was last looked, a sentence each.
    pub(crate) fn away(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that this driver did not give before.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn known(&self, remote: &Remote) -> Arc<Machine> {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(machine) = machines.iter().find(|machine| machine.is(remote)) {
            return Arc::clone(machine);
        }
        if machines.len() >= MOST_MACHINES {
            machines.retain(|machine| Arc::strong_count(machine) > 1);
        }
        let machine = Arc::new(Machine::new(remote.clone()));
        machines.push(Arc::clone(&machine));
        machine
    }

    /// The machine that a spec means, if this driver can make what the spec says.
    pub(crate) fn machine(&self, spec: &SandboxSpec) -> Result<Arc<Machine>, SandboxError> {
        let refused = |why: &str| Err(SandboxError::Unavailable(format!("{why}; nothing was run")));
        if spec.driver != Driver::Ssh {
            return refused("this sandbox is not one of the SSH driver");
        }
        if !spec.mounts.is_empty() {
            return refused(
                "mounts name folders of the gateway's machine, which a sandbox on another machine can't show: remove them from this profile, and put the files there",
            );
        }
        let names = spec.env.keys().chain(spec.secret_env.keys());
        if let Some(name) = names.into_iter().find(|name| !is_variable(name)) {
            return refused(&format!(
                "'{name}' is no name for a variable of a shell: use letters, digits and '_'"
            ));
        }
        match &spec.remote {
            Some(remote) => Ok(self.known(remote)),
            None => refused(
                "no machine is named: set host, user, key and host_key of this profile's sandbox",
            ),
        }
    }

    /// Starts a shell in the sandbox.
    pub(crate) async fn launch(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        over: Over,
        terminal: Option<Window>,
        inside: Inside<'_>,
    ) -> Result<Process, SandboxError> {
        let lines = |facts: &Facts, mark: &str| {
            let view = View::new(facts, key);
            Ok(vec![view.enter(mark, spec.network), inside(&view)?])
        };
        self.machine(spec)?.launch(over, terminal, &lines).await
    }

    /// Starts a shell beside the sandbox, with the account's own view and no word of the sandbox's in it.
    pub(crate) async fn beside(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        script: &str,
        arguments: &[&str],
    ) -> Result<Process, SandboxError> {
        let lines = |facts: &Facts, mark: &str| {
            let view = View::new(facts, key);
            let mut all = vec![view.base()];
            all.extend(arguments);
            Ok(vec![format!(
                "export TIDINGS_EXEC={mark} LC_ALL=C\n{}\n{}",
                view.folders(),
                crate::line::with_arguments(script, &all)
            )])
        };
        self.machine(spec)?.launch(Over::Shared, None, &lines).await
    }
}

#[async_trait]
impl SandboxPort for SshSandbox {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        self.run(scope.sandbox(), spec, exec).await
    }

    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        self.stay(scope.sandbox(), spec, start).await
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        self.read_file(scope.sandbox(), spec, path, offset, most)
            .await
    }

    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        self.write_file(scope.sandbox(), spec, path, bytes, mode)
            .await
    }

    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        self.entries(scope.sandbox(), spec, path, most).await
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        self.take(scope, spec, path, limit, blobs).await
    }

    /// Behind walls, what is not the sandbox's own is the machine's; without them, nothing tells the two apart while a folder is
    /// gathered.
    async fn forbids_folder(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        canonical: &str,
    ) -> Option<String> {
        let connection = async { Ok(self.machine(spec)?.connection().await?) };
        match connection.await {
            Ok(connection) => {
                View::new(&connection.facts, scope.sandbox()).forbids_folder(canonical)
            }
            Err(error) => Some(SandboxError::to_string(&error)),
        }
    }

    async fn stage(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        self.lay(scope.sandbox(), spec, name, bytes).await
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        let machines = self.machines();
        if machines.is_empty() {
            return Ok("no machine is written down; nothing runs over SSH".to_owned());
        }
        let mut sentences = Vec::new();
        for machine in machines {
            let connection = machine.connection().await?;
            sentences.push(format!("{}: {}", machine.name, sentence(&connection.facts)));
        }
        Ok(sentences.join("; "))
    }
}

/// Which walls stand there, and which don't.
fn sentence(facts: &Facts) -> String {
    let root = if facts.root {
        ", and the account is root: take one that is not"
    } else {
        ""
    };
    match &facts.walls {
        Walls::Bubblewrap { .. } => format!(
            "{}, commands run in user, process, mount, IPC and network namespaces of their own without capabilities (bubblewrap); they see its system read-only, no home and no other sandbox; not kept: memory for all processes together, cpus, allow (what network = \"none\" forbids stays forbidden), system call filter{root}",
            facts.system
        ),
        Walls::Bare(why) => format!(
            "{}, no walls ({}): commands may do what its account may do and see other sandboxes there; not kept: network, allow, memory for all processes together, processes, cpus; install bubblewrap there for walls{root}",
            facts.system,
            sandbox_folders::shown(why)
        ),
    }
}
