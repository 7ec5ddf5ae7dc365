//! Conversations: the inbox, the transcript, the life of a turn, and the store that they need.
//!
//! Use this room for what is known of a conversation. It is pure values and ports: it runs no turn and opens no file.
//!
//! Invariants:
//! * An event is durable before its platform is told ([`InboxStore::accept`]).
//! * A turn's end is one transaction with its outgoing messages ([`TurnCommit`]).
//! * Every inbox row and every turn ends in exactly one recorded state ([`InboxState`], [`TurnEnd`]).
//! * A turn has the words that its rows have ([`TakenIn`]): a row that changed since it was read is read again.
//! * An event that ends the process is counted before it is handled ([`InboxStore::take`]).
//!
//! Start reading at [`TurnCommit`], then [`SessionStore`].

mod api;
mod asked;
mod contact;
mod elsewhere;
mod fill;
mod history;
mod inbox;
mod last_words;
mod ledger;
mod line;
mod plan;
mod recall;
mod retention;
mod store;
mod turn;
mod visible;
pub mod window;

pub use api::{AnswerPart, AnswerStore, KeyedRequest, Known, Progress, TurnAnswer};
pub use asked::{Answer, Answered, Answering, Lasting};
pub use contact::{Contact, ContactStore};
pub use elsewhere::Elsewhere;
pub use fill::Fill;
pub use history::{Entry, wire_messages};
pub use inbox::{
    Admission, Amended, Heard, InboxId, InboxRow, InboxState, MOST_TAKES, NewEvent, PutAside, Take,
    TakenIn,
};
pub use last_words::LastWords;
pub use ledger::{Day, Ledger, LedgerRow, Total};
pub use line::{Admitted, Busy, Came, LineStatus, Turn, TurnLine};
pub use outbox::StoreError;
pub use plan::{PlanStep, PlanStore, StepState};
pub use recall::{Passage, Recall, RecallError, Recalled, Said, Within};
pub use retention::{Chore, Collected, Cutoffs, RetentionStore, Shrunk, Step};
pub use store::{InboxStore, SessionStore};
pub use turn::{
    Asker, DOUBTED, NotAttached, Promised, Spent, TurnCommit, TurnEnd, TurnRecord, TurnStart,
};
pub use visible::{
    ConversationRow, NewVisible, Visible, VisibleAuthor, VisibleContent, VisibleLog,
};
