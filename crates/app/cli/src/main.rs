//! `tidings`: the command line.
//!
//! Use this room for words between a person at a terminal and the gateway. It refuses to decide anything: each command
//! calls one part and prints. Standard output is data, standard error is talk.
//!
//! Start reading at [`arguments::Arguments`].

mod arguments;
mod config;
mod exit;
mod logging;
mod login;
mod outbox_rows;
mod printable;
mod up;

use std::process::ExitCode;

use clap::Parser as _;
use settings::{Environment, Home, ProcessEnvironment};

use crate::arguments::{Arguments, Command, ConfigCommand, OutboxCommand};
use crate::exit::Failure;

/// The hidden first argument with which the gateway starts itself to become a sandbox.
const SANDBOX: &str = "__sandbox";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == SANDBOX) {
        // Before any thread: a process with a second thread can't enter a user namespace.
        sandbox_process::launch::run(&words);
    }
    let arguments = Arguments::parse();
    match obey(&arguments, &ProcessEnvironment) {
        Ok(code) => code,
        Err(failure) => failure.tell(),
    }
}

fn obey(arguments: &Arguments, environment: &dyn Environment) -> Result<ExitCode, Failure> {
    let home = Home::find(arguments.home.as_deref(), environment)?;
    match &arguments.command {
        Command::Up { listen } => up::run(home, *listen, arguments.json, environment),
        Command::Login => login::run(&home, arguments.json, environment),
        Command::Config { command } => match command {
            ConfigCommand::Check => config::check(&home, arguments.json, environment),
            ConfigCommand::Show => config::show(&home, arguments.json, environment),
            ConfigCommand::Schema => config::schema(),
            ConfigCommand::Path => config::path(&home, arguments.json),
        },
        Command::Outbox { command } => match command {
            OutboxCommand::List { state } => outbox_rows::list(&home, *state, arguments.json),
            OutboxCommand::Show { id } => outbox_rows::show(&home, *id, arguments.json),
        },
    }
}
