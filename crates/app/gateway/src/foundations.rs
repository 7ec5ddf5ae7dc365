//! What every service stands on.

use std::sync::Arc;

use sandbox::BlobStore;
use settings::{Home, Settings};
use store_sqlite::Store;
use waybill::{AccountId, Clock, Ids};

use crate::{HomeLock, StartError, SystemClock, SystemIds, install};

/// The web chat's account; the settings reserve the name.
const WEB: &str = "web";
/// The API's account; the settings reserve the name.
const API: &str = "api";

/// The lock, the store, the clock, and who we are.
pub(crate) struct Foundations {
    pub(crate) home: Home,
    pub(crate) settings: Arc<Settings>,
    pub(crate) lock: HomeLock,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) install: String,
    pub(crate) store: Store,
    pub(crate) blobs: Arc<dyn BlobStore>,
    pub(crate) client: net::Client,
    pub(crate) web: AccountId,
    pub(crate) api: AccountId,
}

impl Foundations {
    /// Opens the store under the home's lock, which the caller holds.
    pub(crate) fn lay(home: Home, settings: Settings, lock: HomeLock) -> Result<Self, StartError> {
        let ids: Arc<dyn Ids> = Arc::new(SystemIds);
        let install = install::install_id(&home, ids.as_ref())?;
        let store = Store::open(&store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        })?;
        let blobs = store.blobs().cloned().ok_or(StartError::NoBlobs)?;
        blobs.sweep()?;
        // Every address here is one that the owner wrote: a model or a bot server on the own network speaks plain HTTP.
        let client = net::Client::new(net::Options {
            plain_http: net::PlainHttp::Anywhere,
            ..net::Options::default()
        })?;
        Ok(Self {
            home,
            settings: Arc::new(settings),
            lock,
            clock: Arc::new(SystemClock),
            ids,
            install,
            store,
            blobs: Arc::new(blobs),
            client,
            web: AccountId::parse(WEB).map_err(StartError::Name)?,
            api: AccountId::parse(API).map_err(StartError::Name)?,
        })
    }

    /// The largest file that any profile takes or sends, in bytes: the web chat's limit.
    pub(crate) fn attachment_bytes(&self) -> u64 {
        let profiles = self.settings.profiles.values();
        profiles
            .map(|profile| profile.limits.attachment_bytes)
            .max()
            .unwrap_or(0)
    }
}
