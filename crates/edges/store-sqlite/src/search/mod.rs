//! Searching what was said: an index in a file of its own, fed from the transcripts behind everybody's back.
//!
//! Nothing waits for it and nothing fails with it: a turn's words are stored whether or not the index has room, and where the
//! file is lost, damaged, of another version or of another database, it is made anew from the transcripts. Whoever searches
//! waits a moment for what is not indexed yet, and is told how much was left out.

mod index;
mod source;
mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox::StoreError;
use session::{Passage, Recall, RecallError, Recalled, Within};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use waybill::TurnId;

use crate::store::Store;
use index::{Broken, Index};

/// From one look for new words to the next.
const EVERY: Duration = Duration::from_secs(30);
/// Looks from one walk for what is gone to the next: an hour.
const WALK: u32 = 120;
/// Rest between two batches: whoever reads comes first.
const REST: Duration = Duration::from_millis(5);
/// How long a search waits for what is not indexed yet.
const FRESH: Duration = Duration::from_secs(1);
/// Entries that are looked at in one batch.
const BATCH: usize = 500;
/// Numbers that are looked through in one step of a walk.
const STRIDE: usize = 2_000;
/// Hits that are looked at for each one that is wanted: several may be of one stretch.
const HITS: usize = 8;

/// The index, and the store that it is made from. Cheap to clone; all clones are one index.
#[derive(Clone)]
pub struct Search(Arc<Inner>);

struct Inner {
    store: Store,
    path: PathBuf,
    /// The open index; none before its first use and after trouble.
    hand: Mutex<Option<Index>>,
}

/// What keeps the index from growing.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] Broken),
}

impl Search {
    /// An index in the file `path`, made when it is first needed, over the transcripts of `store`.
    #[must_use]
    pub fn new(store: Store, path: &Path) -> Self {
        Self(Arc::new(Inner {
            store,
            path: path.to_owned(),
            hand: Mutex::new(None),
        }))
    }

    /// Keeps the index as it should be, for ever; returns only when the store is closed.
    pub async fn keep(&self) -> String {
        let mut until_walk = WALK;
        loop {
            let grown = self.0.catch_up().await;
            until_walk = until_walk.saturating_sub(1);
            let kept = match grown {
                Ok(()) if until_walk == 0 => {
                    until_walk = WALK;
                    self.0.let_go().await
                }
                other => other,
            };
            match kept {
                Ok(()) => {}
                Err(Trouble::Store(error @ StoreError::Closed)) => return error.to_string(),
                Err(error) => {
                    tracing::warn!(%error, "the search index stays behind; it is tried again");
                }
            }
            sleep(EVERY).await;
        }
    }

    /// Lets go of words whose entries are gone, now and not at the next walk.
    ///
    /// # Errors
    /// A sentence.
    pub async fn tidy(&self) -> Result<(), String> {
        self.0.let_go().await.map_err(|error| error.to_string())
    }
}

impl Inner {
    /// Indexes everything that is not, batch by batch.
    async fn catch_up(&self) -> Result<(), Trouble> {
        let mut hand = self.hand.lock().await;
        loop {
            let mut index = self.opened(hand.take()).await?;
            let mark = index.mark().clone();
            let batch = self
                .store
                .read(move |desk| source::after(desk, &mark, BATCH))
                .await;
            let batch = match batch {
                Ok(batch) => batch,
                Err(error) => {
                    *hand = Some(index);
                    return Err(error.into());
                }
            };
            let more = batch.more;
            let path = self.path.clone();
            let added = spawn_blocking(move || {
                if batch.other {
                    tracing::info!("the search index is of another transcript; it is made anew");
                    drop(index);
                    return Index::anew(&path);
                }
                index.add(&batch)?;
                Ok(index)
            });
            *hand = Some(self.whole(added.await)?);
            if !more {
                return Ok(());
            }
            sleep(REST).await;
        }
    }

