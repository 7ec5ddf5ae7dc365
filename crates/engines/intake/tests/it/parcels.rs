//! `/outbox` and `/resend`: a chat's own parcels and nobody else's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use chat::{Body, Fault, FaultKind, IdempotencyKey, InboundKind, Op, Place, Way};
use outbox::{
    Acted, Aside, AttemptRow, Claimed, Claims, Death, ListFilter, MessageKind, MessageRow,
    NewMessage, Notice, OutboxStore, PartRow, PartState, QueueDepth, Settlement, StoreError,
    Turnstile, Verb,
};
use testkit::clock::{CountingIds, ManualClock};
use waybill::{
    AccountId, ChatKey, Clock as _, Conversation, MessageId, ProfileId, ProfileScope, Timestamp,
    Waybill,
};

use crate::world::{FRIEND, House, OWNER, account, failed, said, say, unreadable};

/// Parcels that are there. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Parcels>>);

#[derive(Default)]
struct Parcels {
    rows: Vec<MessageRow>,
    /// Parcels that wait in the lane of another conversation than their waybill names: the chat moved.
    carried: HashMap<MessageId, String>,
    damaged: Vec<MessageId>,
    ids: CountingIds,
}

impl Shelf {
    fn parcels(&self) -> MutexGuard<'_, Parcels> {
        self.0.lock().unwrap()
    }

    /// A parcel to that chat with parts in those states, made some hours ago.
    fn holds(&self, chat: &str, states: &[PartState], hours: i64) -> MessageId {
        let mut parcels = self.parcels();
        let id = MessageId::fresh(&parcels.ids);
        let made = now() - for_hours(hours);
        let profile = ProfileScope::enter(ProfileId::parse("work").unwrap());
        let row = MessageRow {
            id,
            waybill: Waybill::operator(&profile, chat.parse().unwrap()),
            kind: MessageKind::Reply,
            source: "inbox:1".to_owned(),
            ordinal: 0,
            created_at: made,
            expires_at: made + for_hours(24),
            parts: states
                .iter()
                .zip(1..)
                .map(|(state, n)| part(n, *state, made))
                .collect(),
        };
        parcels.rows.push(row);
        id
    }

    fn carry(&self, id: MessageId, conversation: &str) {
        let mut parcels = self.parcels();
        parcels.carried.insert(id, conversation.to_owned());
    }

    fn damage(&self, id: MessageId) {
        self.parcels().damaged.push(id);
    }

    fn states(&self, id: MessageId) -> Vec<PartState> {
        let parcels = self.parcels();
        let row = parcels.rows.iter().find(|row| row.id == id).unwrap();
        row.parts.iter().map(|part| part.state).collect()
    }
}

fn for_hours(hours: i64) -> Duration {
    Duration::from_secs(u64::try_from(hours).unwrap() * 3_600)
}

fn now() -> Timestamp {
    ManualClock::default().now()
}

fn part(n: u32, state: PartState, made: Timestamp) -> PartRow {
    let dead = matches!(state, PartState::Failed | PartState::Expired);
    PartRow {
        n,
        place: i64::from(n),
        op: Op::Text(Body::Markdown(format!("words of *part* {n}"))),
        way: Way::Direct,
        step: None,
        key: IdempotencyKey::new([1; 16]),
        rendition: 0,
        state,
        tries: 1,
        next_at: now() + Duration::from_secs(40),
        receipt: None,
        fault: dead.then(|| Fault::new(FaultKind::PermItem, "no such *thing*")),
        may_be_repeat: false,
        forgotten: false,
        death: dead.then(|| Death {
            reason: "no such *thing*".to_owned(),
            at: made,
            notice: None,
            resolved: None,
        }),
        attempts: vec![AttemptRow {
            n: 1,
            started_at: made,
            ended_at: Some(made),
            outcome: Some("perm_item".to_owned()),
            detail: None,
        }],
    }
}

#[async_trait]
impl OutboxStore for Shelf {
    fn use_turnstile(&self, _turnstile: Arc<dyn Turnstile>) {}

    async fn enqueue(
        &self,
        _messages: Vec<NewMessage>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
    }

    async fn claim(&self, _now: Timestamp, _most: usize) -> Result<Claims, StoreError> {
        Err(failed())
    }

