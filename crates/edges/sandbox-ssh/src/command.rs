//! Commands: their environment, their output, their end.

use std::collections::BTreeMap;
use std::pin::pin;

use sandbox::{
    Exec, Exit, HeadAndTail, Network, Output, SandboxError, SandboxKey, SandboxPath, SandboxSpec,
};
use tokio::time::timeout;

use crate::failure::printable;
use crate::line::{is_variable, quote, with_arguments};
use crate::machine::Over;
use crate::process::{End, Process, Source, TERM};
use crate::view::View;
use crate::{SshSandbox, scripts};

/// Most bytes of what our own shells say beside a command.
const WORDS: usize = 4 << 10;

/// The shell that waits for the command, and process 1 before it.
const OURS: u32 = 3;

/// What runs, without how it is stayed with.
pub(crate) struct Command<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a SandboxPath,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) script: &'static str,
}

impl Command<'_> {
    /// What the shell in the sandbox is told. It comes on standard input, so that no secret stands on a command line.
    pub(crate) fn inside(
        &self,
        view: &View<'_>,
        spec: &SandboxSpec,
    ) -> Result<String, SandboxError> {
        if !view.walled() && spec.network == Network::None {
            return Err(SandboxError::Unavailable(
                "commands on that machine can't be kept from the network, because bubblewrap does not work there: install it, or say network = \"bridge\" for this profile if they may reach what that machine reaches; nothing was run".to_owned(),
            ));
        }
        let mut script = self.environment(view, spec)?;
        let memory = (spec.limits.memory >> 10).to_string();
        let processes = if view.walled() && view.facts().counts_apart() {
            spec.limits.pids.saturating_add(OURS).to_string()
        } else {
            String::new()
        };
        let walled = if view.walled() { "walled" } else { "" };
        let directory = view.path(self.directory);
        script.push_str(&with_arguments(
            self.script,
            &[&directory, self.command, &memory, &processes, walled],
        ));
        Ok(script)
    }

    fn environment(&self, view: &View<'_>, spec: &SandboxSpec) -> Result<String, SandboxError> {
        let home = view.home();
        let mut all = BTreeMap::from([("HOME", home.as_str()), ("LANG", "C.UTF-8")]);
        if self.script == scripts::TERMINAL {
            all.insert("TERM", TERM);
        }
        all.extend(
            spec.env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        all.extend(
            spec.secret_env
                .iter()
                .map(|(name, value)| (name.as_str(), value.reveal())),
        );
        all.extend(
            self.env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let mut script = String::new();
        for (name, value) in all {
            if !is_variable(name) {
                return Err(SandboxError::Failed(format!(
                    "'{name}' is no name for a variable of a shell: use letters, digits and '_'"
                )));
            }
            script.push_str(&format!("export {name}={}\n", quote(value)));
        }
        Ok(script)
    }
}

/// What our own shells said beside a command.
#[derive(Default)]
pub(crate) struct Beside(Vec<u8>);

impl Beside {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = WORDS.saturating_sub(self.0.len());
        self.0.extend(bytes.iter().take(room));
    }

    fn says(&self, word: &str) -> bool {
        String::from_utf8_lossy(&self.0)
            .lines()
            .any(|line| line == word)
    }

    /// How the command ended; an error if it never began.
    pub(crate) fn ended(&self, end: End) -> Result<(Exit, Option<String>), SandboxError> {
        if !self.says("begun") {
            let text = String::from_utf8_lossy(&self.0).into_owned();
            let reason = text
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or("it said nothing");
            return Err(SandboxError::Failed(format!(
                "the sandbox could not be entered on that machine: {}",
                printable(reason)
            )));
        }
        Ok(match end {
            End::Code(code) => {
                let left = "processes left in the background were ended with the command";
                (
                    Exit::Code(i64::from(code)),
                    self.says("left").then(|| left.to_owned()),
                )
            }
            End::Signal(code) => (
                Exit::Code(code),
                Some("it was ended from outside; its machine may be out of memory".to_owned()),
            ),
        })
    }
}

impl SshSandbox {
    pub(crate) async fn run(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        let command = Command {
            command: &exec.command,
            directory: &exec.directory,
            env: &exec.env,
            script: scripts::COMMAND,
        };
        let inside = |view: &View<'_>| command.inside(view, spec);
        let mut process = self.launch(key, spec, Over::Shared, None, &inside).await?;
        let mut cap = HeadAndTail::new(exec.output_bytes);
        let mut beside = Beside::default();
        let heard = timeout(
            exec.timeout,
            pump(&mut process, &exec.stdin, &mut cap, &mut beside),
        )
        .await;
        let (exit, note) = match heard {
            Ok(()) => beside.ended(process.end()?)?,
            Err(_elapsed) => {
                process.kill().await;
                (Exit::TimedOut, None)
            }
        };
        let (bytes, left_out) = cap.into_parts();
        Ok(Output {
            exit,
            bytes,
            left_out,
            note,
        })
    }
}

/// Feeds and listens at the same time: a process that must speak before it reads would wait for ever otherwise.
async fn pump(process: &mut Process, stdin: &[u8], cap: &mut HeadAndTail, beside: &mut Beside) {
    let input = process.input();
    let mut feeding = pin!(input.feed(stdin));
    let mut fed = false;
    loop {
        tokio::select! {
            piece = process.next() => match piece {
                Some((Source::Out, bytes)) => cap.push(&bytes),
                Some((Source::Err, bytes)) => beside.push(&bytes),
                None => return,
            },
            () = &mut feeding, if !fed => fed = true,
        }
    }
}
