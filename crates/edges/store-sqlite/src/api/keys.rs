//! Keys, by hash.

use async_trait::async_trait;
use outbox::StoreError;
use policy::{AddedKey, ApiKey, KeyStore, TokenHash};
use rusqlite::{Row, params};
use waybill::{ClientId, ProfileId, Timestamp};

use crate::desk::Desk;
use crate::error::Trouble;
use crate::store::Store;
use crate::value::{ms, parse, time};

#[async_trait]
impl KeyStore for Store {
    async fn add_key(
        &self,
        key: TokenHash,
        name: ClientId,
        profile: ProfileId,
        now: Timestamp,
    ) -> Result<AddedKey, StoreError> {
        self.write(move |desk| add(desk, key, &name, &profile, now))
            .await
    }

    async fn find_key(&self, key: TokenHash) -> Result<Option<ApiKey>, StoreError> {
        self.read(move |desk| {
            let found = desk.first(
                "SELECT name, profile, created_at, last_used_at, revoked_at FROM api_key
                 WHERE hash = ?1 AND revoked_at IS NULL",
                [key.as_bytes().as_slice()],
                columns,
            )?;
            found.map(row).transpose()
        })
        .await
    }

    async fn key_named(&self, name: &ClientId) -> Result<Option<ApiKey>, StoreError> {
        let name = name.clone();
        self.read(move |desk| named(desk, &name)).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(|desk| {
            let found = desk.all(
                "SELECT name, profile, created_at, last_used_at, revoked_at FROM api_key ORDER BY name",
                [],
                columns,
            )?;
            found.into_iter().map(row).collect()
        })
        .await
    }

    async fn use_key(&self, name: &ClientId, now: Timestamp) -> Result<(), StoreError> {
        let name = name.clone();
        self.write(move |desk| {
            desk.run(
                "UPDATE api_key SET last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE name = ?1",
                params![name.as_str(), ms(now)],
            )?;
            Ok(())
        })
        .await
    }

    async fn revoke_key(&self, name: &ClientId, now: Timestamp) -> Result<bool, StoreError> {
        let name = name.clone();
        self.write(move |desk| {
            let revoked = desk.run(
                "UPDATE api_key SET revoked_at = ?2 WHERE name = ?1 AND revoked_at IS NULL",
                params![name.as_str(), ms(now)],
            )?;
            Ok(revoked > 0)
        })
        .await
    }
}

fn add(
    desk: &Desk<'_>,
    key: TokenHash,
    name: &ClientId,
    profile: &ProfileId,
    now: Timestamp,
) -> Result<AddedKey, Trouble> {
    if let Some(before) = named(desk, name)? {
        if before.profile != *profile {
            return Ok(AddedKey::OtherProfile(before.profile));
        }
        if before.revoked_at.is_none() {
            return Ok(AddedKey::Taken);
        }
    }
    desk.run(
        "INSERT INTO api_key(name, profile, hash, created_at) VALUES(?1, ?2, ?3, ?4)
         ON CONFLICT(name) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at,
             last_used_at = NULL, revoked_at = NULL",
        params![
            name.as_str(),
            profile.as_str(),
            key.as_bytes().as_slice(),
            ms(now)
        ],
    )?;
    Ok(AddedKey::Added)
}

fn named(desk: &Desk<'_>, name: &ClientId) -> Result<Option<ApiKey>, Trouble> {
    let found = desk.first(
        "SELECT name, profile, created_at, last_used_at, revoked_at FROM api_key WHERE name = ?1",
        [name.as_str()],
        columns,
    )?;
    found.map(row).transpose()
}

type Columns = (String, String, i64, Option<i64>, Option<i64>);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    Ok((
        row.get(0)?,
        row.get(1)?,
        row.get(2)?,
        row.get(3)?,
        row.get(4)?,
    ))
}

fn row((name, profile, created_at, last_used_at, revoked_at): Columns) -> Result<ApiKey, Trouble> {
    let row = format!("the API key {name}");
    let at = |ms: Option<i64>| ms.map(|ms| time(&row, ms)).transpose();
    Ok(ApiKey {
        name: parse(&row, &name)?,
        profile: parse(&row, &profile)?,
        created_at: time(&row, created_at)?,
        last_used_at: at(last_used_at)?,
        revoked_at: at(revoked_at)?,
    })
}
