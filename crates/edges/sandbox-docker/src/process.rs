//! One process in a container, and its streams.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{CreateExecOptions, ResizeExecOptions, StartExecOptions, StartExecResults};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use sandbox::{SandboxError, SandboxKey, SandboxSpec, Window};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout};

use crate::container::Live;
use crate::driver::Inner;
use crate::lease::Use;
use crate::leash::Leash;
use crate::scripts;
use crate::sentence::Failure;

/// The variable that marks a process and all that it starts.
pub(crate) const MARK: &str = "TIDINGS_EXEC";

/// The stream to a process.
pub(crate) type Input = Pin<Box<dyn AsyncWrite + Send>>;

/// Which stream a piece came on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Out,
    Err,
}

/// After so much silence a process is asked whether it still runs: a child of it may hold its streams open for ever. Each
/// silence in a row is allowed to be twice as long.
const STILL_THERE: Duration = Duration::from_secs(1);

/// But not longer than this: so late may the end of a process be seen whose child holds its streams.
const LONGEST_SILENCE: Duration = Duration::from_secs(8);

/// The engine closes the streams a moment before it knows the exit.
const EXIT_KNOWN: Duration = Duration::from_secs(10);

/// The same of Podman, which closes the streams of a process first.
const END_KNOWN: Duration = EXIT_KNOWN;

/// How long an engine that was there a moment ago may take to come back.
const COME_BACK: Duration = Duration::from_secs(10);

/// Bytes that `quick` keeps of an answer.
const QUICK_ANSWER: usize = 8 << 10;

/// A process's output as the engine gives it.
pub(crate) type Pieces = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;

/// What to start.
#[derive(Clone)]
pub(crate) struct Launch {
    /// The script, and what it gets.
    pub(crate) script: &'static str,
    pub(crate) arguments: Vec<String>,
    /// The environment, without what belongs to the container.
    pub(crate) environment: Vec<String>,
    pub(crate) terminal: Option<Window>,
}

impl Launch {
    /// A script of the driver's own, in its own language.
    pub(crate) fn own(script: &'static str, arguments: &[&str]) -> Self {
        Self {
            script,
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            environment: vec!["LC_ALL=C".to_owned()],
            terminal: None,
        }
    }
}

pub(crate) struct Process {
    inner: Arc<Inner>,
    container: String,
    exec: String,
    output: Pieces,
    input: Option<Input>,
    silence: Duration,
    leash: Leash,
    usage: Use,
}

/// A start that failed.
struct Unstarted {
    failure: Failure,
    /// Is it certain that nothing ran?
    certain: bool,
}

impl Unstarted {
    fn certainly(failure: Failure) -> Self {
        Self {
            failure,
            certain: true,
        }
    }
}

impl Inner {
    /// Starts a process in the key's container, which is made or started where needed. If the container or the engine went
    /// away under it, and certainly nothing ran, it is started once more.
    pub(crate) async fn launch(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        launch: Launch,
    ) -> Result<(Live, Process), SandboxError> {
        let (live, usage) = self.ensure(key, spec).await?;
        let failed = match self.start(&live, usage, launch.clone()).await {
            Ok(process) => {
                self.renew(&live.id).await;
                return Ok((live, process));
            }
            Err(failed) => failed,
        };
        self.forget(key, &live.id).await;
        let again = matches!(
            failed.failure,
            Failure::Gone | Failure::Other(SandboxError::Unavailable(_))
        );
        if !(again && failed.certain) {
            return Err(failed.failure.into_error());
        }
        if !matches!(failed.failure, Failure::Gone) {
            self.engine.come_back(COME_BACK).await?;
        }
        let (live, usage) = self.ensure(key, spec).await?;
        match self.start(&live, usage, launch).await {
            Ok(process) => {
                self.renew(&live.id).await;
                Ok((live, process))
            }
            Err(failed) => {
                self.forget(key, &live.id).await;
                Err(failed.failure.into_error())
            }
        }
    }

