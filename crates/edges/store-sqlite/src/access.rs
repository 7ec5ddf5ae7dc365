//! Login links and browser sessions, by hash.

use async_trait::async_trait;
use outbox::StoreError;
use policy::{AccessStore, TokenHash};
use rusqlite::params;
use waybill::Timestamp;

use crate::store::Store;
use crate::value::ms;

#[async_trait]
impl AccessStore for Store {
    async fn add_login(&self, token: TokenHash, expires_at: Timestamp) -> Result<(), StoreError> {
        self.write(move |desk| {
            desk.run(
                "INSERT INTO login(token, expires_at) VALUES(?1, ?2)",
                params![token.as_bytes().as_slice(), ms(expires_at)],
            )?;
            Ok(())
        })
        .await
    }

    async fn log_in(
        &self,
        token: TokenHash,
        session: TokenHash,
        session_expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(move |desk| {
            for sql in [
                "DELETE FROM login WHERE expires_at <= ?1",
                "DELETE FROM browser WHERE expires_at <= ?1",
            ] {
                desk.run(sql, [ms(now)])?;
            }
            let used = desk.run(
                "DELETE FROM login WHERE token = ?1",
                [token.as_bytes().as_slice()],
            )?;
            if used == 0 {
                return Ok(false);
            }
            desk.run(
                "INSERT INTO browser(token, expires_at) VALUES(?1, ?2)",
                params![session.as_bytes().as_slice(), ms(session_expires_at)],
            )?;
            Ok(true)
        })
        .await
    }

    async fn is_open(&self, session: TokenHash, now: Timestamp) -> Result<bool, StoreError> {
        self.read(move |desk| {
            let open = desk.first(
                "SELECT 1 FROM browser WHERE token = ?1 AND expires_at > ?2",
                params![session.as_bytes().as_slice(), ms(now)],
                |row| row.get::<_, i64>(0),
            )?;
            Ok(open.is_some())
        })
        .await
    }

    async fn log_out(&self, session: TokenHash) -> Result<(), StoreError> {
        self.write(move |desk| {
            desk.run(
                "DELETE FROM browser WHERE token = ?1",
                [session.as_bytes().as_slice()],
            )?;
            Ok(())
        })
        .await
    }
}
