//! The driver as the port wants it.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobReader, BlobStore, Entry, EntryKind, Exec, HeadAndTail, Output, Refusal,
    Running, SandboxError, SandboxPath, SandboxPort, SandboxSpec, Staged, Start, Taken, WriteMode,
    forbidden_place,
};
use sandbox_folders::shown;
use tokio::time::timeout;
use waybill::TurnScope;

use crate::ProcessSandbox;
use crate::driver::{CAPTURE_TIME, FILE_TIME};
use crate::hearing::Ending;
use crate::output::{Collected, Stored};
use crate::plan::{Kind, Listed, Refused, Report, Special, Work};
use crate::running::Stayed;
use crate::verdict;
use crate::view::{of_the_machine, plan, secret_places};
use crate::{disk, handed};

/// Most bytes of one read, whatever was asked for.
const MOST_READ: usize = 64 << 20;

#[async_trait]
impl SandboxPort for ProcessSandbox {
    async fn exec(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let work = Work::Exec {
            command: exec.command.clone(),
            directory: exec.directory.as_str().to_owned(),
            env: environment(spec, exec.env),
            terminal: None,
            egress: false,
        };
        let (mut run, layout) = self.launch(scope, spec, work, &exec.command).await?;
        let mut sink = HeadAndTail::new(exec.output_bytes);
        let folder = layout.workspace.as_path();
        let ending = run
            .carry_out(&exec.stdin, exec.timeout, folder, &mut sink)
            .await?;
        let (exit, note) = verdict::of_command(ending, run.ran_out_of_memory())?;
        let (bytes, left_out) = sink.into_parts();
        Ok(Output {
            exit,
            bytes,
            left_out,
            note,
        })
    }

    async fn start(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        start: Start,
    ) -> Result<Box<dyn Running>, SandboxError> {
        let work = Work::Exec {
            command: start.command.clone(),
            directory: start.directory.as_str().to_owned(),
            env: environment(spec, start.env),
            terminal: start.terminal.map(|window| (window.rows, window.columns)),
            egress: false,
        };
        let (run, layout) = self.launch(scope, spec, work, &start.command).await?;
        let folder = layout.workspace.as_path().to_owned();
        let stayed = Stayed::begin(run, start.terminal.is_some(), folder).await?;
        Ok(Box::new(stayed))
    }

    async fn read(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        offset: u64,
        most: usize,
    ) -> Result<(Bytes, u64), SandboxError> {
        let most = most.min(MOST_READ);
        let layout = self.ready(scope, spec).await?;
        let device = handed::device(layout.workspace.as_path()).await?;
        let work = Work::Read {
            path: path.as_str().to_owned(),
            offset,
            most,
            device,
        };
        let mut sink = Collected {
            bytes: Vec::new(),
            most,
        };
        let ending = self
            .work_in(&layout, spec, work, &[], FILE_TIME, &mut sink)
            .await?;
        match ending {
            Ending::Reported(Report::Read { size }) => Ok((sink.bytes.into(), size)),
            Ending::Opened(file, which) => {
                let reading = handed::window(file, which, device, offset, most);
                let (bytes, size) = timeout(FILE_TIME, reading)
                    .await
                    .map_err(|_late| verdict::of_other(Ending::TimedOut))?
                    .map_err(|_changed| {
                        SandboxError::File(format!("{path} changed while it was read; try again"))
                    })?;
                Ok((bytes.into(), size))
            }
            Ending::Reported(_)
            | Ending::TimedOut
            | Ending::DiskFilled
            | Ending::Stopped
            | Ending::Lost => Err(verdict::of_other(ending)),
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
        let mut nothing = Collected::nothing();
        let ending = self
            .work(scope, spec, work, bytes, FILE_TIME, &mut nothing)
            .await?;
        let Ending::Reported(Report::Written) = ending else {
            return Err(verdict::of_other(ending));
        };
        Ok(())
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
        let mut nothing = Collected::nothing();
        let ending = self
            .work(scope, spec, work, &[], FILE_TIME, &mut nothing)
            .await?;
        let Ending::Reported(Report::Listed { entries, left_out }) = ending else {
            return Err(verdict::of_other(ending));
        };
        Ok((entries.into_iter().map(entry).collect(), left_out))
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
        let layout = self.ready(scope, spec).await.map_err(sandbox)?;
        let workspace = layout.workspace.as_path();
        let device = handed::device(workspace).await.map_err(sandbox)?;
        let work = Work::Capture {
            path: path.as_str().to_owned(),
            limit,
            device,
            secret: secret_places(spec).map_err(sandbox)?,
        };
        let mut sink = Stored::new(blobs, scope.profile());
        let ending = self
            .work_in(&layout, spec, work, &[], CAPTURE_TIME, &mut sink)
            .await
            .map_err(sandbox)?;
        let size = match ending {
            Ending::Reported(Report::Captured { size }) => size,
            Ending::Reported(Report::Refused(why)) => return Err(refusal(why, path, limit)),
            Ending::Opened(file, which) => {
                let taking = handed::take(file, which, device, limit, &mut sink);
                let taken = tokio::select! {
                    taken = timeout(CAPTURE_TIME, taking) => taken,
                    () = disk::filled(workspace) => return Err(sandbox(verdict::disk_filled())),
                };
                taken
                    .map_err(|_late| Refusal::TimedOut { path: path.clone() })?
                    .map_err(|why| refusal(why, path, limit))?
            }
            Ending::TimedOut => return Err(Refusal::TimedOut { path: path.clone() }),
            Ending::Reported(_) | Ending::DiskFilled | Ending::Stopped | Ending::Lost => {
                return Err(sandbox(verdict::of_other(ending)));
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

    /// Besides what is kept anywhere, what is neither the sandbox's own nor shown by the owner: programs of the machine.
    async fn forbids_folder(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        canonical: &str,
    ) -> Option<String> {
        let judge = || {
            let layout = self.options.folders.layout(scope.sandbox());
            let binds = plan(&layout, spec, Work::Probe)?.binds;
            let secret = secret_places(spec)?;
            let place = forbidden_place(canonical, &secret.iter().collect::<Vec<_>>());
            Ok(place.or_else(|| of_the_machine(Path::new(canonical), &binds)))
        };
        judge().unwrap_or_else(|error: SandboxError| Some(error.to_string()))
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

/// What a command is given besides what every command has: the owner's, then the owner's secrets, then this call's.
fn environment(spec: &SandboxSpec, call: BTreeMap<String, String>) -> Vec<(String, String)> {
    let own = spec
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.clone()));
    let secret = spec
        .secret_env
        .iter()
        .map(|(name, value)| (name.clone(), value.reveal().to_owned()));
    own.chain(secret).chain(call).collect()
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
