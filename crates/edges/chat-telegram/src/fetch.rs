//! A person's file, streamed and bounded.

use chat::{DownloadError, Fault, FaultKind, FileHandle};
use sandbox::BlobWriter;
use serde_json::json;

use crate::api::Api;
use crate::classify::Effect;
use crate::wire::Ready;

/// Tries while nothing was written yet: a link may have run out, a connection may break.
const TRIES: usize = 3;

/// How a try ended, if not well.
enum Stop {
    /// Worth another try, as long as nothing was written.
    Again(String),
    /// Final.
    Final(DownloadError),
}

pub(crate) async fn fetch(
    api: &Api,
    file_in: u64,
    file: &FileHandle,
    limit: u64,
    into: &mut dyn BlobWriter,
) -> Result<(), DownloadError> {
    let limit = limit.min(file_in);
    let mut written = 0;
    let mut told = String::new();
    for _ in 0..TRIES {
        match once(api, file, limit, into, &mut written).await {
            Ok(()) => return Ok(()),
            Err(Stop::Final(error)) => return Err(error),
            Err(Stop::Again(text)) => told = text,
        }
        if written > 0 {
            break;
        }
    }
    Err(DownloadError::Refused(told))
}

async fn once(
    api: &Api,
    file: &FileHandle,
    limit: u64,
    into: &mut dyn BlobWriter,
    written: &mut u64,
) -> Result<(), Stop> {
    let too_large = || Stop::Final(DownloadError::TooLarge { limit });
    let parameters = json!({"file_id": file.as_str()});
    let ready: Ready = api
        .call(Effect::Repeatable, "getFile", &parameters)
        .await
        .map_err(|fault| refused(fault, limit))?;
    if ready.file_size.is_some_and(|size| size > limit) {
        return Err(too_large());
    }
    let path = ready
        .file_path
        .filter(|path| harmless(path))
        .ok_or_else(|| Stop::Again("Telegram gave no link to it".to_owned()))?;
    let mut response = api
        .open(&path)
        .await
        .map_err(|fault| refused(fault, limit))?;
    let expected = ready.file_size.or_else(|| response.content_length());
    loop {
        let piece = response
            .chunk()
            .await
            .map_err(|_cut| Stop::Again("the connection broke on the way".to_owned()))?;
        let Some(piece) = piece else { break };
        if *written + piece.len() as u64 > limit {
            return Err(too_large());
        }
        *written += piece.len() as u64;
        into.write(&piece)
            .await
            .map_err(|error| Stop::Final(DownloadError::Store(error)))?;
    }
    match expected {
        Some(expected) if expected != *written => Err(Stop::Again(format!(
            "only {written} of {expected} bytes came"
        ))),
        None if *written == 0 => Err(Stop::Again("it came empty".to_owned())),
        _ => Ok(()),
    }
}

/// A path of the file server, and nothing that would lead elsewhere.
fn harmless(path: &str) -> bool {
    !path.starts_with('/')
        && !path.contains("..")
        && !path.contains(['?', '#', '\\', '%'])
        && !path.contains("://")
}

fn refused(fault: Fault, limit: u64) -> Stop {
    let again = match fault.kind {
        FaultKind::PermItem if fault.text.contains("file is too big") => {
            return Stop::Final(DownloadError::TooLarge { limit });
        }
        // A link that ran out answers 404, as a wrong token does; another try tells them apart.
        FaultKind::PermAccount
        | FaultKind::NotSent
        | FaultKind::TempReject
        | FaultKind::Unknown => true,
        FaultKind::Throttled { .. }
        | FaultKind::PermItem
        | FaultKind::PermChat
        | FaultKind::Moved { .. }
        | FaultKind::Duplicate { .. }
        | FaultKind::NoChange => false,
    };
    if again {
        Stop::Again(fault.text)
    } else {
        Stop::Final(DownloadError::Refused(fault.text))
    }
}
