//! What an owner may do with a part. Pure: the store does it.

use crate::PartState;

/// What the owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Send it (again), at once.
    Retry,
    /// Don't send it any more.
    Cancel,
    /// It was seen to have arrived: count it as sent.
    MarkSent,
}

impl Verb {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Retry, Self::Cancel, Self::MarkSent];

    /// The verb's name on the command line and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::MarkSent => "mark-sent",
        }
    }

    /// What follows once it was done and the part stands in `state`.
    #[must_use]
    pub fn effect(self, state: PartState) -> &'static str {
        match (self, state) {
            (Self::Retry, PartState::Unknown) => {
                "it may have arrived: it is asked for, or sent again with a mark, as soon as its chat's turn comes"
            }
            (Self::Retry, _) => "it is sent as soon as its chat's turn comes",
            (Self::Cancel, _) => "it is not sent any more",
            (Self::MarkSent, _) => "it counts as sent",
        }
    }

    /// Where a part goes by this verb; `None` if it can't be done with a part that stands there.
    ///
    /// A part on the wire (`sending`) can't be taken back, and one that was sent is not sent again by `retry`: a new message
    /// is the honest way to say something twice.
    #[must_use]
    pub fn applied(self, state: PartState) -> Option<PartState> {
        use PartState::{
            Cancelled, Expired, Failed, Held, Queued, Retry, Sending, Sent, Superseded, Unknown,
        };
        match (self, state) {
            (Self::Retry, Queued | Retry | Held | Failed | Expired | Cancelled) => Some(Queued),
            // What may have arrived stays unknown, so that the repeat is asked for or marked.
            (Self::Retry, Unknown) => Some(Unknown),
            (Self::Cancel, Queued | Retry | Unknown | Held) => Some(Cancelled),
            (Self::MarkSent, Retry | Unknown | Held | Failed | Expired) => Some(Sent),
            (Self::Retry, Sending | Sent | Superseded)
            | (Self::Cancel, Sending | Sent | Failed | Expired | Cancelled | Superseded)
            | (Self::MarkSent, Queued | Sending | Sent | Cancelled | Superseded) => None,
        }
    }
}

/// What became of an owner's wish, part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acted {
    /// Parts that were changed, with the state that they have now.
    pub changed: Vec<(u32, PartState)>,
    /// Parts with which it can't be done, with the state that forbids it.
    pub left: Vec<(u32, PartState)>,
}
