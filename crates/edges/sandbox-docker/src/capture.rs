//! Files on their way out: opened once, judged, copied.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobError, BlobStore, BlobWriter, Refusal, SandboxError, SandboxPath, SandboxSpec,
    Taken, forbidden_place,
};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;
use waybill::TurnScope;

use crate::driver::Inner;
use crate::header::{Found, Opened};
use crate::process::{Input, Launch, Process, Source};
use crate::scripts;

/// How long the file may take to be found and opened.
const OPENING: Duration = Duration::from_secs(10);

/// How long the whole copy may take.
const COPYING: Duration = Duration::from_secs(300);

/// Most bytes of the words before the file's own.
const WORDS: usize = 16 << 10;

/// Most bytes of the names beside a missing file.
const NAMES: usize = 128 << 10;

impl Inner {
    pub(crate) async fn capture(
        self: &Arc<Self>,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        let places = spec.secret_places();
        let secrets: Vec<&SandboxPath> = places.iter().collect();
        let forbidden = |canonical: &str| {
            forbidden_place(canonical, &secrets).map(|place| Refusal::Forbidden {
                path: path.clone(),
                place,
            })
        };
        // By name first: whether such a file is there at all is nobody's business.
        if let Some(refusal) = forbidden(path.as_str()) {
            return Err(refusal);
        }
        let folder = path.parent();
        let limit_text = limit.to_string();
        let launch = Launch::own(
            scripts::CAPTURE,
            &[path.as_str(), folder.as_str(), &limit_text],
        );
        let (_live, process) = self
            .launch(scope.sandbox(), spec, launch)
            .await
            .map_err(unreached)?;
        let mut copy = Copy::new(process, path);
        let found = timeout(OPENING, copy.header())
            .await
            .map_err(|_elapsed| timed_out(path))??;
        let opened = match found {
            Found::Missing => {
                let names = timeout(OPENING, copy.names())
                    .await
                    .map_err(|_elapsed| timed_out(path))??;
                copy.process.let_go();
                return Err(Refusal::Missing {
                    path: path.clone(),
                    near: sandbox_folders::near(path.file_name(), names),
                });
            }
            Found::Other(kind) => {
                copy.process.let_go();
                return Err(Refusal::NotAFile {
                    path: path.clone(),
                    kind,
                });
            }
            Found::Closed => {
                copy.process.let_go();
                return Err(Refusal::Unreadable { path: path.clone() });
            }
            Found::Opened(opened, place) => {
                let refusal = forbidden(&place).or_else(|| refused(&opened, path, limit));
                if let Some(refusal) = refusal {
                    copy.process.let_go();
                    return Err(refusal);
                }
                opened
            }
        };
        let mut writer = blobs
            .create(scope.profile())
            .await
            .map_err(|error| unstored(&error))?;
        timeout(COPYING, copy.bytes(&opened, writer.as_mut()))
            .await
            .map_err(|_elapsed| timed_out(path))??;
        let name = sandbox_folders::shown(path.file_name());
        let blob = writer
            .finish(&name)
            .await
            .map_err(|error| unstored(&error))?;
        Ok(ArtifactRef {
            profile: scope.profile().clone(),
            blob,
            name,
            taken: Taken::Captured {
                sandbox: scope.sandbox().clone(),
                path: path.clone(),
                turn: scope.turn(),
            },
        })
    }
}

/// What the opened file itself says against it.
fn refused(opened: &Opened, path: &SandboxPath, limit: u64) -> Option<Refusal> {
    let path = path.clone();
    if !opened.regular {
        // It was a regular file when it was looked at, and another thing when it was opened.
        return Some(Refusal::Unstable { path });
    }
    if opened.links > 1 {
        return Some(Refusal::HardLink { path });
    }
    (opened.size > limit).then_some(Refusal::TooLarge { path, limit })
}

fn unreached(error: SandboxError) -> Refusal {
    Refusal::Sandbox {
        reason: error.to_string(),
    }
}