    /// Lets go of words whose entries are gone.
    async fn let_go(&self) -> Result<(), Trouble> {
        let mut hand = self.hand.lock().await;
        let mut after = 0;
        loop {
            let index = self.opened(hand.take()).await?;
            let listed = spawn_blocking(move || {
                let ids = index.ids(after, STRIDE)?;
                Ok((index, ids))
            });
            let (index, ids) = self.whole(listed.await)?;
            let Some(last) = ids.last().copied() else {
                *hand = Some(index);
                return Ok(());
            };
            after = last;
            let gone = self.store.read(move |desk| source::gone(desk, ids)).await;
            let gone = match gone {
                Ok(gone) => gone,
                Err(error) => {
                    *hand = Some(index);
                    return Err(error.into());
                }
            };
            let removed = spawn_blocking(move || {
                index.remove(&gone)?;
                Ok(index)
            });
            *hand = Some(self.whole(removed.await)?);
            sleep(REST).await;
        }
    }

    /// The index that is at hand, if its file is still there; else the one on disk; else a new one.
    async fn opened(&self, at_hand: Option<Index>) -> Result<Index, Trouble> {
        let path = self.path.clone();
        let opened = spawn_blocking(move || match at_hand {
            Some(index) if index.is_at(&path) => Ok(index),
            Some(lost) => {
                tracing::warn!(path = %path.display(), "the search index was taken away; it is made anew");
                drop(lost);
                Index::anew(&path)
            }
            None => Index::open(&path),
        });
        self.whole(opened.await)
    }

    /// What became of work on the index. One that is damaged is removed, so that the next use makes it anew.
    fn whole<T>(
        &self,
        done: Result<Result<T, Broken>, tokio::task::JoinError>,
    ) -> Result<T, Trouble> {
        let broken = match done {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(broken)) => broken,
            Err(error) => Broken::Away(error.to_string()),
        };
        if let Broken::Damaged(_) = &broken {
            tracing::warn!(path = %self.path.display(), %broken, "the search index is damaged; it is made anew");
            index::remove_files(&self.path);
        }
        Err(broken.into())
    }

    async fn hits(
        &self,
        within: &Within,
        query: words::Query,
        most: usize,
    ) -> Result<(Vec<i64>, i64), RecallError> {
        let sessions = match within {
            Within::Profile(_) => None,
            Within::Chat(profile, key) => {
                let (profile, key) = (profile.clone(), key.clone());
                let read = self
                    .store
                    .read(move |desk| source::stretches(desk, &profile, &key));
                Some(read.await.map_err(away)?)
            }
        };
        let (path, profile) = (self.path.clone(), within.profile().clone());
        let found = spawn_blocking(move || {
            let index = Index::look(&path)?;
            let hits = index.find(&query, &profile, sessions.as_deref(), most)?;
            Ok((hits, index.mark().id))
        });
        self.whole(found.await).map_err(away)
    }
}

fn away(error: impl ToString) -> RecallError {
    RecallError::Away(error.to_string())
}

#[async_trait]
impl Recall for Search {
    async fn search(
        &self,
        within: &Within,
        but: TurnId,
        query: &str,
        most: usize,
    ) -> Result<Recalled, RecallError> {
        let query = words::query(query).ok_or(RecallError::NoWords)?;
        match timeout(FRESH, self.0.catch_up()).await {
            Ok(Ok(())) | Err(_) => {}
            // What is indexed may be searched all the same.
            Ok(Err(error)) => {
                tracing::warn!(%error, "the search index stays behind; it is tried again");
            }
        }
        let (hits, mark) = self
            .0
            .hits(within, query, most.saturating_mul(HITS))
            .await?;
        let store = &self.0.store;
        let within = within.clone();
        let found = store.read(move |desk| source::passages(desk, &within, but, &hits, mark, most));
        found.await.map_err(away)
    }

    async fn around(
        &self,
        within: &Within,
        id: i64,
        span: usize,
    ) -> Result<Vec<Passage>, RecallError> {
        let within = within.clone();
        let store = &self.0.store;
        let found = store.read(move |desk| source::around(desk, &within, id, span));
        let found = found.await.map_err(away)?;
        found.ok_or(RecallError::NoPassage(id))
    }
}
