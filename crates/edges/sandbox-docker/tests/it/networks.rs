//! Whom a container can reach, tried from inside.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use conformance::sandbox::bench::exec;
use conformance::sandbox::{Bench, SandboxWorld};
use sandbox::{Exit, Keeper, Network, Placement};
use tidings_sandbox_docker::Kind;
use waybill::Clock;

use crate::world::{World, docker};

/// Somebody who listens on all addresses of a container; `None` where this user may not enter it.
fn listen_in(id: &str, port: u16) -> Option<TcpListener> {
    let namespace = File::open(format!("/proc/{}/ns/net", World::pid(id))).ok()?;
    std::thread::spawn(move || {
        rustix::thread::move_into_link_name_space(namespace.as_fd(), None).ok()?;
        Some(TcpListener::bind(("0.0.0.0", port)).unwrap())
    })
    .join()
    .unwrap()
}

fn address(id: &str) -> String {
    docker(&[
        "inspect",
        "--format",
        "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}",
        id,
    ])
}

/// With Podman there are none: see below.
async fn has_bridges(bench: &Bench<World>) -> bool {
    let kind = bench.world.driver.ping().await.unwrap().kind;
    if kind == Kind::Podman {
        println!("skipped: this engine gives each sandbox a network of its own");
    }
    kind == Kind::Docker
}

#[tokio::test]
async fn with_podman_each_sandbox_is_alone_on_its_network() {
    let mut bench = Bench::<World>::build().await;
    bench.spec.network = Network::Bridge;
    if has_bridges(&bench).await {
        return;
    }
    bench.say_as("victim", "true").await;
    let victim = bench.world.containers().remove(0);
    let Some(_listener) = listen_in(&victim, 5000) else {
        println!("skipped: this user may not enter a container's network namespace");
        return;
    };
    // All of them have the same address, each on a network of its own.
    let knock = "timeout 3 bash -c 'exec 3<>/dev/tcp/10.0.2.100/5000'";
    assert_eq!(bench.run_as("victim", knock).await.exit, Exit::Code(0));
    for (profile, placement) in [
        ("other", Placement::PerProfile),
        ("victim", Placement::PerSession),
    ] {
        let scope = bench.placed(profile, "talk", placement);
        let output = bench.port.exec(&scope, &bench.spec, exec(knock)).await;
        assert_ne!(output.unwrap().exit, Exit::Code(0), "{profile}");
    }
    let format = "{{.HostConfig.NetworkMode}}";
    for id in bench.world.containers() {
        assert_eq!(docker(&["inspect", "--format", format, &id]), "slirp4netns");
    }
    assert_eq!(bench.world.networks(), Vec::<String>::new());
}

#[tokio::test]
async fn two_profiles_on_a_bridge_can_not_reach_each_other_and_nor_can_two_sessions() {
    let mut bench = Bench::<World>::build().await;
    bench.spec.network = Network::Bridge;
    if !has_bridges(&bench).await {
        return;
    }
    bench.say_as("victim", "true").await;
    let victim = bench.world.containers().remove(0);
    let Some(_listener) = listen_in(&victim, 5000) else {
        println!("skipped: this user may not enter a container's network namespace");
        return;
    };
    let address = address(&victim);
    let target = format!("{address}:5000").parse().unwrap();
    TcpStream::connect_timeout(&target, Duration::from_secs(5))
        .expect("the machine itself reaches it");
    let knock = format!("timeout 3 bash -c 'exec 3<>/dev/tcp/{address}/5000'");
    let own = bench.run_as("victim", &knock).await;
    assert_eq!(own.exit, Exit::Code(0), "the container reaches itself");
    for (profile, placement) in [
        ("other", Placement::PerProfile),
        ("victim", Placement::PerSession),
    ] {
        let scope = bench.placed(profile, "talk", placement);
        let output = bench
            .port
            .exec(&scope, &bench.spec, exec(&knock))
            .await
            .unwrap();
        assert!(
            !matches!(output.exit, Exit::Code(0)),
            "{profile} reached the victim"
        );
    }
    let networks = bench.world.networks();
    assert_eq!(networks.len(), 2, "one for each profile: {networks:?}");
}

#[tokio::test]
async fn a_profiles_network_is_labelled_and_goes_with_its_last_container() {
    let mut bench = Bench::<World>::build().await;
    bench.spec.network = Network::Bridge;
    if !has_bridges(&bench).await {
        return;
    }
    bench.say_as("p", "true").await;
    bench.say_as("q", "true").await;
    assert_eq!(bench.world.networks().len(), 2);
    for name in bench.world.networks() {
        let label = docker(&[
            "network",
            "inspect",
            "--format",
            "{{index .Labels \"tidings.profile\"}} {{.Options}}",
            &name,
        ]);
        assert!(
            ["p ", "q "]
                .iter()
                .any(|profile| label.starts_with(profile)),
            "{label}"
        );
        assert!(
            name.ends_with(label.split(' ').next().unwrap()),
            "{name} {label}"
        );
    }
    bench.world.clock.advance(Duration::from_secs(1800));
    bench.say_as("q", "true").await;
    docker(&["stop", "--time", "0", &bench.world.containers()[0]]);
    bench.world.clock.advance(Duration::from_secs(1800));
    bench
        .world
        .driver
        .reap(bench.world.clock.now())
        .await
        .unwrap();
    let left = bench.world.networks();
    assert!(left.len() == 1 && left[0].ends_with(".q"), "{left:?}");
    // It is needed again, also by a container that stands still.
    let cat = bench.say_as("q", "cat /proc/net/dev").await;
    assert!(cat.contains("eth0"), "{cat}");
    let cat = bench.say_as("p", "cat /proc/net/dev").await;
    assert!(cat.contains("eth0"), "{cat}");
}

#[tokio::test]
async fn a_container_that_somebody_gave_a_network_is_not_used_any_more() {
    let mut bench = Bench::<World>::build().await;
    bench.say("echo kept > note").await;
    let old = bench.world.containers().remove(0);
    docker(&["network", "disconnect", "none", &old]);
    docker(&["network", "connect", "bridge", &old]);
    let networks = docker(&[
        "inspect",
        "--format",
        "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}",
        &old,
    ]);
    if !networks.contains("bridge") {
        println!("skipped: this engine gives such a container no network ({networks})");
        return;
    }
    bench.port = bench.world.restarted();
    let seen = bench.say("cat note /proc/net/dev").await;
    assert!(seen.starts_with("kept") && !seen.contains("eth0"), "{seen}");
    assert_ne!(bench.world.containers(), [old]);
}

#[tokio::test]
async fn a_network_that_somebody_removed_costs_no_command() {
    let mut bench = Bench::<World>::build().await;
    bench.spec.network = Network::Bridge;
    if !has_bridges(&bench).await {
        return;
    }
    bench.say("echo kept > note").await;
    docker(&["stop", "--time", "0", &bench.world.containers()[0]]);
    for name in bench.world.networks() {
        docker(&["network", "rm", &name]);
    }
    let seen = bench.say("cat note /proc/net/dev").await;
    assert!(seen.starts_with("kept") && seen.contains("eth0"), "{seen}");
}

#[tokio::test]
async fn a_foreign_network_of_the_same_name_is_left_alone() {
    let mut bench = Bench::<World>::build().await;
    bench.spec.network = Network::Bridge;
    if !has_bridges(&bench).await {
        return;
    }
    let name = format!("tidings.{}.network.work", bench.world.install);
    docker(&["network", "create", &name]);
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await;
    docker(&["network", "rm", &name]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains(&name), "{error}");
}
