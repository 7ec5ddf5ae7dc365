//! A folder of the sandbox as one zip: packed there as a tar, turned into a zip on the way, never whole in memory.
//!
//! The folder is opened first and named afterwards, by the sandbox's own kernel, so that a name that is swapped meanwhile leads
//! nowhere. What is neither file nor folder is left out and counted, and so is a file with other names: it may not be what it
//! seems. A place from which nothing is ever sent makes the whole folder refused.

mod header;
mod names;
mod zipped;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use sandbox::{
    ArtifactRef, Exit, Refusal, Running, SandboxError, SandboxPath, Start, Taken, forbidden_place,
    size_text,
};
use tokio::sync::mpsc;
use waybill::TurnScope;

use crate::{Ports, Tenant};
use header::Header;
use zipped::{Bounds, Tally, zip};

/// Files and folders in one zip.
const MOST_ENTRIES: usize = 10_000;
/// How often the limit the unpacked files may have together: text shrinks to an eighth.
const UNPACKED: u64 = 8;
/// Longest packing.
const LONGEST: Duration = Duration::from_secs(180);
/// Pieces on their way between the sandbox, the packer and the store.
const PIECES: usize = 16;

/// Opens the folder, says where it is and which files have other names, and packs it. Exit code 3: it can't be opened; 4:
/// there is no `tar`.
const PACK: &str = r#"
exec 2>/dev/null
cd "$TIDINGS_FOLDER" || exit 3
command -v tar >/dev/null || exit 4
printf '%s\0' "$(pwd -P)"
find . -type f -links +1 -print0
printf '\0'
exec tar -cf - .
"#;

/// Why a folder was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// As for a file.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing in it that may be sent.
    #[error("the folder holds no file that can be sent ({0})")]
    Empty(SandboxPath),
    /// Over the limit of files.
    #[error("the folder holds more than {MOST_ENTRIES} files and folders ({0})")]
    TooMany(SandboxPath),
    /// Over the limit of bytes.
    #[error("the folder as a zip is larger than {} ({path})", size_text(*.limit))]
    TooLarge {
        /// What was asked for.
        path: SandboxPath,
        /// The limit in bytes.
        limit: u64,
    },
    /// The sandbox can't pack.
    #[error("the sandbox has no `tar`, so only single files can be sent ({0})")]
    NoTar(SandboxPath),
    /// What came was no whole archive.
    #[error("the folder changed or could not be read while it was packed ({0})")]
    Unstable(SandboxPath),
}

/// A folder that was packed.
#[derive(Debug)]
pub(crate) struct Packed {
    /// The zip.
    pub(crate) artifact: ArtifactRef,
    /// What was left out, for the model and the person.
    pub(crate) note: Option<String>,
}

/// Packs a folder through the turn's own sandbox into the profile's blob store.
pub(crate) async fn pack(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    path: &SandboxPath,
) -> Result<Packed, Error> {
    let start = Start {
        command: PACK.to_owned(),
        directory: SandboxPath::parse("/").map_err(Refusal::Path)?,
        env: BTreeMap::from([("TIDINGS_FOLDER".to_owned(), path.as_str().to_owned())]),
        terminal: None,
    };
    let unreachable = |error: SandboxError| Refusal::Sandbox {
        reason: error.to_string(),
    };
    let mut running = tenant
        .sandbox
        .start(scope, &tenant.spec, start)
        .await
        .map_err(unreachable)?;
    let packing = store(ports, tenant, scope, path, running.as_mut());
    let packed = match tokio::time::timeout(LONGEST, packing).await {
        Ok(packed) => packed,
        Err(_late) => Err(Refusal::TimedOut { path: path.clone() }.into()),
    };
    match packed {
        Ok(packed) => {
            let ended = running.ended().await.map_err(unreachable)?;
            match ended.exit {
                Exit::Code(0) => Ok(packed),
                // A file that could not be read, or changed: what it stands for in the archive is not to be trusted.
                Exit::Code(_) | Exit::TimedOut | Exit::OutOfMemory => {
                    Err(Error::Unstable(path.clone()))
                }
            }
        }
        Err(Error::Unstable(path)) => {
            // It said too little: its exit says why.
            match tokio::time::timeout(Duration::from_secs(5), running.ended()).await {
                Ok(Ok(ended)) if ended.exit == Exit::Code(3) => {
                    Err(Refusal::Unreadable { path }.into())
                }
                Ok(Ok(ended)) if ended.exit == Exit::Code(4) => Err(Error::NoTar(path)),
                Ok(Ok(_) | Err(_)) | Err(_) => Err(Error::Unstable(path)),
            }
        }
        Err(error) => {
            running.kill().await;
            Err(error)
        }
    }
}

/// What of a folder may be sent.
pub(super) struct Rules {
    /// Where it really is.
    top: String,
    /// Files that have other names.
    linked: BTreeSet<Vec<u8>>,
    secret: Vec<SandboxPath>,
}

