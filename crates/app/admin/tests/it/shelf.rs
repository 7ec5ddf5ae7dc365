//! Parcels in memory, for looking at and acting upon; nothing is ever carried from here.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{Body, IdempotencyKey, Op, Way};
use outbox::{
    Acted, Aside, AttemptRow, Claimed, Claims, ListFilter, MessageKind, MessageRow, NewMessage,
    Notice, OutboxStore, PartRow, PartState, QueueDepth, Settlement, StoreError, Tallied, Tally,
    Turnstile, Verb,
};
use waybill::{AccountId, ChatKey, MessageId, ProfileId, ProfileScope, Timestamp, Waybill};

/// Until when an account is throttled, and rests.
type Pauses = (Option<Timestamp>, Option<Timestamp>);

#[derive(Default)]
pub(crate) struct Shelf {
    rows: Mutex<Vec<MessageRow>>,
    waits: Mutex<HashMap<AccountId, Pauses>>,
    tallied: Mutex<Vec<Tallied>>,
    broken: AtomicBool,
}

/// The `number`-th parcel.
pub(crate) fn parcel(
    number: u64,
    profile: &str,
    chat: &str,
    created_at: Timestamp,
    parts: Vec<PartRow>,
) -> MessageRow {
    let chat: ChatKey = chat.parse().unwrap();
    let scope = ProfileScope::enter(ProfileId::parse(profile).unwrap());
    MessageRow {
        id: id(number),
        waybill: Waybill::operator(&scope, chat),
        kind: MessageKind::Reply,
        source: "turn:1".to_owned(),
        ordinal: 0,
        created_at,
        expires_at: created_at + Duration::from_secs(24 * 3600),
        parts,
    }
}

pub(crate) fn id(number: u64) -> MessageId {
    format!("msg_{number:032x}").parse().unwrap()
}

pub(crate) fn text(n: u32, state: PartState, words: &str) -> PartRow {
    part(n, state, Op::Text(Body::Markdown(words.to_owned())))
}

pub(crate) fn part(n: u32, state: PartState, op: Op) -> PartRow {
    PartRow {
        n,
        place: i64::from(n),
        op,
        way: Way::Direct,
        step: None,
        key: IdempotencyKey::new([u8::try_from(n).unwrap(); 16]),
        rendition: 0,
        state,
        tries: 0,
        next_at: Timestamp::UNIX_EPOCH,
        receipt: None,
        fault: None,
        may_be_repeat: false,
        forgotten: false,
        death: None,
        attempts: Vec::new(),
    }
}

pub(crate) fn attempt(
    n: u32,
    started_at: Timestamp,
    outcome: Option<&str>,
    detail: Option<&str>,
) -> AttemptRow {
    AttemptRow {
        n,
        started_at,
        ended_at: outcome.map(|_| started_at + Duration::from_millis(140)),
        outcome: outcome.map(str::to_owned),
        detail: detail.map(str::to_owned),
    }
}

impl Shelf {
    pub(crate) fn put(&self, row: MessageRow) -> MessageId {
        let id = row.id;
        self.rows().push(row);
        id
    }

    /// Lets every call fail from now on, or work again.
    pub(crate) fn break_down(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// An account that waits: throttled until, resting until.
    pub(crate) fn wait(
        &self,
        account: &str,
        throttled: Option<Timestamp>,
        resting: Option<Timestamp>,
    ) {
        let account = AccountId::parse(account).unwrap();
        let mut waits = self.waits.lock().unwrap();
        waits.insert(account, (throttled, resting));
    }

    pub(crate) fn tally(&self, account: &str, outcome: &'static str, count: u64) {
        self.tallied.lock().unwrap().push(Tallied {
            account: AccountId::parse(account).unwrap(),
            outcome,
            count,
        });
    }

    fn rows(&self) -> MutexGuard<'_, Vec<MessageRow>> {
        self.rows.lock().unwrap()
    }

