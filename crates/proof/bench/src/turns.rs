//! Turns through a bot: what is added to the model's own time, and how many go side by side.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::http::Ask;
use testkit::model_server::{Gate, ModelServer, Turn};
use testkit::telegram::{Said, Telegram};

use crate::Rounds;
use crate::gateway::{Gateway, Home};
use crate::table::{Table, ms, quantile, spread};

const TOKEN: &str = "1000:bench";
/// The scripted model's own time.
const MODEL: Duration = Duration::from_millis(150);
/// People who may write: so many that none meets the window of a single chat.
const PEOPLE: i64 = 4_096;

struct World {
    telegram: Telegram,
    model: ModelServer,
    _home: Home,
    gateway: Gateway,
}

async fn world(binary: &Path) -> anyhow::Result<World> {
    let telegram = Telegram::start().await?;
    telegram.add_bot(TOKEN, "bot");
    let model = ModelServer::start().await?;
    let mut config = format!(
        "[defaults]\nmodel = \"fake/bench\"\nsandbox = {{ driver = \"process\" }}\n\
         [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n[profiles.default]\n\
         [channels.bot]\nkind = \"telegram\"\nprofile = \"default\"\ntoken = \"env:TOKEN\"\napi_base = \"{}\"\nowner = [",
        model.base_url(),
        telegram.api_base()
    );
    for person in 1..=PEOPLE {
        write!(config, "{person},")?;
    }
    // The platform's own windows are not what is measured here.
    config.push_str("]\nmessages_per_second = 1000\n");
    let home = Home::new(&config)?;
    let gateway = Gateway::start(binary, &home, &[("TOKEN", TOKEN)]).await?;
    Ok(World {
        telegram,
        model,
        _home: home,
        gateway,
    })
}

impl World {
    fn sends(&self) -> usize {
        sends(&self.telegram)
    }

    async fn answered(&self, count: usize) -> anyhow::Result<()> {
        self.telegram
            .until("answers", |telegram| sends(telegram) >= count)
            .await
    }
}

/// Counted without a copy of the calls: they are looked at after each of them, on the gateway's own cores.
fn sends(telegram: &Telegram) -> usize {
    telegram.count(|call| call.method == "sendMessage")
}

pub(crate) async fn measure(
    table: &mut Table,
    binary: &Path,
    rounds: Rounds,
    disk: Duration,
) -> anyhow::Result<()> {
    let world = world(binary).await?;
    reply_overhead(table, &world, rounds, disk).await?;
    added_latency(table, &world, rounds, disk).await?;
    for people in [16, 64] {
        side_by_side(table, &world, people, rounds).await?;
    }
    table.row(
        "memory after these turns",
        format!("{:.1} MB", world.gateway.memory()? as f64 / 1e6),
        "",
    );
    world.gateway.stop().await
}

/// Another person each time, so that conversations stay short.
fn person(round: usize) -> i64 {
    i64::try_from(round).unwrap_or_default() % PEOPLE + 1
}

/// From the model's last byte to the first byte at the platform.
async fn reply_overhead(
    table: &mut Table,
    world: &World,
    rounds: Rounds,
    disk: Duration,
) -> anyhow::Result<()> {
    let mut samples = Vec::new();
    for round in 0..rounds.turns / 2 {
        let gate = Gate::new();
        world
            .model
            .push(Turn::text("the answer").pause_until(&gate));
        let before = world.sends();
        world.telegram.say(
            TOKEN,
            Said::text(&format!("overhead {round}")).by(person(round), "Somebody"),
        );
        anyhow::ensure!(
            gate.reached(Duration::from_secs(20)).await,
            "the model was never asked"
        );
        let began = Instant::now();
        gate.release();
        world.answered(before + 1).await?;
        let calls = world.telegram.calls_of("sendMessage");
        let at = calls.get(before).map_or(began, |call| call.at);
        samples.push(at.saturating_duration_since(began));
    }
    let target = disk.mul_f64(1.5) + Duration::from_millis(1);
    table.row(
        "reply overhead: model done → first byte to the platform",
        spread(&mut samples),
        format!("target p50 ≤ 1.5 × fdatasync + 1 ms = {}", ms(target)),
    );
    Ok(())
}

