//! `tidings api-key`: keys by which programs ask. Works with and without a running gateway, which looks each key up anew: one
//! that is made works at once, one that is revoked at once no more.

use std::process::ExitCode;

use anyhow::Context as _;
use outbox::when;
use policy::{ApiKey, KeyStore as _};
use serde_json::{Value, json};
use settings::{Environment, Home};
use store_sqlite::Store;
use waybill::{ClientId, Clock, ProfileId, Timestamp};

use crate::exit::Failure;
use crate::outbox::Paint;
use crate::outbox::table::cell;

/// Widest column of names.
const NAME: usize = 24;

/// Makes a key and prints it: standard output is the key alone, so that a script can take it.
pub(crate) fn add(
    home: &Home,
    name: &ClientId,
    profile: &ProfileId,
    as_json: bool,
    environment: &dyn Environment,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    // So that a script can make a key before the first start.
    home.make()?;
    home.check()?;
    let settings = settings::load(home, environment)
        .into_settings()
        .map_err(|problems| Failure::of_problems(&problems))?;
    if !settings.profiles.contains_key(profile) {
        let names: Vec<&str> = settings.profiles.keys().map(ProfileId::as_str).collect();
        return Err(Failure::Failed(format!(
            "there is no profile '{profile}' that can work; there are: {}",
            names.join(", ")
        )));
    }
    let key = change(home, async |store| {
        Ok(admin::new_key(store, name.clone(), profile.clone(), clock).await?)
    })?;
    if as_json {
        let object = json!({ "name": name, "profile": profile, "key": key.reveal() });
        println!("{object}");
    } else {
        println!("{}", key.reveal());
        eprintln!("'{name}' asks the profile '{profile}' with this key. It is not shown again.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists keys.
pub(crate) fn list(
    home: &Home,
    as_json: bool,
    paint: Paint,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    home.check()?;
    let keys = run(async {
        let store = Store::open_read_only(&home.database())?;
        Ok(store.keys().await?)
    })?;
    if as_json {
        keys.iter().for_each(|key| println!("{}", object(key)));
    } else if keys.is_empty() {
        eprintln!("there is no key; `tidings api-key add NAME --profile PROFILE` makes one");
    } else {
        for line in table(&keys, paint, clock.now()) {
            println!("{line}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Revokes a key.
pub(crate) fn revoke(
    home: &Home,
    name: &ClientId,
    as_json: bool,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    home.check()?;
    let revoked = change(home, async |store| {
        Ok(store.revoke_key(name, clock.now()).await?)
    })?;
    if !revoked {
        return Err(Failure::Failed(format!(
            "no key named '{name}' holds; `tidings api-key list` shows those that there are"
        )));
    }
    if as_json {
        println!("{}", json!({ "name": name, "revoked": true }));
    } else {
        println!("the key '{name}' holds no more");
    }
    Ok(ExitCode::SUCCESS)
}

fn change<T>(
    home: &Home,
    work: impl AsyncFnOnce(&Store) -> anyhow::Result<T>,
) -> Result<T, Failure> {
    run(async {
        let store = Store::open(&store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        })?;
        let done = work(&store).await;
        store.close().await?;
        done
    })
}

fn run<T>(work: impl Future<Output = anyhow::Result<T>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    Ok(runtime.block_on(work)?)
}

fn object(key: &ApiKey) -> Value {
    json!({
        "name": key.name,
        "profile": key.profile,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    })
}

fn table(keys: &[ApiKey], paint: Paint, now: Timestamp) -> Vec<String> {
    let heading = format!("{} {} USED", cell("NAME", NAME), cell("PROFILE", NAME));
    let mut lines = vec![paint.strong(&heading)];
    for key in keys {
        let used = match (key.revoked_at, key.last_used_at) {
            (Some(at), _) => paint.faint(&format!("revoked {}", when::ago(at, now))),
            (None, Some(at)) => when::ago(at, now),
            (None, None) => paint.faint("never"),
        };
        lines.push(format!(
            "{} {} {used}",
            cell(key.name.as_str(), NAME),
            cell(key.profile.as_str(), NAME)
        ));
    }
    lines
}
