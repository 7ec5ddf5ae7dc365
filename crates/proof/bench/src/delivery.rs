//! Delivery under load: the platform's allowance, a dead neighbour, and a gigabyte on its way.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use testkit::model_server::{ModelServer, Turn};
use testkit::telegram::{Gate, RateLimits, Rule, Said, Telegram, Trouble, Window};

use crate::Rounds;
use crate::gateway::{Gateway, Home};
use crate::table::{Table, quantile, spread};

const BUSY: &str = "1000:busy";
const DEAD: &str = "2000:dead";
/// People who write to each bot.
const PEOPLE: i64 = 100;
/// What the platform publishes, with the short bursts in a chat that it allows.
const ALLOWED: f64 = 30.0;

struct World {
    telegram: Telegram,
    model: ModelServer,
    home: Home,
    gateway: Gateway,
}

/// Two bots of two profiles; each person writes to one of them.
async fn world(binary: &Path, more: &str) -> anyhow::Result<World> {
    let telegram = Telegram::start().await?;
    telegram.add_bot(BUSY, "busy");
    telegram.add_bot(DEAD, "dead");
    let model = ModelServer::start().await?;
    let people: Vec<String> = (1..=PEOPLE).map(|person| person.to_string()).collect();
    let people = people.join(",");
    let bot = |name: &str, token: &str| {
        format!(
            "[channels.{name}]\nkind = \"telegram\"\nprofile = \"{name}\"\ntoken = \"env:{token}\"\napi_base = \"{}\"\nowner = [{people}]\n{more}\n",
            telegram.api_base()
        )
    };
    let config = format!(
        "[defaults]\nmodel = \"fake/bench\"\nsandbox = {{ driver = \"process\" }}\n\
         [providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n[profiles.busy]\n[profiles.dead]\n{}{}",
        model.base_url(),
        bot("busy", "BUSY"),
        bot("dead", "DEAD"),
    );
    let home = Home::new(&config)?;
    let gateway = Gateway::start(binary, &home, &[("BUSY", BUSY), ("DEAD", DEAD)]).await?;
    Ok(World {
        telegram,
        model,
        home,
        gateway,
    })
}

pub(crate) async fn measure(
    table: &mut Table,
    binary: &Path,
    rounds: Rounds,
) -> anyhow::Result<()> {
    allowance(table, binary, rounds).await?;
    isolation(table, binary, rounds).await?;
    attachments(table, binary, rounds).await
}

/// Many chats want to be answered at once by one bot; the platform refuses what is over its windows.
async fn allowance(table: &mut Table, binary: &Path, rounds: Rounds) -> anyhow::Result<()> {
    let world = world(binary, "").await?;
    world.model.always("the answer", Duration::ZERO);
    world.telegram.enforce_rates(Some(RateLimits {
        chat: Window {
            calls: 10,
            per: Duration::from_secs(10),
        },
        ..RateLimits::default()
    }));
    let each = if rounds.turns < 100 { 2 } else { 5 };
    for round in 0..each {
        for person in 1..=PEOPLE {
            world.telegram.say(
                BUSY,
                Said::text(&format!("rate {round}")).by(person, "Somebody"),
            );
        }
    }
    let count = usize::try_from(PEOPLE)? * each;
    world
        .telegram
        .until("every answer", |telegram| {
            telegram.count(|call| call.method == "sendMessage") >= count
        })
        .await?;
    let mut at: Vec<Instant> = world
        .telegram
        .calls_of("sendMessage")
        .iter()
        .map(|call| call.at)
        .collect();
    at.sort_unstable();
    // The first window is full at once; what counts is the stretch after it.
    let first = at.get(30).context("too few answers")?;
    let last = at.last().context("no answer")?;
    let rate = (at.len() - 31) as f64 / last.duration_since(*first).as_secs_f64();
    table.row(
        format!("share of the permitted rate, {PEOPLE} chats of one bot, 30 a second"),
        format!(
            "{:.0} %, refused with 429: {}",
            rate / ALLOWED * 100.0,
            world.telegram.throttled()
        ),
        "target ≥ 95 % with none refused",
    );
    world.gateway.stop().await
}

