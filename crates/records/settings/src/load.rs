//! The one verdict on the file.

use std::fs::File;
use std::io::{ErrorKind, Read};

use toml::de::DeTable;

use crate::assemble::assemble;
use crate::check::{Findings, check};
use crate::effective::{Provenance, effective, provenance};
use crate::lines::Lines;
use crate::problem::{Problem, Section, Weight};
use crate::tree::Table;
use crate::{Environment, Home, Settings};

/// The file's name, as problems give it.
pub const FILE_NAME: &str = "tidings.toml";

/// Largest file in bytes.
const LARGEST: u64 = 1 << 20;

/// What the file says, and what is wrong with it.
#[derive(Debug)]
pub struct Loaded {
    /// All problems, in the order of the file.
    pub problems: Vec<Problem>,
    settings: Settings,
    effective: Table,
}

impl Loaded {
    /// The settings, unless a problem is fatal.
    #[must_use]
    pub fn settings(&self) -> Option<&Settings> {
        (!self.problems.iter().any(Problem::is_fatal)).then_some(&self.settings)
    }

    /// The settings, or all problems if one of them is fatal.
    ///
    /// # Errors
    /// All problems.
    pub fn into_settings(self) -> Result<Settings, Vec<Problem>> {
        if self.problems.iter().any(Problem::is_fatal) {
            Err(self.problems)
        } else {
            Ok(self.settings)
        }
    }

    /// Whether there is nothing but warnings.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.iter().all(Problem::is_warning)
    }

    /// Every effective value and where it came from, secrets as their references. After a syntax error: the defaults alone.
    #[must_use]
    pub fn provenance(&self) -> Vec<Provenance> {
        provenance(&self.effective)
    }
}

/// Reads, checks and completes the home's `tidings.toml`, and fetches the secrets that it refers to. A missing file
/// means all defaults. Blocks on the disk. Who starts something calls [`Home::check`] first.
#[must_use]
pub fn load(home: &Home, environment: &dyn Environment) -> Loaded {
    match text(home) {
        Ok(text) => read(&text, home, environment),
        Err((before, message)) => {
            let mut findings = Findings {
                lines: Lines::new(&before),
                problems: Vec::new(),
            };
            findings.add(&Section::File, before.len(), Weight::Fatal, message);
            finish(findings, Table::default(), home, environment)
        }
    }
}

/// As [`load`], for a text that is not in the file (yet).
#[must_use]
pub fn read(text: &str, home: &Home, environment: &dyn Environment) -> Loaded {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut findings = Findings {
        lines: Lines::new(text),
        problems: Vec::new(),
    };
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        findings.add(
            &Section::File,
            at,
            Weight::Fatal,
            error.message().replace('\n', "; "),
        );
    }
    // After a syntax error the rest is a guess; checking guesses would hide the one real mistake.
    let checked = if errors.is_empty() {
        check(&root, home, &mut findings)
    } else {
        Table::default()
    };
    finish(findings, checked, home, environment)
}

fn finish(
    mut findings: Findings<'_>,
    checked: Table,
    home: &Home,
    environment: &dyn Environment,
) -> Loaded {
    let effective = effective(&checked, environment);
    let settings = assemble(&effective, home, environment, &mut findings);
    let mut problems = findings.problems;
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Loaded {
        problems,
        settings,
        effective,
    }
}

/// The file's text; or why there is none, with the text before the place of the failure.
fn text(home: &Home) -> Result<String, (String, String)> {
    let broken = |source: std::io::Error| (String::new(), format!("can't be read: {source}"));
    let path = home.config();
    // Looked at before it is opened, because opening a FIFO would wait for a writer.
    match std::fs::metadata(&path) {
        Err(source) if source.kind() == ErrorKind::NotFound => return Ok(String::new()),
        Err(source) => return Err(broken(source)),
        Ok(metadata) if !metadata.is_file() => {
            return Err((String::new(), "is not a file".to_owned()));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(broken)?;
    if bytes.len() as u64 > LARGEST {
        return Err((String::new(), "is larger than 1 MB".to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..good).unwrap_or_default());
        (
            before.into_owned(),
            "is not UTF-8 text from here on; save it as UTF-8".to_owned(),
        )
    })
}
