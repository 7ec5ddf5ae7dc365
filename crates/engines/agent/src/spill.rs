//! A result that is too long for the model is kept whole in the sandbox; the model reads its ends and where it lies.

use std::collections::BTreeMap;
use std::time::Duration;

use model::ToolCall;
use sandbox::{Exec, SandboxPath, WriteMode};
use waybill::TurnScope;

use crate::tools::Done;
use crate::{Ports, Tenant};

/// Where long results lie.
const FOLDER: &str = "/workspace/tool-results";
/// Removes all but the newest of them.
const TIDY: &str = "cd /workspace/tool-results && ls -1t -- *.txt | tail -n +65 | while read -r old; do rm -f -- \"$old\"; done";
/// Seconds that this may take.
const TIDY_SECONDS: u64 = 20;
/// Characters of the preview.
const PREVIEW: usize = 3_000;
/// Tools that read on by themselves: nothing is won by a copy.
const READERS: [&str; 3] = ["read_file", "process", "web_fetch"];

/// The result as it goes on: itself if it fits, else a preview.
pub(crate) async fn kept(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    call: &ToolCall,
    done: Done,
    most: usize,
) -> Done {
    let count = done.text.chars().count();
    if count <= most || READERS.contains(&call.name.as_str()) {
        return done;
    }
    // Nobody else's: the conversations of a profile may share the folder.
    let name = format!("{FOLDER}/{}.txt", ports.ids.uuid().simple());
    let stored = match SandboxPath::parse(&name) {
        Ok(path) => tenant
            .sandbox
            .write(
                scope,
                &tenant.spec,
                &path,
                done.text.as_bytes(),
                WriteMode::Replace,
            )
            .await
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match stored {
        Ok(()) => {
            tidy(tenant, scope).await;
            let half = PREVIEW / 2;
            let head: String = done.text.chars().take(half).collect();
            let tail: String = done.text.chars().skip(count - half).collect();
            Done {
                text: format!(
                    "{head}\n[… this is {half} characters from each end of {count}; the whole result lies in {name}: read_file, or \
                     search_files with that path …]\n{tail}"
                ),
                ..done
            }
        }
        Err(error) => {
            // The ends alone are better than nothing.
            tracing::warn!(turn = %scope.turn(), %error, at = %ports.clock.now(), "a long result could not be kept");
            done
        }
    }
}

/// Long results don't fill the disk: the newest 64 stay.
async fn tidy(tenant: &Tenant, scope: &TurnScope) {
    let Ok(directory) = SandboxPath::parse(SandboxPath::WORKSPACE) else {
        return;
    };
    let exec = Exec {
        command: TIDY.to_owned(),
        directory,
        stdin: Vec::new(),
        env: BTreeMap::new(),
        timeout: Duration::from_secs(TIDY_SECONDS),
        output_bytes: 1 << 10,
    };
    if let Err(error) = tenant.sandbox.exec(scope, &tenant.spec, exec).await {
        tracing::debug!(turn = %scope.turn(), %error, "old results could not be tidied");
    }
}
