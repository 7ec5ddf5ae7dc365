//! `tidings.toml` made into typed settings, and the only place that reads the process environment.
//!
//! Use this room for what the owner may write in the file, where each value came from, where the files of an
//! installation lie, and how a secret is found by its reference. It refuses to keep a literal secret, to guess an
//! identity, to write the file, and to know whether a service that the file names can be reached.
//!
//! Invariants:
//! * One table (`keys.rs`) says which keys exist. The checks, the defaults, the JSON Schema and the reference in
//!   `docs/configuration.md` are made from it, so they can't disagree.
//! * One function ([`load`]) gives the verdict. Who checks the file and who starts the gateway see the same problems.
//! * All problems are found at once, each with its line and column. While one of them is [`Weight::Fatal`] there are no
//!   settings to be had; a [`Weight::Disables`] leaves out its own section and nothing else.
//! * The text of a problem, a `Debug` output and the provenance never hold a secret.
//!
//! Start reading at `keys.rs`, then [`load`] and [`Settings`].

mod assemble;
mod check;
mod effective;
mod environment;
mod home;
mod keys;
mod lines;
mod load;
mod nearest;
mod problem;
mod reference;
mod rule;
mod schema;
mod secrets;
mod settings;
mod shape;
mod tree;

pub use effective::Provenance;
pub use environment::{Environment, FixedEnvironment, ProcessEnvironment};
pub use home::{Home, HomeError};
pub use load::{FILE_NAME, Loaded, load, read};
pub use problem::{Problem, Section, Weight};
pub use rule::listen_address;
pub use schema::{reference, schema};
pub use settings::{
    Access, Api, Approval, Approvals, Busy, Channel, ChannelKind, DriverChoice, GatewaySettings,
    Groups, Guest, McpServer, McpTransport, ModelChoice, ModelSettings, Profile, Provider,
    Reasoning, Retention, Route, SandboxSettings, SearchKind, Settings, TurnLimits, WebSearch,
    WebSettings, WhenUnknown,
};
pub use tree::Source;
