//! The driver: folders on the machine, one run of the launcher for each call.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sandbox::{Driver, Limits, SandboxError, SandboxKey, SandboxSpec};
use sandbox_folders::{Folders, Layout};
use tokio::sync::OnceCell;
use waybill::TurnScope;

use crate::Protections;
use crate::egress::{Egress, Way};
use crate::groups::{Bound, Groups};
use crate::hearing::Ending;
use crate::live::Lives;
use crate::output::{Collected, Sink};
use crate::plan::{Inner, Report, Work};
use crate::run::Run;
use crate::verdict;
use crate::view::{emptying, plan, temporary};

/// How long reading, writing or listing may take.
pub(crate) const FILE_TIME: Duration = Duration::from_secs(30);
/// How long copying a file out may take.
pub(crate) const CAPTURE_TIME: Duration = Duration::from_secs(120);
/// How many sandboxes are remembered; beyond that, some `/tmp` may be emptied once more.
const REMEMBERED: usize = 50_000;

/// What the driver is made of.
#[derive(Clone)]
pub struct Options {
    /// The command line that calls [`crate::launch::run`]: the gateway's own executable and its hidden argument, like
    /// `["/proc/self/exe", "__sandbox"]`. The stage's name is added.
    pub launcher: Vec<String>,
    /// Where the sandboxes' folders lie.
    pub folders: Folders,
    /// What lets sandboxes without a network reach [`SandboxSpec::allow`]. Without one, such sandboxes are refused.
    pub egress: Option<Arc<dyn Egress>>,
    /// Whether a gateway may be at work in these sandboxes meanwhile, as where the owner looks in from a terminal. Then no `/tmp`
    /// is emptied, and nothing is stopped or reaped: it may be in use.
    pub beside: bool,
}

impl fmt::Debug for Options {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("launcher", &self.launcher)
            .field("folders", &self.folders)
            .field("egress", &self.egress.is_some())
            .field("beside", &self.beside)
            .finish()
    }
}

/// Sandboxes without a daemon. Cheap to share behind an [`Arc`].
#[derive(Debug)]
pub struct ProcessSandbox {
    pub(crate) options: Options,
    pub(crate) lives: Arc<Lives>,
    probed: OnceCell<Protections>,
    groups: OnceCell<Arc<Groups>>,
    begun: Mutex<HashMap<SandboxKey, Begun>>,
}

/// A sandbox that this driver has used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Begun {
    /// Set once its `/tmp` was emptied.
    emptied: Arc<OnceCell<()>>,
    /// How long it may be unused, as its spec said last.
    pub(crate) idle_seconds: u64,
}

