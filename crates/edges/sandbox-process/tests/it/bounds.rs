//! What is bounded, and what ends.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use conformance::sandbox::bench::{PATIENCE, eventually, exec, path};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Exec, Exit, SandboxError, SandboxPort as _};

use crate::groups::groups_of_this_process;
use crate::world::{LAUNCHER, World, driver, has_python, marked, spec, start};

type Here = Bench<World>;

#[tokio::test]
async fn a_fork_bomb_ends_with_its_time() {
    let mut bench = Here::build().await;
    bench.spec.limits.pids = 40;
    let command = Exec {
        timeout: Duration::from_secs(3),
        ..exec("bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done")
    };
    let started = Instant::now();
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert!(started.elapsed() < PATIENCE, "took {:?}", started.elapsed());
    assert!(
        matches!(output.exit, Exit::TimedOut | Exit::Code(_)),
        "{output:?}"
    );
    let mut spec = bench.spec.clone();
    spec.limits.pids = 40;
    // The shell may give up at the first refusal, so it counts in a file.
    let command = "for i in $(seq 500); do sleep 30 & echo $i > count; done";
    bench
        .port
        .exec(&bench.scope("work"), &spec, exec(command))
        .await
        .unwrap();
    let count: u32 = bench.say("cat count").await.trim().parse().unwrap();
    assert!(count < 400, "{count} processes were made at once");
}

#[tokio::test]
async fn a_command_that_wants_more_memory_than_it_may_have_fails_alone() {
    if !has_python() {
        return;
    }
    let mut bench = Here::build().await;
    bench.spec.limits.memory = 128 << 20;
    let output = bench
        .run("/usr/bin/python3 -c \"b = bytearray(512 << 20)\"")
        .await;
    // A control group lets the kernel end it; without one it is told that there is no more.
    assert!(
        output.exit == Exit::OutOfMemory || matches!(output.exit, Exit::Code(code) if code != 0),
        "{output:?}"
    );
    bench
        .say("/usr/bin/python3 -c \"b = bytearray(32 << 20)\"")
        .await;
}

/// A disk of 64 MB, as long as a test needs it.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m,mode=0700", "none"])
            .arg(disk.0.path())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: only root can make a small disk");
        }
        mounted.then_some(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0.path()).status().unwrap();
    }
}

#[tokio::test]
async fn a_command_that_fills_the_disk_is_ended_and_told_why() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let bench = Here::build().await;
    let small = driver(disk.0.path(), &[LAUNCHER]);
    let output = small
        .exec(
            &bench.scope("work"),
            &spec(),
            exec("yes > fill; sleep 1000"),
        )
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::Code(137));
    assert!(output.note.unwrap().contains("filled the disk"));
    let again = small
        .exec(&bench.scope("work"), &spec(), exec("rm fill; echo room"))
        .await
        .unwrap();
    assert_eq!(
        (again.exit, again.bytes.as_slice(), again.note),
        (Exit::Code(0), b"room\n".as_slice(), None)
    );
}

#[tokio::test]
async fn a_command_in_the_background_that_fills_the_disk_is_ended_though_nobody_listens() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let bench = Here::build().await;
    let small = driver(disk.0.path(), &[LAUNCHER]);
    let running = small
        .start(
            &bench.scope("work"),
            &spec(),
            start("yes > fill; sleep 1000"),
        )
        .await
        .unwrap();
    let ended = tokio::time::timeout(PATIENCE, running.ended())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ended.exit, Exit::Code(137));
    assert!(ended.note.unwrap().contains("filled the disk"));
}

#[tokio::test]
async fn commands_stand_behind_the_gateway_and_leave_no_core() {
    let bench = Here::build().await;
    assert_eq!(
        bench
            .say("cat /proc/self/oom_score_adj; ulimit -c; nice")
            .await,
        "1000\n0\n5\n"
    );
}

#[tokio::test]
async fn what_was_left_in_the_background_is_told_to_the_agent() {
    let bench = Here::build().await;
    let output = bench.run("sleep 1000 & echo started").await;
    assert_eq!(output.exit, Exit::Code(0));
    assert!(output.note.unwrap().contains("ended with the command"));
    let output = bench
        .run("(sleep 0.05 & echo $! > orphan); while [ -e /proc/$(cat orphan) ]; do :; done; true")
        .await;
    assert_eq!(
        output.note, None,
        "orphans that ended by themselves are no news"
    );
}

#[tokio::test]
async fn tmp_lasts_from_one_command_to_the_next_and_ends_with_the_gateway() {
    let mut bench = Here::build().await;
    bench.say("mkdir -p /tmp/d/e; echo x > /tmp/d/e/f; chmod 000 /tmp/d/e; ln -s /workspace /tmp/link; echo y > /workspace/kept").await;
    assert_eq!(bench.say("ls -A /tmp").await, "d\nlink\n");
    bench.port = bench.world.restarted();
    assert_eq!(bench.say("ls -A /tmp; cat /workspace/kept").await, "y\n");
}

#[tokio::test]
async fn a_command_too_long_for_the_kernel_says_what_to_do() {
    let bench = Here::build().await;
    let error = bench
        .port
        .exec(
            &bench.scope("work"),
            &bench.spec,
            exec(&format!(": {}", "x".repeat(200 << 10))),
        )
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SandboxError::File(text) if text.contains("write it to a file")),
        "{error:?}"
    );
    bench.say(&format!(": {}", "x".repeat(120 << 10))).await;
}

