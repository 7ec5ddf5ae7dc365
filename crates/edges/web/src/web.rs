//! The port, and what every profile shares of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use net::{Client, Destinations, Names, NetError, PlainHttp, Redirects, SystemNames};
use tokio::sync::{Semaphore, SemaphorePermit};
use tool::{Download, Hit, Page, ToolError};

use crate::fetch::{self, Body};
use crate::page::{Readable, readable};
use crate::recent::Recent;
use crate::search::{self, Search};

/// Redirects that are followed: more than real sites need.
const REDIRECTS: u8 = 5;
/// Pages that are read at once, for all profiles together.
const PAGES: usize = 16;
/// Files that are fetched at once: each is held whole.
const FILES: usize = 2;
/// Pages that are converted at once.
const CONVERSIONS: usize = 2;
/// How long a call waits for its place among those.
const TURN_WITHIN: Duration = Duration::from_secs(60);
/// How long a page may take to be converted; ordinary ones take milliseconds.
const CONVERTED_WITHIN: Duration = Duration::from_secs(10);

/// How the web is reached.
#[derive(Debug, Clone)]
pub struct Options {
    /// Reached though they are no addresses of the public Internet: a test's own servers. No setting leads here.
    pub except: Vec<SocketAddr>,
    /// Who knows where names lead; the system by default.
    pub names: Arc<dyn Names>,
    /// For the name, the connection and TLS together.
    pub connect_timeout: Duration,
    /// For silence.
    pub read_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            except: Vec::new(),
            names: Arc::new(SystemNames),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
        }
    }
}

/// What all profiles share: connections, and places at the table. A clone is cheap.
#[derive(Debug, Clone)]
pub struct Clients {
    /// For addresses that a model chose.
    guarded: Client,
    /// For the search engine, whose address the owner wrote.
    engine: Client,
    pages: Arc<Semaphore>,
    files: Arc<Semaphore>,
    conversions: Arc<Semaphore>,
}

impl Clients {
    /// Makes them. Reads no file and no environment.
    ///
    /// # Errors
    /// [`NetError::Build`].
    pub fn new(options: Options) -> Result<Self, NetError> {
        let guarded = Client::new(net::Options {
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            // It says that it is a program and whose: sites that don't want it can say so.
            user_agent: concat!(
                "Mozilla/5.0 (compatible; tidings/",
                env!("CARGO_PKG_VERSION"),
                ")"
            )
            .to_owned(),
            redirects: Redirects::Follow(REDIRECTS),
            plain_http: PlainHttp::Anywhere,
            destinations: Destinations::Public {
                except: options.except,
            },
            names: options.names,
            ..net::Options::default()
        })?;
        let engine = Client::new(net::Options {
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            plain_http: PlainHttp::Anywhere,
            ..net::Options::default()
        })?;
        Ok(Self {
            guarded,
            engine,
            pages: Arc::new(Semaphore::new(PAGES)),
            files: Arc::new(Semaphore::new(FILES)),
            conversions: Arc::new(Semaphore::new(CONVERSIONS)),
        })
    }
}

/// The web of one profile.
pub struct Web {
    clients: Clients,
    search: Option<Search>,
    recent: Recent,
}

impl Web {
    /// The web, with something to search it with or without.
    #[must_use]
    pub fn new(clients: Clients, search: Option<Search>) -> Self {
        Self {
            clients,
            search,
            recent: Recent::default(),
        }
    }

    async fn read(&self, address: &str) -> Result<Page, ToolError> {
        let url = fetch::address(address)?;
        let place = place(&self.clients.pages).await?;
        let mut fetched = fetch::page(&self.clients.guarded, &url).await?;
        let read = match std::mem::replace(&mut fetched.body, Body::File) {
            Body::Page(html) => {
                let base = fetched.address.clone();
                let read = converted(&self.clients.conversions, html, base).await?;
                fetched.body = Body::Page(String::new());
                Some(read)
            }
            other @ (Body::Text(_) | Body::File) => {
                fetched.body = other;
                None
            }
        };
        drop(place);
        Ok(fetched.page(read))
    }
}

#[async_trait]
impl tool::Web for Web {
    async fn fetch(&self, address: &str) -> Result<Page, ToolError> {
        if let Some(page) = self.recent.get(address) {
            return Ok(page);
        }
        let page = self.read(address).await?;
        self.recent.keep(address, &page);
        Ok(page)
    }

    async fn download(&self, address: &str, limit: u64) -> Result<Download, ToolError> {
        let url = fetch::address(address)?;
        let _place = place(&self.clients.files).await?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        fetch::file(&self.clients.guarded, &url, limit).await
    }

    fn searches(&self) -> bool {
        self.search.is_some()
    }

    async fn search(&self, query: &str, most: usize) -> Result<Vec<Hit>, ToolError> {
        let Some(search) = &self.search else {
            return Err(ToolError::Failed(
                "there is nothing to search with; the owner can set `search` under `web` in tidings.toml".to_owned(),
            ));
        };
        let _place = place(&self.clients.pages).await?;
        search::search(&self.clients.engine, search, query, most).await
    }
}

async fn place(places: &Semaphore) -> Result<SemaphorePermit<'_>, ToolError> {
    let place = tokio::time::timeout(TURN_WITHIN, places.acquire()).await;
    place.ok().and_then(Result::ok).ok_or_else(|| {
        ToolError::Failed("too much is read from the web at once; try again in a moment".to_owned())
    })
}

/// Converts a page beside the gateway's other work.
async fn converted(
    places: &Semaphore,
    html: String,
    base: url::Url,
) -> Result<Readable, ToolError> {
    let _place = place(places).await?;
    let stop = Arc::new(AtomicBool::new(false));
    // Also when nobody waits any longer: the turn was stopped.
    let _told = Told(Arc::clone(&stop));
    let work = tokio::task::spawn_blocking({
        let stop = Arc::clone(&stop);
        move || readable(&html, &base, &stop)
    });
    let read = tokio::time::timeout(CONVERTED_WITHIN, work).await;
    read.ok().and_then(Result::ok).flatten().ok_or_else(|| {
        ToolError::Failed(
            "the page can't be turned into text; it can be saved as a file".to_owned(),
        )
    })
}

/// Tells a conversion that nobody waits for it.
struct Told(Arc<AtomicBool>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
