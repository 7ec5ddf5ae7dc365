//! Ways out, each with its control: the same command works where there is no wall.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Command;

use conformance::sandbox::bench::{PATIENCE, eventually, exec};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Exit, SandboxPort as _};

use crate::world::{LAUNCHER, World, driver, has_python, marked, spec};

type Here = Bench<World>;

/// A command works on the machine and fails in the sandbox.
async fn held(bench: &Here, what: &str, command: &str) {
    let outside = Command::new("/bin/sh")
        .args(["-c", command])
        .output()
        .unwrap();
    assert!(
        outside.status.success(),
        "the control of {what} fails: {}",
        String::from_utf8_lossy(&outside.stderr)
    );
    let inside = bench.run(command).await;
    assert_ne!(
        inside.exit,
        Exit::Code(0),
        "{what} worked: {}",
        String::from_utf8_lossy(&inside.bytes)
    );
}

#[tokio::test]
async fn the_gateways_database_and_another_profiles_files_are_not_to_be_read() {
    let bench = Here::build().await;
    let database = bench.world.home().join("tidings.db");
    std::fs::write(&database, b"everything").unwrap();
    bench.say_as("other", "echo theirs > /workspace/file").await;
    let theirs = bench
        .world
        .home()
        .join("profiles/other/sandboxes/profile.other/workspace/file");
    for (what, file) in [("the database", &database), ("another's file", &theirs)] {
        let file = file.display();
        held(&bench, what, &format!("cat '{file}'")).await;
        held(&bench, what, &format!("test -e '{file}'")).await;
        // As far up as there is, then down again; and by way of the launcher, which has seen the machine.
        let dots = "../".repeat(30);
        held(&bench, what, &format!("cat '/usr/{dots}{file}'")).await;
        for root in ["/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../.."] {
            let output = bench.run(&format!("cat '{root}{file}'")).await;
            assert_ne!(output.exit, Exit::Code(0), "{root}");
        }
        let link = format!("ln -sf '{file}' link && cat link");
        assert_ne!(bench.run(&link).await.exit, Exit::Code(0));
    }
}

#[tokio::test]
async fn nothing_is_written_outside() {
    let bench = Here::build().await;
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().display();
    held(
        &bench,
        "writing outside",
        &format!("echo x > '{folder}/file'"),
    )
    .await;
    std::fs::remove_file(outside.path().join("file")).unwrap();
    for command in [
        format!("mkdir -p '{folder}'; echo x > '{folder}/file'"),
        format!("ln -s '{folder}/file' way; echo x > way"),
        format!("ln -s '{folder}' folder; echo x > folder/file"),
        format!("echo x > /proc/1/root'{folder}/file'"),
    ] {
        bench.run(&command).await;
        assert!(!outside.path().join("file").exists(), "{command}");
    }
}

#[tokio::test]
async fn sockets_of_the_machine_are_not_to_be_reached() {
    if !has_python() {
        return;
    }
    let bench = Here::build().await;
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("tidings-escape-{}", std::process::id());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes()).unwrap()).unwrap();
    let path = bench.world.home().join("socket");
    let _named = UnixListener::bind(&path).unwrap();
    let python = |family: &str, to: &str| {
        format!(
            "/usr/bin/python3 -c \"import socket; socket.socket(socket.{family}).connect({to})\""
        )
    };
    for (what, command) in [
        (
            "the network",
            python("AF_INET", &format!("('127.0.0.1', {port})")),
        ),
        (
            "an abstract socket",
            python("AF_UNIX", &format!("chr(0) + '{name}'")),
        ),
        (
            "a socket with a name",
            python("AF_UNIX", &format!("'{}'", path.display())),
        ),
    ] {
        held(&bench, what, &command).await;
    }
}

#[tokio::test]
async fn no_process_is_debugged() {
    if !has_python() {
        return;
    }
    let bench = Here::build().await;
    // The child asks to be traced by its parent: what needs least rights.
    let script = "import ctypes, os, sys; c = ctypes.CDLL(None).ptrace; sys.exit(0 if c(0, 0, 0, 0) == 0 else 1)";
    held(
        &bench,
        "ptrace",
        &format!("/usr/bin/python3 -c \"{script}\""),
    )
    .await;
}

#[tokio::test]
async fn a_child_without_environment_session_and_parent_is_gone_with_its_command() {
    let home = tempfile::tempdir().unwrap();
    let mark = "the-child-that-wanted-to-stay";
    let port = driver(home.path(), &[LAUNCHER]);
    let bench = Here::build().await;
    // Twice forked, in a session of its own, without environment, streams or a folder that could be found.
    let stay =
        format!("cd /; (env -i setsid sh -c 'sleep 1000; : {mark}' </dev/null >/dev/null 2>&1 &)");
    let outside = Command::new("/bin/sh")
        .args(["-c", &stay.replace("1000", "5")])
        .status()
        .unwrap();
    assert!(outside.success());
    eventually(PATIENCE, "the control stays", async || marked(mark) > 0).await;
    eventually(PATIENCE, "the control has ended", async || {
        marked(mark) == 0
    })
    .await;
    let wait = "until grep -q sleep /proc/[0-9]*/comm 2>/dev/null; do :; done";
    let output = port
        .exec(
            &bench.scope("work"),
            &spec(),
            exec(&format!("{stay}; {wait}")),
        )
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::Code(0));
    assert!(output.note.unwrap().contains("background"));
    assert_eq!(marked(mark), 0);
}
