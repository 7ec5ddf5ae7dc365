//! The outbox at rest.

mod act;
mod aside;
mod claim;
mod doubt;
mod enqueue;
mod gathering;
mod lane;
mod list;
#[cfg(test)]
mod plan;
mod settle;
mod words;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use outbox::{
    Acted, Aside, Claimed, Claims, ListFilter, MessageRow, NewMessage, Notice, OutboxStore,
    QueueDepth, Settlement, StoreError, Turnstile, Verb,
};
use waybill::{AccountId, MessageId, Timestamp};

use crate::store::Store;

pub(crate) use doubt::doubt;
pub(crate) use enqueue::enqueue;

#[async_trait]
impl OutboxStore for Store {
    fn use_turnstile(&self, turnstile: Arc<dyn Turnstile>) {
        self.set_turnstile(turnstile);
    }

    async fn enqueue(
        &self,
        messages: Vec<NewMessage>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| enqueue::enqueue(desk, &messages, now))
            .await
    }

    async fn claim(&self, now: Timestamp, most: usize) -> Result<Claims, StoreError> {
        self.write(move |desk| claim::claim(desk, now, most)).await
    }

    async fn settle(&self, settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| settle::settle(desk, &settlement))
            .await
    }

    async fn recover(
        &self,
        now: Timestamp,
        settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        self.write(move |desk| settle::recover(desk, now, &settle))
            .await
    }

    async fn open_account(&self, account: &AccountId) -> Result<(), StoreError> {
        let account = account.clone();
        self.write(move |desk| lane::open_account(desk, account.as_str()))
            .await
    }

    async fn changed(&self) {
        self.woken().await;
    }

    async fn act(
        &self,
        id: MessageId,
        part: Option<u32>,
        verb: Verb,
        now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        self.write(move |desk| act::act(desk, id, part, verb, now))
            .await
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        self.read(aside::untold).await
    }

    async fn told_of(
        &self,
        aside: Aside,
        notice: Option<Notice>,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.write(move |desk| aside::told_of(desk, &aside, notice.as_ref(), now))
            .await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        self.read(move |desk| list::list(desk, &filter)).await
    }

    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        self.read(move |desk| list::show(desk, id)).await
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.read(list::depths).await
    }
}
