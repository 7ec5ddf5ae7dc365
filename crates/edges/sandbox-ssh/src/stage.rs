//! A person's attachment, on its way into the inbox.

use std::time::Duration;

use sandbox::{BlobReader, SandboxError, SandboxKey, SandboxPath, SandboxSpec, Staged};
use tokio::time::timeout;

use crate::files::hear;
use crate::process::Source;
use crate::{SshSandbox, scripts};

/// How long the other machine may take for one piece, and to say that all came.
const STANDSTILL: Duration = Duration::from_secs(60);

/// Names that are tried in one go, and how many of one name an inbox keeps apart.
const AT_ONCE: u32 = 40;
const MOST_OF_ONE_NAME: u32 = 10_000;

/// Bytes of a script's answer.
const WORDS: usize = 8 << 10;

fn failed(why: &str) -> SandboxError {
    SandboxError::Failed(format!(
        "the attachment could not be laid into the sandbox: {why}"
    ))
}

impl SshSandbox {
    /// First the bytes come under a name that the sandbox does not see; when they are whole, they get their own. A broken
    /// connection looks like the end of the bytes to the other side, and so only this side says that they are whole.
    pub(crate) async fn lay(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        name: &str,
        bytes: Box<dyn BlobReader>,
    ) -> Result<Staged, SandboxError> {
        let mark = self.machine(spec)?.connection().await?.mark();
        let meanwhile = format!("{mark}{}", self.number());
        if let Err(error) = self.bring(key, spec, &meanwhile, bytes).await {
            // What stopped the copy is the thing to tell; a leftover is only untidy, and taken away later.
            if let Ok(process) = self.beside(key, spec, scripts::DROP, &[&meanwhile]).await {
                hear(process, &[], WORDS)
                    .await
                    .map(drop)
                    .unwrap_or_default();
            }
            return Err(error);
        }
        let mut first = 1;
        while first <= MOST_OF_ONE_NAME {
            let names: Vec<String> = (first..first + AT_ONCE)
                .map(|number| sandbox_folders::numbered(&sandbox_folders::shown(name), number))
                .collect();
            let mut arguments = vec![meanwhile.as_str()];
            arguments.extend(names.iter().map(String::as_str));
            let process = self.beside(key, spec, scripts::LAY, &arguments).await?;
            let answer = hear(process, &[], WORDS)
                .await?
                .ok_or_else(|| failed("it took too long"))?;
            let (head, _) = answer.split();
            if let Some(name) = head.strip_prefix("laid ") {
                let path = SandboxPath::parse(&format!("{}/{name}", SandboxPath::INBOX))?;
                return Ok(Staged { path });
            }
            if head != "taken" {
                return Err(failed(&answer.reason()));
            }
            first += AT_ONCE;
        }
        Err(failed("the inbox is full of files of that name"))
    }

    async fn bring(
        &self,
        key: &SandboxKey,
        spec: &SandboxSpec,
        meanwhile: &str,
        mut bytes: Box<dyn BlobReader>,
    ) -> Result<(), SandboxError> {
        let mut process = self.beside(key, spec, scripts::BRING, &[meanwhile]).await?;
        let input = process.input();
        let mut sent = 0;
        while let Some(piece) = bytes
            .next()
            .await
            .map_err(|source| failed(&source.to_string()))?
        {
            sent += piece.len() as u64;
            let said = tokio::select! {
                said = timeout(STANDSTILL, input.say(piece)) => Some(said),
                // It says nothing before the end, unless it has failed.
                _complaint = process.next() => None,
            };
            match said {
                Some(said) => {
                    said.map_err(|_elapsed| failed("the other machine takes no more bytes"))??
                }
                None => {
                    return Err(failed(
                        "the other machine could not keep it; look whether its disk is full",
                    ));
                }
            }
        }
        input.end().await;
        let said = async {
            let mut said = Vec::new();
            while let Some((source, bytes)) = process.next().await {
                if source == Source::Out && said.len() < WORDS {
                    said.extend_from_slice(&bytes);
                }
            }
            said
        };
        let said = timeout(STANDSTILL, said)
            .await
            .map_err(|_elapsed| failed("the other machine does not say that it came"))?;
        if String::from_utf8_lossy(&said).trim() == format!("came {sent}") {
            Ok(())
        } else {
            Err(failed("not all of it came"))
        }
    }
}