    async fn start(
        self: &Arc<Self>,
        live: &Live,
        usage: Use,
        launch: Launch,
    ) -> Result<Process, Unstarted> {
        let docker = self
            .engine
            .docker()
            .await
            .map_err(|error| Unstarted::certainly(error.into()))?;
        let mark = self.mark();
        let mut env = launch.environment;
        if let Some(door) = &live.door {
            // What the owner or the caller says comes later, and wins.
            let told = door.environment();
            let told = told.iter().map(|(name, value)| format!("{name}={value}"));
            env = told.chain(env).collect();
        }
        // The dot ends the mark, so that no mark is the beginning of another.
        env.push(format!("{MARK}={mark}."));
        let name = format!("{} {mark}", scripts::NAME);
        let options = CreateExecOptions {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(launch.terminal.is_some()),
            env: Some(env),
            cmd: Some(argv(launch.script, &name, launch.arguments)),
            ..CreateExecOptions::default()
        };
        // Made, it does not run yet: whatever fails here, nothing ran.
        let exec = self
            .engine
            .ask(docker.create_exec(&live.id, options))
            .await
            .map_err(Unstarted::certainly)?
            .id;
        let leash = Leash::new(self, &live.id, &exec, &mark);
        let started = match launch.terminal {
            None => self.attach(&docker, &exec).await,
            Some(window) => self.attach_terminal(&docker, &exec, window).await,
        };
        match started {
            Ok((output, input)) => Ok(Process {
                inner: Arc::clone(self),
                container: live.id.clone(),
                exec,
                output,
                input: Some(input),
                silence: STILL_THERE,
                leash,
                usage,
            }),
            Err(Failure::Gone) => {
                leash.release();
                Err(Unstarted::certainly(Failure::Gone))
            }
            // It may have been started before the answer was lost: the leash sees to that.
            Err(failure) => Err(Unstarted {
                failure,
                certain: false,
            }),
        }
    }

    async fn attach(&self, docker: &Docker, exec: &str) -> Result<(Pieces, Input), Failure> {
        let started = self
            .engine
            .ask(docker.start_exec(exec, None::<StartExecOptions>))
            .await?;
        match started {
            StartExecResults::Attached { output, input } => Ok((output, input)),
            StartExecResults::Detached => Err(Failure::Other(SandboxError::Failed(
                "the Docker engine gave a command without its streams".to_owned(),
            ))),
        }
    }

    async fn attach_terminal(
        &self,
        docker: &Docker,
        exec: &str,
        window: Window,
    ) -> Result<(Pieces, Input), Failure> {
        let streams = self.engine.start_in_terminal(docker, exec).await?;
        self.resize(exec, window).await;
        Ok(streams)
    }

    /// Tells a terminal its size. One that has ended has none.
    async fn resize(&self, exec: &str, window: Window) {
        let Ok(docker) = self.engine.docker().await else {
            return;
        };
        let options = ResizeExecOptions {
            height: window.rows,
            width: window.columns,
        };
        if let Err(failure) = self.engine.ask(docker.resize_exec(exec, options)).await {
            tracing::debug!(exec, "a terminal kept its size: {failure:?}");
        }
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
        self.quick_up_to(container, script, argument, within, QUICK_ANSWER)
            .await
    }

