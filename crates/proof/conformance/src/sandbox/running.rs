//! Commands that somebody stays with: heard while they run, written to, killed.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use sandbox::{Ended, Exec, Exit, Placement, Running, SandboxError, Start, Window};
use waybill::Secret;

use super::bench::{Bench, PATIENCE, SandboxWorld, eventually, exec, path};

/// A loop that lengthens a file for ever.
const BEAT: &str = "while :; do echo beat >> /workspace/beat; sleep 0.1; done";

/// A command in `/workspace`, with plain pipes.
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
            columns: 90,
        }),
        ..start(command)
    }
}

impl<W: SandboxWorld> Bench<W> {
    async fn started(&self, start: Start) -> Box<dyn Running> {
        let command = start.command.clone();
        self.port
            .start(&self.scope("work"), &self.spec, start)
            .await
            .unwrap_or_else(|error| panic!("{command:?} could not be started: {error}"))
    }

    /// Starts a command and hears it to its end.
    async fn heard(&self, start: Start) -> (Vec<u8>, Ended) {
        let mut running = self.started(start).await;
        let said = rest(running.as_mut()).await;
        (said, ended(running).await)
    }
}

/// All that is still said.
async fn rest(running: &mut dyn Running) -> Vec<u8> {
    let hear = async {
        let mut said = Vec::new();
        while let Some(bytes) = running.output().await.expect("it can be heard") {
            assert!(!bytes.is_empty(), "a piece says something");
            said.extend_from_slice(&bytes);
        }
        said
    };
    tokio::time::timeout(PATIENCE, hear)
        .await
        .expect("it comes to an end")
}

async fn ended(running: Box<dyn Running>) -> Ended {
    tokio::time::timeout(PATIENCE, running.ended())
        .await
        .expect("its end is known soon")
        .expect("its end is known")
}

/// Hears until these words came; all that was said.
async fn until_said(running: &mut dyn Running, words: &str) -> String {
    let hear = async {
        let mut said = Vec::new();
        while !String::from_utf8_lossy(&said).contains(words) {
            match running.output().await.expect("it can be heard") {
                Some(bytes) => said.extend_from_slice(&bytes),
                None => panic!(
                    "it ended before it said {words:?}: {:?}",
                    String::from_utf8_lossy(&said)
                ),
            }
        }
        String::from_utf8_lossy(&said).into_owned()
    };
    tokio::time::timeout(PATIENCE, hear)
        .await
        .unwrap_or_else(|_| panic!("it never said {words:?}"))
}

/// The first words are there while the command waits for more.
pub async fn what_a_command_says_is_heard_while_it_runs<W: SandboxWorld>(bench: Bench<W>) {
    let mut running = bench
        .started(start(
            "echo first; until [ -e go ]; do sleep 0.05; done; echo second >&2; exit 3",
        ))
        .await;
    assert_eq!(until_said(running.as_mut(), "first").await, "first\n");
    bench.say("touch go").await;
    assert_eq!(rest(running.as_mut()).await, b"second\n");
    let ended = ended(running).await;
    assert_eq!(ended.exit, Exit::Code(3));
}

/// Exit codes as for any command.
pub async fn the_end_of_a_started_command_gives_its_exit_code<W: SandboxWorld>(bench: Bench<W>) {
    for (command, code) in [
        ("true", 0),
        ("exit 7", 7),
        ("no-such-command-at-all", 127),
        ("kill -9 $$", 137),
    ] {
        let (_, ended) = bench.heard(start(command)).await;
        assert_eq!(ended.exit, Exit::Code(code), "{command}");
    }
    // Asked for early, it waits and drops what is said.
    let running = bench.started(start("echo unheard; exit 4")).await;
    assert_eq!(ended(running).await.exit, Exit::Code(4));
}

