//! One process in a container, and its streams.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sandbox::{SandboxError, SandboxKey, SandboxSpec};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use crate::container::Live;
use crate::driver::Inner;
use crate::leash::Leash;
use crate::scripts;
use crate::sentence::Failure;

/// The stream to a process.
pub(crate) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// Which stream a piece came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Out,
    Err,
}

/// So often a silent process is asked whether it still runs: a child of it may hold its streams open for ever.
const STILL_THERE: Duration = Duration::from_secs(1);

/// The engine closes the streams a moment before it knows the exit.
const EXIT_KNOWN: Duration = Duration::from_secs(10);

/// Bytes that `quick` keeps of an answer.
const QUICK_ANSWER: usize = 8 << 10;

pub(crate) struct Process {
    inner: Arc<Inner>,
    exec: String,
    output: Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>,
    input: Option<Input>,
    leash: Leash,
}

impl Inner {
    /// Starts a process in the key's container, which is made or started where needed; once more if it went away
    /// meanwhile.
    pub(crate) async fn launch(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        argv: Vec<String>,
        env: Vec<String>,
    ) -> Result<(Live, Process), SandboxError> {
        let live = self.ensure(key, spec).await?;
        match self.start(&live, argv.clone(), env.clone()).await {
            Ok(process) => return Ok((live, process)),
            Err(Failure::Gone) => self.forget(key, &live.id).await,
            Err(failure) => return Err(failure.into_error()),
        }
        let live = self.ensure(key, spec).await?;
        match self.start(&live, argv, env).await {
            Ok(process) => Ok((live, process)),
            Err(failure) => {
                self.forget(key, &live.id).await;
                Err(failure.into_error())
            }
        }
    }

    async fn start(
        self: &Arc<Self>,
        live: &Live,
        argv: Vec<String>,
        mut env: Vec<String>,
    ) -> Result<Process, Failure> {
        let docker = self.engine.docker().await?;
        let mark = self.mark();
        // The dot ends the mark, so that no mark is the beginning of another.
        env.push(format!("TIDINGS_EXEC={mark}."));
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(env),
            cmd: Some(argv),
            ..CreateExecOptions::default()
        };
        let exec = self
            .engine
            .ask(docker.create_exec(&live.id, options))
            .await?
            .id;
        let leash = Leash::new(self, &live.id, &exec, &mark);
        let started = self
            .engine
            .ask(docker.start_exec(&exec, None::<StartExecOptions>))
            .await;
        let (output, input) = match started {
            Ok(StartExecResults::Attached { output, input }) => (output, input),
            Ok(StartExecResults::Detached) => {
                return Err(Failure::Other(SandboxError::Failed(
                    "the Docker engine gave a command without its streams".to_owned(),
                )));
            }
            Err(Failure::Gone) => {
                leash.release();
                return Err(Failure::Gone);
            }
            Err(failure) => return Err(failure),
        };
        Ok(Process {
            inner: Arc::clone(self),
            exec,
            output,
            input: Some(input),
            leash,
        })
    }

    /// Runs a short script with one argument and gives the first of what it says on both streams. Without a mark: it is
    /// what kills the marked.
    pub(crate) async fn quick(
        &self,
        container: &str,
        script: &str,
        argument: &str,
        within: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let docker = self.engine.docker().await?;
        let options = CreateExecOptions {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(vec!["LC_ALL=C".to_owned()]),
            cmd: Some(script_argv(script, &[argument])),
            ..CreateExecOptions::default()
        };
        let running = async {
            let exec = self
                .engine
                .ask(docker.create_exec(container, options))
                .await?
                .id;
            let started = self
                .engine
                .ask(docker.start_exec(&exec, None::<StartExecOptions>))
                .await?;
            let mut said = Vec::new();
            if let StartExecResults::Attached {
                mut output,
                input: _input,
            } = started
            {
                while let Some(Ok(piece)) = output.next().await {
                    let room = QUICK_ANSWER.saturating_sub(said.len());
                    said.extend(piece.into_bytes().iter().take(room));
                }
            }
            Ok(said)
        };
        timeout(within, running).await.map_err(|_elapsed| {
            Failure::Other(SandboxError::Failed(
                "the sandbox's container did not answer in time".to_owned(),
            ))
        })?
    }

    /// Does it run, and with what did it end?
    pub(crate) async fn exec_state(&self, exec: &str) -> Result<(bool, Option<i64>), Failure> {
        let docker = self.engine.docker().await?;
        let state = self.engine.ask(docker.inspect_exec(exec)).await?;
        Ok((state.running == Some(true), state.exit_code))
    }
}

/// `sh` with a script of ours.
pub(crate) fn script_argv(script: &str, arguments: &[&str]) -> Vec<String> {
    ["/bin/sh", "-c", script, scripts::NAME]
        .iter()
        .chain(arguments)
        .map(|word| (*word).to_owned())
        .collect()
}

impl Process {
    /// The stream to it; it can be taken once.
    pub(crate) fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    /// The next piece of its output; `None` when it has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<(Source, Bytes)>, SandboxError> {
        loop {
            match timeout(STILL_THERE, self.output.next()).await {
                Ok(Some(Ok(LogOutput::StdErr { message }))) => {
                    return Ok(Some((Source::Err, message)));
                }
                Ok(Some(Ok(
                    LogOutput::StdOut { message }
                    | LogOutput::StdIn { message }
                    | LogOutput::Console { message },
                ))) => return Ok(Some((Source::Out, message))),
                Ok(Some(Err(error))) => return Err(self.inner.engine.explain(&error)),
                Ok(None) => return Ok(None),
                Err(_silent) => match self.inner.exec_state(&self.exec).await {
                    Ok((true, _)) => {}
                    Ok((false, _)) | Err(Failure::Gone) => return Ok(None),
                    Err(failure) => return Err(failure.into_error()),
                },
            }
        }
    }

    /// Its exit, once [`Self::next`] said `None`. The leash is off then: what it left in the background may stay.
    pub(crate) async fn exit(self) -> Result<i64, SandboxError> {
        let known = async {
            loop {
                match self.inner.exec_state(&self.exec).await {
                    Ok((false, Some(code))) => return Ok(code),
                    Ok(_) => sleep(Duration::from_millis(10)).await,
                    Err(Failure::Gone) => {
                        return Err(SandboxError::Failed(
                            "the sandbox's container was removed while the command ran; the next command gets a new one".to_owned(),
                        ));
                    }
                    Err(failure) => return Err(failure.into_error()),
                }
            }
        };
        let code = timeout(EXIT_KNOWN, known).await.map_err(|_elapsed| {
            SandboxError::Failed("the Docker engine did not say how the command ended".to_owned())
        })??;
        self.leash.release();
        Ok(code)
    }

    /// Kills it with all that it started, and waits for it.
    pub(crate) async fn kill(self) {
        self.leash.pull().await;
    }

    /// It waits for a word on its input and ends by itself when the stream is closed.
    pub(crate) fn let_go(self) {
        self.leash.release();
    }
}

/// Gives a process its input and ends it. A process that does not read is no failure.
pub(crate) async fn feed(input: Option<Input>, bytes: &[u8]) {
    let Some(mut input) = input else { return };
    if input.write_all(bytes).await.is_ok() {
        input.shutdown().await.unwrap_or_default();
    }
}
