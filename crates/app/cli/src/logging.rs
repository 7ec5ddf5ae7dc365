//! The log, on standard error.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Begins to log. `filter` is `gateway.log` or `TIDINGS_LOG`: a level, or `target=level` with commas.
pub(crate) fn begin(filter: &str) -> Result<(), String> {
    // The library that speaks to servers of tools says at length what they say; what matters of it is said here. Asked for by name, it
    // speaks.
    let filter = EnvFilter::try_new(format!("rmcp=warn,{filter}"))
        .map_err(|error| format!("gateway.log: '{filter}' is no log filter: {error}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .compact()
        .try_init()
        .map_err(|error| error.to_string())
}