/// Lines in, lines out, and the end of the input ends who reads to it.
pub async fn a_started_command_reads_what_is_written_until_its_input_ends<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let mut running = bench
        .started(start(
            "while read -r line; do echo \"<$line>\"; done; echo over",
        ))
        .await;
    running.write(b"one\n").await.unwrap();
    assert_eq!(until_said(running.as_mut(), "<one>").await, "<one>\n");
    running.write(b"two\nthr").await.unwrap();
    running.write(b"ee\n").await.unwrap();
    assert_eq!(
        until_said(running.as_mut(), "<three>").await,
        "<two>\n<three>\n"
    );
    running.end_input().await;
    assert_eq!(rest(running.as_mut()).await, b"over\n");
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

/// Bytes, not text, in both directions.
pub async fn bytes_of_a_started_command_are_as_they_were<W: SandboxWorld>(bench: Bench<W>) {
    let all: Vec<u8> = (0..=255).cycle().take(30_000).collect();
    let mut running = bench.started(start("cat")).await;
    running.write(&all).await.unwrap();
    running.end_input().await;
    assert!(rest(running.as_mut()).await == all, "other bytes came back");
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

/// Who says much is held up by who listens, and loses nothing.
pub async fn ten_megabytes_are_heard_to_the_last_byte<W: SandboxWorld>(bench: Bench<W>) {
    let (said, ended) = bench
        .heard(start(
            "printf BEGIN; head -c 10485760 /dev/zero | tr '\\000' x; printf END",
        ))
        .await;
    assert_eq!(ended.exit, Exit::Code(0));
    assert_eq!(said.len(), 10_485_760 + 8);
    assert!(said.starts_with(b"BEGINxxx") && said.ends_with(b"xxxEND"));
}

/// Listening may be given up and taken up again.
pub async fn listening_that_was_dropped_loses_nothing<W: SandboxWorld>(bench: Bench<W>) {
    let mut running = bench
        .started(start(
            "i=0; while [ $i -lt 200 ]; do echo $i; i=$((i + 1)); done",
        ))
        .await;
    let mut said = Vec::new();
    let hear = async {
        loop {
            // Asked once and dropped, as a select does it whose other branch is ready.
            let once = {
                let mut output = std::pin::pin!(running.output());
                poll_fn(|context| {
                    Poll::Ready(match output.as_mut().poll(context) {
                        Poll::Ready(said) => Some(said),
                        Poll::Pending => None,
                    })
                })
                .await
            };
            match once {
                Some(Ok(Some(bytes))) => said.extend_from_slice(&bytes),
                Some(Ok(None)) => break,
                Some(Err(error)) => panic!("{error}"),
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, hear).await.expect("it ends");
    let expected: String = (0..200).map(|number| format!("{number}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&said), expected);
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

/// Killed with all that it started, and gone when the call returns.
pub async fn killing_a_started_command_takes_all_it_started<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let mut running = bench
        .started(start(&format!(
            "echo begun; ({BEAT}) & setsid sh -c '{BEAT}' >/dev/null 2>&1 & sleep 1000"
        )))
        .await;
    until_said(running.as_mut(), "begun").await;
    bench.until_written("/workspace/beat").await;
    let began = Instant::now();
    running.kill().await;
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "killing took {:?}",
        began.elapsed()
    );
    bench.until_still("/workspace/beat").await;
    assert_eq!(bench.say("echo alive").await, "alive\n");
}

/// Nobody stays: nothing stays.
pub async fn dropping_a_started_command_kills_it<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let running = bench.started(start(BEAT)).await;
    bench.until_written("/workspace/beat").await;
    drop(running);
    bench.until_still("/workspace/beat").await;
    assert_eq!(bench.say("echo alive").await, "alive\n");
}

/// It outlives its turn: other commands come and go beside it.
pub async fn a_started_command_goes_on_beside_others<W: SandboxWorld>(bench: Bench<W>) {
    let mut running = bench
        .started(start(
            "until [ -e stop ]; do sleep 0.05; done; echo stopped",
        ))
        .await;
    for number in 0..3 {
        assert_eq!(
            bench.say(&format!("echo {number}")).await,
            format!("{number}\n")
        );
    }
    let command = Exec {
        timeout: Duration::from_secs(1),
        ..exec("sleep 1000")
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::TimedOut, "another one is killed");
    bench.say("touch stop").await;
    assert_eq!(rest(running.as_mut()).await, b"stopped\n");
    assert_eq!(ended(running).await.exit, Exit::Code(0));
}

/// The end comes when the command ends, though a child holds its output open.
pub async fn a_child_left_behind_does_not_hold_the_end_of_a_started_command<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let began = Instant::now();
    let (said, ended) = bench.heard(start("sleep 50 & echo started")).await;
    assert_eq!(said, b"started\n");
    assert_eq!(ended.exit, Exit::Code(0));
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "took {:?}",
        began.elapsed()
    );
}

/// A program that asks whether it is in a terminal is in one, and in none without.
pub async fn a_terminal_is_one_and_pipes_are_none<W: SandboxWorld>(bench: Bench<W>) {
    let ask = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo terminal || echo pipes";
    let (said, _) = bench.heard(start(ask)).await;
    assert_eq!(said, b"pipes\n");
    let (said, ended) = bench.heard(in_terminal(ask)).await;
    assert_eq!(String::from_utf8_lossy(&said).trim(), "terminal");
    assert_eq!(ended.exit, Exit::Code(0));
    let (_, ended) = bench.heard(in_terminal("exit 5")).await;
    assert_eq!(ended.exit, Exit::Code(5));
}

/// A line that is typed is echoed and read; `^C` interrupts; the end of the input is `^D`.
pub async fn a_program_in_a_terminal_is_typed_to<W: SandboxWorld>(bench: Bench<W>) {
    let mut running = bench
        .started(in_terminal(
            "printf 'name? '; read -r name; echo \"hello $name\"; trap 'echo caught' INT; echo ready; cat; echo over",
        ))
        .await;
    until_said(running.as_mut(), "name? ").await;
    running.write(b"ana\n").await.unwrap();
    let said = until_said(running.as_mut(), "ready").await;
    assert!(said.contains("hello ana"), "{said:?}");
    running.write(b"line\n").await.unwrap();
    until_said(running.as_mut(), "line\r\nline").await;
    running.write(b"\x03").await.unwrap();
    let said = String::from_utf8_lossy(&rest(running.as_mut()).await).into_owned();
    assert!(said.contains("caught") && said.contains("over"), "{said:?}");
    let mut running = bench.started(in_terminal("cat; echo over")).await;
    running.write(b"x\n").await.unwrap();
    until_said(running.as_mut(), "x\r\nx").await;
    running.end_input().await;
    let said = String::from_utf8_lossy(&rest(running.as_mut()).await).into_owned();
    assert!(said.contains("over"), "{said:?}");
}

/// The size is what was asked for, and changes when it is told.
pub async fn a_terminal_has_the_size_it_was_told<W: SandboxWorld>(bench: Bench<W>) {
    if bench.run("command -v stty").await.exit != Exit::Code(0) {
        println!("skipped: this sandbox has no stty");
        return;
    }
    let mut running = bench
        .started(in_terminal(
            "stty size; until [ -e go ]; do sleep 0.05; done; stty size",
        ))
        .await;
    until_said(running.as_mut(), "30 90").await;
    running
        .resize(Window {
            rows: 11,
            columns: 22,
        })
        .await;
    bench.say("touch go").await;
    until_said(running.as_mut(), "11 22").await;
    running.kill().await;
}

/// Killed in a terminal as without one.
pub async fn killing_in_a_terminal_takes_all_it_started<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let mut running = bench
        .started(in_terminal(&format!(
            "echo begun; ({BEAT}) & trap '' HUP INT TERM; sleep 1000"
        )))
        .await;
    until_said(running.as_mut(), "begun").await;
    bench.until_written("/workspace/beat").await;
    running.kill().await;
    bench.until_still("/workspace/beat").await;
}

