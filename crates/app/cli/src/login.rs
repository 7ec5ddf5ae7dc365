//! `tidings login`.

use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;
use settings::{Environment, Home};
use store_sqlite::Store;

use crate::exit::Failure;

/// Prints a fresh one-time link.
pub(crate) fn run(
    home: &Home,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    home.check()?;
    let address = address(home, environment)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    let token = runtime.block_on(async {
        let store = Store::open(&store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        })?;
        let token = admin::new_login(&store, &gateway::SystemClock).await?;
        store.close().await?;
        anyhow::Ok(token)
    })?;
    let link = format!("http://{address}/login?token={}", token.reveal());
    if as_json {
        println!("{}", json!({ "login": link }));
    } else {
        println!("{link}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the running gateway listens, as it wrote it down; else where it would.
fn address(home: &Home, environment: &dyn Environment) -> Result<String, Failure> {
    match std::fs::read_to_string(home.run().join("address")) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(_not_running) => {
            let loaded = settings::load(home, environment);
            let settings = loaded.into_settings().map_err(|problems| {
                Failure::Configuration(
                    problems
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join("\n"),
                )
            })?;
            Ok(settings.gateway.listen.to_string())
        }
    }
}
