//! Sandboxes whose engine does not see the gateway's home: their files lie in its volumes.

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use conformance::sandbox::bench::{PATIENCE, eventually, exec, path};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{
    BlobStore as _, Exit, Keeper as _, MountMode, SandboxError, SandboxPort as _, Start, Window,
};
use tidings_sandbox_docker::{DockerSandbox, Options};
use waybill::Clock as _;

use crate::own_engine::{OwnEngine, Sight};
use crate::way_out::{ASK, Answering};
use crate::world::{Hidden, World, docker, options};

/// All that every sandbox does.
mod as_everywhere {
    conformance::sandbox!(crate::world::Hidden);
}

type Here = Bench<Hidden>;

fn label(volume: &str, name: &str) -> String {
    let format = format!("{{{{index .Labels \"tidings.{name}\"}}}}");
    docker(&["volume", "inspect", "--format", &format, volume])
}

async fn noted(bench: &Here, command: &str) -> (String, String) {
    let output = bench.run(command).await;
    let said = String::from_utf8_lossy(&output.bytes).into_owned();
    (said, output.note.unwrap_or_default())
}

async fn no_helper_is_left(bench: &Here) {
    eventually(PATIENCE, "the helpers are gone", async || {
        bench.world.helpers().is_empty()
    })
    .await;
}

#[tokio::test]
async fn files_lie_in_labelled_volumes_and_outlive_their_containers() {
    let mut bench = Here::build().await;
    bench.stage("given.txt", b"given").await;
    bench
        .say("echo kept > note; echo mine > ~/own; cat /inbox/given.txt; echo lost > /opt/lost")
        .await;
    let mut places = Vec::new();
    for volume in bench.world.volumes() {
        assert_eq!(label(&volume, "profile"), "work");
        assert_eq!(label(&volume, "sandbox"), "profile:work");
        places.push(label(&volume, "volume"));
    }
    places.sort();
    assert_eq!(places, ["home", "inbox", "workspace"]);
    let rows = bench.world.driver.volumes().await.unwrap();
    assert_eq!(rows.len(), 3, "{rows:?}");
    let layout = bench
        .world
        .options()
        .folders
        .layout(&"profile:work".parse().unwrap());
    for folder in [&layout.workspace, &layout.home] {
        let lies_here = std::fs::read_dir(folder.as_path()).unwrap().count();
        assert_eq!(lies_here, 0, "the engine sees the home after all");
    }
    let look = "cat note ~/own /inbox/given.txt; ls /opt";
    let old = bench.world.containers();
    bench.spec.limits.pids += 1;
    let (said, note) = noted(&bench, look).await;
    assert_eq!(said, "kept\nmine\ngiven");
    assert!(note.contains("settings"), "{note}");
    assert_ne!(bench.world.containers(), old);
    // Its lease is over, and the gateway begins anew.
    bench.world.clock.advance(Duration::from_secs(4000));
    let now = bench.world.clock.now();
    assert_eq!(bench.world.driver.reap(now).await.unwrap().len(), 1);
    assert_eq!(bench.world.containers(), Vec::<String>::new());
    bench.port = bench.world.restarted();
    let (said, note) = noted(&bench, look).await;
    assert_eq!(said, "kept\nmine\ngiven");
    assert!(note.contains("files outside /workspace"), "{note}");
    no_helper_is_left(&bench).await;
    assert_eq!(bench.world.volumes().len(), 3);
}

#[tokio::test]
async fn an_image_that_has_a_home_of_its_own_does_not_fill_the_volume() {
    let bench = Here::build().await;
    let image = format!("tidings-home-{}", bench.world.install);
    let folder = bench.mounts.path().join("image");
    std::fs::create_dir(&folder).unwrap();
    let made = docker(&["create", "--network=none", "tidings-test:1", "true"]);
    std::fs::write(folder.join(".profile"), "image").unwrap();
    docker(&[
        "cp",
        folder.join(".profile").to_str().unwrap(),
        &format!("{made}:/root/.profile"),
    ]);
    let pack = format!("docker export {made} | docker import - {image}:latest");
    let packed = Command::new("sh").args(["-c", &pack]).output().unwrap();
    assert!(packed.status.success(), "{packed:?}");
    docker(&["rm", "--force", &made]);
    let spec = sandbox::SandboxSpec {
        image: image.clone(),
        ..bench.spec.clone()
    };
    let ran = bench
        .port
        .exec(&bench.scope("work"), &spec, exec("ls -A ~ /workspace"))
        .await;
    let containers = bench.world.containers();
    for id in containers {
        docker(&["rm", "--force", &id]);
    }
    no_helper_is_left(&bench).await;
    docker(&["rmi", "--force", &image]);
    assert_eq!(ran.unwrap().bytes, b"/root:\n\n/workspace:\n");
}

