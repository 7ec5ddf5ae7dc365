//! Leases, and who looks after containers.

use std::time::Duration;

use conformance::sandbox::bench::{exec, path};
use conformance::sandbox::{Bench, SandboxWorld};
use sandbox::{Keeper, SandboxError, State};
use tidings_sandbox_docker::DockerSandbox;
use waybill::{Clock, Timestamp};

use crate::world::{World, docker};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

fn now(bench: &Bench<World>) -> Timestamp {
    bench.world.clock.now()
}

async fn reaped(bench: &Bench<World>) -> Vec<String> {
    let reaped = bench.world.driver.reap(now(bench)).await.unwrap();
    reaped.into_iter().map(|standing| standing.key).collect()
}

#[tokio::test]
async fn a_sandbox_that_nobody_uses_is_reaped_once_and_its_files_stay() {
    let bench = Bench::<World>::build().await;
    bench.say("echo kept > note").await;
    assert_eq!(reaped(&bench).await, Vec::<String>::new());
    bench.world.clock.advance(HOUR - MINUTE);
    assert_eq!(reaped(&bench).await, Vec::<String>::new());
    bench.say("true").await;
    bench.world.clock.advance(HOUR - MINUTE);
    assert_eq!(
        reaped(&bench).await,
        Vec::<String>::new(),
        "it was used meanwhile"
    );
    bench.world.clock.advance(MINUTE);
    assert_eq!(reaped(&bench).await, ["profile:work"]);
    assert_eq!(bench.world.containers(), Vec::<String>::new());
    assert_eq!(reaped(&bench).await, Vec::<String>::new());
    let output = bench.run("cat note").await;
    assert_eq!(output.bytes, b"kept\n");
    assert!(output.note.unwrap().contains("made anew"));
}

#[tokio::test]
async fn a_gateway_that_was_killed_finds_the_lease_again_and_reaps_what_has_stopped_too() {
    let bench = Bench::<World>::build().await;
    bench.say_as("p", "true").await;
    bench.say_as("q", "true").await;
    bench.world.clock.advance(HOUR / 2);
    bench.say_as("q", "true").await;
    for id in bench.world.containers() {
        docker(&["stop", "--time", "0", &id]);
    }
    let next = DockerSandbox::new(bench.world.options());
    let leases: Vec<_> = next
        .standing()
        .await
        .unwrap()
        .iter()
        .map(|one| one.lease)
        .collect();
    let start = now(&bench) - HOUR / 2;
    assert_eq!(leases, [Some(start + HOUR), Some(start + HOUR + HOUR / 2)]);
    bench.world.clock.advance(HOUR / 2);
    let keys = |all: Vec<sandbox::Standing>| all.into_iter().map(|one| one.key).collect::<Vec<_>>();
    assert_eq!(keys(next.reap(now(&bench)).await.unwrap()), ["profile:p"]);
    assert_eq!(keys(next.standing().await.unwrap()), ["profile:q"]);
    // Without the file, the label's first lease is what is left.
    let folders = bench.world.options().folders;
    let key = "profile:q".parse().unwrap();
    std::fs::remove_file(
        folders
            .layout(&key)
            .workspace
            .as_path()
            .with_file_name("lease"),
    )
    .unwrap();
    let next = DockerSandbox::new(bench.world.options());
    assert_eq!(keys(next.reap(now(&bench)).await.unwrap()), ["profile:q"]);
}

#[tokio::test]
async fn a_sandbox_in_which_a_command_runs_is_never_reaped_by_its_own_gateway() {
    let bench = Bench::<World>::build().await;
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("touch begun; while [ ! -e end ]; do sleep 0.1; done; echo whole"),
    );
    let others = async {
        bench.until_written_at_all("/workspace/begun").await;
        bench.world.clock.advance(3 * HOUR);
        assert_eq!(reaped(&bench).await, Vec::<String>::new());
        // What runs has renewed its lease, for whoever else may look.
        let other = DockerSandbox::new(bench.world.options());
        assert_eq!(other.reap(now(&bench)).await.unwrap(), []);
        bench.say("touch end").await;
    };
    let (output, ()) = tokio::join!(running, others);
    assert_eq!(output.unwrap().bytes, b"whole\n");
    bench.world.clock.advance(HOUR);
    assert_eq!(reaped(&bench).await, ["profile:work"]);
}

