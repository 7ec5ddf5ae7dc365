//! What the dashboard and `/ready` show.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use admin::{ChannelStatus, ProfileStatus, Status, StatusPort};
use waybill::AccountId;

use crate::health::Board;

/// The gateway as it stands.
pub(crate) struct Standing {
    pub(crate) ready: Arc<AtomicBool>,
    pub(crate) profiles: Vec<ProfileStatus>,
    pub(crate) channels: Vec<(AccountId, String)>,
    pub(crate) left_out: Vec<ChannelStatus>,
    pub(crate) board: Board,
    /// Which walls sandboxes have, once that was looked at.
    pub(crate) sandbox: Arc<OnceLock<String>>,
}

impl StatusPort for Standing {
    fn status(&self) -> Status {
        let mut channels = self.left_out.clone();
        for (name, kind) in &self.channels {
            let (ok, text) = match self.board.of(name) {
                None => (true, "connecting".to_owned()),
                Some(Ok(())) => (true, "works".to_owned()),
                Some(Err(fault)) => (false, fault.text),
            };
            channels.push(ChannelStatus {
                name: name.to_string(),
                kind: kind.clone(),
                ok,
                text,
            });
        }
        Status {
            ready: self.ready.load(Ordering::Relaxed),
            profiles: self.profiles.clone(),
            sandbox: self.sandbox.get().cloned().unwrap_or_default(),
            channels,
        }
    }
}
