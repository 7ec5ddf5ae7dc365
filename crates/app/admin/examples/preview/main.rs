//! Serves the web chat with stores in memory and an agent that plays a part, to look at the page while one works on it:
//! `cargo run -p tidings-admin --example preview`, then open the address that it prints.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "an example that can't set up its world should stop"
)]

#[path = "../../tests/it/coins.rs"]
mod coins;
mod computers;
mod parcels;
#[expect(dead_code, reason = "tests let it break, the preview does not")]
#[path = "../../tests/it/shelf.rs"]
mod shelf;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::{
    Accepted, Activity, Body, ChatAdapter as _, Choice, Delivery, Event, Fault, IdempotencyKey,
    Inbound, InboundKind, InboundSink, Op, Preview, Shape, SinkError,
};
use chat_web::Web;
use sandbox::{ArtifactRef, Taken};
use testkit::blobs::MemoryBlobs;
use testkit::programs::MemoryPrograms;
use testkit::visible::{MemoryAccess, MemoryVisible};
use tidings_admin as admin;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use waybill::{AccountId, Clock, Ids, ProfileId, Timestamp};

struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

struct SystemIds;

impl Ids for SystemIds {
    #[allow(clippy::disallowed_methods, reason = "these are the ids")]
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

struct Standing;

impl admin::StatusPort for Standing {
    fn status(&self) -> admin::Status {
        let model = |name: &str| admin::ProfileStatus {
            walls: "Docker 28.2 (API 1.51): one container per sandbox, no capabilities".to_owned(),
            id: name.parse().unwrap(),
            model: "demo (scripted)".into(),
        };
        admin::Status {
            ready: true,
            profiles: vec![model("default"), model("work")],
            sandbox: "process: workspace only, no network".into(),
            channels: vec![admin::ChannelStatus {
                name: "web".into(),
                kind: "web".into(),
                ok: true,
                text: "listening".into(),
            }],
        }
    }

    fn accounts(&self) -> Vec<admin::AccountHealth> {
        let account = "home-bot".parse().unwrap();
        vec![admin::AccountHealth { account, up: true }]
    }
}

#[async_trait]
impl admin::InboxPort for Standing {
    async fn poisoned(&self) -> Result<u64, session::StoreError> {
        Ok(0)
    }
}

struct Inbox(mpsc::Sender<Inbound>);

#[async_trait]
impl InboundSink for Inbox {
    async fn accept(
        &self,
        _: &AccountId,
        events: Vec<Event>,
        _: Option<String>,
    ) -> Result<Accepted, SinkError> {
        let mut fresh = 0;
        for inbound in events
            .into_iter()
            .filter_map(|event| event.parsed.ok().flatten())
        {
            fresh += 1;
            self.0
                .send(inbound)
                .await
                .map_err(|error| SinkError(error.to_string()))?;
        }
        Ok(Accepted { fresh, repeated: 0 })
    }

    async fn cursor(&self, _: &AccountId) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    fn health(&self, _: &AccountId, _: Result<(), Fault>) {}
}

const ANSWER: &str = "Here is your chart, drawn in the sandbox.\n\n## What it shows\n\nThe three values grow by *two and a bit* each time:\n\n\
    | Value | Share | Note |\n| --- | --- | --- |\n| 3 | 19 % | the smallest |\n| 5 | 31 % | in the middle |\n| 8 | 50 % | **half of all** |\n\n\
    1. The file is a plain SVG drawn to PNG.\n2. It lies in `/workspace/chart.png`.\n\n```python\nimport matplotlib.pyplot as plt\n\n\
    plt.bar([\"a\", \"b\", \"c\"], [3, 5, 8], color=\"#12705f\")\nplt.savefig(\"chart.png\")\n```\n\n\
    > Tip: say \"make it wider\" to change it.\n\nMore at [the documentation](https://example.org/docs).";

const QUESTION: &str = "🔐 May I use files\\_\\_delete, which may change something?\n\n```\nfiles__delete\npath: reports/2026-\\u{202e}11.pdf\n\
    why: the page says so\n```\nAsked for in a turn of Ann (id `77`), profile `default`. Fingerprint `1f0c9a44b2d7`.\n\
    ⚠ In this conversation I have read text of others and private data: check that it is what you want, and not what that text wants.\n\n\
    Tap, or write `/approve K7QF2` or `/deny K7QF2`. Without an answer within 10 min (until 14:05 UTC) it is not done.";

/// Bars as an uncompressed picture that every browser reads.
fn chart() -> Vec<u8> {
    let (width, height) = (480_u32, 280_u32);
    let bar = |x: u32, y: u32| {
        [(60, 80), (190, 134), (320, 214)]
            .iter()
            .any(|(left, tall)| (*left..left + 100).contains(&x) && y > 250 - tall && y < 250)
    };
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .flat_map(|(x, y)| {
            if bar(x, y) {
                [18, 112, 95]
            } else if y == 250 {
                [90, 90, 90]
            } else {
                [250, 249, 246]
            }
        })
        .collect();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    out
}

struct Agent {
    web: Web,
    blobs: Arc<MemoryBlobs>,
    said: u64,
}

impl Agent {
    async fn deliver(&mut self, inbound: &Inbound, op: Op) {
        self.said += 1;
        let key = IdempotencyKey::new(u128::from(self.said).to_be_bytes());
        let delivery = Delivery {
            chat: &inbound.chat,
            anchor: None,
            op: &op,
            key,
            may_be_repeat: false,
            way: chat::Way::Direct,
            step: None,
            silent: false,
        };
        if let Err(fault) = self.web.deliver(delivery, self.blobs.as_ref()).await {
            eprintln!("not delivered: {}", fault.text);
        }
    }

