//! `tidings config`.

use std::process::ExitCode;

use serde_json::json;
use settings::{Environment, Home, Source};

use crate::exit::{CONFIGURATION, Failure};

/// Prints every problem at once.
pub(crate) fn check(
    home: &Home,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let loaded = settings::load(home, environment);
    for problem in &loaded.problems {
        if as_json {
            println!(
                "{}",
                json!({
                    "file": settings::FILE_NAME,
                    "line": problem.line,
                    "column": problem.column,
                    "section": problem.section.to_string(),
                    "message": problem.message,
                    "warning": problem.is_warning(),
                    "fatal": problem.is_fatal(),
                })
            );
        } else {
            println!("{problem}");
        }
    }
    if !loaded.is_sound() {
        return Ok(ExitCode::from(CONFIGURATION));
    }
    if !as_json {
        eprintln!("{} is sound", home.config().display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints every value and where it comes from.
pub(crate) fn show(
    home: &Home,
    as_json: bool,
    environment: &dyn Environment,
) -> Result<ExitCode, Failure> {
    let loaded = settings::load(home, environment);
    let rows = loaded.provenance();
    let widest = rows
        .iter()
        .map(|row| row.key.len() + row.value.len())
        .max()
        .unwrap_or(0)
        .min(60);
    for row in &rows {
        let source = source(&row.source);
        if as_json {
            println!(
                "{}",
                json!({ "key": row.key, "value": row.value, "source": source })
            );
        } else {
            let line = format!("{} = {}", row.key, row.value);
            println!("{line:<width$}  # {source}", width = widest + 3);
        }
    }
    if !loaded.is_sound() {
        eprintln!("tidings: the configuration has problems; see `tidings config check`");
        return Ok(ExitCode::from(CONFIGURATION));
    }
    Ok(ExitCode::SUCCESS)
}

fn source(source: &Source) -> String {
    source.to_string()
}

/// Prints the schema.
pub(crate) fn schema() -> Result<ExitCode, Failure> {
    println!("{:#}", settings::schema());
    Ok(ExitCode::SUCCESS)
}

/// Prints where the file lies.
pub(crate) fn path(home: &Home, as_json: bool) -> Result<ExitCode, Failure> {
    let path = home.config();
    if as_json {
        println!(
            "{}",
            json!({ "path": path.display().to_string(), "exists": path.exists() })
        );
    } else {
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
