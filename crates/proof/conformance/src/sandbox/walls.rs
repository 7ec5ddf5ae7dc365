//! Walls: between tenants, to the network, to the host.

use sandbox::{Exec, Exit, Placement, Refusal};

use super::bench::{Bench, Promise, SandboxWorld, exec, path};

/// The bug that this product starts from.
pub async fn two_profiles_same_path_sends_the_producers_bytes<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say_as(
            "p",
            "printf bytes-of-p > /workspace/out.png; printf tmp-of-p > /tmp/out.png",
        )
        .await;
    bench
        .say_as(
            "q",
            "printf bytes-of-q > /workspace/out.png; printf tmp-of-q > /tmp/out.png",
        )
        .await;
    for profile in ["p", "q"] {
        for (at, expected) in [("/workspace/out.png", "bytes"), ("/tmp/out.png", "tmp")] {
            let artifact = bench.capture_as(profile, at, 100).await.unwrap();
            assert_eq!(
                bench.bytes(&artifact),
                format!("{expected}-of-{profile}").as_bytes()
            );
        }
    }
    bench.say_as("q", "rm /workspace/out.png").await;
    let refusal = bench
        .capture_as("q", "/workspace/out.png", 100)
        .await
        .unwrap_err();
    assert!(matches!(refusal, Refusal::Missing { .. }), "{refusal:?}");
}

/// Nothing of one tenant is visible to another.
pub async fn one_profile_never_sees_the_others_files<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say_as(
            "p",
            "echo p > /workspace/only-p; echo p > ~/only-p; echo p > /tmp/only-p",
        )
        .await;
    let seen = bench
        .say_as(
            "q",
            "ls -A /workspace ~ /tmp; find / -name only-p -not -path '/proc/*' 2>/dev/null; true",
        )
        .await;
    assert!(!seen.contains("only-p"), "{seen}");
    let listed = bench
        .port
        .list(&bench.scope("q"), &bench.spec, &path("/workspace"), 10)
        .await
        .unwrap();
    assert_eq!(listed, (Vec::new(), 0));
    bench
        .port
        .read(&bench.scope("q"), &bench.spec, &path("only-p"), 0, 10)
        .await
        .unwrap_err();
}

/// The key decides, and nothing else.
pub async fn two_sessions_of_a_profile_get_a_sandbox_each_when_asked<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let one = bench.placed("work", "one", Placement::PerSession);
    let two = bench.placed("work", "two", Placement::PerSession);
    let write = |text: &str| exec(&format!("echo {text} > who; cat who"));
    bench
        .port
        .exec(&one, &bench.spec, write("one"))
        .await
        .unwrap();
    bench
        .port
        .exec(&two, &bench.spec, write("two"))
        .await
        .unwrap();
    let read = bench
        .port
        .exec(&one, &bench.spec, exec("cat who"))
        .await
        .unwrap();
    assert_eq!(read.bytes, b"one\n");
    let again = bench.placed("work", "two", Placement::PerSession);
    let read = bench
        .port
        .exec(&again, &bench.spec, exec("cat who"))
        .await
        .unwrap();
    assert_eq!(
        read.bytes, b"two\n",
        "the next turn finds its sandbox again"
    );
}

