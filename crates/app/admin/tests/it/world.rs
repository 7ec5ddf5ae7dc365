//! The real listener on a loopback port, over stores in memory, with an inbox that answers nobody.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::admin;
use crate::coins::{Coins, money, row, total};
use crate::computers::{Away, Computers, Log};
use crate::servers::Switchboard;
use crate::shelf::Shelf;
use async_trait::async_trait;
use chat::{
    Accepted, ChatAdapter as _, Delivery, Event, Fault, IdempotencyKey, Inbound, InboundSink, Op,
    SinkError,
};
use chat_web::Web;
use serde_json::{Value, json};
use testkit::blobs::MemoryBlobs;
use testkit::clock::{CountingIds, ManualClock};
use testkit::http::{Answer, Ask};
use testkit::programs::MemoryPrograms;
use testkit::visible::{MemoryAccess, MemoryVisible};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use waybill::{AccountId, ChatKey, Clock as _, Conversation, ProfileId};

pub(crate) const LIMIT: u64 = 100_000;

#[derive(Default)]
struct Inbox {
    keys: Mutex<HashSet<String>>,
    heard: Mutex<Vec<Inbound>>,
}

#[async_trait]
impl InboundSink for Inbox {
    async fn accept(
        &self,
        _: &AccountId,
        events: Vec<Event>,
        _: Option<String>,
    ) -> Result<Accepted, SinkError> {
        let mut accepted = Accepted::default();
        for event in events {
            if self.keys.lock().unwrap().insert(event.key) {
                accepted.fresh += 1;
                self.heard.lock().unwrap().extend(event.parsed.unwrap());
            } else {
                accepted.repeated += 1;
            }
        }
        Ok(accepted)
    }

    async fn cursor(&self, _: &AccountId) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    fn health(&self, _: &AccountId, _: Result<(), Fault>) {}
}

struct Standing;

impl admin::StatusPort for Standing {
    fn status(&self) -> admin::Status {
        admin::Status {
            ready: true,
            profiles: vec![admin::ProfileStatus {
                walls: "a <wall> of bricks".to_owned(),
                id: profile(),
                model: "demo".into(),
            }],
            sandbox: "process".into(),
            channels: Vec::new(),
        }
    }

    fn accounts(&self) -> Vec<admin::AccountHealth> {
        let of = |name: &str, up| admin::AccountHealth {
            account: AccountId::parse(name).unwrap(),
            up,
        };
        vec![of("bot", true), of("quiet", false)]
    }
}

/// An inbox that put this many events aside.
pub(crate) const POISONED: u64 = 3;

#[async_trait]
impl admin::InboxPort for Standing {
    async fn poisoned(&self) -> Result<u64, session::StoreError> {
        Ok(POISONED)
    }
}

pub(crate) fn profile() -> ProfileId {
    ProfileId::parse("default").unwrap()
}

pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) web: Web,
    pub(crate) access: Arc<MemoryAccess>,
    pub(crate) blobs: Arc<MemoryBlobs>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) computers: Arc<Computers>,
    pub(crate) switchboard: Arc<Switchboard>,
    pub(crate) programs: Arc<MemoryPrograms>,
    inbox: Arc<Inbox>,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinSet<()>,
    _listening: JoinSet<()>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let visible = Arc::new(MemoryVisible::default());
        let blobs = Arc::new(MemoryBlobs::default());
        let access = Arc::new(MemoryAccess::default());
        let clock = Arc::new(ManualClock::default());
        let shelf = Arc::new(Shelf::default());
        let computers = Arc::new(Computers::default());
        let switchboard = Arc::new(Switchboard::default());
        let web = Web::new(
            chat_web::Options {
                account: AccountId::parse("web").unwrap(),
                attachment_bytes: LIMIT,
            },
            chat_web::Ports {
                visible: visible.clone(),
                blobs: blobs.clone(),
                clock: clock.clone(),
            },
        );
        let inbox = Arc::new(Inbox::default());
        let mut listening = JoinSet::new();
        let (ear, sink) = (web.clone(), Arc::clone(&inbox));
        listening.spawn(async move {
            let Err(_closed) = ear.listen(sink.as_ref()).await;
        });
        let programs = Arc::new(MemoryPrograms::default());
        let api = chat_api::Api::new(
            chat_api::Options {
                account: AccountId::parse("api").unwrap(),
                attachment_bytes: LIMIT,
            },
            chat_api::Ports {
                answers: programs.clone(),
                blobs: blobs.clone(),
                clock: clock.clone(),
                ids: Arc::new(CountingIds::default()),
            },
        );
        let now = clock.now();
        let (today, home) = (total(12, 400, 300, Some(1_600)), total(3, 9, 0, None));
        let coins = Arc::new(Coins {
            money: vec![money(
                "default",
                [500, 2_000, 40_000],
                today,
                total(24, 800, 300, Some(3_200)),
            )],
            rows: vec![
                row(now, 0, "default", "far/<model>", today),
                row(now, 1, "default", "home/m", home),
                row(now, 12, "default", "far/<model>", today),
            ],
        });
        let options = admin::Options {
            v1: admin::Programs {
                api,
                keys: programs.clone(),
                answers: programs.clone(),
            },
            web: web.clone(),
            visible,
            access: access.clone(),
            blobs: blobs.clone(),
            outbox: shelf.clone(),
            inbox: Arc::new(Standing),
            tally: shelf.clone(),
            started_at: clock.now(),
            clock: clock.clone(),
            ids: Arc::new(CountingIds::default()),
            status: Arc::new(Standing),
            profiles: vec![admin::ProfileCard {
                id: profile(),
                description: String::new(),
            }],
            attachment_bytes: LIMIT,
            money: coins.clone(),
            ledger: coins,
            servers: switchboard.clone(),
            keepers: vec![Arc::new(Away), computers.clone()],
            logbook: Arc::new(Log),
            hosts: Vec::new(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let stop = async {
                let _ended: Result<(), _> = stopped.await;
            };
            admin::serve(listener, options, stop).await.unwrap();
        });
        Self {
            address,
            web,
            access,
            blobs,
            clock,
            shelf,
            computers,
            switchboard,
            programs,
            inbox,
            stop: Some(stop),
            serving,
            _listening: listening,
        }
    }

    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        ask.send(self.address).await.unwrap()
    }

    /// A login link's path.
    pub(crate) async fn link(&self) -> String {
        let token = admin::new_login(self.access.as_ref(), self.clock.as_ref())
            .await
            .unwrap();
        format!("/login?token={}", token.reveal())
    }

    /// A browser's cookie.
    pub(crate) async fn log_in(&self) -> String {
        let answer = self.send(Ask::get(self.link().await)).await;
        assert_eq!(answer.status, 303);
        answer
            .header("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap()
            .to_owned()
    }

    pub(crate) async fn conversation(&self, cookie: &str) -> String {
        let ask = Ask::post("/api/conversations")
            .header("cookie", cookie)
            .json(&json!({ "profile": "default" }));
        let answer = self.send(ask).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json().unwrap()["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn say(&self, cookie: &str, conversation: &str, message: &Value) -> Answer {
        let path = format!("/api/conversations/{conversation}/messages");
        self.send(Ask::post(path).header("cookie", cookie).json(message))
            .await
    }

    pub(crate) async fn upload(
        &self,
        cookie: &str,
        conversation: &str,
        name: &str,
        bytes: &[u8],
    ) -> Answer {
        let path = format!("/api/conversations/{conversation}/files?name={name}");
        self.send(Ask::post(path).header("cookie", cookie).body(bytes))
            .await
    }

    pub(crate) async fn entries(&self, cookie: &str, conversation: &str) -> Vec<Value> {
        let path = format!("/api/conversations/{conversation}/messages");
        let answer = self.send(Ask::get(path).header("cookie", cookie)).await;
        answer.json().unwrap()["entries"]
            .as_array()
            .unwrap()
            .clone()
    }

    pub(crate) fn chat(&self, conversation: &str) -> ChatKey {
        ChatKey::new(
            AccountId::parse("web").unwrap(),
            Conversation::new(conversation).unwrap(),
        )
    }

    pub(crate) async fn deliver(
        &self,
        conversation: &str,
        op: &Op,
        key: u8,
    ) -> Result<chat::Receipt, Fault> {
        let chat = self.chat(conversation);
        let key = IdempotencyKey::new([key; 16]);
        let delivery = Delivery {
            chat: &chat,
            anchor: None,
            op,
            key,
            may_be_repeat: false,
            way: chat::Way::Direct,
            step: None,
            silent: false,
        };
        match self.web.deliver(delivery, self.blobs.as_ref()).await? {
            chat::Done::All(receipt) => Ok(receipt),
            chat::Done::Step(step) => panic!("the web chat has no steps: {step:?}"),
        }
    }

    pub(crate) fn heard(&self) -> Vec<Inbound> {
        self.inbox.heard.lock().unwrap().clone()
    }

    /// Stops serving and waits until it has.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        self.serving.join_next().await.unwrap().unwrap();
    }
}