    /// The same, of an answer of at most so many bytes.
    pub(crate) async fn quick_up_to(
        &self,
        container: &str,
        script: &str,
        argument: &str,
        within: Duration,
        most: usize,
    ) -> Result<Vec<u8>, Failure> {
        let docker = self.engine.docker().await?;
        let options = CreateExecOptions {
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            env: Some(vec!["LC_ALL=C".to_owned()]),
            cmd: Some(argv(script, scripts::NAME, vec![argument.to_owned()])),
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
                    let room = most.saturating_sub(said.len());
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

    /// Podman closes the stream of a process that ended without reading its input as if it had broken. On a socket of this machine
    /// nothing else looks like that while the engine still answers.
    async fn ended_unread(&self, exec: &str, error: &Error) -> bool {
        let Error::IOError { err } = error else {
            return false;
        };
        if err.kind() != io::ErrorKind::ConnectionReset || !self.engine.is_here() {
            return false;
        }
        let began = Instant::now();
        while began.elapsed() < END_KNOWN {
            match self.exec_state(exec).await {
                Ok((false, Some(_))) => return true,
                Ok(_) => sleep(Duration::from_millis(20)).await,
                Err(_) => return false,
            }
        }
        false
    }

    /// Does it run, and with what did it end?
    pub(crate) async fn exec_state(&self, exec: &str) -> Result<(bool, Option<i64>), Failure> {
        let docker = self.engine.docker().await?;
        let state = self.engine.ask(docker.inspect_exec(exec)).await?;
        Ok((state.running == Some(true), state.exit_code))
    }
}

/// What Podman complains of among what a process said, if the process ended without reading its input. What a command says
/// never comes on this stream: its own two are one.
fn podmans_own(message: &[u8]) -> Option<Complaint> {
    let has = |words: &[u8]| message.windows(words.len()).any(|piece| piece == words);
    if !has(b"unixpacket") || !has(b"/attach") {
        return None;
    }
    if message.starts_with(b"Error: write ") {
        return Some(Complaint::InputUnread);
    }
    message
        .starts_with(b"Error: read ")
        .then_some(Complaint::OutputLost)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Complaint {
    /// The rest of the input went nowhere.
    InputUnread,
    /// And with it what the process said last.
    OutputLost,
}

/// Said of a command that ended beside its input, with an engine that then forgets what it said.
const LOST: &str = "the command ended without reading all of its input, and the container engine lost what it said last; what it did is done";

/// `sh` with a script of ours; `name` is its `$0`.
pub(crate) fn argv(script: &str, name: &str, arguments: Vec<String>) -> Vec<String> {
    ["/bin/sh", "-c", script, name]
        .iter()
        .map(|word| (*word).to_owned())
        .chain(arguments)
        .collect()
}

impl Process {
    /// The stream to it; it can be taken once.
    pub(crate) fn take_input(&mut self) -> Option<Input> {
        self.input.take()
    }

    /// The next piece of its output; `None` when it has ended. May be dropped and called again: once a piece is taken, nothing
    /// is waited for.
    pub(crate) async fn next(&mut self) -> Result<Option<(Source, Bytes)>, SandboxError> {
        loop {
            self.inner.renew(&self.container).await;
            let piece = timeout(self.silence, self.output.next()).await;
            self.silence = match piece {
                Ok(_) => STILL_THERE,
                Err(_) => LONGEST_SILENCE.min(self.silence * 2),
            };
            match piece {
                Ok(Some(Ok(LogOutput::StdErr { message }))) if podmans_own(&message).is_some() => {
                    if podmans_own(&message) == Some(Complaint::OutputLost) {
                        return Err(SandboxError::Failed(LOST.to_owned()));
                    }
                }
                Ok(Some(Ok(LogOutput::StdErr { message }))) => {
                    return Ok(Some((Source::Err, message)));
                }
                Ok(Some(Ok(
                    LogOutput::StdOut { message }
                    | LogOutput::StdIn { message }
                    | LogOutput::Console { message },
                ))) => return Ok(Some((Source::Out, message))),
                Ok(Some(Err(error))) => {
                    return Err(match self.inner.ended_unread(&self.exec, &error).await {
                        true => SandboxError::Failed(LOST.to_owned()),
                        false => self.inner.engine.explain(&error),
                    });
                }
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
            SandboxError::Failed("the connection to the command broke before it ended, so it was killed; what it did until then is done".to_owned())
        })??;
        self.leash.release();
        Ok(code)
    }

    /// Tells its terminal a new size.
    pub(crate) async fn resize(&mut self, window: Window) {
        self.inner.resize(&self.exec, window).await;
    }

    /// Kills it with all that it started, and waits for it.
    pub(crate) async fn kill(self) {
        self.leash.pull().await;
        drop(self.usage);
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

#[cfg(test)]
mod tests {
    use super::{Complaint, podmans_own};

    #[test]
    fn only_the_engines_own_complaint_is_left_out_of_what_a_command_said() {
        let complaint = |what: &str| {
            format!(
                "Error: {what} unixpacket @->/proc/self/fd/16/attach: {what}: connection reset by peer\n"
            )
        };
        for (said, meant) in [
            (complaint("write"), Some(Complaint::InputUnread)),
            (complaint("read"), Some(Complaint::OutputLost)),
            ("Error: write failed\n".to_owned(), None),
            ("sh: 1: cd: no such folder\n".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(podmans_own(said.as_bytes()), meant, "{said}");
        }
    }
}
