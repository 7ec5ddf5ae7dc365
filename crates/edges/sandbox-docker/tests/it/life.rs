//! Containers: made, found again, replaced, removed.

use std::time::{Duration, Instant};

use conformance::sandbox::bench::{exec, path};
use conformance::sandbox::{Bench, SandboxWorld};
use sandbox::{Exec, Exit, MountMode, Network, Output, SandboxError};
use tidings_sandbox_docker::{DockerSandbox, Kind};
use waybill::Secret;

use crate::world::{World, docker};

async fn bench() -> Bench<World> {
    Bench::build().await
}

fn only(bench: &Bench<World>) -> String {
    let all = bench.world.containers();
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.bytes).into_owned()
}

async fn is_unbounded(bench: &Bench<World>) -> bool {
    let unbounded = !bench.world.driver.ping().await.unwrap().bounded;
    if unbounded {
        println!("skipped: this engine can't keep bounds here");
    }
    unbounded
}

#[tokio::test]
async fn a_container_that_somebody_removed_is_made_anew_and_the_agent_is_told_once() {
    let bench = bench().await;
    let first = bench.run("echo kept > note; echo lost > /opt/lost").await;
    assert_eq!(first.note, None, "the first container is no loss");
    docker(&["rm", "--force", &only(&bench)]);
    let second = bench.run("cat note; ls /opt").await;
    assert_eq!(second.exit, Exit::Code(0));
    assert_eq!(text(&second), "kept\n");
    assert_eq!(
        second.note.as_deref(),
        Some("the sandbox was made anew; files outside /workspace and /root are gone")
    );
    assert_eq!(bench.run("true").await.note, None, "told once");
    docker(&["rm", "--force", &only(&bench)]);
    // Through a file first: the note waits for the next command.
    assert_eq!(bench.captured("note").await, b"kept\n".as_slice());
    assert!(bench.run("true").await.note.is_some());
}

#[tokio::test]
async fn a_loss_while_the_gateway_was_down_is_told_too() {
    let mut bench = bench().await;
    bench.say("true").await;
    docker(&["rm", "--force", &only(&bench)]);
    bench.port = bench.world.restarted();
    let output = bench.run("true").await;
    assert!(output.note.unwrap().contains("made anew"));
}

#[tokio::test]
async fn a_stopped_container_is_started_again_and_keeps_its_files() {
    let bench = bench().await;
    bench
        .say("echo kept > /opt/kept; echo lost > /tmp/lost")
        .await;
    let id = only(&bench);
    docker(&["kill", &id]);
    let output = bench.run("cat /opt/kept; ls /tmp").await;
    assert_eq!(text(&output), "kept\n");
    assert!(output.note.unwrap().contains("started again"));
    assert_eq!(only(&bench), id);
    docker(&["pause", &id]);
    assert_eq!(bench.say("echo awake").await, "awake\n");
    assert_eq!(only(&bench), id);
}

#[tokio::test]
async fn a_restarted_gateway_finds_its_container_again() {
    let mut bench = bench().await;
    bench.say("echo still > /tmp/here").await;
    let id = only(&bench);
    bench.port = bench.world.restarted();
    let output = bench.run("cat /tmp/here").await;
    assert_eq!((text(&output).as_str(), output.note), ("still\n", None));
    assert_eq!(only(&bench), id);
}

#[tokio::test]
async fn another_spec_retires_the_old_container() {
    let mut bench = bench().await;
    bench.say("echo old > /opt/old").await;
    let old = only(&bench);
    bench.spec.limits.pids += 1;
    let output = bench.run("ls /opt").await;
    assert_eq!(text(&output), "");
    assert!(output.note.unwrap().contains("settings"));
    let new = only(&bench);
    assert_ne!(new, old);
    assert_eq!(bench.run("true").await.note, None);
    assert_eq!(only(&bench), new, "the same spec keeps its container");
}

#[tokio::test]
async fn two_commands_at_once_make_one_container() {
    let bench = bench().await;
    let (one, two, three) = tokio::join!(
        bench.run("echo 1"),
        bench.run("echo 2"),
        bench.capture("missing.txt")
    );
    assert_eq!(
        (text(&one), text(&two)),
        ("1\n".to_owned(), "2\n".to_owned())
    );
    three.unwrap_err();
    only(&bench);
}

