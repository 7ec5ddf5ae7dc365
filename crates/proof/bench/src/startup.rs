//! Starting, and doing nothing.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::telegram::Telegram;
use tokio::process::Command;

use crate::Rounds;
use crate::gateway::{Gateway, Home};
use crate::table::{Table, ms, quantile, spread};

/// How long a gateway rests before its memory is read.
const REST: Duration = Duration::from_secs(3);

pub(crate) async fn measure(
    table: &mut Table,
    binary: &Path,
    rounds: Rounds,
) -> anyhow::Result<()> {
    let mut nothing = command(Path::new("/bin/true"), rounds.starts).await?;
    let mut version = command(binary, rounds.starts).await?;
    let over = quantile(&mut version, 0.5).saturating_sub(quantile(&mut nothing, 0.5));
    table.row("`--version` over `true`", ms(over), "target ≤ 5 ms");

    let home = Home::new("[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"process\" }\n")?;
    let mut fresh = Vec::new();
    let mut samples = Vec::new();
    for round in 0..=rounds.starts {
        let gateway = Gateway::start(binary, &home, &[]).await?;
        if round == 0 {
            fresh.push(gateway.took)
        } else {
            samples.push(gateway.took)
        }
        gateway.stop().await?;
    }
    table.row(
        "first start, empty home → serving",
        ms(quantile(&mut fresh, 0.5)),
        "makes the database",
    );
    table.row(
        "cold start → serving",
        spread(&mut samples),
        "target ≤ 60 ms",
    );

    for channels in [0, 1, 10] {
        let telegram = Telegram::start().await?;
        let mut config = "[defaults]\nmodel = \"demo\"\nsandbox = { driver = \"process\" }\n[profiles.default]\n".to_owned();
        let mut environment = Vec::new();
        for channel in 0..channels {
            let token = format!("{}:bench", 1_000 + channel);
            telegram.add_bot(&token, &format!("bot{channel}"));
            write!(
                config,
                "[channels.c{channel}]\nkind = \"telegram\"\nprofile = \"default\"\ntoken = \"env:TOKEN_{channel}\"\napi_base = \"{}\"\nowner = [1]\n",
                telegram.api_base()
            )?;
            environment.push((format!("TOKEN_{channel}"), token));
        }
        let home = Home::new(&config)?;
        let pairs: Vec<(&str, &str)> = environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let gateway = Gateway::start(binary, &home, &pairs).await?;
        tokio::time::sleep(REST).await;
        let target = if channels > 1 {
            "target ≤ 30 MB"
        } else {
            "target ≤ 15 MB"
        };
        table.row(
            format!("idle memory, web chat and {channels} bots"),
            format!("{:.1} MB", gateway.memory()? as f64 / 1e6),
            target,
        );
        gateway.stop().await?;
    }
    Ok(())
}

async fn command(program: &Path, rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    for _ in 0..rounds.max(10) {
        let began = Instant::now();
        let output = Command::new(program).arg("--version").output().await?;
        samples.push(began.elapsed());
        anyhow::ensure!(output.status.success(), "{} failed", program.display());
    }
    Ok(samples)
}
