//! What a program asks, and how it becomes an event of the channel.

use chat::{
    Event, FileHandle, FileKind, Inbound, InboundFile, InboundKind, Place, Preface, Sender,
    SenderId,
};
use sandbox::ArtifactRef;
use serde_json::json;
use waybill::{AccountId, Anchor, ChatKey, ClientId, Conversation, Timestamp};

/// The sender's id: whoever holds a key that was checked.
pub const HOLDER: &str = "key";

/// Longest text of one message, in characters.
pub const LONGEST_TEXT: usize = 1_000_000;

/// Longest name of a session, in bytes.
pub const LONGEST_SESSION: usize = 128;

/// Most files of one message, as on other channels.
pub const MOST_FILES: usize = 20;

/// What stands before the name of a conversation of a single request; no session's name begins so.
const ONCE: char = '~';

/// By what a request is known when it comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestKey {
    /// BLAKE3 of the key that its sender gave it.
    pub key: [u8; 32],
    /// BLAKE3 of all that it asks.
    pub asks: [u8; 32],
}

/// What a program asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Whose key was used.
    pub client: ClientId,
    /// The conversation that it goes on with; `None`: one of its own, for this request alone.
    pub session: Option<String>,
    /// The words.
    pub text: String,
    /// Files, stored.
    pub files: Vec<ArtifactRef>,
    /// Instructions, and what was said before.
    pub preface: Preface,
    /// By what it is known when it comes again.
    pub key: Option<RequestKey>,
}

/// Why a request was not taken. The texts are for whoever wrote the program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No words and no files.
    #[error("the last message is empty")]
    Empty,
    /// Over [`LONGEST_TEXT`].
    #[error("the last message is longer than {LONGEST_TEXT} characters")]
    TooLong,
    /// Over [`MOST_FILES`].
    #[error("a request takes at most {MOST_FILES} files")]
    TooManyFiles,
    /// A name that can't be one.
    #[error(
        "a session's name has 1 to {LONGEST_SESSION} letters, digits and signs of '-_.:@+', and begins with a letter or a digit"
    )]
    Session,
    /// The same key came with another request.
    #[error("this Idempotency-Key was used for another request in the last 24 hours")]
    OtherRequest,
    /// It could not be stored, so nobody will answer it.
    #[error("the request was not taken: {0}")]
    NotStored(String),
    /// Nobody listens: the gateway starts, or stops.
    #[error("the gateway is starting or stopping: ask again in a moment")]
    NotListening,
    /// It may be stored, or not.
    #[error("it is not certain that the request was taken")]
    Unknown,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), AskError> {
        if self.text.trim().is_empty() && self.files.is_empty() {
            return Err(AskError::Empty);
        }
        if self.text.chars().count() > LONGEST_TEXT {
            return Err(AskError::TooLong);
        }
        if self.files.len() > MOST_FILES {
            return Err(AskError::TooManyFiles);
        }
        if self.session.as_deref().is_some_and(|name| !is_name(name)) {
            return Err(AskError::Session);
        }
        Ok(())
    }

    /// Where it is answered. A client's name holds no '/', so no two clients share a conversation.
    pub(crate) fn conversation(&self, id: &str) -> Result<Conversation, AskError> {
        let name = match &self.session {
            Some(session) => format!("{}/{session}", self.client),
            None => format!("{}/{ONCE}{id}", self.client),
        };
        Conversation::new(name).map_err(|_empty| AskError::Session)
    }

    /// As the event that goes to the inbox.
    pub(crate) fn event(
        self,
        account: &AccountId,
        conversation: &Conversation,
        id: &str,
        at: Timestamp,
    ) -> Event {
        let raw = json!({
            "request": id,
            "client": self.client,
            "session": self.session,
            "characters": self.text.chars().count(),
            "files": self.files.len(),
            "before": self.preface.history.as_ref().map(Vec::len),
        });
        let preface = (self.preface != Preface::default()).then(|| Box::new(self.preface));
        Event {
            key: id.to_owned(),
            raw: raw.to_string(),
            parsed: Ok(Some(Inbound {
                chat: ChatKey::new(account.clone(), conversation.clone()),
                anchor: Anchor::new(id),
                sender: Sender {
                    id: SenderId::new(HOLDER),
                    name: Some(self.client.to_string()),
                    bot: false,
                },
                place: Place::Direct,
                kind: InboundKind::Message,
                text: self.text,
                files: self.files.iter().map(file).collect(),
                quoted: None,
                forwarded_from: None,
                preface,
                at,
            })),
        }
    }
}

/// Whose conversation it is.
#[must_use]
pub fn client_of(conversation: &Conversation) -> Option<ClientId> {
    let (client, _) = conversation.as_str().split_once('/')?;
    client.parse().ok()
}

/// Whether a conversation is of a single request.
pub(crate) fn is_once(conversation: &Conversation) -> bool {
    conversation
        .as_str()
        .split_once('/')
        .is_some_and(|(_, name)| name.starts_with(ONCE))
}

fn is_name(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:@+".contains(&byte);
    (1..=LONGEST_SESSION).contains(&name.len())
        && name.bytes().all(good)
        && name
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
}

fn file(file: &ArtifactRef) -> InboundFile {
    let kind = match file.blob.mime.split('/').next() {
        Some("image") => FileKind::Photo,
        Some("audio") => FileKind::Audio,
        Some("video") => FileKind::Video,
        Some(_) | None => FileKind::Document,
    };
    InboundFile {
        handle: FileHandle::new(file.id().to_string()),
        name: Some(file.name.clone()),
        mime: Some(file.blob.mime.clone()),
        size: Some(file.blob.size),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(client: &str, session: Option<&str>) -> Request {
        Request {
            client: client.parse().unwrap(),
            session: session.map(str::to_owned),
            text: "hi".to_owned(),
            files: Vec::new(),
            preface: Preface::default(),
            key: None,
        }
    }

    #[test]
    fn no_session_reads_like_a_single_request_or_like_another_clients() {
        for name in ["", "~a", "a/b", "a b", "ä", ".a", &"x".repeat(129)] {
            assert_eq!(
                request("c", Some(name)).check(),
                Err(AskError::Session),
                "{name:?}"
            );
        }
        assert_eq!(request("c", Some("user:7@home.v1")).check(), Ok(()));
        let of = |client, session| request(client, session).conversation("r1").unwrap();
        assert_ne!(of("a", Some("b")), of("b", Some("a")));
        assert!(is_once(&of("a", None)) && !is_once(&of("a", Some("r1"))));
        assert_eq!(
            client_of(&of("a-b", Some("c"))),
            Some("a-b".parse().unwrap())
        );
    }
}
