//! Machines as people have them: an ordinary user, or no namespaces at all.

use std::os::unix::fs::chown;
use std::process::Command;

use conformance::sandbox::bench::exec;
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Driver, Exit, Refusal, SandboxError, SandboxPort as _};
use testkit::blobs::MemoryBlobs;

use crate::world::{LAUNCHER, World, driver, heard, spec, start};

type Here = Bench<World>;

/// A machine whose kernel permits no user namespaces, as far as the launcher can see.
const FORBIDDEN: [&str; 7] = [
    "/usr/bin/unshare",
    "-Ur",
    "/bin/sh",
    "-c",
    "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"",
    LAUNCHER,
    "hidden",
];

#[tokio::test]
async fn without_user_namespaces_one_sentence_says_what_to_do_and_nothing_runs() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &FORBIDDEN);
    let mark = bench.world.home().join("ran");
    for error in [
        driver.describe().await.unwrap_err(),
        driver
            .exec(
                &bench.scope("work"),
                &spec(),
                exec(&format!("touch '{}'", mark.display())),
            )
            .await
            .unwrap_err(),
    ] {
        let SandboxError::Unavailable(text) = &error else {
            panic!("{error:?}")
        };
        for word in [
            "user namespaces",
            "kernel.unprivileged_userns_clone",
            "apparmor",
            "Docker",
            "driver = \"docker\"",
        ] {
            assert!(text.contains(word), "{word} in {text}");
        }
        assert!(!text.contains('\n'));
    }
    assert!(!mark.exists());
    let refusal = driver
        .capture(
            &bench.scope("work"),
            &spec(),
            &conformance::sandbox::bench::path("x"),
            10,
            &MemoryBlobs::default(),
        )
        .await
        .unwrap_err();
    assert!(matches!(refusal, Refusal::Sandbox { .. }), "{refusal:?}");
}

#[tokio::test]
async fn a_sandbox_of_another_driver_is_refused_and_not_run_here() {
    let bench = Here::build().await;
    for other in [Driver::Docker, Driver::Ssh, Driver::Host] {
        let mut spec = spec();
        spec.driver = other;
        let error = bench
            .port
            .exec(&bench.scope("work"), &spec, exec("true"))
            .await
            .unwrap_err();
        assert!(matches!(error, SandboxError::Unavailable(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_launcher_is_an_error_and_not_a_silence() {
    let bench = Here::build().await;
    for launcher in [
        &[][..],
        &["/no/such/launcher"],
        &["/bin/true"],
        &["/bin/false"],
    ] {
        let driver = driver(bench.world.home(), launcher);
        driver
            .exec(&bench.scope("work"), &spec(), exec("true"))
            .await
            .unwrap_err();
        driver.describe().await.unwrap_err();
    }
}

#[tokio::test]
async fn an_ordinary_user_gets_the_same_walls() {
    let me = Command::new("id").arg("-u").output().unwrap();
    if me.stdout != b"0\n" {
        // Then every other test of this file is this one.
        return;
    }
    let bench = Here::build().await;
    let home = bench.world.home();
    let driver = driver(
        home,
        &[
            "/usr/bin/setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            LAUNCHER,
            "hidden",
        ],
    );
    let scope = bench.scope("work");
    // The folders belong to who runs the gateway; the test's root makes them for somebody else.
    let layout =
        sandbox_folders::Folders::new(sandbox_folders::HostPath::new(home.join("profiles")));
    let layout = layout.ensure(scope.sandbox()).await.unwrap();
    std::fs::create_dir(layout.workspace.as_path().with_file_name("tmp")).unwrap();
    let made = Command::new("chown")
        .arg("-R")
        .arg("65534:65534")
        .arg(home)
        .status()
        .unwrap();
    assert!(made.success());
    chown(home, Some(65534), Some(65534)).unwrap();

    let protections = driver.probe().await.unwrap();
    assert!(
        !protections.runs_as_root && protections.process_limit && protections.no_capabilities,
        "{protections:?}"
    );
    let output = driver
        .exec(
            &scope,
            &spec(),
            exec("id -u; echo mine > file; touch /tmp/x ~/y; cat /proc/self/uid_map"),
        )
        .await
        .unwrap();
    assert_eq!(
        output.exit,
        Exit::Code(0),
        "{}",
        String::from_utf8_lossy(&output.bytes)
    );
    let text = String::from_utf8_lossy(&output.bytes);
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>(),
        ["0", "0", "65534", "1"]
    );
    let terminal = sandbox::Start {
        terminal: Some(sandbox::Window {
            rows: 24,
            columns: 80,
        }),
        ..start("tty; stty size > /dev/tty")
    };
    let mut running = driver.start(&scope, &spec(), terminal).await.unwrap();
    let said = heard(running.as_mut(), None).await;
    assert_eq!(said, "/dev/pts/0\r\n24 80\r\n");
    let mut crowded = spec();
    crowded.limits.pids = 20;
    let command = "for i in $(seq 500); do sleep 30 & echo $i > count; done";
    driver.exec(&scope, &crowded, exec(command)).await.unwrap();
    let count: u32 = std::fs::read_to_string(layout.workspace.as_path().join("count"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(count <= 25, "{count} processes at once");
    let blobs = MemoryBlobs::default();
    let artifact = driver
        .capture(
            &scope,
            &spec(),
            &conformance::sandbox::bench::path("file"),
            10,
            &blobs,
        )
        .await
        .unwrap();
    assert_eq!(
        blobs.get(&artifact.profile, &artifact.blob.hash).unwrap(),
        b"mine\n".as_slice()
    );
}

#[tokio::test]
async fn the_probe_says_exactly_which_walls_stand() {
    let home = tempfile::tempdir().unwrap();
    let driver = driver(home.path(), &[LAUNCHER]);
    let standing = driver.probe().await.unwrap();
    assert!(standing.user_namespace && standing.mount_namespace && standing.process_namespace);
    assert!(standing.network_namespace && standing.no_new_privileges && standing.no_capabilities);
    assert!(standing.no_nested_namespaces, "{standing:?}");
    let sentence = driver.describe().await.unwrap();
    assert!(sentence.contains("process sandbox"), "{sentence}");
    assert_eq!(
        sentence.contains("no Landlock"),
        standing.landlock_abi == 0,
        "{sentence}"
    );
}

#[test]
fn the_launcher_started_by_hand_says_so() {
    let output = Command::new(LAUNCHER).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("by hand"));
}
