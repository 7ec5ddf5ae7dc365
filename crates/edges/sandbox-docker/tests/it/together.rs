//! Two processes at work in the same sandbox: the gateway, and the owner's look beside it.

use std::time::Duration;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{PATIENCE, eventually, exec};
use sandbox::{Keeper, SandboxError, SandboxPort, SandboxSpec};
use tidings_sandbox_docker::{DockerSandbox, Options};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::world::{World, docker};

fn beside(bench: &Bench<World>) -> DockerSandbox {
    DockerSandbox::new(Options {
        beside: true,
        ..bench.world.options()
    })
}

fn changed(bench: &Bench<World>) -> SandboxSpec {
    let mut spec = bench.spec.clone();
    spec.env.insert("NEW".to_owned(), "setting".to_owned());
    spec.limits.pids += 1;
    spec
}

#[tokio::test]
async fn the_owners_look_does_not_end_what_the_gateway_runs_under_older_settings() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let before = bench.world.containers();
    let scope = bench.scope("work");
    let looked = beside(&bench)
        .exec(&scope, &changed(&bench), exec("true"))
        .await;
    let Err(SandboxError::Failed(text)) = looked else {
        panic!("{looked:?}")
    };
    assert!(
        text.contains("restart the gateway") && text.contains("tidings sandboxes stop"),
        "{text}"
    );
    assert_eq!(bench.world.containers(), before);
    beside(&bench)
        .exec(&scope, &bench.spec, exec("true"))
        .await
        .unwrap();
    // What stands still has nothing to lose.
    docker(&["stop", "--time", "0", before.first().unwrap()]);
    beside(&bench)
        .exec(&scope, &changed(&bench), exec("true"))
        .await
        .unwrap();
    assert_ne!(bench.world.containers(), before);
}

#[tokio::test]
async fn two_that_look_at_a_container_at_once_do_not_take_it_for_a_strangers() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let before = bench.world.containers();
    let scope = bench.scope("work");
    for _ in 0..5 {
        let mut looks = JoinSet::new();
        for _ in 0..3 {
            let driver = DockerSandbox::new(bench.world.options());
            let (scope, spec) = (scope.clone(), bench.spec.clone());
            looks.spawn(async move { driver.exec(&scope, &spec, exec("true")).await });
        }
        for looked in looks.join_all().await {
            assert_eq!(looked.unwrap().note, None);
        }
        assert_eq!(bench.world.containers(), before);
    }
    let inbox = bench.world.options().folders;
    let inbox = inbox.layout(&"profile:work".parse().unwrap()).inbox;
    let left = std::fs::read_dir(inbox.as_path()).unwrap().count();
    assert_eq!(left, 0, "something stays in the inbox");
}

#[tokio::test]
async fn the_owner_can_stop_a_sandbox_whose_new_image_does_not_come() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    // A registry that takes calls and says nothing.
    let registry = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = registry.local_addr().unwrap().port();
    let mut others = JoinSet::new();
    others.spawn(async move {
        let mut callers = Vec::new();
        while let Ok((caller, _)) = registry.accept().await {
            callers.push(caller);
        }
    });
    let spec = SandboxSpec {
        image: format!("127.0.0.1:{port}/slow:1"),
        ..bench.spec.clone()
    };
    let (driver, scope) = (bench.world.driver.clone(), bench.scope("work"));
    let (fetching, wanted) = (driver.clone(), spec.clone());
    others.spawn(async move {
        // It is given up with the test.
        let _never = fetching.exec(&scope, &wanted, exec("true")).await;
    });
    eventually(PATIENCE, "the image is fetched", async || {
        SandboxPort::under_way(&driver, &spec).is_some()
    })
    .await;
    let id = bench.world.containers().remove(0);
    driver.stop(&id).await.unwrap();
    assert!(
        SandboxPort::under_way(&driver, &spec).is_some(),
        "the owner waited for the image"
    );
    assert_eq!(bench.world.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_lease_that_nobody_understands_is_not_over() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let folders = bench.world.options().folders;
    let layout = folders.layout(&"profile:work".parse().unwrap());
    std::fs::write(layout.workspace.as_path().with_file_name("lease"), "").unwrap();
    bench.world.clock.advance(Duration::from_secs(100_000));
    let other = DockerSandbox::new(bench.world.options());
    let now = waybill::Clock::now(bench.world.clock.as_ref());
    assert_eq!(other.reap(now).await.unwrap(), []);
    assert_eq!(bench.world.containers().len(), 1);
}