#[tokio::test]
async fn the_container_is_walled_and_labelled_and_holds_no_secret() {
    let mut bench = bench().await;
    bench.spec.secret_env.insert(
        "TOKEN".to_owned(),
        Secret::new("hush-hush-value".to_owned()),
    );
    assert_eq!(bench.say("echo $TOKEN").await, "hush-hush-value\n");
    let id = only(&bench);
    let look = |format: &str| docker(&["inspect", "--format", format, &id]);
    // What was asked for, in Docker's words; Podman tells what came of it.
    let told: &[(&str, &str)] = match bench.world.driver.ping().await.unwrap().kind {
        Kind::Docker => &[
            ("{{json .HostConfig.CapDrop}}", r#"["ALL"]"#),
            ("{{json .HostConfig.CapAdd}}", "null"),
            (
                "{{json .HostConfig.SecurityOpt}}",
                r#"["no-new-privileges"]"#,
            ),
            ("{{.HostConfig.Init}}", "true"),
        ],
        Kind::Podman => &[
            ("{{json .HostConfig.CapAdd}}", "[]"),
            (
                "{{json .HostConfig.SecurityOpt}}",
                r#"["no-new-privileges"]"#,
            ),
        ],
    };
    let bounds = bench
        .say("grep -E '^(CapBnd|CapEff|CapPrm|NoNewPrivs)' /proc/self/status | tr -d '\\t\\n'")
        .await;
    assert_eq!(
        bounds,
        "CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1"
    );
    let bounds: &[(&str, &str)] = &[
        ("{{.HostConfig.PidsLimit}}", "256"),
        (
            "{{.HostConfig.Memory}} {{.HostConfig.MemorySwap}}",
            "2147483648 2147483648",
        ),
        ("{{.HostConfig.NanoCpus}}", "1000000000"),
    ];
    // Where the engine can't keep them, it says so in what the owner reads.
    let bounds = if bench.world.driver.ping().await.unwrap().bounded {
        bounds
    } else {
        let said = bench.port.describe().await.unwrap();
        assert!(said.contains("no bounds"), "{said}");
        &[]
    };
    for (format, expected) in told.iter().chain(bounds).copied().chain([
        ("{{.HostConfig.NetworkMode}}", "none"),
        ("{{.HostConfig.Privileged}}", "false"),
        ("{{.HostConfig.RestartPolicy.Name}}", "no"),
        ("{{index .Config.Labels \"tidings.profile\"}}", "work"),
        (
            "{{index .Config.Labels \"tidings.sandbox\"}}",
            "profile:work",
        ),
        ("{{index .Config.Labels \"tidings.lease\"}}", "1767229200"),
    ]) {
        assert_eq!(look(format), expected, "{format}");
    }
    let name = look("{{.Name}}");
    assert!(
        name.starts_with("/tidings.test-") && name.ends_with(".profile.work"),
        "{name}"
    );
    assert!(
        !docker(&["inspect", &id]).contains("hush"),
        "the secret stands on the container"
    );
    assert!(!docker(&["inspect", &id]).contains("docker.sock"));
}

#[tokio::test]
async fn two_profiles_in_turn_never_mix_mounts_environment_or_labels() {
    let bench = bench().await;
    let folder = |name: &str| {
        let host = bench.mounts.path().join(name);
        std::fs::create_dir(&host).unwrap();
        let mut spec = bench.world.spec();
        spec.mounts.push(sandbox::Mount {
            host: host.to_str().unwrap().to_owned(),
            at: path("/data"),
            mode: MountMode::Rw,
        });
        spec.env.insert("WHOSE".to_owned(), name.to_owned());
        spec
    };
    let (for_a, for_b) = (folder("of-a"), folder("of-b"));
    for round in 0..50 {
        for (profile, spec) in [("a", &for_a), ("b", &for_b)] {
            let command = exec(&format!(
                "echo {profile}{round} >> /data/log; grep -vc ^{profile} /data/log; cat /data/log; echo $WHOSE"
            ));
            let output = bench
                .port
                .exec(&bench.scope(profile), spec, command)
                .await
                .unwrap();
            let said = text(&output);
            assert!(
                said.starts_with(&format!("0\n{profile}0\n"))
                    && said.ends_with(&format!("of-{profile}\n")),
                "{said}"
            );
            assert_eq!(output.note, None);
        }
    }
    assert_eq!(bench.world.containers().len(), 2);
    for id in bench.world.containers() {
        let mounts = docker(&[
            "inspect",
            "--format",
            "{{range .Mounts}}{{.Source}} {{end}}{{index .Config.Labels \"tidings.profile\"}}",
            &id,
        ]);
        let (own, foreign) = if mounts.ends_with(" a") {
            ("of-a", "of-b")
        } else {
            ("of-b", "of-a")
        };
        assert!(
            mounts.contains(own) && !mounts.contains(foreign),
            "{mounts}"
        );
    }
}

#[tokio::test]
async fn a_command_that_eats_all_memory_is_told_so() {
    let mut bench = bench().await;
    if is_unbounded(&bench).await {
        return;
    }
    bench.spec.limits.memory = 64 << 20;
    let output = bench
        .run("head -c 300000000 /dev/zero | tail -c 299999999 | wc -c; exit 137")
        .await;
    assert_eq!(output.exit, Exit::OutOfMemory, "{}", text(&output));
    assert_eq!(bench.say("echo alive").await, "alive\n");
    let output = bench.run("exit 137").await;
    assert_eq!(
        output.exit,
        Exit::Code(137),
        "a later 137 is not blamed on memory"
    );
}

#[tokio::test]
async fn a_fork_bomb_ends_with_its_time() {
    let mut bench = bench().await;
    if is_unbounded(&bench).await {
        return;
    }
    bench.spec.limits.pids = 64;
    bench.say("true").await;
    let command = Exec {
        timeout: Duration::from_secs(3),
        ..exec("bomb() { bomb | bomb & bomb | bomb; }; bomb; sleep 1000")
    };
    let started = Instant::now();
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_ne!(output.exit, Exit::Code(0));
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
    // It may have needed the container's death; the next command finds it alive and alone.
    // On a busy machine the last of the bomb need a moment to be gone.
    loop {
        let output = bench.run("ls -d /proc/[0-9]* | wc -l").await;
        let left = text(&output);
        if left.trim().parse::<u32>().is_ok_and(|left| left < 10) {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{left}");
    }
}

#[tokio::test]
async fn an_image_that_cannot_be_had_is_named() {
    let mut bench = bench().await;
    bench.spec.image = "127.0.0.1:9/tidings-no-such-image:7".to_owned();
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::Image(_)), "{error:?}");
    assert!(
        error
            .to_string()
            .contains("127.0.0.1:9/tidings-no-such-image:7"),
        "{error}"
    );
    assert!(
        !bench
            .world
            .driver
            .has_image(&bench.spec.image)
            .await
            .unwrap()
    );
    assert!(
        bench
            .world
            .driver
            .has_image("tidings-test:1")
            .await
            .unwrap()
    );
    assert_eq!(bench.world.containers(), Vec::<String>::new());
}

