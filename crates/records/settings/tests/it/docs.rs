//! The documentation says what the code does.

use std::fs;
use std::path::PathBuf;

use crate::world::{World, lines};

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name)
}

#[test]
fn the_schema_in_the_docs_is_the_schema_of_the_code() {
    let text = fs::read_to_string(docs("tidings.schema.json")).unwrap_or_default();
    // Compared as values: the order of the keys depends on how serde_json was built.
    let found: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let expected = tidings_settings::schema();
    assert!(
        found == expected,
        "docs/tidings.schema.json is out of date; run: cargo xtask schema\n{expected:#}"
    );
}

#[test]
fn the_reference_in_the_docs_names_every_key_as_the_code_does() {
    let page = fs::read_to_string(docs("configuration.md")).unwrap_or_default();
    let found = page
        .split_once("<!-- keys: begin -->\n")
        .and_then(|(_, rest)| rest.split_once("\n<!-- keys: end -->"))
        .map(|(inner, _)| inner.trim())
        .unwrap_or_default();
    let expected = tidings_settings::reference();
    assert!(
        found == expected,
        "docs/configuration.md is out of date; run: cargo xtask schema\n{expected}"
    );
}

#[test]
fn the_examples_in_the_docs_are_sound() {
    let page = fs::read_to_string(docs("configuration.md")).unwrap();
    let world = World::new();
    let mut seen = 0;
    for example in page
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
    {
        let loaded = world.read(example);
        assert!(
            loaded.is_sound(),
            "{example}\n{:#?}",
            lines(&loaded.problems)
        );
        seen += 1;
    }
    assert!(seen > 0);
}
