//! From a path that a model named to an artifact, now, through the sandbox of the turn.

use std::collections::HashMap;

use chat::Shape;
use markup::{Directive, Reading};
use model::{ModelPort, Usage};
use outbox::Attachment;
use sandbox::{ArtifactRef, Refusal, SandboxPath};
use session::{NotAttached, Promised};
use waybill::{ProfileId, TurnScope};

use crate::folder::{self, Packed};
use crate::{Ports, Purse, Tenant, redaction};

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
    /// What the person must read of those that were captured.
    pub(crate) notes: Vec<String>,
}

/// A file that was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Captured {
    /// Its copy.
    pub(crate) artifact: ArtifactRef,
    /// What is missing from it, for the model and the person.
    pub(crate) note: Option<String>,
}

/// Copies a file out of the turn's own sandbox; a folder comes as a zip.
pub(crate) async fn capture(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    text: &str,
) -> Result<Captured, Refused> {
    let captured = copied(ports, tenant, scope, text).await;
    let redactor = &ports.redactor;
    match captured {
        Ok(mut captured) => {
            captured.artifact.name = redaction::own(redactor, captured.artifact.name);
            let blob = &captured.artifact.blob;
            tracing::info!(
                turn = %scope.turn(), sandbox = %scope.sandbox(), path = text, hash = %blob.hash, size = blob.size, "captured"
            );
            Ok(captured)
        }
        Err(refused) => {
            let refused = redaction::refused(redactor, refused);
            tracing::warn!(
                turn = %scope.turn(), sandbox = %scope.sandbox(), path = text, reason = %refused.reason, "not captured"
            );
            Err(refused)
        }
    }
}

async fn copied(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    text: &str,
) -> Result<Captured, Refused> {
    let refused = |refusal: Refusal| Refused {
        name: shown_name(text),
        reason: refusal.to_string(),
        hint: refusal.hint(),
    };
    let path = SandboxPath::parse(text).map_err(|error| refused(Refusal::Path(error)))?;
    let limit = tenant.attachment_bytes;
    let file = tenant
        .sandbox
        .capture(scope, &tenant.spec, &path, limit, ports.blobs.as_ref())
        .await;
    match file {
        Ok(artifact) => Ok(Captured {
            artifact,
            note: None,
        }),
        Err(Refusal::NotAFile {
            kind: "directory", ..
        }) => match folder::pack(ports, tenant, scope, &path).await {
            Ok(Packed { artifact, note }) => Ok(Captured { artifact, note }),
            Err(folder::Error::Refused(refusal)) => Err(refused(refusal)),
            Err(error) => Err(Refused {
                name: shown_name(text),
                reason: error.to_string(),
                hint: Some(
                    "pack what is needed yourself, or send single files of the folder".to_owned(),
                ),
            }),
        },
        Err(refusal) => Err(refused(refusal)),
    }
}

/// Takes the first reading of which every file can be captured; if there is none, the preferred one as far as it goes.
pub(crate) async fn resolve(
    ports: &Ports,
    tenant: &Tenant,
    scope: &TurnScope,
    directive: &Directive,
) -> Resolved {
    let mut tried: HashMap<&str, Result<Captured, Refused>> = HashMap::new();
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
            notes: Vec::new(),
        };
    };
    for path in &reading.paths {
        if !tried.contains_key(path.as_str()) {
            tried.insert(path, capture(ports, tenant, scope, path).await);
        }
    }
    picked(position, reading, &tried)
}

/// A directive past the limit: nothing is tried.
pub(crate) fn too_many(directive: &Directive) -> Resolved {
    let reading = directive.preferred();
    let paths = directive
        .readings
        .get(reading)
        .map(|reading| reading.paths.as_slice());
    let refused = paths.unwrap_or_default().iter().map(|path| Refused {
        name: shown_name(path),
        reason: format!("one answer takes {MOST} files"),
        hint: None,
    });
    Resolved {
        reading,
        taken: Vec::new(),
        refused: refused.collect(),
        notes: Vec::new(),
    }
}

