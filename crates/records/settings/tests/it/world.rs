//! A home in a folder of its own, and an environment that is written down.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;
use tidings_settings::{FixedEnvironment, Home, Loaded, Problem, Settings, load, read};

pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) folder: TempDir,
}

pub(crate) const VARIABLES: [(&str, &str); 4] = [
    ("OPENROUTER_API_KEY", "sk-or-very-secret"),
    ("TELEGRAM_TOKEN", "111:token-very-secret"),
    ("OTHER_TOKEN", "222:token-very-secret"),
    ("GITHUB_TOKEN", "ghp-very-secret"),
];

/// The example of the interface, whole.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(&folder.path().join("home")).unwrap();
        home.make().unwrap();
        Self { home, folder }
    }

    pub(crate) fn read(&self, text: &str) -> Loaded {
        read(text, &self.home, &FixedEnvironment::new(VARIABLES))
    }

    /// As a start does it: from the disk.
    pub(crate) fn load(&self, bytes: &[u8]) -> Loaded {
        fs::write(self.home.config(), bytes).unwrap();
        load(&self.home, &FixedEnvironment::new(VARIABLES))
    }

    pub(crate) fn settings(&self, text: &str) -> Settings {
        let loaded = self.read(text);
        let problems = lines(&loaded.problems);
        loaded
            .into_settings()
            .unwrap_or_else(|_| panic!("refused: {problems:#?}"))
    }

    pub(crate) fn secret(&self, name: &str, bytes: &[u8], mode: u32) {
        let path = self.home.secrets().join(name);
        fs::write(&path, bytes).unwrap();
        set_mode(&path, mode);
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// The problems of a text, in the form in which a person reads them.
#[track_caller]
pub(crate) fn check(text: &str, expected: &[&str]) {
    let world = World::new();
    let found = lines(&world.read(text).problems);
    assert_eq!(found, expected, "\n{text}");
}