#[tokio::test]
async fn a_mount_of_a_folder_that_is_not_there_is_refused_and_leaves_nothing() {
    let mut bench = bench().await;
    let gone = bench.mounts.path().join("not-there");
    bench.spec.mounts.push(sandbox::Mount {
        host: gone.to_str().unwrap().to_owned(),
        at: path("/gone"),
        mode: MountMode::Rw,
    });
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("not-there"), "{error}");
    assert!(!gone.exists(), "the engine made the folder");
    assert_eq!(bench.world.containers(), Vec::<String>::new());
}

/// A file system mounted on this machine, for as long as this lives.
struct Mounted(std::path::PathBuf);

impl Mounted {
    /// `None` where this user may not mount.
    fn at(place: std::path::PathBuf) -> Option<Self> {
        std::fs::create_dir(&place).unwrap();
        let said = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tidings-test"])
            .arg(&place)
            .output();
        said.is_ok_and(|said| said.status.success())
            .then_some(Self(place))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        std::process::Command::new("umount")
            .arg("--lazy")
            .arg(&self.0)
            .status()
            .unwrap();
    }
}

#[tokio::test]
async fn what_is_mounted_below_a_folder_that_is_only_shown_cannot_be_written() {
    let bench = bench().await;
    let mounted: Vec<_> = ["secrets", "shown", "shared"]
        .into_iter()
        .map_while(|name| Mounted::at(bench.mounts.path().join(name).join("below")))
        .collect();
    let root = mounted.len() == 3;
    if !root {
        println!("skipped in part: this user may not mount");
    }
    for Mounted(place) in &mounted {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o777)).unwrap();
        std::fs::write(place.join("old"), b"old").unwrap();
    }
    for name in ["secrets", "shown"] {
        let output = bench.run(&format!("echo x > /{name}/below/new")).await;
        assert_ne!(output.exit, Exit::Code(0), "{name}: {}", text(&output));
    }
    for Mounted(place) in mounted.iter().take(2) {
        assert!(!place.join("new").exists(), "{}", place.display());
    }
    if root {
        let seen = bench.say("cat /shared/below/old; ls /shown/below").await;
        assert_eq!(
            seen, "old",
            "all below a shared folder, nothing below a shown one"
        );
    }
    let format = "{{range .HostConfig.Mounts}}{{.Target}} {{json .BindOptions}}\n{{end}}";
    for line in docker(&["inspect", "--format", format, &only(&bench)]).lines() {
        let shown = ["/secrets ", "/shown ", "/inbox "]
            .iter()
            .any(|place| line.starts_with(place));
        assert_eq!(line.contains("\"NonRecursive\":true"), shown, "{line}");
    }
}