#[tokio::test]
async fn what_is_not_this_gateways_is_neither_listed_nor_stopped_nor_reaped() {
    let bench = Bench::<World>::build().await;
    let other = World::build().await;
    bench.say("true").await;
    let id = bench.world.containers().remove(0);
    let foreign = docker(&[
        "run",
        "--detach",
        "--network=none",
        "tidings-test:1",
        "sleep",
        "1000",
    ]);
    bench.world.clock.advance(10 * HOUR);
    assert_eq!(other.driver.standing().await.unwrap(), []);
    assert_eq!(other.driver.reap(now(&bench)).await.unwrap(), []);
    let mut errors = Vec::new();
    for id in [&id, &foreign] {
        errors.push(other.driver.stop(id).await);
    }
    errors.push(other.driver.stop("no-such-sandbox").await);
    assert_eq!(reaped(&bench).await, ["profile:work"]);
    let still = docker(&["inspect", "--format", "{{.State.Running}}", &foreign]);
    docker(&["rm", "--force", &foreign]);
    assert_eq!(still, "true");
    for error in errors {
        assert!(matches!(error, Err(SandboxError::Failed(_))), "{error:?}");
    }
}

#[tokio::test]
async fn what_stands_is_told_with_its_cost_and_what_runs_in_it() {
    let bench = Bench::<World>::build().await;
    bench.say_as("idle", "true").await;
    let stopped = bench.world.containers().remove(0);
    docker(&["stop", "--time", "0", &stopped]);
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("head -c 300000 /dev/zero > /opt/big; sleep 1234 & while [ ! -e end ]; do sleep 0.1; done; kill $!"),
    );
    let others = async {
        bench.until_in_front("sleep 1234").await;
        let all = bench.world.driver.standing().await.unwrap();
        bench.say("touch end").await;
        all
    };
    let (_, all) = tokio::join!(running, others);
    assert_eq!(all.len(), 2, "{all:?}");
    let (idle, work) = (&all[0], &all[1]);
    assert_eq!(
        (idle.key.as_str(), idle.state),
        ("profile:idle", State::Stopped)
    );
    assert_eq!((idle.memory, idle.processes.len()), (None, 0));
    assert_eq!(work.profile.as_ref().unwrap().as_str(), "work");
    assert_eq!(work.state, State::Running, "{work:?}");
    assert!(work.made_of.ends_with("tidings-test:1"), "{work:?}");
    assert!(work.disk.unwrap() >= 300_000, "{work:?}");
    assert!(work.memory.unwrap() > 0, "{work:?}");
    assert!(work.since.is_some());
    assert_eq!(work.lease, Some(now(&bench) + HOUR));
    let commands: Vec<&str> = work
        .processes
        .iter()
        .map(|(_, command)| command.as_str())
        .collect();
    assert!(commands.contains(&"sleep 1234"), "{commands:?}");
    assert!(
        !commands
            .iter()
            .any(|command| command.contains("trap 'exit 0'")),
        "{commands:?}"
    );
}

#[tokio::test]
async fn a_stopped_sandbox_is_made_anew_by_the_next_command() {
    let bench = Bench::<World>::build().await;
    bench.say("echo kept > note").await;
    bench
        .world
        .driver
        .stop(&bench.world.containers().remove(0))
        .await
        .unwrap();
    assert_eq!(bench.world.containers(), Vec::<String>::new());
    assert_eq!(
        bench.captured(path("note").as_str()).await,
        b"kept\n".as_slice()
    );
}
