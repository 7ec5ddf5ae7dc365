//! Turns by the API: what is added to the model's own time, how many go side by side, and what a thousand at once take.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use testkit::http::Ask;
use testkit::model_server::ModelServer;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::Rounds;
use crate::gateway::{Gateway, Home};
use crate::table::{Table, ms, quantile, spread};

/// The scripted model's own time.
const MODEL: Duration = Duration::from_millis(150);
/// Requests that come at once.
const CROWD: usize = 1_000;

struct World {
    model: ModelServer,
    home: Home,
    gateway: Gateway,
    key: String,
}

async fn world(binary: &Path) -> anyhow::Result<World> {
    let model = ModelServer::start().await?;
    let home = Home::new(&format!(
        "[defaults]\nmodel = \"fake/bench\"\nsandbox = {{ driver = \"process\" }}\n\
         [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n[profiles.default]\n",
        model.base_url()
    ))?;
    let made = Command::new(binary)
        .args(["api-key", "add", "bench", "--profile", "default", "--home"])
        .arg(home.path())
        .output()
        .await?;
    anyhow::ensure!(
        made.status.success(),
        "no key: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    let key = String::from_utf8(made.stdout)?.trim().to_owned();
    let gateway = Gateway::start(binary, &home, &[]).await?;
    model.always("the answer", MODEL);
    Ok(World {
        model,
        home,
        gateway,
        key,
    })
}

/// One turn, from the request's first byte to the answer's last.
async fn turn(
    address: SocketAddr,
    key: String,
    session: Option<String>,
) -> anyhow::Result<Duration> {
    let mut ask = Ask::post("/v1/chat/completions")
        .header("authorization", format!("Bearer {key}"))
        .json(&json!({ "model": "default", "messages": [{ "role": "user", "content": "hello" }] }));
    if let Some(session) = session {
        ask = ask.header("x-tidings-session", session);
    }
    let began = Instant::now();
    let answer = ask.send(address).await?;
    let took = began.elapsed();
    anyhow::ensure!(answer.status == 200, "{}", answer.text());
    Ok(took)
}

pub(crate) async fn measure(
    table: &mut Table,
    binary: &Path,
    rounds: Rounds,
    disk: Duration,
) -> anyhow::Result<()> {
    let world = world(binary).await?;
    let alone = alone(&world, rounds).await?;
    hello(table, &world).await?;
    let target = disk.mul_f64(3.0) + Duration::from_millis(3);
    for seats in [1, 16, 64] {
        side_by_side(table, &world, rounds, seats, alone, target).await?;
    }
    crowd(table, &world, alone).await?;
    drop(world.home);
    world.gateway.stop().await
}

/// What the same answer takes without a gateway.
async fn alone(world: &World, rounds: Rounds) -> anyhow::Result<Duration> {
    let base = world.model.base_url();
    let address = base
        .trim_start_matches("http://")
        .trim_end_matches("/v1")
        .parse()?;
    let body = json!({
        "model": "bench",
        "stream": true,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let mut samples = Vec::new();
    for _ in 0..rounds.turns / 4 {
        let began = Instant::now();
        let asked = Ask::post("/v1/chat/completions").json(&body);
        let answer = asked.send(address).await?;
        anyhow::ensure!(
            answer.status == 200,
            "the scripted model refused: {}",
            answer.text()
        );
        samples.push(began.elapsed());
    }
    Ok(quantile(&mut samples, 0.5))
}

/// What a model is sent for "hello".
async fn hello(table: &mut Table, world: &World) -> anyhow::Result<()> {
    turn(world.gateway.address, world.key.clone(), None).await?;
    let requests = world.model.requests();
    let request = requests.last().context("the model was not asked")?;
    let bytes = request.body.to_string().len();
    let tools = request
        .body
        .get("tools")
        .map_or(0, |tools| tools.to_string().len());
    let count = request
        .body
        .get("tools")
        .and_then(Value::as_array)
        .map_or(0, Vec::len);
    table.row(
        "the request to the model for \"hello\", in a fresh conversation",
        format!("{:.1} KB, about {} tokens", bytes as f64 / 1e3, bytes / 4),
        format!(
            "{count} tools are {:.1} KB of it; target ≤ 5,000 tokens",
            tools as f64 / 1e3
        ),
    );
    Ok(())
}

/// So many programs, each of which asks again when it was answered.
async fn side_by_side(
    table: &mut Table,
    world: &World,
    rounds: Rounds,
    seats: usize,
    alone: Duration,
    target: Duration,
) -> anyhow::Result<()> {
    let each = if seats == 1 {
        rounds.turns / 2
    } else {
        rounds.each.max(4)
    };
    let began = Instant::now();
    let mut asking = JoinSet::new();
    for _seat in 0..seats {
        let (address, key) = (world.gateway.address, world.key.clone());
        asking.spawn(async move {
            let mut samples = Vec::with_capacity(each);
            for _ in 0..each {
                samples.push(turn(address, key.clone(), None).await?);
            }
            anyhow::Ok(samples)
        });
    }
    let mut samples = Vec::new();
    while let Some(done) = asking.join_next().await {
        samples.extend(done??);
    }
    let rate = samples.len() as f64 / began.elapsed().as_secs_f64();
    let mut added: Vec<Duration> = samples
        .iter()
        .map(|took| took.saturating_sub(alone))
        .collect();
    table.row(
        format!("added latency of a turn by the API, {seats} at once, everything durable"),
        spread(&mut added),
        format!("target p50 ≤ 3 × fdatasync + 3 ms = {}, alone", ms(target)),
    );
    if seats > 1 {
        let allowed = (seats as f64 / alone.as_secs_f64()).min(300.0);
        table.row(
            format!("turns per second by the API, {seats} at once, model 150 ms"),
            format!(
                "{rate:.0}/s, {:.0} % of {allowed:.0}/s",
                rate / allowed * 100.0
            ),
            "target ≥ 95 % of what the model allows, up to 300/s",
        );
    }
    Ok(())
}

/// A thousand requests in the same moment.
async fn crowd(table: &mut Table, world: &World, alone: Duration) -> anyhow::Result<()> {
    let before = world.gateway.memory()?;
    world.gateway.forget_peak()?;
    let began = Instant::now();
    let mut asking = JoinSet::new();
    for number in 0..CROWD {
        let (address, key) = (world.gateway.address, world.key.clone());
        // Half of them in sessions, half with a conversation of their own.
        let session = (number % 2 == 0).then(|| format!("crowd-{number}"));
        asking.spawn(turn(address, key, session));
    }
    let mut samples = Vec::with_capacity(CROWD);
    while let Some(done) = asking.join_next().await {
        samples.push(done??);
    }
    let took = began.elapsed();
    let peak = world.gateway.peak()?;
    let per_turn = peak.saturating_sub(before) as f64 / CROWD as f64 / 1e3;
    table.row(
        format!("{CROWD} turns in parallel by the API, model 150 ms"),
        format!(
            "all after {}, {:.0}/s, the slowest {}",
            ms(took),
            CROWD as f64 / took.as_secs_f64(),
            ms(quantile(&mut samples, 1.0)),
        ),
        format!("one alone takes {} without a gateway", ms(alone)),
    );
    table.row(
        format!("memory meanwhile, with {CROWD} connections"),
        format!(
            "{:.1} MB at its peak, from {:.1} MB",
            peak as f64 / 1e6,
            before as f64 / 1e6
        ),
        format!("{per_turn:.0} KB for each turn and its connection"),
    );
    Ok(())
}
