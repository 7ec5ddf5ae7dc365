//! The driver: folders on the machine, one run of the launcher for each call.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Driver, Entry, EntryKind, Exec, Exit, Output, Refusal,
    SandboxError, SandboxKey, SandboxPath, SandboxPort, SandboxSpec, Staged, Taken, WriteMode,
};
use sandbox_folders::{Folders, Layout, shown};
use tokio::sync::OnceCell;
use waybill::TurnScope;

use crate::Protections;
use crate::output::{Collected, HeadAndTail, Sink, Stored};
use crate::plan::{Inner, Kind, Listed, Refused, Report, Special, Work};
use crate::run::{Ending, run};
use crate::view::{plan, secret_places, temporary};

/// How long reading, writing or listing may take.
const FILE_TIME: Duration = Duration::from_secs(30);
/// How long copying a file out may take.
const CAPTURE_TIME: Duration = Duration::from_secs(120);
/// How many sandboxes are remembered; beyond that, some `/tmp` may be emptied once more.
const REMEMBERED: usize = 50_000;
const DISK_FILLED: &str =
    "it was ended because it had nearly filled the disk; remove what is not needed and write less";

/// What the driver is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command line that calls [`crate::launch::run`]: the gateway's own executable and its hidden argument, like
    /// `["/proc/self/exe", "__sandbox"]`. The stage's name is added.
    pub launcher: Vec<String>,
    /// Where the sandboxes' folders lie.
    pub folders: Folders,
}

/// Sandboxes without a daemon. Cheap to share behind an [`Arc`].
#[derive(Debug)]
pub struct ProcessSandbox {
    options: Options,
    probed: OnceCell<Protections>,
    /// Sandboxes whose `/tmp` was emptied since this driver was made.
    begun: Mutex<HashMap<SandboxKey, Arc<OnceCell<()>>>>,
}

impl ProcessSandbox {
    /// Makes a driver. Nothing is tried yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            probed: OnceCell::new(),
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
                let limits = sandbox::Limits::default();
                let plan = Inner {
                    host_network: false,
                    binds: Vec::new(),
                    memory: limits.memory,
                    pids: limits.pids,
                    work: Work::Probe,
                };
                let mut nothing = Collected {
                    bytes: Vec::new(),
                    most: 0,
                };
                match run(
                    &self.options.launcher,
                    &plan,
                    &[],
                    FILE_TIME,
                    Path::new("/"),
                    &mut nothing,
                )
                .await?
                {
                    Ending::Reported(Report::Standing(protections)) => Ok(protections),
                    ending @ (Ending::Reported(_)
                    | Ending::TimedOut
                    | Ending::DiskFilled
                    | Ending::Lost) => Err(unexpected(&ending)),
                }
            })
            .await
            .cloned()
    }

    /// The sandbox's folders; at first use since the start, `/tmp` is emptied.
    async fn ready(&self, scope: &TurnScope, spec: &SandboxSpec) -> Result<Layout, SandboxError> {
        match spec.driver {
            Driver::Process => {}
            Driver::Docker | Driver::Host => {
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
        self.begun(key)
            .get_or_try_init(|| async {
                let plan = plan(&layout, spec, Work::ClearTemporary)?;
                let mut nothing = Collected {
                    bytes: Vec::new(),
                    most: 0,
                };
                match run(
                    &self.options.launcher,
                    &plan,
                    &[],
                    CAPTURE_TIME,
                    &folder,
                    &mut nothing,
                )
                .await?
                {
                    Ending::Reported(Report::Cleared) => Ok(()),
                    ending @ (Ending::Reported(_)
                    | Ending::TimedOut
                    | Ending::DiskFilled
                    | Ending::Lost) => Err(unexpected(&ending)),
                }
            })
            .await?;
        Ok(layout)
    }

    /// Whether a sandbox's `/tmp` was emptied.
    fn begun(&self, key: &SandboxKey) -> Arc<OnceCell<()>> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = begun.get(key) {
            return Arc::clone(cell);
        }
        if begun.len() >= REMEMBERED {
            begun.clear();
        }
        Arc::clone(begun.entry(key.clone()).or_default())
    }

    async fn run(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        work: Work,
        input: &[u8],
        within: Duration,
        sink: &mut dyn Sink,
    ) -> Result<Ending, SandboxError> {
        let layout = self.ready(scope, spec).await?;
        let plan = plan(&layout, spec, work)?;
        run(
            &self.options.launcher,
            &plan,
            input,
            within,
            layout.workspace.as_path(),
            sink,
        )
        .await
    }
}

/// Of a run that did not end as its work does.
fn unexpected(ending: &Ending) -> SandboxError {
    match ending {
        Ending::Reported(Report::File(text)) => SandboxError::File(text.clone()),
        Ending::TimedOut => SandboxError::Failed("the sandbox did not answer in time".to_owned()),
        Ending::DiskFilled => SandboxError::Failed(DISK_FILLED.to_owned()),
        Ending::Reported(_) | Ending::Lost => SandboxError::Failed(
            "the sandbox was ended from outside before it was done; the machine may be out of memory".to_owned(),
        ),
    }
}

