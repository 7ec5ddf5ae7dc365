//! Bounds for all processes of a sandbox together, where this machine has control groups for the gateway.

use std::path::{Path, PathBuf};

use conformance::sandbox::bench::exec;
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Exit, SandboxPort as _};

use crate::world::{LAUNCHER, World, driver, spec, start};

type Here = Bench<World>;

/// Groups of this process that are there, wherever control groups are mounted.
pub(crate) fn groups_of_this_process() -> Vec<PathBuf> {
    fn look(folder: &Path, name: &str, depth: u32, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(name) {
                found.push(entry.path());
            } else if depth > 0 {
                look(&entry.path(), name, depth - 1, found);
            }
        }
    }
    let mut found = Vec::new();
    let name = format!("tidings-sandbox-{}-", std::process::id());
    look(Path::new("/sys/fs/cgroup"), &name, 6, &mut found);
    found
}

#[tokio::test]
async fn a_sandbox_that_runs_out_of_memory_says_so_and_lives_on() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    if !driver.probe().await.unwrap().memory_group {
        println!("skipped: this machine gives the gateway no control group for memory");
        return;
    }
    let mut spec = spec();
    spec.limits.memory = 64 << 20;
    // No line ends, so it is all kept; no single process may be blamed before the kernel says so.
    let greedy = "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c; exit 9";
    let output = driver
        .exec(&bench.scope("work"), &spec, exec(greedy))
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::OutOfMemory, "{output:?}");
    let modest = driver
        .exec(&bench.scope("work"), &spec, exec("echo alive"))
        .await
        .unwrap();
    assert_eq!((modest.exit, modest.note), (Exit::Code(0), None));
    let stayed = driver
        .start(&bench.scope("work"), &spec, start(greedy))
        .await
        .unwrap();
    assert_eq!(stayed.ended().await.unwrap().exit, Exit::OutOfMemory);
    // The control: the same with room for it.
    spec.limits.memory = 1 << 30;
    let output = driver
        .exec(&bench.scope("work"), &spec, exec(greedy))
        .await
        .unwrap();
    assert_eq!(
        (output.exit, output.bytes.as_slice()),
        (Exit::Code(9), b"250000000\n".as_slice())
    );
    drop(driver);
    assert_eq!(groups_of_this_process(), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn processes_of_a_sandbox_are_counted_over_all_its_commands() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    if !driver.probe().await.unwrap().process_group {
        println!("skipped: this machine gives the gateway no control group for processes");
        return;
    }
    let mut spec = spec();
    spec.limits.pids = 30;
    let scope = bench.scope("work");
    let first = "for i in $(seq 25); do sleep 1000 & done; echo full; wait";
    let mut running = driver.start(&scope, &spec, start(first)).await.unwrap();
    crate::world::heard(running.as_mut(), Some("full")).await;
    // The shell may give up at the first refusal, so it counts in a file.
    let second = "for i in $(seq 100); do sleep 1000 & echo $i > count; done";
    driver.exec(&scope, &spec, exec(second)).await.unwrap();
    running.kill().await;
    let count = driver
        .exec(&scope, &spec, exec("cat count || echo 0"))
        .await;
    let count = String::from_utf8(count.unwrap().bytes).unwrap();
    let count: u32 = count.trim().parse().unwrap();
    // Room for the launcher's own stands on top: eight for each of the two.
    assert!(count <= 20, "{count} more processes were made");
}
