//! The engine is not there, or does not answer.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use conformance::sandbox::bench::exec;
use conformance::sandbox::{Bench, SandboxWorld};
use sandbox::{Exit, Refusal, SandboxError, SandboxPort};
use tidings_sandbox_docker::DockerSandbox;

use crate::world::{World, options};

#[tokio::test]
async fn without_an_engine_nothing_runs_and_it_is_found_when_it_comes() {
    let bench = Bench::<World>::build().await;
    let socket = bench.mounts.path().join("docker.sock");
    let driver = DockerSandbox::new(options(
        &bench.world.install,
        bench.world.home(),
        Some(socket.to_str().unwrap().to_owned()),
    ));
    let scope = bench.scope("work");
    let marker = bench.mounts.path().join("ran-on-the-host");
    let command = exec(&format!("touch '{}'", marker.display()));
    let error = driver.exec(&scope, &bench.spec, command).await.unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable(_)), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains(socket.to_str().unwrap()) && text.contains("systemctl start docker"),
        "{text}"
    );
    assert!(!marker.exists());
    let refusal = driver
        .capture(
            &scope,
            &bench.spec,
            &sandbox::SandboxPath::parse("x.png").unwrap(),
            10,
            &bench.blobs,
        )
        .await
        .unwrap_err();
    assert!(matches!(refusal, Refusal::Sandbox { .. }), "{refusal:?}");
    driver.ping().await.unwrap_err();
    driver.describe().await.unwrap_err();
    symlink(crate::world::socket(), &socket).unwrap();
    let output = driver
        .exec(&scope, &bench.spec, exec("echo here"))
        .await
        .unwrap();
    assert_eq!(
        (output.exit, output.bytes.as_slice()),
        (Exit::Code(0), b"here\n".as_slice())
    );
}

#[tokio::test]
async fn a_socket_where_nobody_listens_is_named() {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("docker.sock");
    drop(UnixListener::bind(&socket).unwrap());
    let socket = socket.to_str().unwrap().to_owned();
    let driver = DockerSandbox::new(options("away", home.path(), Some(socket.clone())));
    let error = driver.ping().await.unwrap_err().to_string();
    assert!(
        error.contains("nobody listens") && error.contains(&socket),
        "{error}"
    );
}

#[tokio::test]
async fn an_engine_that_accepts_and_says_nothing_is_given_up_soon() {
    let home = tempfile::tempdir().unwrap();
    let socket = home.path().join("docker.sock");
    let _silent = UnixListener::bind(&socket).unwrap();
    let socket = format!("unix://{}", socket.display());
    let driver = DockerSandbox::new(options("away", home.path(), Some(socket)));
    let started = Instant::now();
    let error = driver.ping().await.unwrap_err();
    assert!(matches!(error, SandboxError::Unavailable(_)), "{error:?}");
    assert!(
        error.to_string().contains("did not answer in time"),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(8));
}
