//! Programs that somebody stays with, beyond what the suite asks.

use std::collections::BTreeMap;

use conformance::sandbox::bench::path;
use sandbox::{Exit, SandboxError, SandboxPath, SandboxPort, Start, Window};

use crate::world::{World, scope, spec};

fn start(command: &str) -> Start {
    Start {
        command: command.to_owned(),
        directory: path(SandboxPath::WORKSPACE),
        env: BTreeMap::from([("API_TOKEN".to_owned(), "s3cr3t".to_owned())]),
        terminal: Some(Window {
            rows: 24,
            columns: 80,
        }),
    }
}

#[tokio::test]
async fn a_terminal_never_shows_the_environment_that_it_was_given() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    let mut running = world
        .driver
        .start(
            &scope("work"),
            &spec,
            start("echo \"$TERM ${#API_TOKEN}\"; exit 3"),
        )
        .await
        .unwrap();
    let mut said = Vec::new();
    while let Some(bytes) = running.output().await.unwrap() {
        said.extend_from_slice(&bytes);
    }
    assert_eq!(String::from_utf8_lossy(&said), "xterm-256color 6\r\n");
    assert_eq!(running.ended().await.unwrap().exit, Exit::Code(3));
}

#[tokio::test]
async fn a_host_without_terminals_is_a_sentence_and_no_hang() {
    let world = World::with("PermitTTY no");
    let spec = spec(world.sshd.remote());
    let started = world
        .driver
        .start(&scope("work"), &spec, start("true"))
        .await;
    let Err(SandboxError::Unavailable(text)) = started.map(drop) else {
        panic!()
    };
    assert!(text.contains("PermitTTY"), "{text}");
}