fn picked(
    position: usize,
    reading: &Reading,
    tried: &HashMap<&str, Result<Captured, Refused>>,
) -> Resolved {
    let mut resolved = Resolved {
        reading: position,
        taken: Vec::new(),
        refused: Vec::new(),
        notes: Vec::new(),
    };
    for path in &reading.paths {
        match tried.get(path.as_str()) {
            Some(Ok(captured)) => {
                resolved.taken.push(captured.artifact.clone());
                resolved.notes.extend(captured.note.clone());
            }
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

/// Files that one turn may send.
pub(crate) const MOST: usize = 50;

/// Everything that a turn gathered to send: the rules around [`Promised`].
#[derive(Debug, Default, Clone)]
pub(crate) struct Gathered(pub(crate) Promised);

impl Gathered {
    /// Adds a captured file. The same file twice in a turn is one. A success makes good the failure of a file of the same
    /// name; and, once the model was asked to correct its answer, one failure of an earlier step: that is its correction.
    pub(crate) fn take(
        &mut self,
        step: u32,
        artifact: ArtifactRef,
        shape: Shape,
        caption: Option<String>,
    ) {
        let same = |other: &Attachment| {
            other.artifact.blob.hash == artifact.blob.hash && other.artifact.name == artifact.name
        };
        if self.0.attachments.iter().any(same) {
            return;
        }
        if self.0.attachments.len() >= MOST {
            let reason = format!("one answer takes {MOST} files");
            self.refuse(
                step,
                Refused {
                    name: artifact.name,
                    reason,
                    hint: None,
                },
                Told::No,
            );
            return;
        }
        let refused = &mut self.0.refused;
        let named = refused.iter().position(|other| other.name == artifact.name);
        let earlier = || refused.iter().position(|other| other.step < step);
        let made_good = named.or_else(|| {
            if self.0.answer.is_some() {
                earlier()
            } else {
                None
            }
        });
        if let Some(position) = made_good {
            refused.remove(position);
        }
        self.0.attachments.push(Attachment {
            artifact,
            shape,
            caption,
        });
    }

    /// Notes a file that was not captured; the same file again is one failure.
    pub(crate) fn refuse(&mut self, step: u32, refused: Refused, told: Told) {
        let same =
            |other: &&mut NotAttached| other.name == refused.name && other.reason == refused.reason;
        match self.0.refused.iter_mut().find(same) {
            Some(known) => known.step = step,
            None => self.0.refused.push(NotAttached {
                step,
                name: refused.name,
                reason: refused.reason,
                hint: refused.hint,
                told: told == Told::Yes,
            }),
        }
    }

    /// Notes what the person must read about a file; the same again is said once.
    pub(crate) fn note(&mut self, note: Option<String>) {
        let line = note.map(|note| format!("ℹ {note}"));
        if let Some(line) = line.filter(|line| !self.0.notes.contains(line)) {
            self.0.notes.push(line);
        }
    }

    /// A model was asked for a turn of a profile, and said what that took, or did not. The person is told of each mark that is passed.
    pub(crate) fn spend(
        &mut self,
        purse: &Purse,
        profile: &ProfileId,
        model: &dyn ModelPort,
        usage: Option<Usage>,
    ) {
        let (route, price) = (model.name(), model.facts().price);
        let passed = purse.note(profile, &mut self.0.spent, route, usage, price);
        self.0.usage += usage.unwrap_or_default();
        for warning in passed {
            self.note(Some(format!("{warning}.")));
        }
    }

    /// Whether there is a file to send.
    pub(crate) fn has_files(&self) -> bool {
        !self.0.attachments.is_empty()
    }
}

/// Whether the model was told of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// By the result of its own call.
    Yes,
    /// Not yet.
    No,
}