#[tokio::test]
async fn a_folder_to_start_in_that_is_not_there_is_named() {
    let bench = Here::build().await;
    let command = Exec {
        directory: path("/workspace/nowhere"),
        ..exec("true")
    };
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SandboxError::File(text) if text.contains("/workspace/nowhere")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_signal_is_an_exit_code_as_shells_tell_it() {
    let bench = Here::build().await;
    assert_eq!(bench.run("kill -TERM $$").await.exit, Exit::Code(143));
    assert_eq!(bench.run("exit 7").await.exit, Exit::Code(7));
}

#[tokio::test]
async fn a_hundred_commands_leave_no_process() {
    let home = tempfile::tempdir().unwrap();
    let mark = "the-launcher-of-a-hundred-commands";
    let port = driver(home.path(), &[LAUNCHER, mark]);
    let bench = Here::build().await;
    let started = Instant::now();
    for _ in 0..100 {
        port.exec(&bench.scope("work"), &spec(), exec("sleep 1000 & true"))
            .await
            .unwrap();
    }
    println!("one command takes {:?}", started.elapsed() / 100);
    eventually(PATIENCE, "no launcher is left", async || marked(mark) == 0).await;
}

/// Memory that this process has in use, in kilobytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .unwrap()
}

#[tokio::test]
async fn fifty_time_outs_in_a_row_leave_no_process_no_group_no_task_and_no_memory() {
    let home = tempfile::tempdir().unwrap();
    let mark = "the-launcher-of-fifty-time-outs";
    let port = driver(home.path(), &[LAUNCHER, mark]);
    let bench = Here::build().await;
    let scope = bench.scope("work");
    let row = async |length: u32| {
        for _ in 0..length {
            let command = Exec {
                timeout: Duration::from_millis(100),
                ..exec(
                    "env -i setsid sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 & sleep 1000",
                )
            };
            let output = port.exec(&scope, &spec(), command).await.unwrap();
            assert_eq!(output.exit, Exit::TimedOut);
            // The answer comes when all are gone, not soon after.
            assert_eq!(marked(mark), 0);
        }
    };
    // What the first ones make is kept for all.
    row(10).await;
    let groups = groups_of_this_process();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let runtime = tokio::runtime::Handle::current();
    let tasks = || runtime.metrics().num_alive_tasks();
    let before = (descriptors(), tasks());
    row(25).await;
    let half = memory();
    row(25).await;
    let more = memory().saturating_sub(half);
    assert!(more < 8 << 10, "{more} kB more by the second half");
    assert_eq!(groups_of_this_process(), groups);
    // A look at the disk that was under way may take a moment to end.
    eventually(
        PATIENCE,
        "descriptors and tasks are as they were",
        async || descriptors() <= before.0 && tasks() <= before.1,
    )
    .await;
}

/// A launcher at work as the gateway starts it, but by hand: a loop that writes `/workspace/beat`. The gateway's end of it too.
fn beating(home: &Path) -> (Child, UnixStream) {
    let frame = |plan: &str| {
        let mut framed = u32::try_from(plan.len()).unwrap().to_be_bytes().to_vec();
        framed.extend_from_slice(plan.as_bytes());
        framed
    };
    let inner = format!(
        r#"{{"host_network":false,"memory":1000000000,"pids":50,
        "binds":[{{"source":"{}","at":"/workspace","access":"Write"}}],
        "work":{{"Exec":{{"directory":"/workspace","env":[],"terminal":null,"egress":false,
        "command":"(setsid sh -c 'while :; do date +%N > next; mv next beat; done' &); sleep 1000"}}}}}}"#,
        home.display()
    );
    let (gateway, launcher) = UnixStream::pair().unwrap();
    let mut child = Command::new(LAUNCHER)
        .arg("outer")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::from(OwnedFd::from(launcher)))
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(&frame(r#"{"host_network":false}"#))
        .unwrap();
    stdin.write_all(&frame(&inner)).unwrap();
    (child, gateway)
}

fn beat(home: &Path) -> Option<String> {
    std::fs::read_to_string(home.join("beat")).ok()
}

/// Waits until the loop has begun.
async fn begins(home: &Path) {
    eventually(PATIENCE, "the loop writes", async || beat(home).is_some()).await;
}

/// Waits until the loop is dead: many looks in a row see the same.
async fn ends(home: &Path) {
    eventually(PATIENCE, "the loop is dead", async || {
        let first = beat(home);
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if beat(home) != first {
                return false;
            }
        }
        true
    })
    .await;
}

#[tokio::test]
async fn a_gateway_that_is_killed_takes_its_commands_with_it() {
    let home = tempfile::tempdir().unwrap();
    let (mut child, gateway) = beating(home.path());
    begins(home.path()).await;
    // All that the launcher can notice of it: nobody holds the other end any more.
    drop(gateway);
    ends(home.path()).await;
    child.wait().unwrap();
}

#[tokio::test]
async fn a_first_stage_that_is_killed_takes_the_second_with_it() {
    let home = tempfile::tempdir().unwrap();
    let (mut child, _gateway) = beating(home.path());
    begins(home.path()).await;
    child.kill().unwrap();
    child.wait().unwrap();
    ends(home.path()).await;
}