    async fn step(
        &self,
        inbound: &Inbound,
        id: &str,
        tool: &str,
        detail: &str,
        result: &str,
        failed: bool,
    ) {
        let began = Activity::ToolBegan {
            id: id.into(),
            tool: tool.into(),
            detail: detail.into(),
        };
        self.web.activity(&inbound.chat, began).await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        let ended = Activity::ToolEnded {
            id: id.into(),
            result: result.into(),
            failed,
        };
        self.web.activity(&inbound.chat, ended).await;
    }

    /// A question with buttons, as the guard asks one.
    async fn ask(&mut self, inbound: &Inbound) {
        let id = format!("q{}", self.said);
        let choice = |place: usize, label: &str| Choice {
            token: format!("{id}.{place}"),
            label: label.to_owned(),
        };
        let op = Op::Question {
            body: Body::Markdown(QUESTION.to_owned()),
            choices: vec![
                choice(0, "✅ Allow once"),
                choice(1, "✅ Allow in this conversation"),
                choice(2, "❌ Deny"),
            ],
            question: id,
        };
        self.deliver(inbound, op).await;
    }

    async fn tapped(&self, inbound: &Inbound, token: &str, id: &str) {
        let (question, place) = token.split_once('.').unwrap_or((token, "2"));
        let outcome = match place {
            "0" => "✅ Allowed once by you",
            "1" => "✅ Allowed in this conversation by you",
            _ => "❌ Denied by you",
        };
        let told = Activity::Tapped {
            id: id.to_owned(),
            says: outcome.to_owned(),
            over: None,
        };
        self.web.activity(&inbound.chat, told).await;
        let over = Activity::Answered {
            question: question.to_owned(),
            outcome: outcome.to_owned(),
        };
        self.web.activity(&inbound.chat, over).await;
    }

