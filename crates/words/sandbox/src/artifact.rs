//! Captured bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use waybill::{ProfileId, SandboxKey, TurnId};

use crate::{Blob, ContentHash, SandboxPath};

/// Names an artifact: the profile that owns it and the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArtifactId {
    /// Whose it is.
    pub profile: ProfileId,
    /// Its bytes.
    pub hash: ContentHash,
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.profile, self.hash)
    }
}

impl FromStr for ArtifactId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not PROFILE/HASH");
        let (profile, hash) = text.split_once('/').ok_or_else(wrong)?;
        Ok(Self {
            profile: profile.parse().map_err(|_malformed| wrong())?,
            hash: hash.parse().map_err(|_malformed| wrong())?,
        })
    }
}

/// Where an artifact was taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// Copied out of a sandbox while its turn ran.
    Captured {
        /// The sandbox that made it.
        sandbox: SandboxKey,
        /// Its path there.
        path: SandboxPath,
        /// The turn.
        turn: TurnId,
    },
    /// Sent by a person or given by the owner.
    Received,
}

/// Captured bytes: hash, size, sniffed type, shown name, and where they were taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// Whose it is.
    pub profile: ProfileId,
    /// The bytes.
    pub blob: Blob,
    /// The name that people see; never a path.
    pub name: String,
    /// Where it was taken.
    pub taken: Taken,
}

impl ArtifactRef {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> ArtifactId {
        ArtifactId {
            profile: self.profile.clone(),
            hash: self.blob.hash,
        }
    }
}