    async fn settle(&self, _settlement: Settlement) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
    }

    async fn recover(
        &self,
        _now: Timestamp,
        _settle: HashMap<AccountId, Duration>,
    ) -> Result<usize, StoreError> {
        Err(failed())
    }

    async fn open_account(&self, _account: &AccountId) -> Result<(), StoreError> {
        Err(failed())
    }

    async fn changed(&self) {}

    async fn act(
        &self,
        id: MessageId,
        part: Option<u32>,
        verb: Verb,
        _now: Timestamp,
    ) -> Result<Option<Acted>, StoreError> {
        let mut parcels = self.parcels();
        let Some(row) = parcels.rows.iter_mut().find(|row| row.id == id) else {
            return Ok(None);
        };
        let mut acted = Acted::default();
        for found in &mut row.parts {
            if part.is_some_and(|n| n != found.n) {
                continue;
            }
            match verb.applied(found.state) {
                Some(state) => {
                    found.state = state;
                    acted.changed.push((found.n, state));
                }
                None => acted.left.push((found.n, found.state)),
            }
        }
        Ok(Some(acted))
    }

    async fn set_aside(&self) -> Result<Vec<Aside>, StoreError> {
        Err(failed())
    }

    async fn told_of(
        &self,
        _aside: Aside,
        _notice: Option<Notice>,
        _now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        Err(failed())
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<MessageRow>, StoreError> {
        let parcels = self.parcels();
        let passes = |row: &&MessageRow| {
            let chat = row.waybill.chat();
            let carried = parcels.carried.get(&row.id).map(String::as_str);
            let lane = carried.unwrap_or(chat.conversation.as_str());
            filter.before.is_none_or(|before| row.id < before)
                && filter
                    .account
                    .as_ref()
                    .is_none_or(|name| *name == chat.account)
                && filter.conversation.as_ref().is_none_or(|id| id == lane)
                && filter
                    .state
                    .is_none_or(|state| row.parts.iter().any(|part| part.state == state))
        };
        let found = parcels.rows.iter().rev().filter(passes);
        Ok(found.take(filter.most).cloned().collect())
    }

    async fn show(&self, id: MessageId) -> Result<Option<MessageRow>, StoreError> {
        let parcels = self.parcels();
        if parcels.damaged.contains(&id) {
            return Err(unreadable());
        }
        Ok(parcels.rows.iter().find(|row| row.id == id).cloned())
    }

    async fn depths(&self) -> Result<Vec<QueueDepth>, StoreError> {
        Err(failed())
    }
}

/// What the gateway answers to the owner in a chat.
async fn answer(house: &House, conversation: &str, text: &str) -> String {
    answer_to(house, conversation, OWNER, Place::Direct, text).await
}

