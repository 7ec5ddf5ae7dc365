//! Why the gateway did not start. Each text says what to do.

use std::net::SocketAddr;

use crate::LockError;

/// Why the gateway did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The home folder.
    #[error(transparent)]
    Home(#[from] settings::HomeError),
    /// Another gateway runs on this home.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The database can't be opened.
    #[error(transparent)]
    Database(#[from] store_sqlite::OpenError),
    /// Whether the database is the one that was left can't be found out.
    #[error(transparent)]
    Generation(#[from] store_sqlite::GenerationError),
    /// The store failed while it was read at the start.
    #[error(transparent)]
    Store(#[from] outbox::StoreError),
    /// The address can't be listened on.
    #[error("{address} can't be listened on: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The HTTP client can't be built.
    #[error("the HTTP client can't be built: {0}")]
    Client(#[from] net::NetError),
    /// A file of the home can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The store was opened without a place for artifacts.
    #[error("the store has no place for artifacts")]
    NoBlobs,
    /// Nothing can keep the secrets out of sight.
    #[error(transparent)]
    Secrets(#[from] redact::TooMany),
    /// The machine gives no random numbers.
    #[error("no login link could be made: {0}")]
    Login(#[source] admin::Error),
    /// A name of the gateway's own is malformed.
    #[error("a name of the gateway's own is malformed: {0}")]
    Name(#[source] waybill::NameError),
}
