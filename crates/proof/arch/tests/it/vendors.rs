//! A vendor's name appears in its own edge, where the configuration fixes it, and where the house is put together.

use crate::house::{is_test, root, sources};

/// Names, and the crates that may say them besides `app/gateway` and `records/settings` (whose words `tidings.toml` fixes).
const VENDORS: [(&str, &[&str]); 13] = [
    ("telegram", &["edges/chat-telegram"]),
    (
        "docker",
        &[
            "edges/sandbox-docker",
            "words/sandbox",
            "edges/sandbox-process",
            "edges/sandbox-ssh",
        ],
    ),
    ("sqlite", &["edges/store-sqlite", "app/cli"]),
    ("openai", &["edges/model-http", "edges/model-demo"]),
    ("openrouter", &["edges/model-http", "edges/model-demo"]),
    ("anthropic", &["edges/model-http", "edges/model-demo"]),
    ("ollama", &["edges/model-http", "edges/model-demo"]),
    ("gemini", &["edges/model-http"]),
    ("searxng", &["edges/web"]),
    ("tavily", &["edges/web"]),
    ("brave search", &["edges/web"]),
    ("bollard", &["edges/sandbox-docker"]),
    ("rusqlite", &["edges/store-sqlite"]),
];

/// Lines of code, without comments: prose may compare.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line.trim_start()))
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .filter(|(_, line)| !line.starts_with("//"))
}

#[test]
fn a_vendors_name_appears_in_its_edge_alone() {
    let mut wrong = Vec::new();
    for source in sources(&root().join("crates"), &[".rs"]) {
        if is_test(&source.place)
            || source.place.starts_with("crates/app/gateway/")
            || source.place.starts_with("crates/records/settings/")
        {
            continue;
        }
        for (number, line) in code(&source.text) {
            let line = line.to_lowercase();
            for (vendor, homes) in VENDORS {
                let home = homes
                    .iter()
                    .any(|home| source.place.starts_with(&format!("crates/{home}/")));
                if line.contains(vendor) && !home {
                    wrong.push(format!("{}:{number} says '{vendor}'", source.place));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
