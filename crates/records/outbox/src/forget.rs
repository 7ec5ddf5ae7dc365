//! What stays of a part when its words are dropped.

use chat::{Body, Op, RichText};
use sandbox::{ArtifactRef, SandboxPath, Taken};

/// Where a forgotten file was taken: its path was somebody's words, too.
const NOWHERE: &str = "/forgotten";

/// The same operation without anything that a person or an agent said: no text, no caption, no file's name and no path. A
/// file's hash, size and type stay, and which turn of which sandbox made it.
#[must_use]
pub fn forget(op: &Op) -> Op {
    match op {
        Op::Text(Body::Rich(_)) => Op::Text(Body::Rich(RichText::plain(String::new()))),
        Op::Text(Body::Markdown(_)) => Op::Text(Body::Markdown(String::new())),
        Op::Question { body, .. } => forget(&Op::Text(body.clone())),
        Op::File {
            artifact,
            shape,
            caption: _,
        } => Op::File {
            artifact: ArtifactRef {
                profile: artifact.profile.clone(),
                blob: artifact.blob.clone(),
                name: op.name().to_owned(),
                taken: nowhere(&artifact.taken),
            },
            shape: *shape,
            caption: None,
        },
    }
}

fn nowhere(taken: &Taken) -> Taken {
    match (taken, SandboxPath::parse(NOWHERE)) {
        (Taken::Captured { sandbox, turn, .. }, Ok(path)) => Taken::Captured {
            sandbox: sandbox.clone(),
            path,
            turn: *turn,
        },
        (Taken::Captured { .. }, Err(_)) | (Taken::Received, _) => Taken::Received,
    }
}