#[tokio::test]
async fn an_attachment_that_came_while_the_engine_was_away_is_there_when_it_is_back() {
    let mut bench = Here::build().await;
    let away = bench.mounts.path().join("away.sock");
    bench.port = Arc::new(DockerSandbox::new(Options {
        socket: Some(away.to_str().unwrap().to_owned()),
        ..bench.world.options()
    }));
    let staged = bench.stage("early.txt", b"early").await;
    bench.port = bench.world.restarted();
    assert_eq!(
        bench.captured(staged.path.as_str()).await,
        b"early".as_slice()
    );
}

#[tokio::test]
async fn a_large_attachment_comes_whole_and_beside_a_running_command() {
    let bench = Here::build().await;
    bench.say("true").await;
    let noise: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let hash = blake3::hash(&noise);
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("until [ -s /inbox/noise.bin ]; do sleep 0.05; done; stat -c %s /inbox/noise.bin"),
    );
    let laying = async {
        let blob = bench.blobs.put(scope.profile(), "noise", noise);
        let (_, reader) = bench.blobs.open(scope.profile(), &blob.hash).await.unwrap();
        let staged = bench.port.stage(&scope, &bench.spec, "noise.bin", reader);
        assert_eq!(staged.await.unwrap().path.as_str(), "/inbox/noise.bin");
        // The next thing that the agent does brings it.
        bench.say("true").await;
    };
    let (output, ()) = tokio::join!(running, laying);
    assert_eq!(output.unwrap().bytes, b"12000000\n");
    let artifact = bench.capture_as("work", "/inbox/noise.bin", 20 << 20);
    let bytes = bench.bytes(&artifact.await.unwrap());
    assert_eq!(blake3::hash(&bytes), hash);
    assert_eq!(bench.say("ls -A /inbox").await, "noise.bin\n");
    no_helper_is_left(&bench).await;
}

#[tokio::test]
async fn a_foreign_volume_of_the_same_name_is_left_alone_and_nothing_runs() {
    let bench = Here::build().await;
    let name = format!("tidings.{}.volume-home.profile.work", bench.world.install);
    docker(&["volume", "create", &name]);
    let ran = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("echo ran > ~/ran"))
        .await;
    let removed = bench
        .world
        .driver
        .remove_volumes(&"profile:work".parse().unwrap())
        .await;
    let still = docker(&["volume", "inspect", "--format", "{{.Name}}", &name]);
    docker(&["volume", "rm", &name]);
    let error = ran.unwrap_err().to_string();
    assert!(error.contains(&name), "{error}");
    assert_eq!(bench.world.containers(), Vec::<String>::new());
    removed.unwrap();
    assert_eq!(still, name, "a foreign volume was removed");
}

#[tokio::test]
async fn volumes_go_only_when_they_are_told_to_and_only_ones_own() {
    let bench = Here::build().await;
    let other = Here::build().await;
    for (bench, profile) in [(&bench, "work"), (&bench, "else"), (&other, "work")] {
        bench.say_as(profile, "echo kept > note").await;
    }
    let key = "profile:work".parse().unwrap();
    let driver = &bench.world.driver;
    let error = driver.remove_volumes(&key).await.unwrap_err();
    assert!(
        matches!(error, SandboxError::Failed(_)),
        "in use: {error:?}"
    );
    let id = bench.world.containers();
    for id in id {
        driver.remove(&id).await.unwrap();
    }
    assert_eq!(bench.world.volumes().len(), 6);
    assert_eq!(driver.remove_volumes(&key).await.unwrap(), 3);
    assert_eq!(driver.remove_volumes(&key).await.unwrap(), 0);
    assert_eq!(bench.world.volumes().len(), 3);
    assert_eq!(other.world.volumes().len(), 3);
    assert_eq!(bench.say_as("else", "cat note").await, "kept\n");
    let (said, note) = noted(&bench, "ls").await;
    assert_eq!(said, "");
    assert!(
        note.contains("volumes that held its files were removed"),
        "{note}"
    );
}

#[tokio::test]
async fn a_home_that_comes_into_sight_or_goes_out_of_it_is_told_to_the_agent() {
    let mut bench = Here::build().await;
    bench.say("echo in-volumes > note").await;
    bench.port = Arc::new(DockerSandbox::new(bench.world.shown()));
    let (said, note) = noted(&bench, "ls; echo in-folders > note").await;
    assert_eq!(said, "");
    assert!(note.contains("lies in the engine's volumes"), "{note}");
    assert_eq!(bench.world.containers().len(), 1);
    bench.port = bench.world.restarted();
    let (said, note) = noted(&bench, "cat note").await;
    assert_eq!(said, "in-volumes\n");
    assert!(note.contains("lies in the gateway's home"), "{note}");
    let (said, note) = noted(&bench, "cat note").await;
    assert_eq!((said.as_str(), note.as_str()), ("in-volumes\n", ""));
}

