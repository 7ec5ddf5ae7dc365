//! A machine without walls: what still holds there.

use std::os::unix::fs::PermissionsExt;

use conformance::sandbox::bench::{exec, path};
use sandbox::{Exit, Network, Refusal, SandboxError, SandboxPort, SandboxSpec, WriteMode};
use testkit::blobs::MemoryBlobs;

use crate::world::{World, say, scope, spec};

/// A world with walls, or one whose bubblewrap does not work.
pub(crate) fn world(kind: &str) -> (World, SandboxSpec) {
    if kind.is_empty() {
        let world = World::with("");
        let spec = spec(world.sshd.remote());
        return (world, spec);
    }
    let programs = tempfile::tempdir().unwrap();
    let bwrap = programs.path().join("bwrap");
    std::fs::write(
        &bwrap,
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut world = World::with(&format!(
        "SetEnv PATH={}:/usr/bin:/bin:/usr/sbin:/sbin",
        programs.path().display()
    ));
    world.programs = Some(programs);
    let mut spec = spec(world.sshd.remote());
    spec.network = Network::Bridge;
    (world, spec)
}

#[tokio::test]
async fn without_walls_nothing_runs_that_was_to_be_kept_from_the_network() {
    let (world, mut spec) = world("bare");
    spec.network = Network::None;
    let Err(SandboxError::Unavailable(text)) = say(&world.driver, &spec, "touch ran").await else {
        panic!()
    };
    assert!(
        text.contains("bubblewrap") && text.contains("bridge"),
        "{text}"
    );
    spec.network = Network::Bridge;
    assert_eq!(say(&world.driver, &spec, "ls").await.unwrap(), "");
    let sentence = world.driver.describe().await.unwrap();
    assert!(
        sentence.contains("no walls")
            && sentence.contains("Permission denied")
            && !sentence.contains('\n'),
        "{sentence}"
    );
}

#[tokio::test]
async fn without_walls_the_ports_paths_are_still_the_sandboxs_own() {
    let (world, spec) = world("bare");
    let scope = scope("work");
    let written = path("/workspace/a/b.txt");
    world
        .driver
        .write(&scope, &spec, &written, b"words", WriteMode::Replace)
        .await
        .unwrap();
    let said = say(&world.driver, &spec, "cat a/b.txt; cd ~ && pwd")
        .await
        .unwrap();
    let boxes = world.sshd.path("boxes").display().to_string();
    assert_eq!(said, format!("words{boxes}/work/profile.work/home\n"));
    let (read, size) = world
        .driver
        .read(&scope, &spec, &written, 1, 3)
        .await
        .unwrap();
    assert_eq!((read.as_ref(), size), (b"ord".as_slice(), 5));
    let (entries, _) = world
        .driver
        .list(&scope, &spec, &path("/workspace"), 10)
        .await
        .unwrap();
    assert_eq!(entries.len(), 1);
    let blobs = MemoryBlobs::default();
    let artifact = world
        .driver
        .capture(&scope, &spec, &path("a/b.txt"), 100, &blobs)
        .await
        .unwrap();
    assert_eq!(artifact.blob.size, 5);
}

#[tokio::test]
async fn without_walls_nothing_of_other_sandboxes_and_no_credentials_are_sent() {
    let (world, spec) = world("bare");
    let boxes = world.sshd.path("boxes").display().to_string();
    let other = world
        .driver
        .exec(&scope("other"), &spec, exec("echo theirs > own.txt"))
        .await
        .unwrap();
    assert_eq!(other.exit, Exit::Code(0));
    say(
        &world.driver,
        &spec,
        &format!("ln -s {boxes}/other/profile.other/workspace/own.txt pic.png; mkdir ~/.ssh; echo k > ~/.ssh/id; ln -s ~/.ssh/id key.png; ln -s ../key up.png; ln -s /etc/passwd pw.png"),
    )
    .await
    .unwrap();
    let blobs = MemoryBlobs::default();
    for name in [
        "pic.png",
        "key.png",
        "~/.ssh/id",
        "up.png",
        "pw.png",
        "/etc/passwd",
        "/proc/self/environ",
    ] {
        let taken = world
            .driver
            .capture(&scope("work"), &spec, &path(name), 1000, &blobs)
            .await;
        assert!(
            matches!(taken, Err(Refusal::Forbidden { .. })),
            "{name}: {taken:?}"
        );
    }
}

#[tokio::test]
async fn without_walls_a_command_left_in_the_background_ends_with_its_command() {
    let (world, spec) = world("bare");
    let output = world
        .driver
        .exec(
            &scope("work"),
            &spec,
            exec("(while :; do echo beat >> beat; sleep 0.05; done) & echo started"),
        )
        .await
        .unwrap();
    assert_eq!(
        (output.exit, output.bytes.as_slice()),
        (Exit::Code(0), b"started\n".as_slice())
    );
    let still = "a=$(wc -c < beat 2>/dev/null || echo 0); sleep 1; [ \"$a\" = \"$(wc -c < beat 2>/dev/null || echo 0)\" ] && echo still";
    assert_eq!(say(&world.driver, &spec, still).await.unwrap(), "still\n");
}

#[tokio::test]
async fn without_walls_no_folder_is_sent_and_behind_them_only_the_sandboxs_own() {
    let (bare, spec) = world("bare");
    let refused = bare
        .driver
        .forbids_folder(&scope("work"), &spec, "/workspace")
        .await;
    assert!(refused.unwrap().contains("no walls"));
    let (walled, spec) = world("");
    let forbids = async |folder: &str| {
        walled
            .driver
            .forbids_folder(&scope("work"), &spec, folder)
            .await
    };
    if std::path::Path::new("/usr/bin/bwrap").exists() {
        assert_eq!(forbids("/workspace").await, None);
        assert_eq!(forbids("/usr/share").await.as_deref(), Some("/usr"));
    } else {
        println!("skipped: this machine has no /usr/bin/bwrap, so there are no walls to try");
    }
}