/// A variable of one call is that call's alone, and secret ones stay out of sight.
pub async fn the_environment_of_a_call_is_never_seen_by_another<W: SandboxWorld>(
    mut bench: Bench<W>,
) {
    bench.spec.env.insert("SHARED".to_owned(), "all".to_owned());
    bench.spec.secret_env.insert(
        "API_TOKEN".to_owned(),
        Secret::new("s3cr3t-of-all".to_owned()),
    );
    let own = BTreeMap::from([
        (
            "OWN".to_owned(),
            "mine 'and' \"yours\" $HOME\nbelow".to_owned(),
        ),
        ("SHARED".to_owned(), "changed".to_owned()),
    ]);
    let print = "printf '%s|%s|%s' \"$OWN\" \"$SHARED\" \"$API_TOKEN\"";
    let expected = "mine 'and' \"yours\" $HOME\nbelow|changed|s3cr3t-of-all";
    let (said, _) = bench
        .heard(Start {
            env: own.clone(),
            ..start(print)
        })
        .await;
    assert_eq!(String::from_utf8_lossy(&said), expected);
    let command = Exec {
        env: own.clone(),
        ..exec(print)
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.bytes), expected);
    assert_eq!(bench.say(print).await, "|all|s3cr3t-of-all");
    let mut running = bench
        .started(Start {
            env: own,
            ..start("echo begun; sleep 1000")
        })
        .await;
    until_said(running.as_mut(), "begun").await;
    let lines = bench
        .say("cat /proc/*/cmdline 2>/dev/null | tr '\\000' ' '; true")
        .await;
    for value in ["s3cr3t-of-all", "'and'"] {
        assert!(
            !lines.contains(value),
            "a value stands on a command line: {lines}"
        );
    }
    assert_eq!(bench.say(print).await, "|all|s3cr3t-of-all");
    running.kill().await;
}