    async fn answer(&mut self, inbound: Inbound) {
        if let InboundKind::Tap { token, id } = &inbound.kind {
            return self.tapped(&inbound, token, id).await;
        }
        if inbound.text.contains("delete") {
            return self.ask(&inbound).await;
        }
        self.web.activity(&inbound.chat, Activity::Typing).await;
        tokio::time::sleep(Duration::from_millis(900)).await;
        let text = if inbound.text.contains("chart") {
            ANSWER.to_owned()
        } else {
            format!("You said:\n\n> {}", inbound.text)
        };
        if inbound.text.contains("chart") {
            self.step(
                &inbound,
                "1",
                "shell",
                "python3 chart.py",
                "ModuleNotFoundError: No module named 'matplotlib'",
                true,
            )
            .await;
            self.step(
                &inbound,
                "2",
                "write_file",
                "/workspace/chart.py",
                "wrote 412 bytes",
                false,
            )
            .await;
            self.step(
                &inbound,
                "3",
                "shell",
                "python3 chart.py && ls -l",
                "total 8\n-rw-r--r-- 1 me me 2134 chart.png",
                false,
            )
            .await;
        }
        let mut shown = String::new();
        for word in text.split_inclusive(' ') {
            shown.push_str(word);
            self.web
                .preview(&inbound.chat, Preview::Text(shown.clone()))
                .await;
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        self.web.preview(&inbound.chat, Preview::Clear).await;
        self.deliver(&inbound, Op::Text(Body::Markdown(text))).await;
        if inbound.text.contains("chart") {
            let profile: ProfileId = "default".parse().unwrap();
            for (name, bytes, shape) in [
                ("chart.png", chart(), Shape::Photo),
                (
                    "values.csv",
                    b"name,value\na,3\nb,5\nc,8\n".to_vec(),
                    Shape::Document,
                ),
            ] {
                let blob = self.blobs.put(&profile, name, bytes);
                let artifact = ArtifactRef {
                    profile: profile.clone(),
                    blob,
                    name: name.into(),
                    taken: Taken::Received,
                };
                self.deliver(
                    &inbound,
                    Op::File {
                        artifact,
                        shape,
                        caption: None,
                    },
                )
                .await;
            }
        }
        self.web.activity(&inbound.chat, Activity::Idle).await;
    }
}

/// A month of two profiles.
fn spent(now: Timestamp) -> coins::Coins {
    let mut rows = Vec::new();
    for (ago, size) in (0..26).zip([9, 4, 12, 7, 3, 15, 6, 2, 11, 8].into_iter().cycle()) {
        let big = coins::total(size * 3, size * 90, size * 61, Some(size * 140));
        let small = coins::total(size, size * 12, size * 2, Some(size * 4));
        let home = coins::total(size * 2, size * 30, 0, None);
        rows.push(coins::row(
            now,
            ago,
            "default",
            "openrouter/some/large-model",
            big,
        ));
        rows.push(coins::row(
            now,
            ago,
            "default",
            "claude/claude-sonnet-5",
            small,
        ));
        if ago % 3 == 0 {
            rows.push(coins::row(now, ago, "work", "home/qwen3:8b", home));
        }
    }
    let day = coins::total(36, 918, 567, Some(1_296));
    let month = coins::total(612, 17_000, 9_800, Some(24_730));
    let home = coins::total(18, 270, 0, None);
    coins::Coins {
        money: vec![
            coins::money("default", [500, 5_000, 25_000], day, month),
            coins::money("work", [0, 1_000, 0], home, home),
        ],
        rows,
    }
}

#[tokio::main]
async fn main() {
    let visible = Arc::new(MemoryVisible::default());
    let blobs = Arc::new(MemoryBlobs::default());
    let access = Arc::new(MemoryAccess::default());
    let limit = 20 << 20;
    let web = Web::new(
        chat_web::Options {
            account: "web".parse().unwrap(),
            attachment_bytes: limit,
        },
        chat_web::Ports {
            visible: visible.clone(),
            blobs: blobs.clone(),
            clock: Arc::new(SystemClock),
        },
    );
    let (sender, mut heard) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    let ear = web.clone();
    tasks.spawn(async move {
        let Err(_closed) = ear.listen(&Inbox(sender)).await;
    });
    let mut agent = Agent {
        web: web.clone(),
        blobs: blobs.clone(),
        said: 0,
    };
    tasks.spawn(async move {
        while let Some(inbound) = heard.recv().await {
            agent.answer(inbound).await;
        }
    });
    let card = |name: &str, description: &str| admin::ProfileCard {
        id: name.parse().unwrap(),
        description: description.into(),
    };
    let shelf = Arc::new(shelf::Shelf::default());
    parcels::fill(&shelf, &blobs, chart(), SystemClock.now());
    let computers = Arc::new(computers::Computers(SystemClock.now()));
    let programs = Arc::new(MemoryPrograms::default());
    let api = chat_api::Api::new(
        chat_api::Options {
            account: "api".parse().unwrap(),
            attachment_bytes: limit,
        },
        chat_api::Ports {
            answers: programs.clone(),
            blobs: blobs.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        },
    );
    let coins = Arc::new(spent(SystemClock.now()));
    let options = admin::Options {
        v1: admin::Programs {
            api,
            keys: programs.clone(),
            answers: programs,
        },
        web,
        visible,
        access: access.clone(),
        blobs,
        outbox: shelf.clone(),
        inbox: Arc::new(Standing),
        tally: shelf,
        started_at: SystemClock.now(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        status: Arc::new(Standing),
        profiles: vec![
            card("default", "A helper for everything"),
            card("work", "Knows the reports"),
        ],
        attachment_bytes: limit,
        money: coins.clone(),
        ledger: coins,
        servers: Arc::new(admin::NoServers),
        keepers: vec![computers.clone()],
        logbook: computers,
        hosts: Vec::new(),
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:7790")
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    for _ in 0..20 {
        let token = admin::new_login(access.as_ref(), &SystemClock)
            .await
            .unwrap();
        println!("http://{address}/login?token={}", token.reveal());
    }
    let stop = async { tokio::signal::ctrl_c().await.unwrap() };
    admin::serve(listener, options, stop).await.unwrap();
    tasks.shutdown().await;
}
