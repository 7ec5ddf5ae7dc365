//! Programs and what becomes of them when the gateway is gone.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::{KIND, TRACES};
use crate::world::{World, dead, is_alive, program, trace};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_ends_with_the_gateway_and_so_does_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::of(vec![program("calc", "new", folder.path(), &[])]);
    world.ready("calc").await;
    let pids = world.call("calc__child").await.unwrap().text;
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    world.stop().await;
    for pid in pids {
        dead(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_deaf_to_every_wish_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let world = World::of(vec![program(
        "deaf",
        "stubborn",
        folder.path(),
        &[(TRACES, traces)],
    )]);
    let pids = [
        trace(folder.path(), "pid").await,
        trace(folder.path(), "kept").await,
    ];
    // Dropped in the middle, as by a panic.
    drop(world);
    for pid in pids {
        dead(&pid).await;
    }
}

/// Runs a deaf program until somebody ends this process.
pub(crate) fn be_a_gateway(folder: &Path) -> ! {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let traces = folder.to_str().unwrap();
        let _world = World::of(vec![program(
            "deaf",
            "stubborn",
            folder,
            &[(TRACES, traces)],
        )]);
        std::future::pending().await
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_is_killed_leaves_no_program_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut gateway = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "server::program", "--ignored", "--nocapture"])
        .env(KIND, "gateway")
        .env(TRACES, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pids = [
        trace(folder.path(), "pid").await,
        trace(folder.path(), "kept").await,
    ];
    assert!(pids.iter().all(|pid| is_alive(pid)));
    // The signal that nobody can hear.
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    for pid in pids {
        dead(&pid).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_has_its_own_variables_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let mut options = program("calc", "new", folder.path(), &[(TRACES, traces)]);
    if let mcp::Reach::Program(program) = &mut options.reach {
        let secret = waybill::Secret::new("very-secret-key".to_owned());
        program.secrets.push(("API_KEY".to_owned(), secret));
    }
    let world = World::of(vec![options]);
    world.ready("calc").await;
    let names = trace(folder.path(), "environment").await;
    let mut names: Vec<&str> = names.lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["API_KEY", "PATH", KIND, TRACES]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_there_is_told_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = program("calc", "new", folder.path(), &[]);
    if let mcp::Reach::Program(program) = &mut options.reach {
        program.command = vec!["no-such-program".to_owned()];
    }
    let world = World::of(vec![options]);
    let cause = world.away("calc").await;
    assert!(
        cause.contains("there is no program 'no-such-program'"),
        "{cause}"
    );
    world.stop().await;
}
