//! `terminal`.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use model::ToolCall;
use redact::Stream;
use sandbox::{Ended, Exit, HeadAndTail, Ran, Running, SandboxPath, Start, Window};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;
use waybill::Timestamp;

use super::progress::Progress;
use super::{Bench, read};
use crate::shell::{self, Begin, Cutter, Whereabouts};

/// Most bytes of `stdin`: what a pipe takes before anybody reads, so that nobody waits for each other.
const STDIN: usize = 48 << 10;
/// How often it is looked why a command has not begun yet.
const LOOK: Duration = Duration::from_secs(2);
/// Output that is kept of a command: what is too long for the model lies whole in the sandbox up to here.
const KEPT: usize = 1 << 20;
/// The terminal of interactive programs.
pub(super) const WINDOW: Window = Window {
    rows: 24,
    columns: 100,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    timeout_seconds: Option<u64>,
    stdin: Option<String>,
    #[serde(default)]
    background: Option<bool>,
    #[serde(default)]
    pty: Option<bool>,
}

impl Bench<'_> {
    pub(super) async fn terminal(
        &self,
        call: &ToolCall,
        arguments: &Map<String, Value>,
    ) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        if arguments
            .stdin
            .as_ref()
            .is_some_and(|text| text.len() > STDIN)
        {
            return Err(format!(
                "`stdin` takes {} KB: write more to a file and use `<`",
                STDIN >> 10
            ));
        }
        if arguments.background == Some(true) {
            self.in_background(arguments).await
        } else {
            self.in_foreground(call, arguments).await
        }
    }

    async fn in_background(&self, arguments: Arguments) -> Result<String, String> {
        let processes = &self.seat.processes();
        processes
            .has_room(self.scope.sandbox())
            .map_err(|error| error.to_string())?;
        let start = self.start(arguments.pty == Some(true), |begin| {
            shell::begun(&arguments.command, begin)
        })?;
        let mut running = self.begin(start).await?;
        if let Some(text) = &arguments.stdin {
            running
                .write(text.as_bytes())
                .await
                .map_err(|error| error.to_string())?;
        }
        let kept = processes
            .keep(self.ports, self.scope, &arguments.command, running)
            .await
            .map_err(|error| error.to_string())?;
        let id = kept.id();
        let goes_on = format!("[goes on in the background as {id}]");
        self.log(&arguments.command, self.ports.clock.now(), goes_on, false);
        Ok(format!(
            "[{id} runs in the background; `process` shows its log, waits for it, writes to it and kills it. The person is told \
             when it ends.]"
        ))
    }

    async fn in_foreground(&self, call: &ToolCall, arguments: Arguments) -> Result<String, String> {
        let limits = &self.tenant.spec.limits;
        let seconds = arguments
            .timeout_seconds
            .unwrap_or(limits.command_seconds)
            .clamp(1, limits.command_seconds);
        let began = self.ports.clock.now();
        let mark = self.ports.ids.uuid().simple().to_string();
        let start = self.start(arguments.pty == Some(true), |begin| {
            shell::told(&arguments.command, &mark, begin)
        })?;
        let mut progress = Progress::of(self, call);
        let mut running = self.begin_and_tell(start, &mut progress).await?;
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let mut heard = Heard {
            cutter: Cutter::new(&mark),
            clean: Stream::new(std::sync::Arc::clone(&self.ports.redactor)),
            kept: HeadAndTail::new(limits.output_bytes.max(KEPT)),
            progress,
        };
        let whole = heard.listen(running.as_mut(), arguments.stdin.as_deref());
        let ended = match tokio::time::timeout_at(deadline, whole).await {
            Ok(Ok(())) => running.ended().await.map_err(|error| error.to_string())?,
            Ok(Err(error)) => {
                running.kill().await;
                return Err(error);
            }
            Err(_late) => {
                running.kill().await;
                Ended {
                    exit: Exit::TimedOut,
                    note: None,
                }
            }
        };
        let (bytes, left_out, said) = heard.finish();
        self.seat.directories().note(self.scope, &said);
        if said == Whereabouts::Gone {
            return Err(format!(
                "{}[nothing was run; the next command starts in {} again]",
                String::from_utf8_lossy(&bytes),
                SandboxPath::WORKSPACE
            ));
        }
        let text = told(&bytes, left_out, &ended, seconds);
        let failed = ended.exit != Exit::Code(0);
        self.log(&arguments.command, began, text.clone(), failed);
        if !failed { Ok(text) } else { Err(text) }
    }

    /// For the owner's look over the shoulder.
    fn log(&self, command: &str, began: Timestamp, output: String, failed: bool) {
        let took = self.ports.clock.now().duration_since(began);
        let ran = Ran {
            at: began,
            took: took.try_into().unwrap_or_default(),
            command: self.ports.redactor.redact(command).into_owned(),
            output,
            failed,
        };
        self.seat.commands().keep(self.scope.sandbox(), ran);
    }

    /// A command in the conversation's own folder.
    fn start(
        &self,
        terminal: bool,
        command: impl FnOnce(Begin) -> String,
    ) -> Result<Start, String> {
        // As its shell called it. The workspace may have another name there, and only the sandbox knows that.
        let directory = self.seat.directories().of(self.scope);
        let begin = match directory {
            Some(_) => Begin::Directory,
            None => Begin::There,
        };
        let env = directory.map(|path| (shell::DIRECTORY.to_owned(), path.as_str().to_owned()));
        Ok(Start {
            command: command(begin),
            // That one is always there; the shell goes on from it, and says so if it can't.
            directory: super::path(SandboxPath::WORKSPACE)?,
            env: BTreeMap::from_iter(env),
            terminal: terminal.then_some(WINDOW),
        })
    }

    /// The same; the person reads why it takes long.
    async fn begin_and_tell(
        &self,
        start: Start,
        progress: &mut Progress<'_>,
    ) -> Result<Box<dyn Running>, String> {
        let mut beginning = pin!(self.begin(start));
        loop {
            match tokio::time::timeout(LOOK, &mut beginning).await {
                Ok(begun) => return begun,
                Err(_not_yet) => {
                    if let Some(reason) = self.tenant.sandbox.under_way(&self.tenant.spec) {
                        progress.tell(&reason);
                    }
                }
            }
        }
    }

    async fn begin(&self, start: Start) -> Result<Box<dyn Running>, String> {
        self.tenant
            .sandbox
            .start(self.scope, &self.tenant.spec, start)
            .await
            .map_err(|error| error.to_string())
    }
}