impl Rules {
    /// The place that forbids an entry.
    fn forbids(&self, entry: &str) -> Option<String> {
        let top = self.top.trim_end_matches('/');
        let secret: Vec<&SandboxPath> = self.secret.iter().collect();
        forbidden_place(&format!("{top}/{entry}"), &secret)
    }

    /// The place that forbids the folder as a whole, because it lies in it.
    fn forbids_all(&self) -> Option<String> {
        let within = |place: &&SandboxPath| {
            let top = self.top.trim_end_matches('/');
            place
                .as_str()
                .strip_prefix(top)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let below = self.secret.iter().find(within);
        below.map(|place| place.as_str().to_owned())
    }
}

async fn store(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    path: &SandboxPath,
    running: &mut dyn Running,
) -> Result<Packed, Error> {
    let lost = |error: SandboxError| Refusal::Sandbox {
        reason: error.to_string(),
    };
    let mut header = Header::default();
    let first = loop {
        let Some(bytes) = running.output().await.map_err(lost)? else {
            return Err(Error::Unstable(path.clone()));
        };
        match header.feed(&bytes) {
            Ok(None) => {}
            Ok(Some(rest)) => break rest,
            Err(header::TooLong) => return Err(Error::TooMany(path.clone())),
        }
    };
    let rules = Rules {
        top: header.top().ok_or_else(|| Error::Unstable(path.clone()))?,
        linked: header.linked(),
        secret: tenant.spec.secret_places(),
    };
    // The driver knows more of where the folder lies than its path says.
    let around = tenant
        .sandbox
        .forbids_folder(scope, &tenant.spec, &rules.top)
        .await;
    if let Some(place) = around.or_else(|| rules.forbids_all()) {
        let path = path.clone();
        return Err(Refusal::Forbidden { path, place }.into());
    }
    let limit = tenant.attachment_bytes;
    let bounds = Bounds {
        entries: MOST_ENTRIES,
        unpacked: limit.saturating_mul(UNPACKED),
    };
    let (tar_in, tar_out) = mpsc::channel::<Bytes>(PIECES);
    let (zip_in, mut zip_out) = mpsc::channel::<Bytes>(PIECES);
    let packer = tokio::task::spawn_blocking(move || zip(tar_out, zip_in, &rules, bounds));
    let feeding = async {
        let mut next = Some(first);
        while let Some(bytes) = next {
            if tar_in.send(bytes).await.is_err() {
                // The packer has what it wants, or has given up: it says which.
                return Ok(());
            }
            next = running.output().await?;
        }
        drop(tar_in);
        Ok(())
    };
    let broken = |reason: String| Error::Refused(Refusal::Store { reason });
    // It takes the zip's end along: whoever still packs for nobody ends by it.
    let keeping = async move {
        let mut writer = ports
            .blobs
            .create(scope.profile())
            .await
            .map_err(|error| broken(error.to_string()))?;
        let mut size = 0_u64;
        while let Some(bytes) = zip_out.recv().await {
            size += bytes.len() as u64;
            if size > limit {
                let path = path.clone();
                return Err(Error::TooLarge { path, limit });
            }
            writer
                .write(&bytes)
                .await
                .map_err(|error| broken(error.to_string()))?;
        }
        Ok(writer)
    };
    let (fed, kept) = tokio::join!(feeding, keeping);
    fed.map_err(lost)?;
    let writer = kept?;
    let tally = match packer.await {
        Ok(tally) => tally,
        Err(error) => return Err(broken(error.to_string())),
    };
    let tally = tally.map_err(|trouble| trouble.told(path, bounds, limit))?;
    if tally.files == 0 {
        return Err(Error::Empty(path.clone()));
    }
    let name = format!("{}.zip", shown(path));
    let blob = writer
        .finish(&name)
        .await
        .map_err(|error| broken(error.to_string()))?;
    Ok(Packed {
        note: note(&name, &tally),
        artifact: ArtifactRef {
            profile: scope.profile().clone(),
            blob,
            name,
            taken: Taken::Captured {
                sandbox: scope.sandbox().clone(),
                path: path.clone(),
                turn: scope.turn(),
            },
        },
    })
}

/// The folder's name, for people.
fn shown(path: &SandboxPath) -> String {
    let name = path.file_name();
    let plain = !name.contains('/') && name != "." && name != "..";
    if plain {
        names::plain(name)
    } else {
        "folder".to_owned()
    }
}

fn note(name: &str, tally: &Tally) -> Option<String> {
    let mut left_out = Vec::new();
    for (count, what) in [
        (tally.links, "links"),
        (tally.linked, "files with other hard links"),
        (tally.special, "special files"),
    ] {
        if count > 0 {
            left_out.push(format!("{count} {what}"));
        }
    }
    if left_out.is_empty() {
        return None;
    }
    Some(format!("{name} is without {}", left_out.join(", ")))
}
