//! A command of the agent.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sandbox::{
    Exec, Exit, HeadAndTail, Output, SandboxError, SandboxKey, SandboxPath, SandboxSpec,
};
use tokio::time::timeout;

use crate::container::Live;
use crate::driver::Inner;
use crate::engine::Kind;
use crate::process::{Input, Launch, MARK, Process, feed};
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
        check(&exec.command)?;
        let plain = exec.stdin.is_empty()
            || matches!(self.engine.about().await, Ok(engine) if engine.kind == Kind::Docker);
        let script = if plain {
            scripts::COMMAND
        } else {
            scripts::COMMAND_FED
        };
        let launch = Launch {
            script,
            arguments: vec![exec.directory.as_str().to_owned(), exec.command],
            environment: environment(spec, &exec.env)?,
            terminal: None,
        };
        let (live, mut process) = self.launch(key, spec, launch).await?;
        let kills_before = live.kills.load(Ordering::SeqCst);
        let mut cap = HeadAndTail::new(exec.output_bytes);
        let input = process.take_input();
        let ran = timeout(
            exec.timeout,
            pump(&mut process, input, &exec.stdin, &mut cap),
        )
        .await;
        let exit = match ran {
            Ok(ended) => {
                ended?;
                self.exit(process, &live, kills_before).await?
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

    /// How a process ended whose output has ended.
    pub(crate) async fn exit(
        &self,
        process: Process,
        live: &Live,
        kills_before: u64,
    ) -> Result<Exit, SandboxError> {
        match process.exit().await? {
            KILLED if self.out_of_memory(live, kills_before).await? => Ok(Exit::OutOfMemory),
            code => Ok(Exit::Code(code)),
        }
    }
}

/// Can the command be run at all?
pub(crate) fn check(command: &str) -> Result<(), SandboxError> {
    if command.len() > LONGEST {
        return Err(SandboxError::Failed(
            "the command is longer than 128 KB; write it to a file first and run that".to_owned(),
        ));
    }
    if command.contains('\0') {
        return Err(SandboxError::Failed(
            "the command holds a NUL character".to_owned(),
        ));
    }
    Ok(())
}

/// Feeds and listens at the same time: a process that must speak before it reads would wait for ever otherwise.
async fn pump(
    process: &mut Process,
    input: Option<Input>,
    stdin: &[u8],
    cap: &mut HeadAndTail,
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

/// What a command finds in its environment, beside what the image sets: what the spec says, and over it what this call
/// says. It is given to each command and never to the container, so that inspecting the container shows no secret.
pub(crate) fn environment(
    spec: &SandboxSpec,
    call: &BTreeMap<String, String>,
) -> Result<Vec<String>, SandboxError> {
    let mut all = BTreeMap::from([("HOME", SandboxPath::HOME)]);
    all.extend(
        spec.env
            .iter()
            .chain(call)
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    // A secret is the owner's: a call does not take its place.
    all.extend(
        spec.secret_env
            .iter()
            .map(|(name, value)| (name.as_str(), value.reveal())),
    );
    // How the driver finds its own processes is nobody's to say.
    all.remove(MARK);
    for (name, value) in &all {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            // The value may be a secret.
            return Err(SandboxError::Failed(format!(
                "{name:?} is no variable that a command can be given: a name is not empty and has no '=', and neither name nor value has a NUL character"
            )));
        }
    }
    Ok(all
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sandbox::{Driver, Limits, Network, SandboxSpec};
    use waybill::Secret;

    use super::environment;

    fn pairs(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(pair).collect()
    }

    #[test]
    fn a_call_has_its_own_environment_over_the_specs_and_takes_no_secrets_place() {
        let secrets = BTreeMap::from([("TOKEN".to_owned(), Secret::new("hush".to_owned()))]);
        let spec = SandboxSpec {
            driver: Driver::Docker,
            image: String::new(),
            mounts: Vec::new(),
            env: pairs(&[("A", "spec"), ("B", "spec")]),
            secret_env: secrets,
            network: Network::None,
            allow: Vec::new(),
            remote: None,
            limits: Limits::default(),
        };
        let call = pairs(&[("B", "call"), ("TOKEN", "call"), ("TIDINGS_EXEC", "x.")]);
        assert_eq!(
            environment(&spec, &call).unwrap(),
            ["A=spec", "B=call", "HOME=/root", "TOKEN=hush"]
        );
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "hush\0hush")] {
            let error = environment(&spec, &pairs(&[(name, value)])).unwrap_err();
            assert!(!error.to_string().contains("hush"), "{error}");
        }
    }
}
