//! Connections that break, and what becomes of what ran over them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use conformance::sandbox::bench::{PATIENCE, exec, path};
use sandbox::{SandboxError, SandboxPath, SandboxPort, Start};

use crate::world::{World, say, scope, spec};

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Processes on the machine whose command line holds a text.
fn alive(text: &str) -> usize {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy() != own)
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(text))
        .count()
}

fn start(command: &str) -> Start {
    Start {
        command: command.to_owned(),
        directory: path(SandboxPath::WORKSPACE),
        env: BTreeMap::new(),
        terminal: None,
    }
}

#[tokio::test]
async fn a_connection_that_died_between_commands_is_made_anew_unseen() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    for _ in 0..3 {
        assert_eq!(say(&world.driver, &spec, "echo in").await.unwrap(), "in\n");
        world.sshd.cut();
    }
    assert_eq!(say(&world.driver, &spec, "echo in").await.unwrap(), "in\n");
}

#[tokio::test]
async fn a_connection_lost_under_a_command_ends_it_there_and_runs_it_once() {
    for more in ["", "bare"] {
        let (world, mut spec) = crate::bare::world(more);
        let name = format!("90{:03}", world.sshd.port() % 1000);
        let command = format!(
            "echo ran >> /tmp/ran{}; (exec sleep {name}) & sleep {name}",
            world.sshd.port()
        );
        spec.env.insert("X".to_owned(), "y".to_owned());
        let scope = scope("work");
        let running = world.driver.exec(&scope, &spec, exec(&command));
        let cutting = async {
            until("it runs", || alive(&format!("sleep\0{name}")) >= 2).await;
            world.sshd.cut();
            std::future::pending::<()>().await;
        };
        let ended = tokio::select! {
            ended = running => ended,
            () = cutting => unreachable!(),
        };
        let Err(SandboxError::Failed(text)) = ended else {
            panic!("{ended:?}")
        };
        assert!(text.contains("was lost under the command"), "{text}");
        until("it is gone", || alive(&format!("sleep\0{name}")) == 0).await;
        let ran = say(
            &world.driver,
            &spec,
            &format!("cat /tmp/ran{0}; rm /tmp/ran{0}", world.sshd.port()),
        )
        .await
        .unwrap();
        assert_eq!(ran, "ran\n", "it was run again");
    }
}

/// Memory that this process has in use, in kilobytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap()
}

fn tasks() -> usize {
    let runtime = tokio::runtime::Handle::current();
    runtime.metrics().num_alive_tasks()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Commands that run out of time, in so many rows; all that is left of them afterwards is nothing.
async fn fifty_timeouts(kind: &str) {
    let (world, spec) = crate::bare::world(kind);
    let name = format!("80{:03}", world.sshd.port() % 1000);
    let row = async |length: u64| {
        for number in 0..length {
            let command = sandbox::Exec {
                timeout: Duration::from_millis(number * 15),
                ..exec(&format!(
                    "sleep {name} & setsid sleep {name} & sleep {name}"
                ))
            };
            let output = world
                .driver
                .exec(&scope("work"), &spec, command)
                .await
                .unwrap_or_else(|error| panic!("{error}: {}", world.sshd.read("log")));
            assert_eq!(output.exit, sandbox::Exit::TimedOut);
        }
        until("nothing is left", || alive(&format!("sleep\0{name}")) == 0).await;
    };
    say(&world.driver, &spec, "true").await.unwrap();
    // What the first ones make is kept for all.
    row(10).await;
    let before = (tasks(), descriptors());
    row(25).await;
    let half = memory();
    row(25).await;
    let more = memory().saturating_sub(half);
    assert!(more < 8 << 10, "{more} kB more by the second half");
    until("tasks and descriptors are as they were", || {
        tasks() <= before.0 && descriptors() <= before.1
    })
    .await;
    assert_eq!(world.sshd.connections(), 1, "all over one connection");
}

#[tokio::test]
async fn fifty_timeouts_leave_nothing_behind() {
    fifty_timeouts("").await;
}

#[tokio::test]
async fn fifty_timeouts_leave_nothing_behind_where_there_are_no_walls() {
    fifty_timeouts("bare").await;
}

#[tokio::test]
async fn more_commands_than_a_connection_holds_run_side_by_side() {
    let world = World::with("MaxSessions 3");
    let spec = spec(world.sshd.remote());
    // Each waits until all are there.
    let command = "mkdir -p all; : > all/$$-$1; echo > all/$(date +%N); until [ $(ls all | wc -l) -ge 5 ]; do sleep 0.05; done; echo done";
    let scopes: Vec<_> = (0..5).map(|_| scope("work")).collect();
    let runs = scopes
        .iter()
        .map(|scope| world.driver.exec(scope, &spec, exec(command)));
    let mut set = Vec::new();
    for run in runs {
        set.push(run);
    }
    let [one, two, three, four, five] = <[_; 5]>::try_from(set).ok().unwrap();
    let (one, two, three, four, five) = tokio::join!(one, two, three, four, five);
    for output in [one, two, three, four, five] {
        assert_eq!(output.unwrap().bytes, b"done\n");
    }
}

#[tokio::test]
async fn a_program_that_does_not_read_is_not_waited_for_for_ever() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    let mut deaf = world
        .driver
        .start(&scope("work"), &spec, start("echo up; sleep 1000"))
        .await
        .unwrap();
    deaf.output().await.unwrap();
    // Waiting is over as soon as there is nothing else to do.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let error = deaf.write(&vec![7; 64 << 20]).await.unwrap_err();
    let took = began.elapsed();
    tokio::time::resume();
    assert!(error.to_string().contains("within 30 seconds"), "{error}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    deaf.kill().await;
}

#[tokio::test]
async fn a_program_that_speaks_before_it_reads_does_not_wait_for_who_writes_to_it() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    // It says more than the way back holds, and is given more than the way there holds.
    let command = start("head -c 8000000 /dev/zero; cat > /dev/null; echo end");
    let mut running = world
        .driver
        .start(&scope("work"), &spec, command)
        .await
        .unwrap();
    running.write(&vec![7; 4 << 20]).await.unwrap();
    running.end_input().await;
    let mut said = Vec::new();
    while let Some(piece) = running.output().await.unwrap() {
        said.extend_from_slice(&piece);
    }
    assert_eq!(said.len(), 8_000_004);
    assert!(said.ends_with(b"\0end\n"));
    running.write(b"more").await.unwrap_err();
    assert_eq!(running.ended().await.unwrap().exit, sandbox::Exit::Code(0));
}

#[tokio::test]
async fn a_program_that_nobody_listens_to_holds_up_nobody() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    let start = start("yes | head -c 50000000; echo over > over; sleep 1000");
    let running = world
        .driver
        .start(&scope("work"), &spec, start)
        .await
        .unwrap();
    for _ in 0..8 {
        let said = tokio::time::timeout(PATIENCE, say(&world.driver, &spec, "echo in; ls")).await;
        let said = said.expect("nobody waits").unwrap();
        assert_eq!(said, "in\n", "it was held up itself");
    }
    running.kill().await;
    until("its connection is closed", || world.sshd.connections() == 1).await;
}
