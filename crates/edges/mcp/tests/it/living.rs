//! Servers that hang, die and come back.

use std::time::Duration;

use tool::{ServerState, ToolError, Toolbox as _};

use crate::server::{Calculator, OLD, TRACES};
use crate::world::{Answers, Service, World, program, service, trace};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_at_its_start_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut hanging = program("hanging", "hang", folder.path(), &[]);
    hanging.limits.connect = Duration::from_secs(2);
    let world = World::of(vec![hanging, program("calc", "new", folder.path(), &[])]);
    assert_eq!(world.state("hanging"), ServerState::Connecting);
    world.ready("calc").await;
    assert_eq!(world.add("calc").await.unwrap(), "42");
    assert_eq!(
        world.away("hanging").await,
        "it did not answer within 2 seconds"
    );
    assert!(world.names().iter().all(|name| name.starts_with("calc__")));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_dies_in_a_call_is_told_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::of(vec![program("calc", "new", folder.path(), &[])]);
    world.ready("calc").await;
    let before = world.names();
    let told = world.call("calc__crash").await.unwrap_err();
    assert!(
        matches!(&told, ToolError::Away { cause, .. } if cause.contains("may have happened")),
        "{told}"
    );
    world.ready("calc").await;
    assert_eq!(world.names(), before);
    assert_eq!(world.add("calc").await.unwrap(), "42");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_killed_is_away_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let mut options = program("calc", "new", folder.path(), &[(TRACES, traces)]);
    options.limits.first_rest = Duration::from_secs(2);
    options.limits.longest_rest = Duration::from_secs(2);
    let world = World::of(vec![options]);
    world.ready("calc").await;
    let pid = trace(folder.path(), "pid").await;
    kill(&pid);
    let cause = world.away("calc").await;
    assert!(cause.contains("ended"), "{cause}");
    assert!(
        world.servers.tools().is_empty(),
        "its tools are gone while it is away"
    );
    let told = world.add("calc").await.unwrap_err();
    assert!(matches!(told, ToolError::Away { .. }), "{told}");
    world.ready("calc").await;
    assert_ne!(trace(folder.path(), "pid").await, pid);
    assert_eq!(world.add("calc").await.unwrap(), "42");
    world.stop().await;
}

fn kill(pid: &str) {
    let killed = std::process::Command::new("kill")
        .args(["-9", pid])
        .status();
    assert!(killed.unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_goes_is_noticed_and_comes_back() {
    for revisions in [OLD, rmcp::model::ProtocolVersion::KNOWN_VERSIONS] {
        let calculator = Calculator {
            revisions,
            ..Calculator::default()
        };
        let running = Service::start(calculator.clone(), Answers::Streams).await;
        let address = running.address;
        let mut options = service("calc", address);
        options.limits.look_again = Duration::from_millis(300);
        let world = World::of(vec![options]);
        world.ready("calc").await;
        drop(running);
        let cause = world.away("calc").await;
        assert!(!cause.contains("127.0.0.1"), "{cause}");
        assert!(world.names().is_empty());
        let _running = Service::again(address, calculator, Answers::Streams).await;
        world.ready("calc").await;
        assert_eq!(world.add("calc").await.unwrap(), "42");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_forgot_its_session_is_greeted_anew() {
    let calculator = || Calculator {
        revisions: OLD,
        ..Calculator::default()
    };
    let running = Service::start(calculator(), Answers::Streams).await;
    let address = running.address;
    let world = World::of(vec![service("calc", address)]);
    world.ready("calc").await;
    drop(running);
    let _running = Service::again(address, calculator(), Answers::Streams).await;
    // At the latest the second call finds it again, since the first one found its session gone.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        match world.add("calc").await {
            Ok(sum) => break assert_eq!(sum, "42"),
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_many_pages_is_read_whole() {
    let calculator = Calculator {
        page: 2,
        ..Calculator::default()
    };
    let running = Service::start(calculator, Answers::Streams).await;
    let mut few = service("few", running.address);
    few.only = Some(["add".to_owned(), "grow".to_owned()].into());
    let world = World::of(vec![service("all", running.address), few]);
    world.ready("all").await;
    world.ready("few").await;
    assert_eq!(world.names().len(), 13);
    assert!(world.names().contains(&"few__add".to_owned()));
    world.stop().await;
}