#[tokio::test]
async fn a_socket_of_the_engines_machine_is_no_mount() {
    let mut bench = Here::build().await;
    let socket = bench.mounts.path().join("engine.sock");
    let _listening = UnixListener::bind(&socket).unwrap();
    bench.spec.mounts.push(sandbox::Mount {
        host: socket.to_str().unwrap().to_owned(),
        at: path("/run/engine.sock"),
        mode: MountMode::Rw,
    });
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("engine.sock") && error.contains("socket"),
        "{error}"
    );
    assert_eq!(bench.world.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_helper_that_a_killed_gateway_left_behind_is_no_sandbox_and_goes_with_its_lease() {
    let bench = Here::build().await;
    let now = bench.world.clock.now();
    let install = format!("--label=tidings.install={}", bench.world.install);
    let lease = format!("--label=tidings.lease={}", now.as_second() + 60);
    docker(&[
        "run",
        "--detach",
        "--network=none",
        &install,
        &lease,
        "--label=tidings.helper=bring",
        "tidings-test:1",
        "sleep",
        "1000",
    ]);
    let driver = &bench.world.driver;
    assert_eq!(driver.standing().await.unwrap(), []);
    assert_eq!(driver.list().await.unwrap(), []);
    assert_eq!(driver.reap(now).await.unwrap(), []);
    assert_eq!(bench.world.helpers().len(), 1);
    bench.world.clock.advance(Duration::from_secs(61));
    assert_eq!(driver.reap(bench.world.clock.now()).await.unwrap(), []);
    assert_eq!(bench.world.helpers(), Vec::<String>::new());
}

#[tokio::test]
async fn where_files_lie_is_said() {
    let bench = Here::build().await;
    bench.say("true").await;
    let said = bench.port.describe().await.unwrap();
    assert!(said.contains("engine's volumes"), "{said}");
    let shown = DockerSandbox::new(bench.world.shown());
    let ran = shown
        .exec(&bench.scope("shown"), &bench.spec, exec("true"))
        .await
        .unwrap();
    assert_eq!(ran.exit, Exit::Code(0));
    let said = shown.describe().await.unwrap();
    assert!(said.contains("gateway's home"), "{said}");
    let far = options(
        "far",
        bench.world.home(),
        Some("tcp://192.0.2.1:2375".to_owned()),
    );
    let told = DockerSandbox::new(far).check_home().await.unwrap().unwrap();
    assert!(
        told.contains("another machine") && told.contains("volumes"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_behind_a_port_that_does_not_see_the_home_serves_all_the_same() {
    let mut bench = Bench::<World>::build().await;
    let home = bench.world.home().to_owned();
    let Some(engine) = OwnEngine::start(Sight::Without(home.clone())).await else {
        return;
    };
    let driver = DockerSandbox::new(Options {
        egress: Some(Arc::new(Answering::default())),
        ..options("far-away", &home, Some(engine.host().to_owned()))
    });
    bench.port = Arc::new(driver.clone());
    bench.stage("given.txt", b"given").await;
    assert_eq!(
        bench.say("echo kept > note; cat /inbox/given.txt").await,
        "given"
    );
    assert_eq!(bench.captured("note").await, b"kept\n".as_slice());
    let said = bench.port.describe().await.unwrap();
    assert!(said.contains("engine's volumes"), "{said}");
    assert_eq!(driver.volumes().await.unwrap().len(), 3);
    let layout = bench
        .world
        .options()
        .folders
        .layout(&"profile:work".parse().unwrap());
    let lies_here = std::fs::read_dir(layout.workspace.as_path())
        .unwrap()
        .count();
    assert_eq!(lies_here, 0, "the engine sees the home after all");
    // On the same machine the way out can be served.
    bench.spec.allow = vec!["example.org:443".parse().unwrap()];
    match bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("cat note"))
        .await
    {
        Ok(output) => {
            assert_eq!(
                output.bytes, b"kept\n",
                "another container has the same files"
            );
            assert_eq!(bench.say(ASK).await, "through\n");
        }
        Err(error) => {
            assert!(error.to_string().contains("root"), "{error}");
            println!("skipped: {error}");
        }
    }
    let mut running = bench
        .port
        .start(
            &bench.scope("work"),
            &bench.spec,
            Start {
                command: "stty size".to_owned(),
                directory: path("/workspace"),
                env: BTreeMap::new(),
                terminal: Some(Window {
                    rows: 31,
                    columns: 91,
                }),
            },
        )
        .await
        .unwrap();
    let mut said = Vec::new();
    while let Some(piece) = running.output().await.unwrap() {
        said.extend_from_slice(&piece);
    }
    assert_eq!(said, b"31 91\r\n");
}
