//! The outbox at rest.

mod claim;
mod enqueue;
mod lane;
mod list;
#[cfg(test)]
mod plan;
mod settle;

use async_trait::async_trait;
use outbox::{Claimed, ListFilter, MessageRow, NewMessage, OutboxStore, Settlement, StoreError};
use waybill::{AccountId, MessageId, Timestamp};

use crate::store::Store;
use crate::value::time;

pub(crate) use enqueue::enqueue;

#[async_trait]
impl OutboxStore for Store {
    async fn enqueue(
        &self,
        messages: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| enqueue::enqueue(desk, &messages, now))
            .await
    }

    async fn claim(&self, now: Timestamp, most: usize) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| claim::claim(desk, now, most)).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| settle::settle(desk, &settlement))
            .await
    }

    async fn recover(&self, now: Timestamp) -> Result<usize, StoreError> {
        self.write(move |desk| settle::recover(desk, now)).await
    }

    async fn open_account(&self, account: &AccountId) -> Result<(), StoreError> {
        let account = account.clone();
        self.write(move |desk| lane::open_account(desk, &account))
            .await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.read(|desk| {
            let due = lane::next_due(desk)?;
            due.map(|at| time("lane.ready_at", at)).transpose()
        })
        .await
    }

    async fn changed(&self) {
        self.woken().await;
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        self.read(move |desk| list::list(desk, &filter)).await
    }

    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        self.read(move |desk| list::show(desk, id)).await
    }
}
