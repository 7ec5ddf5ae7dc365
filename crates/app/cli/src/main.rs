//! `tidings`: the command line.
//!
//! Use this room for words between a person at a terminal and the gateway. It refuses to decide anything: each command
//! calls one part and prints. Standard output is data, standard error is talk.
//!
//! Start reading at [`arguments::Arguments`].

mod api_key;
mod arguments;
mod backup;
mod config;
mod doctor;
mod exit;
mod logging;
mod login;
mod outbox;
mod printable;
mod sandboxes;
mod servers;
mod talk;
mod up;
mod usage;

use std::process::ExitCode;

use ::outbox::Verb;
use clap::Parser as _;
use gateway::SystemClock;
use settings::{Environment, Home, ProcessEnvironment};

use crate::arguments::{
    ApiKeyCommand, Arguments, Command, ConfigCommand, McpCommand, OutboxCommand, SandboxesCommand,
};
use crate::exit::Failure;
use crate::outbox::Paint;

/// The hidden first argument with which the gateway starts itself to become a sandbox.
const SANDBOX: &str = "__sandbox";
/// The hidden first argument with which the gateway starts itself to mind a server of tools.
const MINDER: &str = "__mcp";
/// Which failpoints a debug build arms (`docs/crash-matrix.md`).
#[cfg(debug_assertions)]
const FAILPOINT: &str = "TIDINGS_FAILPOINT";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SANDBOX) {
        // Before any thread: a process with a second thread can't enter a user namespace.
        sandbox_process::launch::run(&words);
    }
    if let [first, command @ ..] = words.as_slice()
        && first == MINDER
    {
        mcp::minder::run(command);
    }
    let arguments = Arguments::parse();
    #[cfg(debug_assertions)]
    if let Err(reason) = arm(&ProcessEnvironment) {
        return Failure::Configuration(reason).tell();
    }
    match obey(&arguments, &ProcessEnvironment) {
        Ok(code) => code,
        Err(failure) => failure.tell(),
    }
}

/// Arms what the proof asks for; a release build holds nothing to arm and asks for nothing.
#[cfg(debug_assertions)]
fn arm(environment: &dyn Environment) -> Result<(), String> {
    match environment.get(FAILPOINT) {
        Some(spec) => failpoint::arm(&spec).map_err(|reason| format!("{FAILPOINT}: {reason}")),
        None => Ok(()),
    }
}

fn obey(arguments: &Arguments, environment: &dyn Environment) -> Result<ExitCode, Failure> {
    let home = Home::find(arguments.home.as_deref(), environment)?;
    match &arguments.command {
        Command::Up { listen } => up::run(home, *listen, arguments.json, environment),
        Command::Backup {
            place,
            with_secrets,
        } => {
            let secrets = if *with_secrets {
                gateway::Secrets::Taken
            } else {
                gateway::Secrets::Left
            };
            backup::run(&home, place, secrets, arguments.json)
        }
        Command::Chat { wish } => {
            let paint = Paint::of(environment);
            talk::run(&home, wish, arguments.json, paint, environment)
        }
        Command::Login => login::run(&home, arguments.json, environment),
        Command::Config { command } => match command {
            ConfigCommand::Check => config::check(&home, arguments.json, environment),
            ConfigCommand::Show => config::show(&home, arguments.json, environment),
            ConfigCommand::Schema => config::schema(),
            ConfigCommand::Path => config::path(&home, arguments.json),
        },
        Command::Outbox { command } => parcels(&home, command, arguments, environment),
        Command::Sandboxes { command } => computers(&home, command, arguments, environment),
        Command::ApiKey { command } => keys(&home, command, arguments, environment),
        Command::Usage { days } => {
            let paint = Paint::of(environment);
            usage::run(
                &home,
                *days,
                arguments.json,
                paint,
                environment,
                &SystemClock,
            )
        }
        Command::Mcp { command } => match command {
            McpCommand::List => {
                let paint = Paint::of(environment);
                servers::list(&home, arguments.json, paint, environment)
            }
            McpCommand::Accept { server, profile } => {
                let profile = profile.as_ref();
                servers::accept(&home, server, profile, arguments.json, environment)
            }
        },
        Command::Doctor => {
            let paint = Paint::of(environment);
            doctor::run(&home, arguments.json, paint, environment, &SystemClock)
        }
    }
}

fn keys(
    home: &Home,
    command: &ApiKeyCommand,
    arguments: &Arguments,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let json = arguments.json;
    match command {
        ApiKeyCommand::Add { name, profile } => {
            api_key::add(home, name, profile, json, environment, &SystemClock)
        }
        ApiKeyCommand::List => api_key::list(home, json, Paint::of(environment), &SystemClock),
        ApiKeyCommand::Revoke { name } => api_key::revoke(home, name, json, &SystemClock),
    }
}

fn computers(
    home: &Home,
    command: &SandboxesCommand,
    arguments: &Arguments,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let json = arguments.json;
    match command {
        SandboxesCommand::List => {
            let paint = Paint::of(environment);
            sandboxes::list(home, json, paint, environment, &SystemClock)
        }
        SandboxesCommand::Stop { id } => sandboxes::stop(home, id, json, environment),
        SandboxesCommand::Reap => sandboxes::reap(home, json, environment),
        SandboxesCommand::Shell { name } => sandboxes::shell(home, name, environment),
    }
}

fn parcels(
    home: &Home,
    command: &OutboxCommand,
    arguments: &Arguments,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let (json, paint) = (arguments.json, Paint::of(environment));
    let act = |verb, wish| outbox::act(home, verb, wish, json, &SystemClock);
    match command {
        OutboxCommand::List { which } => outbox::list(home, which, json, paint, &SystemClock),
        OutboxCommand::Show { id } => {
            let given = arguments.home.as_deref();
            outbox::show(home, *id, json, paint, given, &SystemClock)
        }
        OutboxCommand::Retry(wish) => act(Verb::Retry, *wish),
        OutboxCommand::Cancel(wish) => act(Verb::Cancel, *wish),
        OutboxCommand::MarkSent(wish) => act(Verb::MarkSent, *wish),
    }
}