/// From the model's answer to the platform, of a bot whose neighbours are well, and then of the same bot beside a bot that
/// never answers and beside chats of its own that are dead.
async fn isolation(table: &mut Table, binary: &Path, rounds: Rounds) -> anyhow::Result<()> {
    let world = world(binary, "messages_per_second = 1000").await?;
    world.model.always("the answer", Duration::ZERO);
    // A p99 of few samples is one late sample.
    let samples = rounds.turns * 5;
    // Warm, so that the first sample is no different from the last.
    answered_in(&world, rounds.turns).await?;
    let mut well = answered_in(&world, samples).await?;
    let never = Gate::default();
    world.telegram.script(
        Rule::on("sendMessage")
            .always()
            .when(|call| call.token == DEAD),
        Trouble::Hold(never.clone()),
    );
    world.telegram.script(
        Rule::on("sendMessage")
            .always()
            .when(|call| call.chat_id() > 90),
        Trouble::Flood(1),
    );
    for person in 1..=PEOPLE {
        world
            .telegram
            .say(DEAD, Said::text("hello?").by(person, "Somebody"));
    }
    for person in 91..=PEOPLE {
        world
            .telegram
            .say(BUSY, Said::text("hello?").by(person, "Somebody"));
    }
    world
        .telegram
        .until("the dead bot's attempts", |telegram| {
            telegram
                .calls_of("sendMessage")
                .iter()
                .any(|call| call.token == DEAD)
        })
        .await?;
    let mut beside = answered_in(&world, samples).await?;
    let (p99_well, p99_beside) = (quantile(&mut well, 0.99), quantile(&mut beside, 0.99));
    table.row(
        "answers of a bot whose neighbours are well",
        spread(&mut well),
        "words in, answer at the platform; model 0 ms",
    );
    table.row(
        "the same beside a bot that never answers, and ten dead chats of its own",
        spread(&mut beside),
        format!(
            "p99 {:+.0} %; target < +10 %",
            (p99_beside.as_secs_f64() / p99_well.as_secs_f64() - 1.0) * 100.0
        ),
    );
    world.gateway.stop().await
}

/// One after the other, each time another of 90 people.
async fn answered_in(world: &World, samples: usize) -> anyhow::Result<Vec<Duration>> {
    let of_person = |telegram: &Telegram, person: i64| telegram.chat(BUSY, person).len();
    let mut took = Vec::with_capacity(samples);
    for round in 0..samples {
        let person = i64::try_from(round % 90)? + 1;
        let before = of_person(&world.telegram, person);
        let began = Instant::now();
        world
            .telegram
            .say(BUSY, Said::text("hello").by(person, "Somebody"));
        world
            .telegram
            .until("an answer", |telegram| of_person(telegram, person) > before)
            .await?;
        took.push(began.elapsed());
    }
    Ok(took)
}

/// So many answers with a file of this size on their way at once, to a platform that reads slowly.
async fn attachments(table: &mut Table, binary: &Path, rounds: Rounds) -> anyhow::Result<()> {
    const FILE: u64 = 48_000_000;
    let files = if rounds.turns < 100 { 4 } else { 21 };
    let world = world(binary, "messages_per_second = 1000").await?;
    world.model.push(
        Turn::tool(
            "terminal",
            serde_json::json!({ "command": format!("head -c {FILE} /dev/urandom > /workspace/big.bin") }),
        ),
    );
    world.model.push(Turn::text("made"));
    world
        .telegram
        .say(BUSY, Said::text("make it").by(1, "Somebody"));
    world
        .telegram
        .until("the file was made", |telegram| {
            telegram.calls_of("sendMessage").len() == 1
        })
        .await?;
    let idle = world.gateway.memory()?;
    world
        .model
        .always("Here.\nMEDIA:/workspace/big.bin", Duration::ZERO);
    for person in 1..=files {
        world
            .telegram
            .say(BUSY, Said::text("send it").by(person, "Somebody"));
    }
    let began = Instant::now();
    let mut most = idle;
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    let count = usize::try_from(files)?;
    while uploads(&world.telegram) < count {
        anyhow::ensure!(
            began.elapsed() < Duration::from_secs(300),
            "the files did not arrive in time"
        );
        tick.tick().await;
        most = most.max(world.gateway.memory()?);
    }
    table.row(
        format!(
            "memory while {:.2} GB of attachments are captured and sent",
            (FILE * u64::try_from(files)?) as f64 / 1e9
        ),
        format!(
            "{:.1} MB above idle",
            most.saturating_sub(idle) as f64 / 1e6
        ),
        format!(
            "{files} files in {:.0} s; target ≤ 64 MB",
            began.elapsed().as_secs_f64()
        ),
    );
    drop(world.home);
    world.gateway.stop().await
}

fn uploads(telegram: &Telegram) -> usize {
    telegram.count(|call| !call.uploads.is_empty())
}
