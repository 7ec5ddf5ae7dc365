//! `terminal`.

use std::time::Duration;

use sandbox::{Exec, Exit, Output, SandboxPath};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: String,
    timeout_seconds: Option<u64>,
}

impl Bench<'_> {
    pub(super) async fn terminal(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let arguments: Arguments = read(arguments)?;
        let limits = &self.tenant.spec.limits;
        let seconds = arguments
            .timeout_seconds
            .unwrap_or(limits.command_seconds)
            .clamp(1, limits.command_seconds);
        let exec = Exec {
            command: arguments.command,
            directory: SandboxPath::parse(SandboxPath::WORKSPACE)
                .map_err(|error| error.to_string())?,
            stdin: Vec::new(),
            timeout: Duration::from_secs(seconds),
            output_bytes: limits.output_bytes,
        };
        let output = self
            .tenant
            .sandbox
            .exec(self.scope, &self.tenant.spec, exec)
            .await;
        let output = output.map_err(|error| error.to_string())?;
        let text = told(&output, seconds);
        if output.exit == Exit::Code(0) {
            Ok(text)
        } else {
            Err(text)
        }
    }
}

/// Output, then how it ended, then what the agent should know.
fn told(output: &Output, seconds: u64) -> String {
    let mut text = String::from_utf8_lossy(&output.bytes).into_owned();
    let mut line = |words: String| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&words);
    };
    match output.exit {
        Exit::Code(0) if output.bytes.is_empty() => line("[done, no output]".to_owned()),
        Exit::Code(0) => {}
        Exit::Code(code) => line(format!("[exit code {code}]")),
        Exit::TimedOut => {
            line(format!(
                "[time-out: the command and everything it started were killed after {seconds} s]"
            ));
        }
        Exit::OutOfMemory => line("[killed: the sandbox ran out of memory]".to_owned()),
    }
    if output.left_out > 0 {
        line(format!(
            "[{} bytes in the middle of the output were left out]",
            output.left_out
        ));
    }
    if let Some(note) = &output.note {
        line(format!("[{note}]"));
    }
    text
}