/// An error or a failed command; but it must not run elsewhere.
pub async fn a_command_is_not_started_where_there_is_no_folder<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("true").await;
    let nowhere = Start {
        directory: path("/workspace/nowhere"),
        ..start("echo ran > /workspace/ran")
    };
    let started: Result<_, SandboxError> = bench
        .port
        .start(&bench.scope("work"), &bench.spec, nowhere)
        .await;
    if let Ok(mut running) = started {
        rest(running.as_mut()).await;
        assert_ne!(ended(running).await.exit, Exit::Code(0));
    }
    assert_eq!(bench.say("ls").await, "");
}

/// Each in its own sandbox, where the placement says so.
pub async fn started_commands_of_two_sandboxes_do_not_meet<W: SandboxWorld>(bench: Bench<W>) {
    let mut started = Vec::new();
    for talk in ["one", "two"] {
        let scope = bench.placed("work", talk, Placement::PerSession);
        let command = start(&format!(
            "echo {talk} > who; until [ -e go ]; do sleep 0.05; done; cat who"
        ));
        let running = bench
            .port
            .start(&scope, &bench.spec, command)
            .await
            .unwrap();
        started.push((talk, running));
    }
    for (talk, mut running) in started {
        let scope = bench.placed("work", talk, Placement::PerSession);
        bench
            .port
            .exec(&scope, &bench.spec, exec("touch go"))
            .await
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&rest(running.as_mut()).await),
            format!("{talk}\n")
        );
    }
}

/// What was killed leaves no process behind, however often.
pub async fn twenty_killed_commands_leave_nothing_behind<W: SandboxWorld>(bench: Bench<W>) {
    let count = "ls /proc | grep -c '^[0-9]'";
    let before: u32 = bench.say(count).await.trim().parse().unwrap();
    for _ in 0..20 {
        let mut running = bench
            .started(start("sleep 900 & sleep 901 & echo begun; sleep 902"))
            .await;
        until_said(running.as_mut(), "begun").await;
        running.kill().await;
    }
    eventually(Duration::from_secs(20), "all are gone", async || {
        let now: u32 = bench.say(count).await.trim().parse().unwrap();
        now <= before + 1
    })
    .await;
}
