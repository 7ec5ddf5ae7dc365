//! Files on their way out: opened once, judged, copied piece by piece.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use sandbox::{
    ArtifactRef, BlobError, BlobStore, BlobWriter, Refusal, SandboxError, SandboxPath, SandboxSpec,
    Taken, forbidden_place,
};
use tokio::time::timeout;
use waybill::TurnScope;

use crate::failure::printable;
use crate::header::{Found, Opened};
use crate::line::with_arguments;
use crate::machine::Over;
use crate::process::{End, Process, Source};
use crate::view::View;
use crate::{SshSandbox, scripts};

/// How long the file may take to be found and opened.
const OPENING: Duration = Duration::from_secs(15);

/// How long the copy may stand still. A slow line may take its time.
const STANDSTILL: Duration = Duration::from_secs(60);

/// Most bytes of the words before the file's own.
const WORDS: usize = 16 << 10;

/// Most bytes of the names beside a missing file.
const NAMES: usize = 128 << 10;

impl SshSandbox {
    pub(crate) async fn take(
        &self,
        scope: &TurnScope,
        spec: &SandboxSpec,
        path: &SandboxPath,
        limit: u64,
        blobs: &dyn BlobStore,
    ) -> Result<ArtifactRef, Refusal> {
        // By name first: whether such a file is there at all is nobody's business.
        if let Some(refusal) = forbidden(path.as_str(), path) {
            return Err(refusal);
        }
        let folder = path.parent();
        let inside = |view: &View<'_>| {
            let script = with_arguments(scripts::CAPTURE, &[&view.path(path), &view.path(&folder)]);
            Ok(format!("export LC_ALL=C\n{script}"))
        };
        let key = scope.sandbox();
        let process = self
            .launch(key, spec, Over::Shared, None, &inside)
            .await
            .map_err(|error| unreached(&error))?;
        let mut copy = Copy::new(process, path);
        let found = timeout(OPENING, copy.header())
            .await
            .map_err(|_elapsed| timed_out(path))??;
        let opened = match found {
            Found::Missing => {
                let names = timeout(OPENING, copy.names())
                    .await
                    .map_err(|_elapsed| timed_out(path))?;
                let near = sandbox_folders::near(path.file_name(), names);
                return Err(Refusal::Missing {
                    path: path.clone(),
                    near,
                });
            }
            Found::Other(kind) => {
                return Err(Refusal::NotAFile {
                    path: path.clone(),
                    kind,
                });
            }
            Found::Closed => return Err(Refusal::Unreadable { path: path.clone() }),
            Found::Opened(opened, place) => {
                let seen = View::new(copy.process.facts(), key).seen(&place);
                let refusal = match seen {
                    Ok(seen) => forbidden(&seen, path),
                    Err(place) => Some(Refusal::Forbidden {
                        path: path.clone(),
                        place,
                    }),
                };
                if let Some(refusal) = refusal.or_else(|| refused(&opened, path, limit)) {
                    return Err(refusal);
                }
                opened
            }
        };
        let mut writer = blobs
            .create(scope.profile())
            .await
            .map_err(|error| unstored(&error))?;
        copy.bytes(&opened, writer.as_mut()).await?;
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
                sandbox: key.clone(),
                path: path.clone(),
                turn: scope.turn(),
            },
        })
    }
}

/// Mounts are refused before, so there are no secret ones.
fn forbidden(canonical: &str, path: &SandboxPath) -> Option<Refusal> {
    forbidden_place(canonical, &[]).map(|place| Refusal::Forbidden {
        path: path.clone(),
        place,
    })
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

fn unreached(error: &SandboxError) -> Refusal {
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

/// One copy under way. Dropped, its shell is ended.
struct Copy<'a> {
    process: Process,
    path: &'a SandboxPath,
    /// Pieces that came behind the header.
    ahead: VecDeque<Bytes>,
    complaint: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn new(process: Process, path: &'a SandboxPath) -> Self {
        Self {
            process,
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
    async fn piece(&mut self) -> Option<Bytes> {
        if let Some(bytes) = self.ahead.pop_front() {
            return Some(bytes);
        }
        loop {
            match self.process.next().await? {
                (Source::Out, bytes) => return Some(bytes),
                (Source::Err, bytes) => {
                    let room = WORDS.saturating_sub(self.complaint.len());
                    self.complaint.extend(bytes.iter().take(room));
                }
            }
        }
    }

    /// Up to the first NUL, or to the end.
    async fn header(&mut self) -> Result<Found, Refusal> {
        let mut words = Vec::new();
        while let Some(mut bytes) = self.piece().await {
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
        if let Some(found) = Found::parse(&words) {
            return Ok(found);
        }
        // A shell that could not open the file after all says nothing; one that never stood in the sandbox complains.
        self.process.end().map_err(|lost| unreached(&lost.into()))?;
        if words.is_empty() && self.complaint.starts_with(b"bwrap: ") {
            return Err(Refusal::Sandbox {
                reason: printable(&String::from_utf8_lossy(&self.complaint)),
            });
        }
        Err(self.unstable())
    }

    /// The names that follow "missing".
    async fn names(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(bytes) = self.piece().await {
            let room = NAMES.saturating_sub(all.len());
            all.extend(bytes.iter().take(room));
        }
        all.split(|byte| *byte == 0)
            .filter_map(|name| String::from_utf8(name.to_vec()).ok())
            .filter(|name| !name.is_empty() && !name.chars().any(char::is_control))
            .collect()
    }

    /// Says the word that allows the bytes, and copies exactly as many as there were.
    async fn bytes(mut self, opened: &Opened, writer: &mut dyn BlobWriter) -> Result<(), Refusal> {
        self.process.input().feed(b"go\n").await;
        let mut left = opened.size;
        loop {
            let piece = timeout(STANDSTILL, self.piece()).await;
            let Some(bytes) = piece.map_err(|_elapsed| timed_out(self.path))? else {
                break;
            };
            left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| self.unstable())?;
            writer
                .write(&bytes)
                .await
                .map_err(|error| unstored(&error))?;
        }
        let end = self.process.end().map_err(|lost| unreached(&lost.into()))?;
        let complaint = String::from_utf8_lossy(&self.complaint);
        let after = complaint
            .lines()
            .rev()
            .find_map(|line| Opened::parse(line.strip_prefix("after ")?));
        let whole = left == 0
            && end == End::Code(0)
            && after.is_some_and(|after| opened.is_unchanged(&after));
        if whole { Ok(()) } else { Err(self.unstable()) }
    }
}
