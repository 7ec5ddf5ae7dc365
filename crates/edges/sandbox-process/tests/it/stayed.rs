//! Commands that somebody stays with.

use std::time::Instant;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{PATIENCE, eventually, exec, path};
use sandbox::{Ended, Exit, Running, SandboxError, SandboxPort as _, Start, Window};

use crate::world::{LAUNCHER, World, driver, has_python, heard, marked, spec, start};

type Here = Bench<World>;

const SMALL: Window = Window {
    rows: 40,
    columns: 120,
};

async fn begin(bench: &Here, start: Start) -> Box<dyn Running> {
    bench
        .port
        .start(&bench.scope("work"), &bench.spec, start)
        .await
        .unwrap()
}

async fn begin_in_terminal(bench: &Here, command: &str) -> Box<dyn Running> {
    let start = Start {
        terminal: Some(SMALL),
        ..start(command)
    };
    begin(bench, start).await
}

async fn ended(running: Box<dyn Running>) -> Ended {
    tokio::time::timeout(PATIENCE, running.ended())
        .await
        .unwrap()
        .unwrap()
}

#[tokio::test]
async fn a_command_is_heard_while_it_runs_and_answers_what_it_is_told() {
    let bench = Here::build().await;
    let mut running = begin(
        &bench,
        start("echo who; read name; echo \"hello $name\" >&2; exit 3"),
    )
    .await;
    assert_eq!(heard(running.as_mut(), Some("who")).await, "who\n");
    running.write(b"world\n").await.unwrap();
    assert_eq!(heard(running.as_mut(), None).await, "hello world\n");
    let expected = Ended {
        exit: Exit::Code(3),
        note: None,
    };
    assert_eq!(ended(running).await, expected);
}

#[tokio::test]
async fn the_end_of_input_is_told() {
    let bench = Here::build().await;
    let mut running = begin(&bench, start("cat; echo end")).await;
    running.write(b"some\n").await.unwrap();
    running.end_input().await;
    assert_eq!(heard(running.as_mut(), None).await, "some\nend\n");
    assert!(matches!(
        running.write(b"more").await,
        Err(SandboxError::Failed(_))
    ));
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_megabyte_that_is_answered_while_it_is_given_comes_back_whole() {
    let bench = Here::build().await;
    let mut running = begin(&bench, start("cat")).await;
    let noise: Vec<u8> = (0..1_u32 << 18).flat_map(u32::to_le_bytes).collect();
    running.write(&noise).await.unwrap();
    running.end_input().await;
    let mut back = Vec::new();
    while let Some(piece) = running.output().await.unwrap() {
        back.extend_from_slice(&piece);
    }
    assert!(back == noise, "{} bytes came back", back.len());
}

#[tokio::test]
async fn a_kill_takes_everything_and_returns_when_it_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let mark = "the-launcher-of-a-kill";
    let port = driver(home.path(), &[LAUNCHER, mark]);
    let bench = Here::build().await;
    let command = "env -i setsid sh -c 'exec >/dev/null 2>&1; while :; do sleep 1; done' & \
                   trap '' TERM INT HUP; echo up; exec >/dev/null 2>&1; while :; do sleep 1; done";
    for _ in 0..5 {
        let mut running = port
            .start(&bench.scope("work"), &spec(), start(command))
            .await
            .unwrap();
        heard(running.as_mut(), Some("up")).await;
        assert_eq!(marked(mark), 2, "both stages run");
        running.kill().await;
        assert_eq!(marked(mark), 0);
    }
}

#[tokio::test]
async fn one_that_is_dropped_is_killed_and_so_is_one_that_never_was_heard() {
    let bench = Here::build().await;
    let beat = "setsid sh -c 'while :; do echo beat >> /workspace/beat; sleep 0.1; done' & yes";
    let running = begin(&bench, start(beat)).await;
    bench.until_written("/workspace/beat").await;
    drop(running);
    bench.until_still("/workspace/beat").await;
}

