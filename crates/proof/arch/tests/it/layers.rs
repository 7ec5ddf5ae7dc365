//! Words know nothing; records know words; engines know records; edges know words and records; the app knows all; proof
//! watches.

use std::collections::BTreeMap;

use crate::house::{Room, rooms};

/// What a layer may know, besides itself where that is named.
fn may_know(layer: &str) -> Option<&'static [&'static str]> {
    match layer {
        "words" => Some(&["words"]),
        "records" => Some(&["words", "records"]),
        "engines" => Some(&["words", "records"]),
        "edges" => Some(&["words", "records"]),
        "app" => Some(&["words", "records", "engines", "edges", "app"]),
        "proof" => Some(&["words", "records", "engines", "edges", "app", "proof"]),
        _ => None,
    }
}

/// Edges that other edges may stand on: they name no service of their own.
const SHARED_EDGES: [&str; 2] = ["tidings-net", "tidings-sandbox-folders"];

/// Heavy libraries and their one home.
const HOMES: [(&str, &[&str]); 18] = [
    ("reqwest", &["tidings-net"]),
    ("rustls", &["tidings-net"]),
    ("axum", &["tidings-admin", "tidings-testkit"]),
    ("rmcp", &["tidings-mcp"]),
    ("rusqlite", &["tidings-store-sqlite"]),
    ("bollard", &["tidings-sandbox-docker"]),
    ("landlock", &["tidings-sandbox-process"]),
    ("russh", &["tidings-sandbox-ssh"]),
    ("aho-corasick", &["tidings-redact"]),
    ("html5gum", &["tidings-web"]),
    ("encoding_rs", &["tidings-web"]),
    ("tar", &["tidings-agent"]),
    ("zip", &["tidings-agent"]),
    ("seccompiler", &["tidings-sandbox-process"]),
    ("pulldown-cmark", &["tidings-markup"]),
    ("clap", &["tidings-cli", "xtask"]),
    ("askama", &["tidings-admin"]),
    ("prometheus-client", &["tidings-admin"]),
];

#[test]
fn every_crate_names_its_layer() {
    for room in rooms() {
        assert!(
            may_know(&room.layer).is_some(),
            "{} has the layer '{}'",
            room.name,
            room.layer
        );
        let folder = room.folder.to_string_lossy().into_owned();
        let right = room.name == "xtask" || folder.contains(&format!("crates/{}/", room.layer));
        assert!(
            right,
            "{} says it is of '{}' and lies in {folder}",
            room.name, room.layer
        );
    }
}

#[test]
fn nobody_knows_a_layer_above_its_own() {
    let rooms = rooms();
    let layers: BTreeMap<&str, &str> = rooms
        .iter()
        .map(|room| (room.name.as_str(), room.layer.as_str()))
        .collect();
    let mut wrong = Vec::new();
    for Room {
        name, layer, knows, ..
    } in &rooms
    {
        let allowed = may_know(layer).unwrap_or_default();
        for (other, for_tests) in knows {
            let Some(other_layer) = layers.get(other.as_str()) else {
                continue;
            };
            let shared = layer == "edges" && SHARED_EDGES.contains(&other.as_str());
            let watched = *for_tests && *other_layer == "proof";
            if !allowed.contains(other_layer) && !shared && !watched {
                wrong.push(format!("{name} ({layer}) knows {other} ({other_layer})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_heavy_library_has_one_home() {
    let mut wrong = Vec::new();
    for room in rooms() {
        for library in room.knows.keys() {
            if let Some((_, homes)) = HOMES.iter().find(|(name, _)| name == library)
                && !homes.contains(&room.name.as_str())
            {
                wrong.push(format!(
                    "{} uses {library}; its home is {}",
                    room.name,
                    homes.join(" or ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_and_records_hold_no_runtime() {
    for room in rooms()
        .iter()
        .filter(|room| room.layer == "words" || room.layer == "records")
    {
        for banned in ["tokio", "hyper", "futures-util", "tracing"] {
            let used = room.knows.get(banned).is_some_and(|for_tests| !for_tests);
            assert!(
                !used,
                "{} is of {} and knows {banned}",
                room.name, room.layer
            );
        }
    }
}