async fn answer_to(
    house: &House,
    conversation: &str,
    sender: &str,
    place: Place,
    text: &str,
) -> String {
    let before = house.answers().len();
    house
        .while_open(async |handle| {
            let mut inbound = said(conversation, sender, text);
            inbound.place = place;
            say(&handle, &before.to_string(), inbound).await;
            house
                .until("it is answered", |house| house.answers().len() > before)
                .await;
        })
        .await;
    house.answers().pop().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_chat_sees_what_did_not_arrive_there_and_nothing_of_other_chats() {
    let house = House::default();
    let shelf = house.shelf();
    assert_eq!(
        answer(&house, "a", "/outbox").await,
        "Everything that was promised here has arrived."
    );
    let arrived = shelf.holds("bot:a", &[PartState::Sent], 1);
    let waits = shelf.holds("bot:a", &[PartState::Sent, PartState::Retry], 1);
    let dead = shelf.holds("bot:a", &[PartState::Failed], 30);
    let elsewhere = [
        shelf.holds("bot:b", &[PartState::Failed], 1),
        shelf.holds("bot:a:9", &[PartState::Held], 1),
        shelf.holds("other:a", &[PartState::Failed], 1),
    ];
    let told = answer(&house, "a", "/outbox").await;
    assert!(
        told.contains(&format!(
            "- `{waits}`, 60 min ago: part 2 of 2, “words of \\*part\\* 2” is tried again in 40 s"
        )),
        "{told}"
    );
    assert!(
        told.contains(&format!(
            "- `{dead}`, 30 h ago: “words of \\*part\\* 1” was given up: no such \\*thing\\*"
        )),
        "{told}"
    );
    assert!(!told.contains(&arrived.to_string()), "{told}");
    for id in elsewhere {
        assert!(!told.contains(&id.to_string()), "{told}");
        for command in ["outbox", "resend"] {
            let told = answer(&house, "a", &format!("/{command} {id}")).await;
            assert!(told.contains("no such parcel here"), "{told}");
        }
    }
    assert_eq!(shelf.states(elsewhere[0]), [PartState::Failed]);
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_long_ago_is_not_listed_and_not_called_well() {
    let house = House::default();
    house.shelf().holds("bot:a", &[PartState::Failed], 8 * 24);
    let told = answer(&house, "a", "/outbox").await;
    assert!(told.starts_with("Nothing waits here."), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_busy_threads_neighbour_is_not_forgotten() {
    let house = House::default();
    let shelf = house.shelf();
    let own = shelf.holds("bot:a", &[PartState::Held], 2);
    for _ in 0..120 {
        shelf.holds("bot:a:9", &[PartState::Held], 1);
    }
    let told = answer(&house, "a", "/outbox").await;
    assert!(told.contains(&own.to_string()), "{told}");
    assert_eq!(told.matches("msg_").count(), 1, "{told}");
}

#[tokio::test(start_paused = true)]
async fn one_parcels_life_is_told_where_it_belongs() {
    let house = House::default();
    let id = house
        .shelf()
        .holds("bot:a", &[PartState::Sent, PartState::Failed], 3);
    let told = answer(&house, "a", &format!("/outbox `{id}`")).await;
    for line in [
        "answer, made 3 h ago.",
        "1 of its 2 parts arrived.",
        "- part 2 of 2, “words of \\*part\\* 2” was given up: no such \\*thing\\*",
        "attempt 1, 3 h ago: The platform does not take this content",
        &format!("`/resend {id}`"),
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn resend_sends_again_what_was_given_up_and_says_what_it_left() {
    let house = House::default();
    let shelf = house.shelf();
    let id = shelf.holds("bot:a", &[PartState::Sent, PartState::Failed], 1);
    let told = answer(&house, "a", &format!("/resend {id}")).await;
    assert!(
        told.contains("part 2: it is sent as soon as its chat's turn comes."),
        "{told}"
    );
    assert!(told.contains("part 1: it has arrived"), "{told}");
    assert_eq!(shelf.states(id), [PartState::Sent, PartState::Queued]);
    let told = answer(&house, "a", "/resend").await;
    assert!(told.contains("Which one?"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn in_a_group_the_owner_alone_resends() {
    let house = House::default();
    let shelf = house.shelf();
    let id = shelf.holds("bot:a", &[PartState::Failed], 1);
    let group = Place::Group { addressed: true };
    let resend = format!("/resend {id}");
    let told = answer_to(&house, "a", FRIEND, group, &resend).await;
    assert!(told.contains("for the owner alone"), "{told}");
    assert_eq!(shelf.states(id), [PartState::Failed]);
    let told = answer_to(&house, "a", FRIEND, group, "/outbox").await;
    assert!(told.contains(&id.to_string()), "{told}");
    answer_to(&house, "a", OWNER, group, &resend).await;
    assert_eq!(shelf.states(id), [PartState::Queued]);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_moved_sees_what_was_promised_under_its_old_id() {
    let house = House::default();
    let shelf = house.shelf();
    let group = Place::Group { addressed: true };
    let to = ChatKey::new(account(), Conversation::new("n").unwrap());
    house
        .while_open(async |handle| {
            let mut moved = said("a", OWNER, "");
            (moved.kind, moved.place) = (InboundKind::Moved { to }, group);
            say(&handle, "moved", moved).await;
            house
                .until("it moved", |house| house.moves().len() == 1)
                .await;
        })
        .await;
    let waits = shelf.holds("bot:a", &[PartState::Retry], 1);
    shelf.carry(waits, "n");
    let told = answer_to(&house, "n", OWNER, group, "/outbox").await;
    assert!(told.contains(&waits.to_string()), "{told}");
    assert_eq!(told.matches("msg_").count(), 1, "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_parcel_is_answered_in_words_and_holds_up_nothing() {
    let house = House::default();
    let shelf = house.shelf();
    let id = shelf.holds("bot:a", &[PartState::Failed], 1);
    shelf.damage(id);
    for command in ["outbox", "resend"] {
        let told = answer(&house, "a", &format!("/{command} {id}")).await;
        assert!(told.contains("can't be read any more"), "{told}");
    }
    assert_eq!(house.notices(), [] as [String; 0]);
}