/// What is heard of a command while it runs.
struct Heard<'a> {
    cutter: Cutter,
    clean: Stream,
    kept: HeadAndTail,
    progress: Progress<'a>,
}

impl Heard<'_> {
    /// Listens to the end.
    async fn listen(
        &mut self,
        running: &mut dyn Running,
        stdin: Option<&str>,
    ) -> Result<(), String> {
        if let Some(text) = stdin.filter(|text| !text.is_empty())
            && let Err(error) = running.write(text.as_bytes()).await
        {
            // Commands need not read what they are given.
            tracing::debug!(%error, "a command took no input");
        }
        running.end_input().await;
        loop {
            tokio::select! {
                said = running.output() => match said.map_err(|error| error.to_string())? {
                    Some(bytes) => self.hear(&bytes),
                    None => return Ok(()),
                },
                () = self.progress.due() => self.progress.show(),
            }
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let own = self.cutter.feed(bytes);
        let clean = self.clean.feed(&own);
        self.progress.hear(&clean);
        self.kept.push(&clean);
    }

    fn finish(self) -> (Vec<u8>, u64, Whereabouts) {
        let Self {
            cutter,
            mut clean,
            mut kept,
            progress: _,
        } = self;
        let (rest, said) = cutter.finish();
        kept.push(&clean.feed(&rest));
        kept.push(&clean.finish());
        let (bytes, left_out) = kept.into_parts();
        (bytes, left_out, said)
    }
}

/// Output, then how it ended, then what the agent should know.
fn told(bytes: &[u8], left_out: u64, ended: &Ended, seconds: u64) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    let mut line = |words: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&words);
    };
    match ended.exit {
        Exit::Code(0) if bytes.is_empty() => line("[done, no output]".to_owned()),
        Exit::Code(0) => {}
        Exit::Code(code) => line(format!("[exit code {code}]")),
        Exit::TimedOut => {
            line(format!(
                "[time-out: the command and everything it started were killed after {seconds} s]"
            ));
        }
        Exit::OutOfMemory => line("[killed: the sandbox ran out of memory]".to_owned()),
    }
    if left_out > 0 {
        line(format!(
            "[{left_out} bytes in the middle of the output were left out]"
        ));
    }
    if let Some(note) = &ended.note {
        line(format!("[{note}]"));
    }
    text
}
