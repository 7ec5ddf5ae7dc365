//! Commands that somebody stays with.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{eventually, path};
use sandbox::{Exit, Running, Start, Window};
use tokio::time::timeout;

use crate::world::{World, docker};

fn start(command: &str) -> Start {
    Start {
        command: command.to_owned(),
        directory: path("/workspace"),
        env: BTreeMap::new(),
        terminal: None,
    }
}

fn in_terminal(command: &str) -> Start {
    Start {
        terminal: Some(Window {
            rows: 30,
            columns: 100,
        }),
        ..start(command)
    }
}

async fn begin(bench: &Bench<World>, start: Start) -> Box<dyn Running> {
    bench
        .port
        .start(&bench.scope("work"), &bench.spec, start)
        .await
        .unwrap()
}

/// Listens until the words were said; all that was said.
async fn until(running: &mut Box<dyn Running>, words: &str) -> Vec<u8> {
    let mut said = Vec::new();
    let listening = async {
        while !String::from_utf8_lossy(&said).contains(words) {
            match running.output().await.unwrap() {
                Some(bytes) => said.extend_from_slice(&bytes),
                None => panic!(
                    "it ended without {words:?}: {:?}",
                    String::from_utf8_lossy(&said)
                ),
            }
        }
    };
    timeout(Duration::from_secs(30), listening).await.unwrap();
    said
}

async fn rest(running: &mut Box<dyn Running>) -> Vec<u8> {
    let mut said = Vec::new();
    let listening = async {
        while let Some(bytes) = running.output().await.unwrap() {
            said.extend_from_slice(&bytes);
        }
    };
    timeout(Duration::from_secs(30), listening).await.unwrap();
    said
}

#[tokio::test]
async fn a_command_is_heard_while_it_runs_and_answers_what_it_is_told() {
    let bench = Bench::<World>::build().await;
    let mut running = begin(
        &bench,
        start("echo ready; while read x; do echo \"got $x\"; done; echo over >&2; exit 7"),
    )
    .await;
    until(&mut running, "ready\n").await;
    running.write(b"one\n").await.unwrap();
    until(&mut running, "got one\n").await;
    running.write(b"two\n").await.unwrap();
    until(&mut running, "got two\n").await;
    running.end_input().await;
    assert_eq!(rest(&mut running).await, b"over\n");
    assert_eq!(running.ended().await.unwrap().exit, Exit::Code(7));
}

#[tokio::test]
async fn a_listener_that_is_dropped_and_comes_again_loses_nothing() {
    let bench = Bench::<World>::build().await;
    let mut running = begin(
        &bench,
        start("i=0; while [ $i -lt 200 ]; do i=$((i+1)); echo $i; sleep 0.01; done"),
    )
    .await;
    let mut said = Vec::new();
    let mut rounds = 0;
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    loop {
        assert!(std::time::Instant::now() < deadline);
        rounds += 1;
        if rounds % 2 == 0 {
            // It is time to renew the lease.
            bench.world.clock.advance(Duration::from_secs(61));
        }
        match timeout(Duration::from_micros(50), running.output()).await {
            Ok(Ok(Some(bytes))) => said.extend_from_slice(&bytes),
            Ok(Ok(None)) => break,
            Ok(Err(error)) => panic!("{error}"),
            Err(_dropped) => {}
        }
    }
    let whole: String = (1..=200).map(|number| format!("{number}\n")).collect();
    assert_eq!(String::from_utf8(said).unwrap(), whole);
}

#[tokio::test]
async fn a_command_that_speaks_before_it_reads_is_still_written_to() {
    let bench = Bench::<World>::build().await;
    let mut running = begin(&bench, start("head -c 1900000 /dev/zero; wc -c")).await;
    running.write(&vec![b'x'; 3_000_000]).await.unwrap();
    running.end_input().await;
    let said = rest(&mut running).await;
    assert_eq!(said.len(), 1_900_000 + "3000000\n".len());
    assert!(said.ends_with(b"3000000\n"));
    running.write(b"more").await.unwrap_err();
    assert_eq!(running.ended().await.unwrap().exit, Exit::Code(0));
}

