//! Keys and requests of the API in memory, for tests of what stands before the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use policy::{AddedKey, ApiKey, KeyStore, TokenHash};
use sandbox::{ArtifactRef, ContentHash};
use session::{AnswerStore, KeyedRequest, Known, Progress, StoreError};
use waybill::{AccountId, ClientId, Conversation, ProfileId, Timestamp};

#[derive(Default)]
struct State {
    keys: HashMap<ClientId, (TokenHash, ApiKey)>,
    known: HashMap<(ClientId, [u8; 32]), KeyedRequest>,
    progress: HashMap<String, Progress>,
}

/// Keys, and what became of requests, as a test says.
#[derive(Default)]
pub struct MemoryPrograms(Mutex<State>);

impl MemoryPrograms {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a request stands from now on.
    pub fn stands(&self, request: &str, progress: Progress) {
        self.state().progress.insert(request.to_owned(), progress);
    }
}

#[async_trait]
impl KeyStore for MemoryPrograms {
    async fn add_key(
        &self,
        key: TokenHash,
        name: ClientId,
        profile: ProfileId,
        now: Timestamp,
    ) -> Result<AddedKey, StoreError> {
        let mut state = self.state();
        if let Some((_, before)) = state.keys.get(&name) {
            if before.profile != profile {
                return Ok(AddedKey::OtherProfile(before.profile.clone()));
            }
            if before.revoked_at.is_none() {
                return Ok(AddedKey::Taken);
            }
        }
        let row = ApiKey {
            name: name.clone(),
            profile,
            created_at: now,
            last_used_at: None,
            revoked_at: None,
        };
        state.keys.insert(name, (key, row));
        Ok(AddedKey::Added)
    }

    async fn find_key(&self, key: TokenHash) -> Result<Option<ApiKey>, StoreError> {
        let state = self.state();
        let mut keys = state.keys.values();
        Ok(keys
            .find(|(hash, row)| *hash == key && row.revoked_at.is_none())
            .map(|(_, row)| row.clone()))
    }

    async fn key_named(&self, name: &ClientId) -> Result<Option<ApiKey>, StoreError> {
        Ok(self.state().keys.get(name).map(|(_, row)| row.clone()))
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        let mut keys: Vec<ApiKey> = self
            .state()
            .keys
            .values()
            .map(|(_, row)| row.clone())
            .collect();
        keys.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(keys)
    }

    async fn use_key(&self, name: &ClientId, now: Timestamp) -> Result<(), StoreError> {
        if let Some((_, row)) = self.state().keys.get_mut(name) {
            row.last_used_at = Some(now);
        }
        Ok(())
    }

    async fn revoke_key(&self, name: &ClientId, now: Timestamp) -> Result<bool, StoreError> {
        let mut state = self.state();
        let Some((_, row)) = state.keys.get_mut(name) else {
            return Ok(false);
        };
        let held = row.revoked_at.is_none();
        row.revoked_at.get_or_insert(now);
        Ok(held)
    }
}

#[async_trait]
impl AnswerStore for MemoryPrograms {
    async fn know(
        &self,
        asked: KeyedRequest,
        _since: Timestamp,
        _now: Timestamp,
    ) -> Result<Known, StoreError> {
        let mut state = self.state();
        let place = (asked.client.clone(), asked.key);
        match state.known.get(&place) {
            Some(before) if before.asks != asked.asks => Ok(Known::Otherwise),
            Some(before) => Ok(Known::Before {
                request: before.request.clone(),
                conversation: Conversation::clone(&before.conversation),
            }),
            None => {
                state.known.insert(place, asked);
                Ok(Known::Fresh)
            }
        }
    }

    async fn progress(
        &self,
        _account: &AccountId,
        event: &str,
    ) -> Result<Option<Progress>, StoreError> {
        Ok(self.state().progress.get(event).cloned())
    }

    async fn sent_file(
        &self,
        _account: &AccountId,
        _client: &ClientId,
        _profile: &ProfileId,
        _hash: &ContentHash,
    ) -> Result<Option<ArtifactRef>, StoreError> {
        Ok(None)
    }
}
