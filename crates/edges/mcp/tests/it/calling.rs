//! Calls and what comes of them, whichever way a server is reached.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use tool::{Effect, ToolError, Toolbox as _};

use crate::server::{Calculator, OLD, Shared, TRACES};
use crate::world::{Answers, Service, World, program, service, trace, until};

/// Every way to reach the calculator, by name.
async fn everywhere(folder: &std::path::Path) -> (World, Vec<Service>, Vec<&'static str>) {
    let old = || Calculator {
        revisions: OLD,
        ..Calculator::default()
    };
    let services = vec![
        Service::start(Calculator::default(), Answers::Streams).await,
        Service::start(old(), Answers::Streams).await,
        Service::start(old(), Answers::Json).await,
    ];
    let options = vec![
        program("new-program", "new", folder, &[]),
        program("old-program", "old", folder, &[]),
        service("new-service", services[0].address),
        service("old-service", services[1].address),
        service("plain-service", services[2].address),
    ];
    let world = World::of(options);
    let names = vec![
        "new-program",
        "old-program",
        "new-service",
        "old-service",
        "plain-service",
    ];
    for name in &names {
        world.ready(name).await;
    }
    (world, services, names)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_tools_do_the_same_over_every_way_and_revision() {
    let folder = tempfile::tempdir().unwrap();
    let (world, _services, names) = everywhere(folder.path()).await;
    let tools = world.servers.tools();
    assert_eq!(tools.len(), 11 * names.len());
    assert!(tools.is_sorted_by(|one, other| one.spec.name < other.spec.name));
    for name in names {
        let add = tools
            .iter()
            .find(|tool| tool.spec.name == format!("{name}__add"))
            .unwrap();
        assert_eq!((add.server.as_str(), add.effect), (name, Effect::ReadOnly));
        assert_eq!(add.spec.description, "Adds two numbers.");
        assert_eq!(world.add(name).await.unwrap(), "42");
        let picture = world.call(&format!("{name}__picture")).await.unwrap();
        assert_eq!(
            (picture.text.as_str(), picture.failed),
            ("a picture", false)
        );
        assert_eq!(picture.files[0].bytes, b"hello");
        let failed = world.call(&format!("{name}__fail")).await.unwrap();
        assert_eq!(
            (failed.text.as_str(), failed.failed),
            ("it did not work", true)
        );
        // Ten megabytes come through, and no more of them than a result may have.
        let large = world.call(&format!("{name}__large")).await.unwrap();
        assert!(large.text.len() < 300 << 10 && large.text.contains("left out"));
        assert_eq!(world.add(name).await.unwrap(), "42", "{name} works on");
    }
    let told = world.call("new-program__nothing").await.unwrap_err();
    assert!(
        matches!(&told, ToolError::Failed(text) if text.contains("no server offers")),
        "{told}"
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_to_the_person_is_declined_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::of(vec![program("old", "old", folder.path(), &[])]);
    world.ready("old").await;
    let told = world.call("old__ask").await.unwrap();
    assert!(
        told.text.contains("decline") && !told.text.contains("accept"),
        "{}",
        told.text
    );
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_nobody_waits_for_any_more_is_given_up_by_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().to_str().unwrap();
    let shared: Arc<Shared> = Arc::default();
    let calculator = |revisions: &'static [ProtocolVersion]| Calculator {
        shared: Arc::clone(&shared),
        revisions,
        ..Calculator::default()
    };
    let new = Service::start(
        calculator(ProtocolVersion::KNOWN_VERSIONS),
        Answers::Streams,
    )
    .await;
    let old = Service::start(calculator(OLD), Answers::Streams).await;
    let world = World::of(vec![
        program("program", "old", folder.path(), &[(TRACES, traces)]),
        service("new", new.address),
        service("old", old.address),
    ]);
    for (count, name) in ["new", "old"].into_iter().enumerate() {
        world.ready(name).await;
        let tool = format!("{name}__slow");
        let call = world.call(&tool);
        tokio::select! {
            ended = call => panic!("{ended:?}"),
            () = until("the call began", || {
                let begun = shared.begun.load(Ordering::Relaxed);
                (begun > count).then_some(()).ok_or_else(|| begun.to_string())
            }) => {}
        }
        until("the call was given up", || {
            let cancelled = shared.cancelled.load(Ordering::Relaxed);
            (cancelled > count)
                .then_some(())
                .ok_or_else(|| cancelled.to_string())
        })
        .await;
        assert_eq!(world.add(name).await.unwrap(), "42");
        shared.begun.store(count + 1, Ordering::Relaxed);
    }
    world.ready("program").await;
    tokio::select! {
        ended = world.call("program__slow") => panic!("{ended:?}"),
        _began = trace(folder.path(), "slow") => {}
    }
    until("the program gave up", || {
        let words = std::fs::read_to_string(folder.path().join("slow")).unwrap();
        (words == "cancelled").then_some(()).ok_or(words)
    })
    .await;
    assert_eq!(world.add("program").await.unwrap(), "42");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_ends_a_call_and_progress_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = program("calc", "old", folder.path(), &[]);
    options.limits.call = Duration::from_secs(6);
    let world = World::of(vec![options]);
    world.ready("calc").await;
    // Eight seconds of work, with news every fifth of one.
    assert_eq!(world.call("calc__steady").await.unwrap().text, "done");
    let told = world.call("calc__slow").await.unwrap_err();
    let after = Duration::from_secs(6);
    assert_eq!(
        told,
        ToolError::TimedOut {
            server: "calc".to_owned(),
            after
        }
    );
    assert_eq!(world.add("calc").await.unwrap(), "42");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_without_an_end_holds_nobody_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = program("calc", "old", folder.path(), &[]);
    options.limits.call_in_all = Duration::from_secs(2);
    let world = World::of(vec![options]);
    world.ready("calc").await;
    let told = world.call("calc__steady").await.unwrap_err();
    assert!(matches!(told, ToolError::TimedOut { .. }), "{told}");
    world.stop().await;
}
