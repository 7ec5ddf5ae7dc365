//! `tidings up`.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use gateway::{Gateway, Running, Summary};
use serde_json::json;
use settings::{Environment, Home, Settings};
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Failure;
use crate::{SANDBOX, logging};

/// Longest that the banner waits to learn about sandboxes.
const LOOK: Duration = Duration::from_secs(5);

/// Runs the gateway until it is told to stop.
pub(crate) fn run(
    home: Home,
    listen: Option<SocketAddr>,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    home.make()?;
    let loaded = settings::load(&home, environment);
    for problem in loaded.problems.iter().filter(|problem| !problem.is_fatal()) {
        eprintln!("{problem}");
    }
    let settings = loaded.into_settings().map_err(|problems| {
        let fatal: Vec<String> = problems
            .iter()
            .filter(|problem| problem.is_fatal())
            .map(ToString::to_string)
            .collect();
        Failure::Configuration(format!(
            "the configuration can't be used\n{}",
            fatal.join("\n")
        ))
    })?;
    logging::begin(&settings.gateway.log).map_err(Failure::Configuration)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    runtime.block_on(serve(home, settings, listen, as_json, environment))
}

async fn serve(
    home: Home,
    settings: Settings,
    listen: Option<SocketAddr>,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM can't be watched")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT can't be watched")?;
    let options = gateway::Options {
        home: home.clone(),
        settings,
        listen,
        launcher: vec!["/proc/self/exe".to_owned(), SANDBOX.to_owned()],
        minder: crate::servers::minder(),
        accounts: gateway::Accounts::All,
    };
    let mut running = Box::pin(Gateway::start(options, environment)).await?;
    let noted = home.run().join("address");
    std::fs::write(&noted, running.summary().address.to_string())
        .context("the address could not be noted")?;
    greet(running.summary(), as_json).context("standard output is closed")?;
    let ended = tokio::select! {
        () = describe(&running) => None,
        _ = terminate.recv() => Some(None),
        _ = interrupt.recv() => Some(None),
    };
    let ended = match ended {
        Some(ended) => ended,
        None => tokio::select! {
            _ = terminate.recv() => None,
            _ = interrupt.recv() => None,
            service = running.failed() => Some(service),
        },
    };
    if let Err(error) = std::fs::remove_file(&noted) {
        tracing::debug!(%error, "the noted address could not be removed");
    }
    eprintln!("tidings: stopping; once more stops at once");
    tokio::select! {
        () = running.stop() => {}
        _ = terminate.recv() => return Ok(ExitCode::from(130)),
        _ = interrupt.recv() => return Ok(ExitCode::from(130)),
    }
    match ended {
        None => Ok(ExitCode::SUCCESS),
        Some(service) => Err(Failure::Failed(format!(
            "the service '{service}' ended by itself; the log says why"
        ))),
    }
}

/// The banner: what a person needs to begin.
fn greet(summary: &Summary, as_json: bool) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let profiles: serde_json::Map<String, serde_json::Value> = summary
            .profiles
            .iter()
            .map(|(name, model)| (name.to_string(), json!(model)))
            .collect();
        let line = json!({
            "address": summary.address.to_string(),
            "instead_of": summary.instead_of.map(|address| address.to_string()),
            "login": summary.login,
            "profiles": profiles,
            "channels": summary.channels.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect::<Vec<_>>(),
            "left_out": summary.left_out.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect::<Vec<_>>(),
        });
        writeln!(out, "{line}")?;
        return out.flush();
    }
    if let Some(taken) = summary.instead_of {
        writeln!(
            out,
            "{taken} is taken; listening on {} instead",
            summary.address
        )?;
    }
    for (what, why) in &summary.left_out {
        writeln!(out, "left out: {what}: {why}")?;
    }
    for (name, model) in &summary.profiles {
        writeln!(out, "profile {name}: model {model}")?;
    }
    for (name, kind) in &summary.channels {
        writeln!(out, "channel {name}: {kind}")?;
    }
    writeln!(
        out,
        "\nOpen the web chat (this link works once):\n\n  {}\n",
        summary.login
    )?;
    out.flush()
}

/// Says which walls sandboxes have; to the log, since looking may take a moment.
async fn describe(running: &Running) {
    match tokio::time::timeout(LOOK, running.walls()).await {
        Ok(walls) => walls
            .iter()
            .for_each(|(profile, walls)| tracing::info!(%profile, walls, "sandbox")),
        Err(_late) => tracing::warn!("which sandboxes there are could not be found out in time"),
    }
}