#[async_trait]
impl SandboxPort for ProcessSandbox {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let mut env: Vec<(String, String)> = spec
            .env
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        env.extend(
            spec.secret_env
                .iter()
                .map(|(name, value)| (name.clone(), value.reveal().to_owned())),
        );
        let work = Work::Exec {
            command: exec.command,
            directory: exec.directory.as_str().to_owned(),
            env,
        };
        let mut sink = HeadAndTail::new(exec.output_bytes);
        let ending = self
            .run(scope, spec, work, &exec.stdin, exec.timeout, &mut sink)
            .await?;
        let (exit, note) = match ending {
            Ending::Reported(Report::Ended { code, left_running }) => (
                Exit::Code(i64::from(code)),
                left_running.then(|| {
                    "processes left in the background were ended with the command".to_owned()
                }),
            ),
            Ending::TimedOut => (Exit::TimedOut, None),
            // As the shell would tell it: killed.
            Ending::DiskFilled => (Exit::Code(137), Some(DISK_FILLED.to_owned())),
            Ending::Reported(_) | Ending::Lost => return Err(unexpected(&ending)),
        };
        let (bytes, left_out) = sink.finish();
        Ok(Output {
            exit,
            bytes,
            left_out,
            note,
        })
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let work = Work::Read {
            path: path.as_str().to_owned(),
            offset,
            most,
        };
        let mut sink = Collected {
            bytes: Vec::new(),
            most,
        };
        match self
            .run(scope, spec, work, &[], FILE_TIME, &mut sink)
            .await?
        {
            Ending::Reported(Report::Read { size }) => Ok((sink.bytes.into(), size)),
            ending @ (Ending::Reported(_)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Lost) => Err(unexpected(&ending)),
        }
    }

    async fn write(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        bytes: &[u8],
        mode: WriteMode,
    ) -> Result<(), SandboxError> {
        let work = Work::Write {
            path: path.as_str().to_owned(),
            length: bytes.len(),
            create_new: match mode {
                WriteMode::Replace => false,
                WriteMode::CreateNew => true,
            },
        };
        let mut nothing = Collected {
            bytes: Vec::new(),
            most: 0,
        };
        match self
            .run(scope, spec, work, bytes, FILE_TIME, &mut nothing)
            .await?
        {
            Ending::Reported(Report::Written) => Ok(()),
            ending @ (Ending::Reported(_)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Lost) => Err(unexpected(&ending)),
        }
    }

    async fn list(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        most: usize,
    ) -> Result<(Vec<Entry>, usize), SandboxError> {
        let work = Work::List {
            path: path.as_str().to_owned(),
            most,
        };
        let mut nothing = Collected {
            bytes: Vec::new(),
            most: 0,
        };
        match self
            .run(scope, spec, work, &[], FILE_TIME, &mut nothing)
            .await?
        {
            Ending::Reported(Report::Listed { entries, left_out }) => {
                Ok((entries.into_iter().map(entry).collect(), left_out))
            }
            ending @ (Ending::Reported(_)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Lost) => Err(unexpected(&ending)),
        }
    }

    async fn capture(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        let sandbox = |error: SandboxError| Refusal::Sandbox {
            reason: error.to_string(),
        };
        let work = Work::Capture {
            path: path.as_str().to_owned(),
            limit,
            secret: secret_places(spec).map_err(sandbox)?,
        };
        let mut sink = Stored::new(blobs, scope.profile());
        let ending = self
            .run(scope, spec, work, &[], CAPTURE_TIME, &mut sink)
            .await
            .map_err(sandbox)?;
        let size = match ending {
            Ending::Reported(Report::Captured { size }) => size,
            Ending::Reported(Report::Refused(why)) => return Err(refusal(why, path, limit)),
            Ending::TimedOut => return Err(Refusal::TimedOut { path: path.clone() }),
            Ending::Reported(_) | Ending::DiskFilled | Ending::Lost => {
                return Err(sandbox(unexpected(&ending)));
            }
        };
        // A torn pipe must not become a short file.
        if sink.taken != size {
            return Err(Refusal::Unstable { path: path.clone() });
        }
        let store = |error: sandbox::BlobError| Refusal::Store {
            reason: error.to_string(),
        };
        let writer = sink.finish().await.map_err(store)?;
        let name = shown(path.file_name());
        let blob = writer.finish(&name).await.map_err(store)?;
        Ok(ArtifactRef {
            profile: scope.profile().clone(),
            blob,
            name,
            taken: Taken::Captured {
                sandbox: scope.sandbox().clone(),
                path: path.clone(),
                turn: scope.turn(),
            },
        })
    }

    async fn stage(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        self.ready(scope, spec).await?;
        let path = self
            .options
            .folders
            .stage(scope.sandbox(), name, bytes)
            .await?;
        Ok(Staged { path })
    }

    async fn describe(&self) -> Result<String, SandboxError> {
        Ok(self.probe().await?.describe())
    }
}

fn entry(listed: Listed) -> Entry {
    Entry {
        name: listed.name,
        kind: match listed.kind {
            Kind::Folder => EntryKind::Folder,
            Kind::File => EntryKind::File,
            Kind::Other => EntryKind::Other,
        },
        size: listed.size,
    }
}

fn refusal(why: Refused, path: &SandboxPath, limit: u64) -> Refusal {
    let path = path.clone();
    match why {
        Refused::Missing { near } => Refusal::Missing { path, near },
        Refused::NotAFile { kind } => Refusal::NotAFile {
            path,
            kind: match kind {
                Special::Directory => "directory",
                Special::Fifo => "fifo",
                Special::Socket => "socket",
                Special::Device => "device",
            },
        },
        Refused::Forbidden { place } => Refusal::Forbidden { path, place },
        Refused::HardLink => Refusal::HardLink { path },
        Refused::TooLarge => Refusal::TooLarge { path, limit },
        Refused::Unreadable => Refusal::Unreadable { path },
        Refused::Unstable => Refusal::Unstable { path },
    }
}