impl ProcessSandbox {
    /// Makes a driver. Nothing is tried yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            lives: Arc::default(),
            probed: OnceCell::new(),
            groups: OnceCell::new(),
            begun: Mutex::new(HashMap::new()),
        }
    }

    /// Builds the walls once and says which stand; later calls remember.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] says what to do if the floor is missing.
    pub async fn probe(&self) -> Result<Protections, SandboxError> {
        self.probed
            .get_or_try_init(|| async {
                let limits = Limits::default();
                let plan = Inner {
                    host_network: false,
                    binds: Vec::new(),
                    memory: Some(limits.memory),
                    pids: limits.pids,
                    work: Work::Probe,
                };
                let report = self.small(&plan, FILE_TIME, Path::new("/")).await?;
                let Report::Standing(mut protections) = report else {
                    return Err(verdict::of_other(Ending::Lost));
                };
                let groups = self.groups().await?;
                protections.memory_group = groups.has(Bound::Memory);
                protections.process_group = groups.has(Bound::Processes);
                protections.processor_group = groups.has(Bound::Processor);
                Ok(protections)
            })
            .await
            .cloned()
    }

    /// The machine's control groups, looked for once.
    pub(crate) async fn groups(&self) -> Result<&Arc<Groups>, SandboxError> {
        self.groups
            .get_or_try_init(|| async { tokio::task::spawn_blocking(Groups::find).await })
            .await
            .map_err(|error| {
                SandboxError::Failed(format!("control groups can't be looked for: {error}"))
            })
    }

    /// The sandbox's folders; at first use since the start, `/tmp` is emptied.
    pub(crate) async fn ready(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
    ) -> Result<Layout, SandboxError> {
        match spec.driver {
            Driver::Process => {}
            Driver::Docker | Driver::Ssh | Driver::Host => {
                return Err(SandboxError::Unavailable(
                    "this sandbox is not one of the process driver; nothing was run".to_owned(),
                ));
            }
        }
        let key = scope.sandbox();
        let layout = self.options.folders.ensure(key).await?;
        let folder = temporary(&layout);
        let mut builder = tokio::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).await.map_err(|source| {
            SandboxError::Failed(format!("{} could not be made: {source}", folder.display()))
        })?;
        // Before anything is asked about `/tmp`: see `reap`.
        use_now(own_folder(&layout))?;
        let begun = self.begun(key, Some(spec.limits.idle_seconds));
        if !self.options.beside {
            begun
                .emptied
                .get_or_try_init(|| self.empty(&layout))
                .await?;
        }
        Ok(layout)
    }

    /// Empties a sandbox's `/tmp`, from inside.
    async fn empty(&self, layout: &Layout) -> Result<(), SandboxError> {
        let plan = emptying(layout)?;
        let report = self.small(&plan, CAPTURE_TIME, &temporary(layout)).await?;
        if matches!(report, Report::Cleared) {
            Ok(())
        } else {
            Err(verdict::of_other(Ending::Reported(report)))
        }
    }

    /// Empties the `/tmp` of a sandbox that nobody uses, unless somebody begins to. Says whether it did.
    pub(crate) async fn empty_if(
        &self,
        key: &SandboxKey,
        layout: &Layout,
        is_idle: impl AsyncFnOnce() -> bool,
    ) -> Result<bool, SandboxError> {
        // Whoever comes from now on waits here; whoever came before has marked the sandbox as used.
        let begun = Begun {
            emptied: Arc::default(),
            ..self.begun(key, None)
        };
        self.lock().insert(key.clone(), begun.clone());
        let mut has_emptied = false;
        begun
            .emptied
            .get_or_try_init(|| async {
                if is_idle().await {
                    self.empty(layout).await?;
                    has_emptied = true;
                }
                Ok::<(), SandboxError>(())
            })
            .await?;
        Ok(has_emptied)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<SandboxKey, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of a sandbox.
    pub(crate) fn begun(&self, key: &SandboxKey, idle_seconds: Option<u64>) -> Begun {
        let mut begun = self.lock();
        if begun.len() >= REMEMBERED && !begun.contains_key(key) {
            begun.clear();
        }
        let one = begun.entry(key.clone()).or_insert_with(|| Begun {
            emptied: Arc::default(),
            idle_seconds: Limits::default().idle_seconds,
        });
        if let Some(idle_seconds) = idle_seconds {
            one.idle_seconds = idle_seconds;
        }
        one.clone()
    }

    /// Starts the launcher for a command, in its group and with its way out, and lists it as running. Says where its files lie.
    pub(crate) async fn launch(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        work: Work,
        command: &str,
    ) -> Result<(Run, Layout), SandboxError> {
        let way = Way::of(scope.sandbox(), spec, self.options.egress.as_ref())?;
        let layout = self.ready(scope, spec).await?;
        let mut plan = plan(&layout, spec, work)?;
        if let Work::Exec { egress, .. } = &mut plan.work {
            *egress = way.is_wanted();
        }
        let groups = Arc::clone(self.groups().await?);
        if groups.has(Bound::Memory) {
            plan.memory = None;
        }
        let (key, limits) = (scope.sandbox().clone(), spec.limits);
        let group = tokio::task::spawn_blocking(move || groups.enter(&key, &limits))
            .await
            .map_err(|error| {
                SandboxError::Failed(format!("the sandbox's bounds can't be set: {error}"))
            })??;
        let mut run = Run::spawn(&self.options.launcher, &plan, way, Some(group)).await?;
        run.used = Some(Used(own_folder(&layout).to_owned()));
        if let Some(pid) = run.pid() {
            run.lived = self.lives.add(scope.sandbox(), pid, command, &run.control);
        }
        Ok((run, layout))
    }

    /// Does work with files inside the sandbox.
    pub(crate) async fn work(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        work: Work,
        input: &[u8],
        within: Duration,
        sink: &mut dyn Sink,
    ) -> Result<Ending, SandboxError> {
        let layout = self.ready(scope, spec).await?;
        self.work_in(&layout, spec, work, input, within, sink).await
    }

    /// The same, where the sandbox is ready.
    pub(crate) async fn work_in(
        &self,
        layout: &Layout,
        spec: &SandboxSpec,
        work: Work,
        input: &[u8],
        within: Duration,
        sink: &mut dyn Sink,
    ) -> Result<Ending, SandboxError> {
        let plan = plan(layout, spec, work)?;
        let mut run = Run::spawn(&self.options.launcher, &plan, Way::default(), None).await?;
        run.used = Some(Used(own_folder(layout).to_owned()));
        run.widen();
        run.carry_out(input, within, layout.workspace.as_path(), sink)
            .await
    }

    /// Does work that takes and gives nothing.
    async fn small(
        &self,
        plan: &Inner,
        within: Duration,
        folder: &Path,
    ) -> Result<Report, SandboxError> {
        let mut run = Run::spawn(&self.options.launcher, plan, Way::default(), None).await?;
        match run
            .carry_out(&[], within, folder, &mut Collected::nothing())
            .await?
        {
            Ending::Reported(report) => Ok(report),
            ending @ (Ending::Opened(..)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Stopped
            | Ending::Lost) => Err(verdict::of_other(ending)),
        }
    }
}

/// Marks a sandbox as used: its own folder's time.
fn use_now(folder: &Path) -> Result<(), SandboxError> {
    let now = rustix::fs::Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_NOW,
    };
    let times = rustix::fs::Timestamps {
        last_access: now,
        last_modification: now,
    };
    rustix::fs::utimensat(
        rustix::fs::CWD,
        folder,
        &times,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .map_err(|source| {
        SandboxError::Failed(format!("{} can't be marked: {source}", folder.display()))
    })
}

/// Held while something runs in a sandbox whose own folder this is. Dropped, it marks the sandbox as used once more: its lease
/// counts from the end of what ran.
#[derive(Debug)]
pub(crate) struct Used(PathBuf);

impl Drop for Used {
    fn drop(&mut self) {
        if let Err(error) = use_now(&self.0) {
            tracing::debug!(%error, "a sandbox's lease counts from the beginning of its last use");
        }
    }
}

/// The folder that holds all folders of a sandbox; no command can write to it.
pub(crate) fn own_folder(layout: &Layout) -> &Path {
    let workspace = layout.workspace.as_path();
    workspace.parent().unwrap_or(workspace)
}
