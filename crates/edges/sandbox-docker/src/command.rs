//! A command of the agent.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sandbox::{Exec, Exit, Output, SandboxError, SandboxKey, SandboxPath, SandboxSpec};
use tokio::time::timeout;

use crate::cap::Cap;
use crate::driver::Inner;
use crate::process::{Input, Process, feed, script_argv};
use crate::scripts;

/// Linux takes one argument of at most 128 KiB (`MAX_ARG_STRLEN`), its end mark included.
const LONGEST: usize = (128 << 10) - 1;

/// What a shell reports of a child that died of SIGKILL.
const KILLED: i64 = 137;

impl Inner {
    pub(crate) async fn command(
        self: &Arc<Self>,
        key: &SandboxKey,
        spec: &SandboxSpec,
        exec: Exec,
    ) -> Result<Output, SandboxError> {
        if exec.command.len() > LONGEST {
            return Err(SandboxError::Failed(
                "the command is longer than 128 KB; write it to a file first and run that"
                    .to_owned(),
            ));
        }
        if exec.command.contains('\0') {
            return Err(SandboxError::Failed(
                "the command holds a NUL character".to_owned(),
            ));
        }
        let argv = script_argv(scripts::COMMAND, &[exec.directory.as_str(), &exec.command]);
        let (live, mut process) = self.launch(key, spec, argv, environment(spec)).await?;
        let kills_before = live.kills.load(Ordering::SeqCst);
        let mut cap = Cap::new(exec.output_bytes);
        let input = process.take_input();
        let ran = timeout(
            exec.timeout,
            pump(&mut process, input, &exec.stdin, &mut cap),
        )
        .await;
        let exit = match ran {
            Ok(ended) => {
                ended?;
                match process.exit().await? {
                    KILLED if self.out_of_memory(&live, kills_before).await => Exit::OutOfMemory,
                    code => Exit::Code(code),
                }
            }
            Err(_elapsed) => {
                process.kill().await;
                Exit::TimedOut
            }
        };
        let (bytes, left_out) = cap.into_parts();
        Ok(Output {
            exit,
            bytes,
            left_out,
            note: self.take_note(key).await,
        })
    }
}

/// Feeds and listens at the same time: a process that must speak before it reads would wait for ever otherwise.
async fn pump(
    process: &mut Process,
    input: Option<Input>,
    stdin: &[u8],
    cap: &mut Cap,
) -> Result<(), SandboxError> {
    let mut feeding = pin!(feed(input, stdin));
    let mut fed = false;
    loop {
        tokio::select! {
            piece = process.next() => match piece? {
                Some((_source, bytes)) => cap.push(&bytes),
                None => return Ok(()),
            },
            () = &mut feeding, if !fed => fed = true,
        }
    }
}

/// What a command finds in its environment, beside what the image sets. It is given to each command and never to the
/// container, so that inspecting the container shows no secret.
fn environment(spec: &SandboxSpec) -> Vec<String> {
    let mut all = BTreeMap::from([("HOME", SandboxPath::HOME)]);
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
    all.iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect()
}
