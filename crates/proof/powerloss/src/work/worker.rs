//! One worker: its chats, what it holds, and what it does next.

use std::sync::Arc;

use anyhow::Context as _;
use chat::{Fault, FaultKind, Op, Receipt, Shape};
use model::Usage;
use outbox::{
    Attachment, Claimed, Decision, Gate, MessageKind, NewMessage, OutboxStore as _, PartState,
};
use sandbox::{ArtifactId, ArtifactRef, BlobStore as _};
use session::{
    Admission, Heard, InboxId, InboxStore as _, Promised, SessionStore as _, TakenIn, TurnCommit,
    TurnEnd, TurnStart,
};
use store_sqlite::{DiskBlobs, Store};
use waybill::{
    AccountId, ChatKey, Conversation, MessageId, Origin, Placement, ProfileId, ProfileScope,
    SessionId, SessionKey, SessionScope, TaskId, TurnId, TurnScope, Waybill,
};

use super::{Counter, make, say};
use crate::dice::Dice;
use crate::fact::{End, Fact};

/// Chats of each worker.
const CHATS: usize = 3;
/// Parts claimed at once.
const CLAIMS: usize = 2;

pub(super) struct Worker {
    account: AccountId,
    profile: ProfileScope,
    chats: Vec<ChatKey>,
    dice: Dice,
    counter: Arc<Counter>,
    /// Parts that are on the wire.
    hand: Vec<Claimed>,
    heard: u64,
    /// Events that wait: where they stand, and whether they were admitted.
    waiting: Vec<InboxId>,
    session: Option<SessionScope>,
    turn: Option<Running>,
}

struct Running {
    scope: TurnScope,
    promised: Promised,
}

impl Worker {
    pub(super) fn new(number: u64, seed: u64, counter: Arc<Counter>) -> anyhow::Result<Self> {
        let account: AccountId = format!("a{number}").parse()?;
        let chats = (0..CHATS)
            .map(|chat| {
                let conversation = Conversation::new(chat.to_string())?;
                Ok(ChatKey::new(account.clone(), conversation))
            })
            .collect::<anyhow::Result<_>>()?;
        let profile = ProfileId::parse(if number.is_multiple_of(2) {
            "work"
        } else {
            "home"
        })?;
        Ok(Self {
            account,
            profile: ProfileScope::enter(profile),
            chats,
            dice: Dice::new(seed),
            counter,
            hand: Vec::new(),
            heard: 0,
            waiting: Vec::new(),
            session: None,
            turn: None,
        })
    }

    /// A new life: what was on the wire is unknown now, and comes back by claims.
    pub(super) fn start(&mut self) {
        self.hand.clear();
    }

    /// Does one thing, and says what it came to.
    pub(super) async fn call(&mut self, store: &Store, blobs: &DiskBlobs) -> anyhow::Result<()> {
        match self.dice.below(10) {
            0 | 1 => self.enqueue(store, blobs).await,
            2..=4 if !self.hand.is_empty() => self.settle(store).await,
            2..=4 => self.claim(store).await,
            5 | 6 => self.hear(store).await,
            _ => match self.turn.take() {
                None => self.begin(store).await,
                Some(turn) if self.dice.percent(50) => self.append(store, blobs, turn).await,
                Some(turn) => self.commit(store, blobs, turn).await,
            },
        }
    }

    fn chat(&mut self) -> anyhow::Result<ChatKey> {
        let chat = self.dice.pick(&self.chats).cloned();
        chat.context("a worker has chats")
    }

    /// Stores bytes, and says so. Sizes from nothing to some pages, seldom many.
    pub(super) async fn bytes(&mut self, blobs: &DiskBlobs) -> anyhow::Result<ArtifactRef> {
        let most = *self
            .dice
            .pick(&[0, 100, 5_000, 5_000, 30_000])
            .context("sizes")?;
        let size = self.dice.below(most + 1);
        let mut bytes = Vec::with_capacity(size + 8);
        while bytes.len() < size {
            bytes.extend(self.dice.roll().to_le_bytes());
        }
        let profile = self.profile.profile().clone();
        let mut writer = blobs.create(&profile).await?;
        for piece in bytes.chunks(9_000) {
            writer.write(piece).await?;
        }
        let blob = writer.finish("report.bin").await?;
        let id = ArtifactId {
            profile: profile.clone(),
            hash: blob.hash,
        };
        say(&[Fact::Blob(id)])?;
        Ok(make::artifact(&profile, blob))
    }