#[tokio::test]
async fn commands_run_beside_each_other_over_the_same_files() {
    let bench = Here::build().await;
    let wait = |own: &str, other: &str| {
        start(&format!(
            "echo here > {own}; until [ -s {other} ]; do sleep 0.05; done; cat {other}"
        ))
    };
    let mut one = begin(&bench, wait("/tmp/one", "/workspace/two")).await;
    let mut two = begin(&bench, wait("/workspace/two", "/root/three")).await;
    assert_eq!(bench.say("cat /tmp/one").await, "here\n");
    bench.say("echo three > ~/three").await;
    assert_eq!(heard(one.as_mut(), None).await, "here\n");
    assert_eq!(heard(two.as_mut(), None).await, "three\n");
    assert_eq!(ended(one).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn what_one_command_is_given_by_its_environment_no_other_sees() {
    let bench = Here::build().await;
    let secret = "only-for-this-call";
    let mut first = start("echo \"$MINE\"; sleep 1000");
    first.env.insert("MINE".to_owned(), secret.to_owned());
    let mut running = begin(&bench, first).await;
    let said = heard(running.as_mut(), Some("\n")).await;
    assert_eq!(said.trim(), secret);
    let look =
        "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; true";
    assert!(!bench.say(look).await.contains(secret));
    assert_eq!(marked(secret), 0, "it stands on no command line");
    // The control: the same look from the command's own side finds it, and its own call goes over the sandbox's.
    let mut spec = bench.spec.clone();
    spec.env.insert("MINE".to_owned(), "the-owners".to_owned());
    let mut own = exec(look);
    own.env.insert("MINE".to_owned(), secret.to_owned());
    let output = bench
        .port
        .exec(&bench.scope("work"), &spec, own)
        .await
        .unwrap();
    let seen = String::from_utf8_lossy(&output.bytes).into_owned();
    assert!(seen.contains(secret) && !seen.contains("the-owners"));
}

#[tokio::test]
async fn one_that_can_not_begin_says_why_at_once() {
    let bench = Here::build().await;
    let nowhere = Start {
        directory: path("/workspace/nowhere"),
        ..start("true")
    };
    let error = bench
        .port
        .start(&bench.scope("work"), &bench.spec, nowhere)
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(
        matches!(&error, SandboxError::File(text) if text.contains("/workspace/nowhere")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_program_that_wants_a_terminal_gets_one_of_its_size() {
    let bench = Here::build().await;
    let command = "test -t 0 && test -t 1 && test -t 2 && tty; echo x > /dev/tty; stty size; echo $TERM; \
                   while [ \"$(stty size)\" = '40 120' ]; do sleep 0.05; done; stty size";
    let mut running = begin_in_terminal(&bench, command).await;
    let said = heard(running.as_mut(), Some("xterm-256color\r\n")).await;
    assert_eq!(said, "/dev/pts/0\r\nx\r\n40 120\r\nxterm-256color\r\n");
    let large = Window {
        rows: 50,
        columns: 300,
    };
    running.resize(large).await;
    assert_eq!(heard(running.as_mut(), None).await, "50 300\r\n");
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

/// Waits until the program with this command line (which no other test starts) runs.
///
/// Until it has begun, a key would be the shell's; between its fork and its exec, the key would be lost: bash is then still
/// behind its own handler of the signal.
async fn in_front(line: &str) {
    eventually(PATIENCE, "the program is in front", async || {
        marked(line) > 0
    })
    .await;
}

#[tokio::test]
async fn keys_reach_the_program_in_front() {
    let bench = Here::build().await;
    let mut running = begin_in_terminal(
        &bench,
        "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done",
    )
    .await;
    heard(running.as_mut(), Some("ready")).await;
    running.write(&[3]).await.unwrap();
    let said = heard(running.as_mut(), None).await;
    assert!(said.contains("caught"), "{said:?}");
    assert_eq!(ended(running).await.exit, Exit::Code(5));

    // A program that does not care about ^C ends; the sandbox's first process, at the same terminal, does not.
    let mut running = begin_in_terminal(&bench, "sleep 100017; echo not reached").await;
    in_front("sleep\u{0}100017").await;
    running.write(&[3]).await.unwrap();
    assert_eq!(ended(running).await.exit, Exit::Code(130));

    let mut running = begin_in_terminal(&bench, "cat; echo end").await;
    running.write(b"typed\n").await.unwrap();
    heard(running.as_mut(), Some("typed\r\ntyped\r\n")).await;
    running.end_input().await;
    assert!(heard(running.as_mut(), None).await.contains("end"));
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_shell_in_a_terminal_has_job_control() {
    let bench = Here::build().await;
    let mut running = begin_in_terminal(&bench, "exec bash --norc -i").await;
    running.write(b"set -o | grep monitor\n").await.unwrap();
    let said = heard(running.as_mut(), Some("on\r\n")).await;
    assert!(!said.contains("no job control"), "{said}");
    running.write(b"sleep 100019\n").await.unwrap();
    in_front("sleep\u{0}100019").await;
    running.write(&[3]).await.unwrap();
    running.write(b"echo status $?; exit 4\n").await.unwrap();
    let said = heard(running.as_mut(), None).await;
    assert!(said.contains("status 130"), "{said}");
    assert_eq!(ended(running).await.exit, Exit::Code(4));
}

#[tokio::test]
async fn what_is_left_at_a_terminal_does_not_hold_the_answer_and_the_last_word_is_told() {
    let bench = Here::build().await;
    let started = Instant::now();
    let command = "sleep 1000 & trap '' HUP; seq 5000; echo the last word";
    let mut running = begin_in_terminal(&bench, command).await;
    let said = heard(running.as_mut(), None).await;
    assert!(said.ends_with("5000\r\nthe last word\r\n"), "{said}");
    let ended = ended(running).await;
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(ended.note.unwrap().contains("background"));
    assert!(started.elapsed() < PATIENCE);
}

#[tokio::test]
async fn no_command_types_into_a_terminal_for_another() {
    if !has_python() {
        return;
    }
    let bench = Here::build().await;
    let command =
        "/usr/bin/python3 -c \"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')\"";
    let mut running = begin_in_terminal(&bench, command).await;
    let said = heard(running.as_mut(), None).await;
    assert!(said.contains("not permitted"), "{said}");
}
