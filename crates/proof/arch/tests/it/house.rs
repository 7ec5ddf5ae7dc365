//! The workspace, read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// A crate of the workspace.
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) layer: String,
    pub(crate) folder: PathBuf,
    /// Direct dependencies, `true` for those of tests alone.
    pub(crate) knows: BTreeMap<String, bool>,
}

/// A source file with its place relative to the workspace.
pub(crate) struct Source {
    pub(crate) place: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(3)
        .unwrap()
        .to_path_buf()
}

pub(crate) fn rooms() -> Vec<Room> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    metadata
        .workspace_packages()
        .into_iter()
        .map(room)
        .collect()
}

fn room(package: &Package) -> Room {
    let layer = package
        .metadata
        .get("tidings")
        .and_then(|tidings| tidings.get("layer"));
    let mut knows: BTreeMap<String, bool> = BTreeMap::new();
    for dependency in &package.dependencies {
        let for_tests = dependency.kind == DependencyKind::Development;
        let entry = knows.entry(dependency.name.clone()).or_insert(true);
        *entry = *entry && for_tests;
    }
    Room {
        name: package.name.to_string(),
        layer: layer
            .and_then(|layer| layer.as_str())
            .unwrap_or_default()
            .to_owned(),
        folder: package
            .manifest_path
            .parent()
            .unwrap()
            .as_std_path()
            .to_path_buf(),
        knows,
    }
}

/// Every file below `folder` with one of these endings, in order.
pub(crate) fn sources(folder: &Path, endings: &[&str]) -> Vec<Source> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" && name != "artefacts" {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let place = path
                    .strip_prefix(root())
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                found.push(Source {
                    place,
                    text: std::fs::read_to_string(&path).unwrap(),
                });
            }
        }
    }
    found.sort_by(|one, other| one.place.cmp(&other.place));
    found
}

/// A file that holds tests: they may say and do what the product may not.
pub(crate) fn is_test(place: &str) -> bool {
    place.contains("/tests/")
        || place.starts_with("crates/proof/")
        || place.contains("/examples/")
        || place.ends_with("tests.rs")
}
