//! What is kept, and what goes, on a running gateway.

use std::path::Path;

use serde_json::Value;
use testkit::model_server::Turn;
use testkit::telegram::{Rule, Trouble};

use crate::world::{A, B, PATIENCE, Pair, files, words};

/// Names of the files under a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A folder or a file that goes while it is looked at is not there.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.extend(entry.file_name().into_string().ok());
            }
        }
    }
    found.sort();
    found
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds().await {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    });
    assert!(waited.await.is_ok(), "waited in vain for {what}");
}

fn parts(rows: &[Value]) -> Vec<&Value> {
    rows.iter()
        .flat_map(|row| row["parts"].as_array().unwrap())
        .collect()
}

#[tokio::test]
async fn a_sent_file_and_its_words_go_and_one_that_waits_for_its_chat_stays() {
    let pair = Pair::in_processes().await;
    let file = pair.home.path().join("tidings.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    let retention = "[retention]\nwords_hours = 0\nblob_grace_hours = 0\n";
    std::fs::write(&file, format!("{retention}{config}")).unwrap();

    let gateway = pair.up().await;
    for (profile, bot) in [("p", A), ("q", B)] {
        pair.command(profile, bot, &format!("printf {profile}-bytes > note.txt"))
            .await;
    }
    pair.telegram.script(
        Rule::on("sendDocument")
            .when(|call| call.token == B)
            .always(),
        Trouble::Flood(3_000),
    );
    for (profile, bot) in [("p", A), ("q", B)] {
        pair.script(profile, Turn::text("Private.\nMEDIA:/workspace/note.txt"));
        pair.ask(bot, "send the note");
    }
    let seen = pair.seen(A, 3).await;
    assert_eq!(files(&seen), [("note.txt", b"p-bytes".as_slice())]);
    until("the other one to be put off", async || {
        let rows = pair.home.objects(&["outbox", "list"]).await;
        parts(&rows).iter().any(|part| part["state"] == "retry")
    })
    .await;
    assert!(gateway.terminate().await.success());
    let blobs = pair.home.path().join("state/blobs");
    assert_eq!(names(&blobs.join("p")).len(), 1);

    let _gateway = pair.up_to("clock-doubt!skip").await;
    until("the sent file to go", async || {
        names(&blobs.join("p")).is_empty()
    })
    .await;
    let rows = pair.home.objects(&["outbox", "list"]).await;
    for part in parts(&rows) {
        assert_eq!(part["forgotten"], part["state"] == "sent", "{part}");
    }
    assert_eq!(
        words(&pair.telegram.chat(A, crate::world::OWNER)).last(),
        Some(&"Private.")
    );
    let left = names(&blobs.join("q"));
    assert_eq!(left.len(), 1, "the one that waits is there: {left:?}");
    pair.clean();
}
