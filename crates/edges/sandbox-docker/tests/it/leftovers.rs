//! What commands leave behind: nothing, once their time or their gateway is over.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{eventually, exec, path};
use sandbox::{Exec, Exit, SandboxPort, Start};
use tidings_sandbox_docker::DockerSandbox;

use crate::world::{World, docker};

#[tokio::test]
async fn fifty_commands_out_of_time_leave_no_process_and_no_task() {
    let bench = Bench::<World>::build().await;
    let processes = async || bench.say("ls -d /proc/[0-9]* | wc -l").await;
    bench.say("true").await;
    let before = processes().await;
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let tasks_before = tasks();
    for _ in 0..50 {
        let command = Exec {
            timeout: Duration::from_millis(50),
            ..exec("sleep 1000 & setsid sleep 1000 & sleep 1000")
        };
        let output = bench
            .port
            .exec(&bench.scope("work"), &bench.spec, command)
            .await
            .unwrap();
        assert_eq!(output.exit, Exit::TimedOut);
    }
    // What was killed may lie unburied for a moment.
    eventually(Duration::from_secs(20), "no process is left", async || {
        processes().await == before
    })
    .await;
    // Connections to the engine may be kept for a while, but not one for each command.
    eventually(Duration::from_secs(20), "the tasks are gone", async || {
        tasks() <= tasks_before + 4
    })
    .await;
}

#[tokio::test]
async fn a_command_of_a_gateway_that_was_killed_is_ended_by_the_next_one() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    // A driver whose leashes are never pulled: as if its process were gone.
    let beat = "while :; do echo beat >> /workspace/beat; sleep 0.1; done";
    let scope = bench.scope("work");
    let spec = bench.spec.clone();
    let killed = DockerSandbox::new(bench.world.options());
    let lost = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let started = runtime.block_on(async {
            killed
                .start(
                    &scope,
                    &spec,
                    Start {
                        command: beat.to_owned(),
                        directory: path("/workspace"),
                        env: BTreeMap::new(),
                        terminal: None,
                    },
                )
                .await
                .unwrap()
        });
        drop(runtime);
        drop(started);
    });
    lost.join().unwrap();
    bench.until_written("/workspace/beat").await;
    assert_eq!(bench.world.driver.end_orphans().await.unwrap(), 1);
    bench.until_still("/workspace/beat").await;
    assert_eq!(bench.world.driver.end_orphans().await.unwrap(), 0);
}

#[tokio::test]
async fn an_orphan_that_can_not_be_killed_does_not_take_a_running_command_with_it() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let id = bench.world.containers().remove(0);
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("touch begun; while [ ! -e end ]; do sleep 0.1; done; echo whole"),
    );
    let driver = &bench.world.driver;
    let others = async {
        bench.until_written_at_all("/workspace/begun").await;
        // Of another user, and without the mark in its environment: it is not found.
        docker(&[
            "exec",
            "--detach",
            "--user=4242",
            &id,
            "sh",
            "-c",
            "sleep 1000; true",
            "tidings 0011-1",
        ]);
        assert_eq!(driver.end_orphans().await.unwrap(), 0);
        bench.say("touch end").await;
    };
    let (output, ()) = tokio::join!(running, others);
    assert_eq!(output.unwrap().bytes, b"whole\n");
    assert_eq!(driver.end_orphans().await.unwrap(), 1);
    assert_eq!(
        docker(&["inspect", "--format", "{{.State.Running}}", &id]),
        "false"
    );
}

#[tokio::test]
async fn a_gateways_own_commands_are_no_orphans() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("touch begun; while [ ! -e end ]; do sleep 0.1; done; echo whole"),
    );
    let driver = &bench.world.driver;
    let others = async {
        bench.until_written_at_all("/workspace/begun").await;
        assert_eq!(driver.end_orphans().await.unwrap(), 0);
        bench.say("touch end").await;
    };
    let (output, ()) = tokio::join!(running, others);
    assert_eq!(output.unwrap().bytes, b"whole\n");
}