#[tokio::test]
async fn a_terminal_has_its_size_and_is_told_of_another() {
    let bench = Bench::<World>::build().await;
    let command = "test -t 0 && test -t 1 && echo $TERM; stty size; while read x; do stty size; done; echo over";
    let mut running = begin(&bench, in_terminal(command)).await;
    let said = until(&mut running, "30 100").await;
    assert!(String::from_utf8_lossy(&said).contains("xterm-256color"));
    running
        .resize(Window {
            rows: 41,
            columns: 122,
        })
        .await;
    running.write(b"\n").await.unwrap();
    until(&mut running, "41 122").await;
    running.end_input().await;
    until(&mut running, "over\r\n").await;
    assert_eq!(rest(&mut running).await, b"");
    assert_eq!(running.ended().await.unwrap().exit, Exit::Code(0));
}

#[tokio::test]
async fn bytes_that_look_like_the_engines_own_frames_come_out_of_a_terminal_as_they_are() {
    let bench = Bench::<World>::build().await;
    let command =
        r"stty raw -echo; echo ready; read x; printf '\001\000\000\000\377\377\377\377x\002y'";
    let mut running = begin(&bench, in_terminal(command)).await;
    until(&mut running, "ready\n").await;
    running.write(b"\n").await.unwrap();
    assert_eq!(
        rest(&mut running).await,
        b"\x01\0\0\0\xff\xff\xff\xffx\x02y"
    );
}

#[tokio::test]
async fn a_key_that_interrupts_reaches_the_program_in_the_terminal() {
    let bench = Bench::<World>::build().await;
    let mut running = begin(&bench, in_terminal("sleep 100021; echo not reached")).await;
    // Between the shell's fork and the program's own beginning a key would be lost.
    bench.until_in_front("sleep 100021").await;
    running.write(b"\x03").await.unwrap();
    rest(&mut running).await;
    assert_eq!(running.ended().await.unwrap().exit, Exit::Code(130));
}

#[tokio::test]
async fn what_is_killed_or_dropped_is_dead_with_all_that_it_started() {
    let bench = Bench::<World>::build().await;
    for terminal in [
        None,
        Some(Window {
            rows: 24,
            columns: 80,
        }),
    ] {
        for ends in ["killed", "dropped"] {
            let mut running = begin(&bench, Start {
                terminal,
                ..start("sleep 4321 & setsid sleep 4322 & (trap '' HUP TERM; sleep 4323 & echo ready; wait)")
            })
            .await;
            until(&mut running, "ready").await;
            if ends == "killed" {
                running.kill().await;
                assert_eq!(sleeping(&bench).await, "", "{terminal:?} {ends}");
            } else {
                drop(running);
                eventually(Duration::from_secs(20), "all are dead", async || {
                    sleeping(&bench).await.is_empty()
                })
                .await;
            }
        }
    }
}

/// The sleepers of the test before, by their command lines.
async fn sleeping(bench: &Bench<World>) -> String {
    bench
        .say("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\000' ' ' | grep -o 'sleep 432[123]'; true")
        .await
}

#[tokio::test]
async fn the_environment_of_a_call_is_seen_by_no_other_and_by_no_inspection() {
    let bench = Bench::<World>::build().await;
    let with = |name: &str, value: &str| Start {
        env: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..start("echo \"[$OF_CALL][$OTHER]\"; read x")
    };
    let mut one = begin(&bench, with("OF_CALL", "first-of-all")).await;
    until(&mut one, "[first-of-all][]").await;
    let mut two = begin(&bench, with("OTHER", "second-of-all")).await;
    until(&mut two, "[][second-of-all]").await;
    assert_eq!(bench.say("echo \"[$OF_CALL][$OTHER]\"").await, "[][]\n");
    let id = bench.world.containers().remove(0);
    let seen = docker(&["inspect", &id]) + &docker(&["top", &id, "-eo", "pid,args"]);
    assert!(!seen.contains("of-all"), "{seen}");
    let error = bench
        .port
        .start(&bench.scope("work"), &bench.spec, with("A=B", "hush"))
        .await
        .err()
        .unwrap();
    assert!(!error.to_string().contains("hush"), "{error}");
}

#[tokio::test]
async fn a_running_command_whose_container_is_removed_ends_with_a_reason() {
    let bench = Bench::<World>::build().await;
    let mut running = begin(&bench, start("echo ready; sleep 1000")).await;
    until(&mut running, "ready").await;
    docker(&["rm", "--force", &bench.world.containers().remove(0)]);
    let ended = timeout(Duration::from_secs(30), running.ended())
        .await
        .unwrap();
    let error = ended.unwrap_err().to_string();
    assert!(
        error.contains("removed") || error.contains("stopped"),
        "{error}"
    );
    assert_eq!(bench.say("echo again").await, "again\n");
}