fn unstored(error: &BlobError) -> Refusal {
    Refusal::Store {
        reason: error.to_string(),
    }
}

fn timed_out(path: &SandboxPath) -> Refusal {
    Refusal::TimedOut { path: path.clone() }
}

/// One copy under way.
struct Copy<'a> {
    process: Process,
    input: Option<Input>,
    path: &'a SandboxPath,
    /// Pieces that came behind the header.
    ahead: VecDeque<Bytes>,
    complaint: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn new(mut process: Process, path: &'a SandboxPath) -> Self {
        let input = process.take_input();
        Self {
            process,
            input,
            path,
            ahead: VecDeque::new(),
            complaint: Vec::new(),
        }
    }

    fn unstable(&self) -> Refusal {
        Refusal::Unstable {
            path: self.path.clone(),
        }
    }

    /// The next piece of standard output; standard error is set aside.
    async fn piece(&mut self) -> Result<Option<Bytes>, Refusal> {
        if let Some(bytes) = self.ahead.pop_front() {
            return Ok(Some(bytes));
        }
        loop {
            match self.process.next().await.map_err(unreached)? {
                Some((Source::Out, bytes)) => return Ok(Some(bytes)),
                Some((Source::Err, bytes)) => {
                    let room = WORDS.saturating_sub(self.complaint.len());
                    self.complaint.extend(bytes.iter().take(room));
                }
                None => return Ok(None),
            }
        }
    }

    /// Up to the first NUL, or to the end.
    async fn header(&mut self) -> Result<Found, Refusal> {
        let mut words = Vec::new();
        while let Some(mut bytes) = self.piece().await? {
            if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
                words.extend_from_slice(&bytes.split_to(end));
                let behind = bytes.split_off(1.min(bytes.len()));
                if !behind.is_empty() {
                    self.ahead.push_back(behind);
                }
                break;
            }
            words.extend_from_slice(&bytes);
            if words.len() > WORDS {
                break;
            }
        }
        // A shell that could not open the file after all says nothing.
        match Found::parse(&words) {
            Some(found) => Ok(found),
            None if words.is_empty() || words.starts_with(b"ok ") => Err(self.unstable()),
            None => Err(Refusal::Sandbox {
                reason: String::from_utf8_lossy(&words).trim().to_owned(),
            }),
        }
    }

    /// The names that follow "missing".
    async fn names(&mut self) -> Result<Vec<String>, Refusal> {
        let mut all = Vec::new();
        while let Some(bytes) = self.piece().await? {
            let room = NAMES.saturating_sub(all.len());
            all.extend(bytes.iter().take(room));
        }
        Ok(all
            .split(|byte| *byte == 0)
            .filter_map(|name| String::from_utf8(name.to_vec()).ok())
            .filter(|name| !name.is_empty() && !name.chars().any(char::is_control))
            .collect())
    }

    /// Says the word that allows the bytes, and copies exactly as many as there were.
    async fn bytes(mut self, opened: &Opened, writer: &mut dyn BlobWriter) -> Result<(), Refusal> {
        if let Some(mut input) = self.input.take() {
            let told = async {
                input.write_all(b"go\n").await?;
                input.shutdown().await
            };
            told.await.map_err(|_broken_pipe| self.unstable())?;
        }
        let mut left = opened.size;
        while let Some(bytes) = self.piece().await? {
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| self.unstable())?;
            writer
                .write(&bytes)
                .await
                .map_err(|error| unstored(&error))?;
        }
        let complaint = String::from_utf8_lossy(&self.complaint).into_owned();
        let after = complaint
            .lines()
            .rev()
            .find_map(|line| Opened::parse(line.strip_prefix("after ")?));
        let unstable = self.unstable();
        let code = self.process.exit().await.map_err(unreached)?;
        let whole = left == 0 && code == 0 && after.is_some_and(|after| opened.unchanged(&after));
        if whole { Ok(()) } else { Err(unstable) }
    }
}