#[tokio::test]
async fn the_list_has_own_containers_and_only_they_can_be_removed() {
    let bench = bench().await;
    let other = World::build().await;
    bench.say_as("p", "true").await;
    bench.say_as("q", "true").await;
    let rows = bench.world.driver.list().await.unwrap();
    let seen: Vec<(String, bool)> = rows
        .iter()
        .map(|row| (row.sandbox.as_ref().unwrap().to_string(), row.running))
        .collect();
    assert_eq!(
        seen,
        [
            ("profile:p".to_owned(), true),
            ("profile:q".to_owned(), true)
        ]
    );
    assert_eq!(rows[0].profile.as_ref().unwrap().as_str(), "p");
    let error = other.driver.remove(&rows[0].id).await.unwrap_err();
    assert!(error.to_string().contains("left alone"), "{error}");
    assert_eq!(other.driver.list().await.unwrap(), []);
    bench.world.driver.remove(&rows[0].id).await.unwrap();
    bench.world.driver.remove(&rows[0].id).await.unwrap();
    assert_eq!(bench.world.driver.list().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_foreign_container_of_the_same_name_is_left_alone() {
    let bench = bench().await;
    bench.say("true").await;
    let id = only(&bench);
    let name = docker(&["inspect", "--format", "{{.Name}}", &id]);
    docker(&["rm", "--force", &id]);
    let foreign = docker(&[
        "create",
        "--name",
        name.trim_start_matches('/'),
        "tidings-test:1",
        "true",
    ]);
    let error = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await;
    let still = docker(&["inspect", "--format", "{{.Id}}", &foreign]);
    docker(&["rm", "--force", &foreign]);
    error.unwrap_err();
    assert_eq!(still, foreign);
}

#[tokio::test]
async fn a_dropped_command_is_dead_once_the_driver_has_settled() {
    let bench = bench().await;
    bench.say("true").await;
    let scope = bench.scope("work");
    let running = bench
        .port
        .exec(&scope, &bench.spec, exec("touch begun; sleep 1000"));
    tokio::select! {
        output = running => panic!("{output:?}"),
        () = bench.until_written_at_all("/workspace/begun") => {}
    }
    bench.world.driver.settle().await;
    let lines = bench
        .say("cat /proc/*/cmdline 2>/dev/null | tr '\\000' ' '; true")
        .await;
    assert!(!lines.contains("sleep 1000 "), "{lines}");
}

#[tokio::test]
async fn a_network_is_given_only_where_the_owner_says_so() {
    let mut bench = bench().await;
    bench.spec.network = Network::Bridge;
    let seen = bench.say("cat /proc/net/dev").await;
    let networked = ["eth0", "tap0"].iter().find(|name| seen.contains(**name));
    let networked = networked.unwrap_or_else(|| panic!("{seen}"));
    bench.spec.network = Network::None;
    let seen = bench.say("cat /proc/net/dev").await;
    assert!(
        !seen.contains(networked),
        "the networked container was kept: {seen}"
    );
}

#[tokio::test]
async fn the_engine_says_who_it_is() {
    let world = World::build().await;
    let engine = DockerSandbox::new(world.options()).ping().await.unwrap();
    assert!(!engine.version.is_empty() && engine.cpus >= 1);
    assert!(
        engine.socket.ends_with(&crate::world::socket()),
        "{}",
        engine.socket
    );
    let api: Vec<u32> = engine
        .api
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    assert!(api[0] == 1 && api[1] >= 41, "{}", engine.api);
}

#[tokio::test]
async fn a_child_without_the_mark_dies_with_its_parents() {
    let bench = bench().await;
    bench.say("true").await;
    let beat = "while :; do echo beat >> /workspace/beat; sleep 0.1; done";
    let command = Exec {
        timeout: Duration::from_secs(2),
        ..exec(&format!(
            "sh -c \"env -i setsid sh -c '{beat}' >/dev/null 2>&1 & sleep 999\"; true"
        ))
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, command)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::TimedOut);
    bench.until_written("/workspace/beat").await;
    bench.until_still("/workspace/beat").await;
}

#[tokio::test]
async fn commands_run_as_whoever_owns_the_folders() {
    let bench = bench().await;
    let folders = bench.world.options().folders;
    let key = bench.scope("work").sandbox().clone();
    let layout = folders.ensure(&key).await.unwrap();
    for folder in [&layout.workspace, &layout.home, &layout.inbox] {
        if let Err(error) = std::os::unix::fs::chown(folder.as_path(), Some(1234), Some(1235)) {
            println!("skipped: this user may not give folders away ({error})");
            return;
        }
    }
    std::fs::set_permissions(
        bench.mounts.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    assert_eq!(
        bench.say("id -u; id -g; echo $HOME").await,
        "1234\n1235\n/root\n"
    );
    bench
        .say("echo mine > /workspace/a; echo mine > ~/b; echo mine > /tmp/c")
        .await;
    for name in ["a", "~/b", "/tmp/c"] {
        assert_eq!(bench.captured(name).await, b"mine\n".as_slice());
    }
    bench.stage("given.txt", b"given").await;
    assert_eq!(bench.say("cat /inbox/given.txt").await, "given");
    let output = bench.run("rm -f /inbox/given.txt; touch /etc/new").await;
    assert_ne!(output.exit, Exit::Code(0));
}

#[tokio::test]
async fn a_command_out_of_time_does_not_cost_the_container() {
    let bench = bench().await;
    bench.say("echo kept > /tmp/kept").await;
    for command in [
        "sleep 1000",
        "sleep 1000 & sleep 1001 | cat",
        "trap '' TERM INT HUP; while :; do :; done",
    ] {
        let command = Exec {
            timeout: Duration::from_millis(500),
            ..exec(command)
        };
        let output = bench
            .port
            .exec(&bench.scope("work"), &bench.spec, command)
            .await
            .unwrap();
        assert_eq!(output.exit, Exit::TimedOut);
    }
    let output = bench.run("cat /tmp/kept").await;
    assert_eq!((text(&output).as_str(), output.note), ("kept\n", None));
}

#[tokio::test]
async fn a_container_that_was_made_and_never_started_is_no_hindrance() {
    let bench = bench().await;
    bench.say("true").await;
    let id = only(&bench);
    let name = docker(&["inspect", "--format", "{{.Name}}", &id]);
    let labels: Vec<String> = ["install", "profile", "sandbox", "spec"]
        .iter()
        .map(|label| {
            let format = format!("{{{{index .Config.Labels \"tidings.{label}\"}}}}");
            format!(
                "--label=tidings.{label}={}",
                docker(&["inspect", "--format", &format, &id])
            )
        })
        .collect();
    docker(&["rm", "--force", &id]);
    let mut create = vec![
        "create",
        "--network=none",
        "--name",
        name.trim_start_matches('/'),
    ];
    create.extend(labels.iter().map(String::as_str));
    create.extend(["tidings-test:1", "true"]);
    docker(&create);
    assert_eq!(bench.say("pwd").await, "/workspace\n");
    only(&bench);
}

#[tokio::test]
async fn a_container_whose_folders_were_moved_away_is_not_used() {
    let mut bench = bench().await;
    bench.say("echo old > note").await;
    let old = only(&bench);
    let folders = bench.world.options().folders;
    let key = bench.scope("work").sandbox().clone();
    let workspace = folders.layout(&key).workspace;
    let whole = workspace.as_path().parent().unwrap().to_owned();
    std::fs::rename(&whole, whole.with_file_name("moved-away")).unwrap();
    folders.ensure(&key).await.unwrap();
    std::fs::write(workspace.as_path().join("note"), "new\n").unwrap();
    bench.port = bench.world.restarted();
    let output = bench.run("cat note").await;
    assert_eq!(text(&output), "new\n");
    assert!(output.note.is_some());
    assert_ne!(only(&bench), old);
}
