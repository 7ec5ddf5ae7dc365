//! `tidings sandboxes`: see what runs, end it, and look inside. Works with and without a running gateway: the engine and the
//! machine are asked directly.

mod act;
mod list;
mod shell;
mod terminal;

use anyhow::Context as _;
use gateway::Sandboxes;
use settings::{Environment, Home};

pub(crate) use act::{reap, stop};
pub(crate) use list::list;
pub(crate) use shell::shell;

use crate::SANDBOX;
use crate::exit::Failure;

/// Whether a broken configuration ends the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Profiles are needed.
    Profiles,
    /// What stands can be seen and ended whatever the file says.
    Nothing,
}

/// Works on the sandboxes of a home, within a runtime that ends with the work.
pub(crate) fn with<T>(
    home: &Home,
    environment: &dyn Environment,
    needs: Needs,
    work: impl AsyncFnOnce(&Sandboxes) -> Result<T, Failure>,
) -> Result<T, Failure> {
    home.check()?;
    // One that no gateway used yet lacks its folders.
    home.make()?;
    let settings = match (settings::load(home, environment).into_settings(), needs) {
        (Ok(settings), _) => settings,
        (Err(problems), Needs::Profiles) => return Err(Failure::of_problems(&problems)),
        (Err(_broken), Needs::Nothing) => settings::read("", home, environment)
            .into_settings()
            .map_err(|problems| Failure::of_problems(&problems))?,
    };
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let launcher = vec!["/proc/self/exe".to_owned(), SANDBOX.to_owned()];
        let sandboxes = Sandboxes::of(home, settings, launcher, environment)?;
        work(&sandboxes).await
    });
    // A name that is being looked up, or a read from a terminal, holds nobody up.
    runtime.shutdown_background();
    done
}

/// A runtime for one command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no runtime")?)
}