    fn works(&self) -> Result<(), StoreError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        Ok(())
    }
}

impl Tally for Shelf {
    fn counts(&self) -> Vec<Tallied> {
        self.tallied.lock().unwrap().clone()
    }
}

#[async_trait]
impl OutboxStore for Shelf {
    fn use_turnstile(&self, _: Arc<dyn Turnstile>) {}

    async fn enqueue(&self, _: Vec<NewMessage>, _: Timestamp) -> Result<Vec<Claimed>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn claim(&self, _: Timestamp, _: usize) -> Result<Claims, StoreError> {
        Err(StoreError::Closed)
    }

    async fn settle(&self, _: Settlement) -> Result<Vec<Claimed>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn recover(
        &self,
        _: Timestamp,
        _: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        Err(StoreError::Closed)
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn told_of(
        &self,
        _: Aside,
        _: Option<Notice>,
        _: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(StoreError::Closed)
    }

    async fn open_account(&self, _: &AccountId) -> Result<(), StoreError> {
        Err(StoreError::Closed)
    }

    async fn changed(&self) {
        std::future::pending().await
    }

    async fn act(
        &self,
        id: MessageId,
        only: Option<u32>,
        verb: Verb,
        now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        self.works()?;
        let mut rows = self.rows();
        let Some(row) = rows.iter_mut().find(|row| row.id == id) else {
            return Ok(None);
        };
        let mut acted = Acted::default();
        let wanted = |part: &&mut PartRow| only.is_none_or(|only| part.n == only);
        for part in row.parts.iter_mut().filter(wanted) {
            let Some(state) = verb.applied(part.state) else {
                acted.left.push((part.n, part.state));
                continue;
            };
            part.state = state;
            if let Some(death) = &mut part.death {
                death.resolved = Some((verb.name().to_owned(), now));
            }
            acted.changed.push((part.n, state));
        }
        let none = acted.changed.is_empty() && acted.left.is_empty();
        Ok((!none).then_some(acted))
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        self.works()?;
        let mut rows = self.rows().clone();
        rows.retain(|row| {
            let chat = row.waybill.chat();
            filter
                .state
                .is_none_or(|state| row.parts.iter().any(|part| part.state == state))
                && filter
                    .profile
                    .as_ref()
                    .is_none_or(|profile| profile == row.waybill.profile())
                && filter
                    .account
                    .as_ref()
                    .is_none_or(|account| *account == chat.account)
                && filter
                    .conversation
                    .as_ref()
                    .is_none_or(|id| id == chat.conversation.as_str())
                && filter.before.is_none_or(|before| row.id < before)
        });
        rows.sort_by_key(|row| std::cmp::Reverse(row.id));
        rows.truncate(if filter.most == 0 { 100 } else { filter.most });
        Ok(rows)
    }

    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        self.works()?;
        Ok(self.rows().iter().find(|row| row.id == id).cloned())
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        self.works()?;
        let mut depths: BTreeMap<AccountId, QueueDepth> = BTreeMap::new();
        let empty = |account: &AccountId| QueueDepth {
            account: account.clone(),
            open: BTreeMap::new(),
            oldest: None,
            throttled_until: None,
            resting_until: None,
        };
        for row in self.rows().iter() {
            let account = row.waybill.account();
            let depth = depths
                .entry(account.clone())
                .or_insert_with(|| empty(account));
            for part in row.parts.iter().filter(|part| !part.state.is_end()) {
                *depth.open.entry(part.state.name()).or_default() += 1;
                let oldest = depth.oldest.unwrap_or(row.created_at);
                depth.oldest = Some(oldest.min(row.created_at));
            }
        }
        for (account, (throttled, resting)) in self.waits.lock().unwrap().iter() {
            let depth = depths
                .entry(account.clone())
                .or_insert_with(|| empty(account));
            depth.throttled_until = *throttled;
            depth.resting_until = *resting;
        }
        Ok(depths.into_values().collect())
    }
}