/// No interface but the loop, and nobody answers.
pub async fn there_is_no_network<W: SandboxWorld>(bench: Bench<W>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let interfaces = bench.say("cut -d: -f1 -s /proc/net/dev | tr -d ' '").await;
    let others: Vec<&str> = interfaces
        .lines()
        .filter(|line| !line.contains('|') && *line != "lo")
        // The kernel gives these idle tunnel ends to every new network namespace.
        .filter(|name| {
            ![
                "tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0",
                "ip6gre0",
            ]
            .contains(name)
        })
        .collect();
    assert!(others.is_empty(), "{interfaces}");
    let routes = bench.say("tail -n +2 /proc/net/route").await;
    assert_eq!(routes.trim(), "", "no route leads anywhere");
    bench.say("command -v bash").await;
    for host in ["127.0.0.1", "169.254.169.254", "1.1.1.1"] {
        let command = Exec {
            timeout: std::time::Duration::from_secs(10),
            ..exec(&format!(
                "bash -c 'exec 3<>/dev/tcp/{host}/{port}' 2>/dev/null"
            ))
        };
        let output = bench
            .port
            .exec(&bench.scope("work"), &bench.spec, command)
            .await
            .unwrap();
        assert!(
            matches!(output.exit, Exit::Code(code) if code != 0),
            "{host}: {output:?}"
        );
    }
}

/// A path of the host means nothing inside.
pub async fn the_gateways_home_cannot_be_reached<W: SandboxWorld>(bench: Bench<W>) {
    let database = bench.world.home().join("tidings.db");
    std::fs::write(&database, b"the gateway's own database").unwrap();
    let text = database.to_str().unwrap();
    bench.say("true").await;
    let output = bench.run(&format!("cat '{text}'")).await;
    assert_ne!(output.exit, Exit::Code(0));
    assert!(!String::from_utf8_lossy(&output.bytes).contains("own database"));
    bench
        .capture(text)
        .await
        .expect_err("a path of the host was captured");
    bench.say(&format!("ln -s '{text}' innocent.png")).await;
    bench
        .capture("innocent.png")
        .await
        .expect_err("a link to the host was followed on the host");
    let up = format!("/workspace/../../../../../../..{text}");
    bench
        .capture(&up)
        .await
        .expect_err("dots led out of the sandbox");
    let refusal = bench.capture("/etc/passwd").await.unwrap_err();
    assert!(matches!(refusal, Refusal::Forbidden { .. }), "{refusal:?}");
}

/// Read only means so; writable means so.
pub async fn the_owners_folder_is_shown_as_he_said<W: SandboxWorld>(bench: Bench<W>) {
    if !bench.keeps(Promise::Mounts) {
        return;
    }
    assert_eq!(bench.say("cat /shown/notes.txt").await, "notes");
    assert_ne!(bench.run("echo x > /shown/new").await.exit, Exit::Code(0));
    assert_ne!(
        bench.run("rm -f /shown/notes.txt").await.exit,
        Exit::Code(0)
    );
    bench.say("echo made > /shared/report.txt").await;
    assert_eq!(
        std::fs::read(bench.mounts.path().join("shared/report.txt")).unwrap(),
        b"made\n"
    );
    assert_eq!(
        bench.captured("/shared/report.txt").await,
        b"made\n".as_slice()
    );
    assert_eq!(
        bench.captured("/shown/notes.txt").await,
        b"notes".as_slice()
    );
}

/// The bits that kernels keep for it are set.
pub async fn a_command_cannot_gain_privileges<W: SandboxWorld>(bench: Bench<W>) {
    let status = bench.say("cat /proc/self/status").await;
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map(|value| value.trim().to_owned())
            .unwrap_or_default()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(
        field("CapEff:").trim_start_matches('0'),
        "",
        "no capability is in force"
    );
    if bench.keeps(Promise::SystemCalls) {
        assert_eq!(field("Seccomp:"), "2", "system calls are filtered");
    }
    for forbidden in [
        "mount -t tmpfs none /mnt",
        "chroot /",
        "mknod /workspace/disk b 8 0",
    ] {
        assert_ne!(
            bench.run(forbidden).await.exit,
            Exit::Code(0),
            "{forbidden}"
        );
    }
}

/// One sentence, for people.
pub async fn the_driver_describes_its_walls<W: SandboxWorld>(bench: Bench<W>) {
    let sentence = bench.port.describe().await.unwrap();
    assert!(
        !sentence.is_empty() && !sentence.contains('\n'),
        "{sentence:?}"
    );
}