    async fn ops(&mut self, blobs: &DiskBlobs) -> anyhow::Result<Vec<Op>> {
        let mut ops = vec![make::text(20 + self.dice.below(900))];
        for _ in 0..self.dice.below(3) {
            ops.push(if self.dice.percent(50) {
                make::file(self.bytes(blobs).await?)
            } else {
                make::text(20 + self.dice.below(300))
            });
        }
        Ok(ops)
    }

    async fn enqueue(&mut self, store: &Store, blobs: &DiskBlobs) -> anyhow::Result<()> {
        let mut messages: Vec<NewMessage> = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let chat = self.chat()?;
            let waybill = Waybill::operator(&self.profile, chat);
            let ops = self.ops(blobs).await?;
            let id = MessageId::fresh(&*self.counter);
            let now = self.counter.now()?;
            messages.push(make::message(id, waybill, MessageKind::Operator, ops, now));
        }
        let claimed = store.enqueue(messages.clone(), self.counter.now()?).await?;
        let mut facts: Vec<Fact> = messages
            .into_iter()
            .map(|message| Fact::Message(Box::new(message)))
            .collect();
        self.hold(claimed, &mut facts);
        say(&facts)
    }

    /// Takes claimed parts: their attempts are durable.
    fn hold(&mut self, claimed: Vec<Claimed>, facts: &mut Vec<Fact>) {
        facts.extend(claimed.iter().map(|claimed| Fact::Attempt {
            message: claimed.message,
            part: claimed.part,
            attempt: claimed.attempt,
        }));
        self.hand.extend(claimed);
    }

    async fn claim(&mut self, store: &Store) -> anyhow::Result<()> {
        let claims = store.claim(self.counter.now()?, CLAIMS).await?;
        let mut facts = Vec::new();
        self.hold(claims.parts, &mut facts);
        say(&facts)
    }

    async fn settle(&mut self, store: &Store) -> anyhow::Result<()> {
        let place = self.dice.below(self.hand.len());
        let claimed = self.hand.swap_remove(place);
        let now = self.counter.now()?;
        let receipt = format!("r{}", self.dice.roll());
        let (end, fault, decision) = match self.dice.below(10) {
            0 => (
                End::Failed,
                Some(FaultKind::PermItem),
                Decision::Dead {
                    state: PartState::Failed,
                    lane: false,
                },
            ),
            1 => (
                End::Open,
                Some(FaultKind::TempReject),
                Decision::Retry {
                    at: now,
                    counts: true,
                    gate: Gate::Lane,
                },
            ),
            2 => (
                End::Open,
                Some(FaultKind::Unknown),
                Decision::Unknown { at: now },
            ),
            _ => (
                End::Sent(receipt.clone()),
                None,
                Decision::Sent {
                    receipt: Receipt::new(receipt),
                },
            ),
        };
        let mut settlement = make::settlement(&claimed, now, decision);
        settlement.fault = fault.map(|kind| Fault::new(kind, "as it came"));
        let next = store.settle(settlement).await?;
        let mut facts = vec![Fact::Settled {
            message: claimed.message,
            part: claimed.part,
            attempt: claimed.attempt,
            end,
        }];
        self.hold(next, &mut facts);
        say(&facts)
    }

    /// The first chat is where people write; the others are only written to.
    fn here(&self) -> anyhow::Result<ChatKey> {
        self.chats.first().cloned().context("a worker has chats")
    }

    async fn hear(&mut self, store: &Store) -> anyhow::Result<()> {
        let here = self.here()?;
        let mut events = Vec::new();
        for _ in 0..=self.dice.below(2) {
            self.heard += 1;
            let count = 10 + self.dice.below(400);
            let now = self.counter.now()?;
            events.push(make::event(&self.heard.to_string(), &here, count, now));
        }
        let keys: Vec<String> = events.iter().map(|event| event.key.clone()).collect();
        let cursor = Some(self.heard.to_string());
        let now = self.counter.now()?;
        let (rows, _) = store.accept(&self.account, events, cursor, now).await?;
        let mut facts = vec![Fact::Cursor {
            account: self.account.clone(),
            value: self.heard,
        }];
        for (row, key) in rows.iter().zip(keys) {
            facts.push(Fact::Event {
                account: self.account.clone(),
                key,
                id: row.id,
            });
        }
        say(&facts)?;
        let Some(first) = rows.first().map(|row| row.id) else {
            return Ok(());
        };
        self.waiting.extend(rows.iter().map(|row| row.id));
        if self.dice.percent(50) {
            let session = self.session(store).await?;
            let admission = Admission::Admit(session.clone());
            store.admit(first, admission, self.counter.now()?).await?;
            say(&[Fact::Admitted { id: first, session }])?;
        }
        Ok(())
    }

    async fn session(&mut self, store: &Store) -> anyhow::Result<SessionScope> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let key = SessionKey::Chat(self.here()?);
        let fresh = SessionId::fresh(&*self.counter);
        let now = self.counter.now()?;
        let session = store.current(&self.profile, &key, fresh, now).await?;
        say(&[Fact::Session(session.clone())])?;
        self.session = Some(session.clone());
        Ok(session)
    }

    async fn begin(&mut self, store: &Store) -> anyhow::Result<()> {
        let session = self.session(store).await?;
        let scope = session.begin_turn(
            TurnId::fresh(&*self.counter),
            TaskId::fresh(&*self.counter),
            Origin::Chat(self.here()?),
            Placement::PerProfile,
        );
        let inbox = std::mem::take(&mut self.waiting);
        let message = make::said(10 + self.dice.below(400));
        let start = TurnStart {
            scope: scope.clone(),
            inbox: inbox.iter().copied().map(Heard::from).collect(),
            before: Vec::new(),
            message: message.clone(),
            promised: Promised::default(),
            at: self.counter.now()?,
        };
        let taken = store.begin_turn(start).await?;
        anyhow::ensure!(
            taken == TakenIn::Yes,
            "nobody else takes this worker's events"
        );
        let began = Fact::Began {
            turn: scope.turn(),
            session: session.id(),
            inbox,
        };
        let said = Fact::Said {
            session: session.id(),
            messages: vec![message],
        };
        say(&[began, said])?;
        self.turn = Some(Running {
            scope,
            promised: Promised::default(),
        });
        Ok(())
    }

    async fn append(
        &mut self,
        store: &Store,
        blobs: &DiskBlobs,
        mut turn: Running,
    ) -> anyhow::Result<()> {
        let artifact = self.bytes(blobs).await?;
        turn.promised.attachments.push(Attachment {
            artifact,
            shape: Shape::Auto,
            caption: None,
        });
        let messages = vec![
            make::answered(10 + self.dice.below(900)),
            make::said(10 + self.dice.below(900)),
        ];
        let now = self.counter.now()?;
        store
            .append(&turn.scope, messages.clone(), &turn.promised, now)
            .await?;
        let files = turn.promised.attachments.iter();
        let files = files.map(|file| file.artifact.id()).collect();
        say(&[
            Fact::Said {
                session: turn.scope.session().id(),
                messages,
            },
            Fact::Promised {
                turn: turn.scope.turn(),
                files,
            },
        ])?;
        self.turn = Some(turn);
        Ok(())
    }

    async fn commit(
        &mut self,
        store: &Store,
        blobs: &DiskBlobs,
        turn: Running,
    ) -> anyhow::Result<()> {
        let mut ops = self.ops(blobs).await?;
        let promised = turn.promised.attachments.into_iter();
        ops.extend(promised.map(|file| make::file(file.artifact)));
        let id = MessageId::fresh(&*self.counter);
        let waybill = Waybill::reply(&turn.scope)?;
        let now = self.counter.now()?;
        let answer = make::message(id, waybill, MessageKind::Reply, ops, now);
        let transcript = vec![make::answered(10 + self.dice.below(900))];
        say(&[Fact::Asked {
            turn: turn.scope.turn(),
            messages: vec![id],
        }])?;
        let commit = TurnCommit {
            scope: turn.scope.clone(),
            end: TurnEnd::Answered,
            transcript: transcript.clone(),
            outgoing: vec![answer.clone()],
            usage: Usage::default(),
            spent: Vec::new(),
            at: now,
        };
        let claimed = store.commit_turn(commit).await?;
        let mut facts = vec![
            Fact::Ended {
                turn: turn.scope.turn(),
            },
            Fact::Said {
                session: turn.scope.session().id(),
                messages: transcript,
            },
            Fact::Message(Box::new(answer)),
        ];
        self.hold(claimed, &mut facts);
        say(&facts)
    }
}