/// What the same answer takes without a gateway: the model's own time, as a client sees it.
async fn model_alone(world: &World, rounds: Rounds) -> anyhow::Result<Duration> {
    let base = world.model.base_url();
    let address = base
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .parse()?;
    let body = serde_json::json!({
        "model": "bench",
        "stream": true,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let mut samples = Vec::new();
    for _ in 0..rounds.turns / 4 {
        let began = Instant::now();
        let answer = Ask::post("/v1/chat/completions")
            .json(&body)
            .send(address)
            .await?;
        anyhow::ensure!(
            answer.status == 200,
            "the scripted model refused: {}",
            answer.text()
        );
        samples.push(began.elapsed());
    }
    Ok(quantile(&mut samples, 0.5))
}

/// From the person's words to the first byte of the answer, without the model's own time.
async fn added_latency(
    table: &mut Table,
    world: &World,
    rounds: Rounds,
    disk: Duration,
) -> anyhow::Result<()> {
    world.model.always("the answer", MODEL);
    let alone = model_alone(world, rounds).await?;
    table.row(
        "the scripted model alone",
        ms(alone),
        "150 ms of it are its sleep",
    );
    let mut samples = Vec::new();
    for round in 0..rounds.turns / 2 {
        let before = world.sends();
        let began = Instant::now();
        world.telegram.say(
            TOKEN,
            Said::text(&format!("latency {round}")).by(person(round), "Somebody"),
        );
        world.answered(before + 1).await?;
        let calls = world.telegram.calls_of("sendMessage");
        let at = calls.get(before).map_or(began, |call| call.at);
        samples.push(at.saturating_duration_since(began).saturating_sub(alone));
    }
    let target = disk.mul_f64(3.0) + Duration::from_millis(3);
    table.row(
        "added latency of a turn, bot to bot, everything durable",
        spread(&mut samples),
        format!("target p50 ≤ 3 × fdatasync + 3 ms = {}", ms(target)),
    );
    Ok(())
}

/// Turns a second with so many seats, each waiting for its answer before its next word: every word is another person's, so
/// that conversations stay short and nobody meets the window of a single chat.
async fn side_by_side(
    table: &mut Table,
    world: &World,
    seats: i64,
    rounds: Rounds,
) -> anyhow::Result<()> {
    world.model.always("the answer", MODEL);
    let all = seats * i64::try_from(rounds.each)?;
    // From the other end than the people before, and others for each number of seats.
    let newcomer = |number: i64| PEOPLE - number * 2 - seats / 64;
    let say = |number: i64| {
        let words = Said::text("side by side").by(newcomer(number), "Somebody");
        world.telegram.say(TOKEN, words);
    };
    let mut seen = world.telegram.calls_after(0).len();
    let (mut spoken, mut answered) = (seats, 0);
    let began = Instant::now();
    (0..seats).for_each(say);
    while answered < all {
        world
            .telegram
            .until("an answer", |telegram| telegram.count(|_call| true) > seen)
            .await?;
        let new = world.telegram.calls_after(seen);
        seen += new.len();
        for _answer in new.iter().filter(|call| call.method == "sendMessage") {
            answered += 1;
            if spoken < all {
                say(spoken);
                spoken += 1;
            }
        }
    }
    let took = began.elapsed();
    let rate = all as f64 / took.as_secs_f64();
    let allowed = (seats as f64 / MODEL.as_secs_f64()).min(300.0);
    table.row(
        format!("turns per second, {seats} people side by side, model 150 ms"),
        format!(
            "{rate:.0}/s, {:.0} % of {allowed:.0}/s",
            rate / allowed * 100.0
        ),
        "target ≥ 95 % of what the model allows, up to 300/s",
    );
    Ok(())
}
