//! Keys: made here, known by hash, checked before anything else is looked at.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use policy::{AddedKey, ApiKey, KeyStore, TokenHash};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use waybill::{ClientId, Clock, ProfileId, Secret, Timestamp};

use super::Refusal;
use super::body::BUDGET;
use crate::router::Surface;

/// What every key begins with, so that one that leaked into a file is found by a search.
const BEGINS: &str = "tdg_";
/// Keys that don't hold may come so many at once…
const GUESSES: u32 = 10;
/// …and one more each so long. Guessing is hopeless in any case: this keeps the log and the database quiet.
const GUESS_EACH: Duration = Duration::from_secs(1);
/// A key's last use is written down at most so often: each time costs a place in a commit.
const NOTED_EACH: Duration = Duration::from_secs(60);
/// Clients whose last use is remembered here.
const REMEMBERED: usize = 10_000;

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The system gave no random bytes.
    #[error("the system gave no random bytes for a key")]
    Random(#[source] getrandom::Error),
    /// The store failed.
    #[error("the key could not be stored")]
    Store(#[source] session::StoreError),
    /// The name is in use.
    #[error(
        "there is a key named '{0}' already: revoke it first with `tidings api-key revoke {0}`, or choose another name"
    )]
    Taken(ClientId),
    /// The name belongs to another profile.
    #[error(
        "the name '{name}' belonged to a key for the profile '{profile}', and its conversations are that profile's: choose another name"
    )]
    OtherProfile {
        /// The name.
        name: ClientId,
        /// Whose.
        profile: ProfileId,
    },
}

/// Makes a key. Its text is known to the caller alone from now on.
///
/// # Errors
/// [`KeyError`], written for the owner.
pub async fn new_key(
    keys: &dyn KeyStore,
    name: ClientId,
    profile: ProfileId,
    clock: &dyn Clock,
) -> Result<Secret, KeyError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(KeyError::Random)?;
    let key = bytes.iter().fold(BEGINS.to_owned(), |mut text, byte| {
        // Writing to a String cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    });
    let hash = TokenHash::of(&key);
    let added = keys
        .add_key(hash, name.clone(), profile, clock.now())
        .await
        .map_err(KeyError::Store)?;
    match added {
        AddedKey::Added => Ok(Secret::new(key)),
        AddedKey::Taken => Err(KeyError::Taken(name)),
        AddedKey::OtherProfile(profile) => Err(KeyError::OtherProfile { name, profile }),
    }
}

/// Whose key a request came with.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) client: ClientId,
    pub(crate) profile: ProfileId,
}

/// What is remembered between requests.
pub(crate) struct Desk {
    guesses: Mutex<Guesses>,
    used: Mutex<HashMap<ClientId, Timestamp>>,
    /// Kilobytes of bodies that may be in memory.
    pub(crate) budget: Semaphore,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            guesses: Mutex::default(),
            used: Mutex::default(),
            budget: Semaphore::new(BUDGET),
        }
    }
}

#[derive(Default)]
struct Guesses {
    /// When the last of those that came would have been allowed, had they come one by one.
    until: Option<Instant>,
}

impl Guesses {
    /// Counts one; the seconds to wait, if it is one too many.
    fn count(&mut self, now: Instant) -> Result<(), u64> {
        let until = self.until.map_or(now, |until| until.max(now)) + GUESS_EACH;
        if until > now + GUESS_EACH * GUESSES {
            return Err(GUESS_EACH.as_secs().max(1));
        }
        self.until = Some(until);
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// Whether a use has to be written down.
    fn note(&self, client: &ClientId, now: Timestamp) -> bool {
        let mut used = lock(&self.used);
        if used.len() >= REMEMBERED {
            used.clear();
        }
        match used.get(client) {
            Some(last) if *last <= now && now.duration_since(*last).unsigned_abs() < NOTED_EACH => {
                false
            }
            Some(_) | None => {
                used.insert(client.clone(), now);
                true
            }
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

async fn known(surface: &Surface, headers: &HeaderMap) -> Result<ApiKey, Refusal> {
    let key = match bearer(headers) {
        Some(key) => surface.options.v1.keys.find_key(TokenHash::of(key)).await?,
        None => None,
    };
    let Some(key) = key else {
        return Err(match lock(&surface.v1.guesses).count(Instant::now()) {
            Ok(()) => Refusal::key(),
            Err(after) => Refusal::guesses(after),
        });
    };
    let now = surface.options.clock.now();
    if surface.v1.note(&key.name, now)
        && let Err(error) = surface.options.v1.keys.use_key(&key.name, now).await
    {
        tracing::warn!(%error, key = %key.name, "the last use of a key could not be written down");
    }
    Ok(key)
}

/// Lets only who has a key pass. Cookies are nothing here.
pub(crate) async fn require(
    State(surface): State<Arc<Surface>>,
    mut request: Request,
    next: Next,
) -> Response {
    match known(&surface, request.headers()).await {
        Ok(key) => {
            let caller = Caller {
                client: key.name,
                profile: key.profile,
            };
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_key_is_taken_from_one_bearer_header_alone() {
        let with = |values: &[&'static str]| {
            let values = values.iter();
            values
                .map(|value| (header::AUTHORIZATION, HeaderValue::from_static(value)))
                .collect::<HeaderMap>()
        };
        for good in ["Bearer tdg_1", "bearer tdg_1", "BEARER  tdg_1"] {
            assert_eq!(bearer(&with(&[good])), Some("tdg_1"), "{good}");
        }
        let wrong: [&[&str]; 6] = [
            &[],
            &["tdg_1"],
            &["Basic tdg_1"],
            &["Bearer "],
            &["Bearer"],
            &["Bearer tdg_1", "Bearer tdg_2"],
        ];
        for wrong in wrong {
            assert_eq!(bearer(&with(wrong)), None, "{wrong:?}");
        }
    }

    #[test]
    fn keys_that_do_not_hold_are_slowed_down_and_forgiven() {
        let mut guesses = Guesses::default();
        let now = Instant::now();
        for _ in 0..GUESSES {
            assert_eq!(guesses.count(now), Ok(()));
        }
        assert!(guesses.count(now).is_err());
        assert_eq!(guesses.count(now + GUESS_EACH), Ok(()));
        assert!(guesses.count(now + GUESS_EACH).is_err());
        let later = now + GUESS_EACH * 100;
        for _ in 0..GUESSES {
            assert_eq!(guesses.count(later), Ok(()));
        }
        assert!(guesses.count(later).is_err());
    }
}
