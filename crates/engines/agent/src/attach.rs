//! From a path that a model named to an artifact, now, through the sandbox of the turn.

use std::collections::HashMap;

use chat::Shape;
use markup::{Directive, Reading};
use outbox::Attachment;
use sandbox::{ArtifactRef, Refusal, SandboxPath};
use waybill::TurnScope;

use crate::{Ports, Tenant};

/// A file that was asked for and not captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The name to show.
    pub(crate) name: String,
    /// Why, for the person.
    pub(crate) reason: String,
    /// What helps the model.
    pub(crate) hint: Option<String>,
}

/// What became of a directive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The reading that was taken.
    pub(crate) reading: usize,
    /// The files that were captured, in order.
    pub(crate) taken: Vec<ArtifactRef>,
    /// The files that were not.
    pub(crate) refused: Vec<Refused>,
}

/// Copies a file out of the turn's own sandbox.
pub(crate) async fn capture(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    text: &str,
) -> Result<ArtifactRef, Refused> {
    let refused = |refusal: Refusal| Refused {
        name: shown_name(text),
        reason: refusal.to_string(),
        hint: refusal.hint(),
    };
    let path = SandboxPath::parse(text).map_err(|error| refused(Refusal::Path(error)))?;
    let captured = tenant
        .sandbox
        .capture(
            scope,
            &tenant.spec,
            &path,
            tenant.attachment_bytes,
            ports.blobs.as_ref(),
        )
        .await
        .map_err(refused);
    match &captured {
        Ok(artifact) => tracing::info!(
            turn = %scope.turn(), sandbox = %scope.sandbox(), %path, hash = %artifact.blob.hash,
            size = artifact.blob.size, "captured"
        ),
        Err(refused) => tracing::warn!(
            turn = %scope.turn(), sandbox = %scope.sandbox(), %path, reason = %refused.reason, "not captured"
        ),
    }
    captured
}

/// Takes the first reading of which every file can be captured; if there is none, the preferred one as far as it goes.
pub(crate) async fn resolve(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    directive: &Directive,
) -> Resolved {
    let mut tried: HashMap<&str, Result<ArtifactRef, Refused>> = HashMap::new();
    for (position, reading) in directive.readings.iter().enumerate() {
        let mut whole = true;
        for path in &reading.paths {
            if !tried.contains_key(path.as_str()) {
                tried.insert(path, capture(ports, tenant, scope, path).await);
            }
            if tried.get(path.as_str()).is_none_or(Result::is_err) {
                whole = false;
                break;
            }
        }
        if whole {
            return picked(position, reading, &tried);
        }
    }
    let position = directive.preferred();
    let Some(reading) = directive.readings.get(position) else {
        return Resolved {
            reading: position,
            taken: Vec::new(),
            refused: Vec::new(),
        };
    };
    for path in &reading.paths {
        if !tried.contains_key(path.as_str()) {
            tried.insert(path, capture(ports, tenant, scope, path).await);
        }
    }
    picked(position, reading, &tried)
}

fn picked(
    position: usize,
    reading: &Reading,
    tried: &HashMap<&str, Result<ArtifactRef, Refused>>,
) -> Resolved {
    let mut resolved = Resolved {
        reading: position,
        taken: Vec::new(),
        refused: Vec::new(),
    };
    for path in &reading.paths {
        match tried.get(path.as_str()) {
            Some(Ok(artifact)) => resolved.taken.push(artifact.clone()),
            Some(Err(refused)) => resolved.refused.push(refused.clone()),
            None => {}
        }
    }
    resolved
}

/// The last component of whatever the model wrote, for showing.
fn shown_name(text: &str) -> String {
    let last = text
        .rsplit(['/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or(text);
    last.chars()
        .filter(|sign| !sign.is_control())
        .take(80)
        .collect()
}

/// Everything that a turn gathered to send.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    attachments: Vec<Attachment>,
    refused: Vec<(u32, Refused)>,
}

/// Files that one turn may send.
const MOST: usize = 50;

impl Gathered {
    /// Adds a captured file. The same file twice in a turn is one. A success makes good one failure of an earlier step: it
    /// is the model's correction.
    pub(crate) fn take(
        &mut self,
        step: u32,
        artifact: ArtifactRef,
        shape: Shape,
        caption: Option<String>,
    ) {
        if self.attachments.len() >= MOST {
            let reason = format!("one answer takes {MOST} files");
            self.refused.push((
                step,
                Refused {
                    name: artifact.name,
                    reason,
                    hint: None,
                },
            ));
            return;
        }
        if let Some(earlier) = self.refused.iter().position(|(at, _)| *at < step) {
            self.refused.remove(earlier);
        }
        let same = |other: &Attachment| {
            other.artifact.blob.hash == artifact.blob.hash && other.artifact.name == artifact.name
        };
        if !self.attachments.iter().any(same) {
            self.attachments.push(Attachment {
                artifact,
                shape,
                caption,
            });
        }
    }

    /// Notes a file that was not captured; the same file again is one failure.
    pub(crate) fn refuse(&mut self, step: u32, refused: Refused) {
        let same = |other: &Refused| other.name == refused.name && other.reason == refused.reason;
        match self.refused.iter_mut().find(|(_, other)| same(other)) {
            Some((at, _)) => *at = step,
            None => self.refused.push((step, refused)),
        }
    }

    /// Whether there is a file to send.
    pub(crate) fn has_files(&self) -> bool {
        !self.attachments.is_empty()
    }

    /// What failed and was not made good.
    pub(crate) fn refused(&self) -> impl Iterator<Item = &Refused> {
        self.refused.iter().map(|(_, refused)| refused)
    }

    /// The files, and the lines about those that failed.
    pub(crate) fn into_parts(self) -> (Vec<Attachment>, Vec<String>) {
        let lines = self
            .refused
            .iter()
            .map(|(_, refused)| outbox::not_attached(&refused.name, &refused.reason))
            .collect();
        (self.attachments, lines)
    }
}
