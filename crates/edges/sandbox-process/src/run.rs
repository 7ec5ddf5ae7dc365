//! Starts the launcher, feeds it, hears it, and ends it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use sandbox::SandboxError;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::control::{Control, Cut};
use crate::disk;
use crate::driver::Used;
use crate::egress::Way;
use crate::groups::Group;
use crate::hearing::{Ending, Hearing};
use crate::launch::OUTER;
use crate::live::Lived;
use crate::output::Sink;
use crate::plan::{Inner, Outer, frame};

pub(crate) const PIECE: usize = 64 << 10;
/// What a pipe for whole files holds, in bytes: the usual 64 KB cost a change of process each. 1 MB is what every user may ask for.
const WIDE: usize = 1 << 20;
/// How long the kernel may take to bury what was killed.
pub(crate) const BURIAL: Duration = Duration::from_secs(5);

/// One run of the launcher. Dropped, it is killed with all that it started.
#[derive(Debug)]
pub(crate) struct Run {
    child: Child,
    pub(crate) control: Arc<Control>,
    pub(crate) hearing: Hearing,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: ChildStdout,
    plans: Vec<u8>,
    group: Option<Group>,
    /// Marks its sandbox as used when it ends; before it goes from the list of what runs.
    pub(crate) used: Option<Used>,
    /// Keeps it in the list of what runs.
    pub(crate) lived: Option<Lived>,
}

impl Run {
    /// Starts the launcher; it waits for its plan. A group is entered before anything else can be started.
    pub(crate) async fn spawn(
        launcher: &[String],
        plan: &Inner,
        way: Way,
        group: Option<Group>,
    ) -> Result<Self, SandboxError> {
        let failed = |what: &str, source: &dyn std::fmt::Display| {
            SandboxError::Failed(format!("{what}: {source}"))
        };
        let plans =
            plans(plan).map_err(|source| failed("the sandbox's plan can't be written", &source))?;
        let Some((program, arguments)) = launcher.split_first() else {
            return Err(SandboxError::Unavailable(
                "the process sandbox has no launcher".to_owned(),
            ));
        };
        let start = |source| failed("the sandbox can't be started", &source);
        let (control, theirs) = Control::pair().map_err(start)?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(OUTER)
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(theirs))
            .kill_on_drop(true)
            .spawn()
            .map_err(start)?;
        let (Some(stdin), Some(stdout), Some(pid)) =
            (child.stdin.take(), child.stdout.take(), child.id())
        else {
            return Err(SandboxError::Failed(
                "the sandbox was started without pipes".to_owned(),
            ));
        };
        Ok(Self {
            child,
            control: Arc::new(control),
            hearing: Hearing::new(way),
            stdin: Some(stdin),
            stdout,
            plans,
            group: entered(group, pid).await?,
            used: None,
            lived: None,
        })
    }

    /// The process id of the launcher's first stage; none once it was waited for.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Makes room for whole files on their way out. Where the kernel gives none, they take longer.
    pub(crate) fn widen(&self) {
        rustix::pipe::fcntl_setpipe_size(&self.stdout, WIDE)
            .map(|_size| ())
            .unwrap_or_default();
    }

    /// Tells the launcher its plan. A launcher that is gone already is noticed later.
    pub(crate) async fn tell(&mut self) {
        let plans = std::mem::take(&mut self.plans);
        if let Some(stdin) = &mut self.stdin {
            stdin.write_all(&plans).await.unwrap_or_default();
        }
    }

    /// Gives it all its input, takes all its output, and ends it when its time is over. `folder` is on the disk that it
    /// writes to.
    pub(crate) async fn carry_out(
        &mut self,
        input: &[u8],
        within: Duration,
        folder: &Path,
        sink: &mut dyn Sink,
    ) -> Result<Ending, SandboxError> {
        let plans = std::mem::take(&mut self.plans);
        let stdin = self.stdin.take();
        let works = async {
            futures_util::join!(
                feed(stdin, &plans, input),
                drain(&mut self.stdout, sink),
                self.hearing.all(&self.control)
            )
        };
        let cut = tokio::select! {
            _ = works => None,
            () = sleep(within) => Some(Cut::Killed),
            () = disk::filled(folder) => Some(Cut::DiskFilled),
        };
        if let Some(why) = cut {
            self.control.end(why);
            // The end of its output is the end of its last process.
            if timeout(BURIAL, drain(&mut self.stdout, sink))
                .await
                .is_err()
            {
                tracing::warn!("a command outlived its own end; the kernel still holds it");
            }
        }
        self.bury().await;
        self.ending()
    }

    /// Waits until all of it has ended. A process that the kernel holds fast must not hold the gateway.
    pub(crate) async fn bury(&mut self) {
        if timeout(BURIAL, self.child.wait()).await.is_err() {
            // It may have ended this very moment.
            self.child.start_kill().unwrap_or_default();
            let _status = timeout(BURIAL, self.child.wait()).await;
        }
    }

    /// How it ended, once it has.
    pub(crate) fn ending(&mut self) -> Result<Ending, SandboxError> {
        match self.control.cut() {
            Some(Cut::Killed) => Ok(Ending::TimedOut),
            Some(Cut::DiskFilled) => Ok(Ending::DiskFilled),
            Some(Cut::Stopped) => Ok(Ending::Stopped),
            None => self.hearing.ending(),
        }
    }

    /// Did the kernel say that it ran out of memory?
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.group.as_ref().is_some_and(Group::ran_out_of_memory)
    }
}

fn plans(plan: &Inner) -> std::io::Result<Vec<u8>> {
    let mut plans = frame(&Outer {
        host_network: plan.host_network,
    })?;
    plans.extend(frame(plan)?);
    Ok(plans)
}

async fn entered(group: Option<Group>, pid: u32) -> Result<Option<Group>, SandboxError> {
    let Some(group) = group else {
        return Ok(None);
    };
    let failed = |source: &dyn std::fmt::Display| {
        SandboxError::Failed(format!("the sandbox's bounds can't be set: {source}"))
    };
    tokio::task::spawn_blocking(move || group.add(pid).map(|()| group))
        .await
        .map_err(|error| failed(&error))?
        .map(Some)
        .map_err(|error| failed(&error))
}

/// A command need not read its input to the end.
async fn feed(stdin: Option<ChildStdin>, plans: &[u8], input: &[u8]) {
    let Some(mut stdin) = stdin else {
        return;
    };
    for bytes in [plans, input] {
        if stdin.write_all(bytes).await.is_err() {
            return;
        }
    }
    stdin.shutdown().await.unwrap_or_default();
}

async fn drain(stdout: &mut ChildStdout, sink: &mut dyn Sink) {
    let mut piece = vec![0; 4 * PIECE];
    while let Ok(length) = stdout.read(&mut piece).await
        && length > 0
    {
        let (bytes, _) = piece.split_at(length);
        sink.take(bytes).await;
    }
}
