//! The commands of docs/api.md do what the page says.

use std::path::Path;

use testkit::model_server::Turn;
use tokio::process::Command;

use super::World;

struct Example {
    command: String,
    shows: Vec<String>,
}

/// Blocks of shell, each followed by a block of lines of which each must be in what it prints.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut blocks = page.split("```");
    while let (Some(_prose), Some(block)) = (blocks.next(), blocks.next()) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "sh" => examples.push(Example {
                command: text.to_owned(),
                shows: Vec::new(),
            }),
            "text" => {
                let lines = text.lines().filter(|line| !line.trim().is_empty());
                let shows = lines.map(str::to_owned).collect();
                examples.last_mut().unwrap().shows = shows;
            }
            _ => {}
        }
    }
    examples
}

#[tokio::test]
async fn the_commands_of_the_page_do_what_it_says() {
    let world = World::new().await;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let examples = examples(&page);
    assert!(examples.len() >= 6, "{}", examples.len());
    world.model.answer_by(|body| {
        let messages = body["messages"].as_array().unwrap();
        let last = messages.last().unwrap();
        let asked = messages
            .iter()
            .rev()
            .find(|message| message["role"] == "user")
            .map(|message| message["content"].to_string())
            .unwrap_or_default();
        if asked.contains("CSV") && last["role"] != "tool" {
            let command = "printf 'name,legs\\ncat,4\\n' > animals.csv";
            return Turn::tool("terminal", serde_json::json!({ "command": command }));
        }
        if asked.contains("CSV") {
            return Turn::text("Here it is.\nMEDIA:/workspace/animals.csv");
        }
        if asked.contains("my cat's name") {
            let all = serde_json::to_string(messages).unwrap();
            return Turn::text(if all.contains("Mia") {
                "Mia"
            } else {
                "I don't know"
            });
        }
        Turn::text("A cat has four legs.")
    });
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_tidings"));
    let found = format!("PATH={}:$PATH\n", binary.parent().unwrap().display());
    for example in examples {
        let command = example.command.replace(
            "http://127.0.0.1:7717",
            &format!("http://{}", world.gateway.address()),
        );
        let output = Command::new("bash")
            .args(["-euc", &format!("{found}{command}")])
            .current_dir(folder.path())
            .env("TIDINGS_HOME", world.home.path())
            .env("TIDINGS_KEY", &world.key)
            .env("no_proxy", "*")
            .output()
            .await
            .unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command}\n{shown}\n{told}");
        for line in &example.shows {
            assert!(
                shown.contains(line.as_str()),
                "{command}\nshows no {line:?}:\n{shown}\n{told}"
            );
        }
    }
}
