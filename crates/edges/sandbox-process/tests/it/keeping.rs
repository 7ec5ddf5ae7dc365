//! What the owner sees of sandboxes, and may do.

use std::time::SystemTime;

use conformance::sandbox::bench::{PATIENCE, exec};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Driver, Exit, Keeper as _, SandboxError, SandboxPort as _, State};
use sandbox_folders::{Folders, HostPath};
use waybill::Timestamp;

use crate::world::{LAUNCHER, World, driver, spec, start};

type Here = Bench<World>;

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    Timestamp::from_second(time.as_second() + seconds).unwrap()
}

#[tokio::test]
async fn the_owner_sees_what_runs_and_stops_it() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    assert_eq!(driver.standing().await.unwrap(), Vec::new());
    for profile in ["idle", "work"] {
        driver
            .exec(
                &bench.scope(profile),
                &spec(),
                exec("head -c 200000 /dev/urandom > file"),
            )
            .await
            .unwrap();
    }
    let mut running = driver
        .start(
            &bench.scope("work"),
            &spec(),
            start("echo up; exec sleep 1000"),
        )
        .await
        .unwrap();
    crate::world::heard(running.as_mut(), Some("up")).await;
    let standing = driver.standing().await.unwrap();
    let [idle, work] = standing.as_slice() else {
        panic!("{standing:?}")
    };
    assert_eq!(
        (idle.id.as_str(), idle.key.as_str(), idle.driver),
        ("profile.idle", "profile:idle", Driver::Process)
    );
    assert_eq!((idle.state, idle.processes.len()), (State::Stopped, 0));
    assert_eq!(work.profile.as_ref().unwrap().as_str(), "work");
    assert_eq!(work.state, State::Running);
    assert!(work.disk.unwrap() >= 200_000, "{work:?}");
    assert!(work.lease.unwrap() > work.since.unwrap(), "{work:?}");
    let [(pid, command)] = work.processes.as_slice() else {
        panic!("{work:?}")
    };
    assert_eq!(command, "echo up; exec sleep 1000");
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());

    driver.stop("profile.idle").await.unwrap();
    assert_eq!(driver.standing().await.unwrap()[1].state, State::Running);
    driver.stop("profile.work").await.unwrap();
    assert_eq!(driver.standing().await.unwrap()[1].state, State::Stopped);
    let ended = running.ended().await.unwrap();
    assert_eq!(ended.exit, Exit::Code(137));
    assert!(ended.note.unwrap().contains("owner stopped"));
    let error = driver.stop("profile.nobody").await.unwrap_err();
    assert!(matches!(error, SandboxError::Failed(_)), "{error:?}");
}

#[tokio::test]
async fn a_command_that_somebody_waits_for_is_told_that_the_owner_stopped_it() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let scope = bench.scope("work");
    let spec = spec();
    let waiting = driver.exec(&scope, &spec, exec("touch up; sleep 1000"));
    let stopping = async {
        conformance::sandbox::bench::eventually(PATIENCE, "it runs", async || {
            let standing = driver.standing().await.unwrap();
            standing.iter().any(|one| one.state == State::Running)
        })
        .await;
        driver.stop("profile.work").await.unwrap();
    };
    let (output, ()) = tokio::join!(waiting, stopping);
    let output = output.unwrap();
    assert_eq!(output.exit, Exit::Code(137));
    assert!(output.note.unwrap().contains("owner stopped"));
}

#[tokio::test]
async fn only_the_tmp_of_a_sandbox_that_nobody_uses_is_emptied() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let scope = bench.scope("work");
    let mut spec = spec();
    spec.limits.idle_seconds = 600;
    let run = async |command: &str| {
        let output = driver.exec(&scope, &spec, exec(command)).await.unwrap();
        String::from_utf8(output.bytes).unwrap()
    };
    run("echo x > /tmp/left; echo y > kept; echo z > ~/kept").await;
    let lease = driver.standing().await.unwrap()[0].lease.unwrap();
    assert_eq!(driver.reap(after(lease, -1)).await.unwrap(), Vec::new());
    let running = driver
        .start(&scope, &spec, start("sleep 1000"))
        .await
        .unwrap();
    assert_eq!(driver.reap(after(lease, 9_999)).await.unwrap(), Vec::new());
    assert_eq!(run("cat /tmp/left").await, "x\n");
    running.kill().await;

    let lease = driver.standing().await.unwrap()[0].lease.unwrap();
    let reaped = driver.reap(after(lease, 1)).await.unwrap();
    assert_eq!(reaped.len(), 1, "{reaped:?}");
    assert_eq!(reaped[0].id, "profile.work");
    assert_eq!(run("ls -A /tmp; cat kept ~/kept").await, "y\nz\n");
    let lease = driver.standing().await.unwrap()[0].lease.unwrap();
    assert_eq!(driver.reap(after(lease, 1)).await.unwrap(), Vec::new());
}

#[tokio::test]
async fn what_a_long_command_left_in_tmp_outlives_its_end() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let scope = bench.scope("work");
    let mut running = driver
        .start(
            &scope,
            &spec(),
            start("echo result > /tmp/left; echo up; read line"),
        )
        .await
        .unwrap();
    crate::world::heard(running.as_mut(), Some("up")).await;
    let lease = driver.standing().await.unwrap()[0].lease.unwrap();
    // It began long ago.
    let folders = Folders::new(HostPath::new(bench.world.home().join("profiles")));
    let layout = folders.layout(scope.sandbox());
    let own = layout.workspace.as_path().parent().unwrap();
    let own = std::fs::File::open(own).unwrap();
    own.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    assert!(driver.standing().await.unwrap()[0].lease.unwrap() < lease);
    running.end_input().await;
    running.ended().await.unwrap();
    assert_eq!(driver.reap(after(lease, -1)).await.unwrap(), Vec::new());
    assert!(driver.standing().await.unwrap()[0].lease.unwrap() >= lease);
}
