//! Captures: what comes out, and what never does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sandbox::{ContentHash, Exec, Exit, Refusal, Taken, WriteMode};

use super::bench::{Bench, PATIENCE, Promise, SECRET, SandboxWorld, exec, path};

/// The plain case, and where it says it was taken.
pub async fn a_file_of_the_workspace_is_captured_byte_for_byte<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("mkdir -p out; printf 'a\\000b\\377\\n\\n' > 'out/my chart.png'")
        .await;
    let scope = bench.scope("work");
    let asked = path("out/my chart.png");
    let artifact = bench
        .port
        .capture(&scope, &bench.spec, &asked, 100, &bench.blobs)
        .await
        .unwrap();
    assert_eq!(bench.bytes(&artifact), b"a\0b\xff\n\n".as_slice());
    assert_eq!(artifact.name, "my chart.png");
    assert_eq!(artifact.blob.size, 6);
    assert_eq!(
        artifact.taken,
        Taken::Captured {
            sandbox: scope.sandbox().clone(),
            path: asked,
            turn: scope.turn()
        }
    );
    for odd in [
        "-rf",
        "q'uo\"te$(id)`id`;&|.txt",
        "Grüße 报告.txt",
        "back\\slash",
    ] {
        bench
            .port
            .write(
                &scope,
                &bench.spec,
                &path(odd),
                odd.as_bytes(),
                WriteMode::Replace,
            )
            .await
            .unwrap();
        assert_eq!(bench.captured(odd).await, odd.as_bytes(), "{odd}");
    }
}

/// A hash over the same bytes, inside and outside.
pub async fn five_megabytes_of_noise_keep_their_hash<W: SandboxWorld>(bench: Bench<W>) {
    let mut noise = Vec::with_capacity(5 << 20);
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    while noise.len() < 5 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise.extend_from_slice(&state.to_le_bytes());
    }
    let scope = bench.scope("work");
    bench
        .port
        .write(
            &scope,
            &bench.spec,
            &path("noise.bin"),
            &noise,
            WriteMode::Replace,
        )
        .await
        .unwrap();
    let artifact = bench.capture("noise.bin").await.unwrap();
    assert_eq!(artifact.blob.size, 5 << 20);
    assert!(bench.bytes(&artifact) == noise, "other bytes came out");
}

/// A tmpfs is no obstacle.
pub async fn a_file_of_tmp_is_captured<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("echo tmp > /tmp/chart.txt").await;
    assert_eq!(bench.captured("/tmp/chart.txt").await, b"tmp\n".as_slice());
    assert_eq!(
        bench.captured("file:///tmp/chart.txt").await,
        b"tmp\n".as_slice()
    );
}

/// `~` is the sandbox's home and never the gateway's.
pub async fn a_file_of_the_home_is_captured<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("echo home > ~/chart.txt").await;
    assert_eq!(bench.captured("~/chart.txt").await, b"home\n".as_slice());
    assert_eq!(
        bench.captured("/root/chart.txt").await,
        b"home\n".as_slice()
    );
}

/// Nothing is something.
pub async fn an_empty_file_is_captured<W: SandboxWorld>(bench: Bench<W>) {
    bench.say(": > empty.txt").await;
    let artifact = bench.capture("empty.txt").await.unwrap();
    assert_eq!(artifact.blob.size, 0);
}

/// The limit is a limit.
pub async fn a_file_at_the_limit_is_captured_and_one_byte_more_is_refused<W: SandboxWorld>(
    bench: Bench<W>,
) {
    bench
        .say("head -c 100000 /dev/zero > exact; head -c 100001 /dev/zero > more")
        .await;
    let artifact = bench.capture_as("work", "exact", 100_000).await.unwrap();
    assert_eq!(artifact.blob.size, 100_000);
    let refusal = bench.capture_as("work", "more", 100_000).await.unwrap_err();
    assert_eq!(
        refusal,
        Refusal::TooLarge {
            path: path("more"),
            limit: 100_000
        }
    );
}

/// Refused by its size, not by reading it.
pub async fn a_sparse_terabyte_is_refused_at_once<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("dd if=/dev/zero of=sparse bs=1 count=0 seek=1099511627776 2>&1")
        .await;
    let started = Instant::now();
    let refusal = bench.capture("sparse").await.unwrap_err();
    assert!(matches!(refusal, Refusal::TooLarge { .. }), "{refusal}");
    assert!(
        started.elapsed() < Duration::from_secs(5),
        "took {:?}",
        started.elapsed()
    );
}

/// What grows while it is copied is refused, or what was there is sent; never more than the limit.
pub async fn a_growing_file_never_runs_over_the_limit<W: SandboxWorld>(bench: Bench<W>) {
    let limit = 300_000;
    let scope = bench.scope("work");
    let growing = bench.port.exec(
        &scope,
        &bench.spec,
        exec("while :; do head -c 20000 /dev/zero >> growing; sleep 0.02; done"),
    );
    let captures = async {
        bench.until_written("/workspace/growing").await;
        let mut outgrown = false;
        let deadline = Instant::now() + PATIENCE;
        while !outgrown {
            assert!(
                Instant::now() < deadline,
                "the file never outgrew its limit"
            );
            match bench.capture_as("work", "growing", limit).await {
                Ok(artifact) => {
                    assert!(artifact.blob.size <= limit);
                    assert_eq!(bench.bytes(&artifact).len() as u64, artifact.blob.size);
                }
                Err(Refusal::TooLarge { .. }) => outgrown = true,
                Err(Refusal::Unstable { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    };
    tokio::select! {
        output = growing => panic!("ended: {output:?}"),
        () = captures => {}
    }
}

/// So that the model can correct itself in the same turn.
pub async fn a_missing_file_names_what_lies_beside_it<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("mkdir out; cd out; touch chart.png zebra.txt a b c d e f g h; mkdir folder; ln -s nowhere dangling.png")
        .await;
    let refusal = bench.capture("out/chart.jpg").await.unwrap_err();
    let Refusal::Missing { path: asked, near } = &refusal else {
        panic!("{refusal:?}")
    };
    assert_eq!(asked, &path("out/chart.jpg"));
    assert_eq!(
        near.first().map(String::as_str),
        Some("chart.png"),
        "the likeliest first: {near:?}"
    );
    assert!(
        near.len() <= 5 && !near.iter().any(|name| name == "folder"),
        "{near:?}"
    );
    let refusal = bench.capture("out/dangling.png").await.unwrap_err();
    assert!(matches!(refusal, Refusal::Missing { .. }), "{refusal:?}");
    for nowhere in ["no/such/folder/x.png", "out/chart.png/x", "/nothing"] {
        let refusal = bench.capture(nowhere).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::Missing { .. }),
            "{nowhere}: {refusal:?}"
        );
    }
}

/// A folder is refused by its kind.
pub async fn a_folder_is_not_a_file<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("mkdir folder; ln -s folder link").await;
    for name in ["folder", "folder/", "link", "/workspace", "/"] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(
                refusal,
                Refusal::NotAFile {
                    kind: "directory",
                    ..
                }
            ),
            "{name}: {refusal:?}"
        );
    }
}

/// Neither a FIFO nor a link to one holds anybody up.
pub async fn a_fifo_is_refused_and_nobody_waits<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("mkfifo pipe; ln -s pipe link").await;
    for name in ["pipe", "link"] {
        let started = Instant::now();
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::NotAFile { kind: "fifo", .. }),
            "{refusal:?}"
        );
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

/// A device is refused as one or as a forbidden place.
pub async fn a_device_is_refused<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("ln -s /dev/zero zero; ln -s /dev/urandom noise")
        .await;
    for name in ["/dev/zero", "/dev/null", "zero", "noise"] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(
                refusal,
                Refusal::Forbidden { .. } | Refusal::NotAFile { kind: "device", .. }
            ),
            "{name}: {refusal:?}"
        );
    }
}

/// A link inside is the sandbox's own affair.
pub async fn a_link_to_the_sandboxs_own_file_is_followed<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("echo real > /tmp/real.txt; ln -s /tmp/real.txt shortcut.txt; ln -s shortcut.txt again.txt")
        .await;
    let artifact = bench.capture("again.txt").await.unwrap();
    assert_eq!(bench.bytes(&artifact), b"real\n".as_slice());
    assert_eq!(artifact.name, "again.txt");
    bench.say("ln -s loop loop").await;
    let refusal = bench.capture("loop").await.unwrap_err();
    assert!(
        matches!(refusal, Refusal::Missing { .. } | Refusal::Unstable { .. }),
        "{refusal:?}"
    );
}

/// `..` after a link is not collapsed by text.
pub async fn a_link_followed_by_dots_means_what_the_kernel_means<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("mkdir -p sub /tmp/other/deep; echo here > file; echo there > /tmp/other/file; ln -s /tmp/other/deep sub/away")
        .await;
    assert_eq!(
        bench.captured("sub/away/../file").await,
        b"there\n".as_slice()
    );
    if !bench.keeps(Promise::Mounts) {
        return;
    }
    bench.say("ln -s /secrets sub/vault; mkdir -p sub/x").await;
    let refusal = bench.capture("sub/x/../vault/key").await.unwrap_err();
    assert!(matches!(refusal, Refusal::Forbidden { .. }), "{refusal:?}");
}

/// What systems keep for themselves is never sent.
pub async fn system_places_are_refused_by_name_and_through_links<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("ln -s /proc/self/environ environ; ln -s /etc/passwd passwd; ln -s /proc self; ln -s /proc/version dotted")
        .await;
    for name in [
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/version",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/../etc/passwd",
        "//proc/version",
        "/workspace/../proc/version",
        "/sys/kernel/uevent_seqnum",
        "/etc/passwd",
        "/etc/shadow",
        "file:///etc/passwd",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
        "environ",
        "passwd",
        "self/version",
        "self/self/environ",
        "dotted",
    ] {
        let refusal = bench.capture(name).await.unwrap_err();
        // Not every sandbox has every one of them; but then there is nothing to send.
        assert!(
            matches!(
                refusal,
                Refusal::Forbidden { .. } | Refusal::Missing { .. } | Refusal::Unreadable { .. }
            ),
            "{name}: {refusal:?}"
        );
    }
    for name in ["/proc/self/environ", "/etc/passwd", "environ", "dotted"] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::Forbidden { .. }),
            "{name}: {refusal:?}"
        );
    }
}

/// Nor what opens other people's doors.
pub async fn credential_files_of_the_home_are_refused<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("cd ~; mkdir -p .ssh .aws .gnupg .config/gcloud; for f in .netrc .git-credentials .pgpass .npmrc .pypirc .ssh/id_rsa .aws/credentials .gnupg/key .config/gcloud/adc.json; do echo key > $f; done; ln -s ~/.ssh/id_rsa /workspace/pic.png; ln -s ~/.aws /workspace/cloud; echo ok > ~/.bashrc")
        .await;
    for name in [
        "~/.netrc",
        "~/.git-credentials",
        "~/.pgpass",
        "~/.npmrc",
        "~/.pypirc",
        "~/.ssh/id_rsa",
        "~/.aws/credentials",
        "~/.gnupg/key",
        "~/.config/gcloud/adc.json",
        "pic.png",
        "cloud/credentials",
    ] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::Forbidden { .. }),
            "{name}: {refusal:?}"
        );
    }
    assert_eq!(bench.captured("~/.bashrc").await, b"ok\n".as_slice());
}

/// The owner's secrets may be used, not sent.
pub async fn a_secret_mount_is_refused_by_name_and_through_links<W: SandboxWorld>(bench: Bench<W>) {
    if !bench.keeps(Promise::Mounts) {
        return;
    }
    assert_eq!(bench.say("cat /secrets/key").await.as_bytes(), SECRET);
    bench
        .say("ln -s /secrets/key pic.png; ln -s /secrets vault; ln -s vault/key twice")
        .await;
    for name in [
        "/secrets/key",
        "/secrets/../secrets/key",
        "pic.png",
        "vault/key",
        "twice",
    ] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert!(
            matches!(refusal, Refusal::Forbidden { .. }),
            "{name}: {refusal:?}"
        );
    }
    nothing_secret(&bench);
    assert_ne!(
        bench.run("echo x > /secrets/new").await.exit,
        Exit::Code(0),
        "a secret mount is read only"
    );
}

/// A file with two names may be somebody else's.
pub async fn a_hard_link_is_refused<W: SandboxWorld>(bench: Bench<W>) {
    bench
        .say("echo token > token.json; ln token.json pic.png")
        .await;
    let refusal = bench.capture("pic.png").await.unwrap_err();
    assert_eq!(
        refusal,
        Refusal::HardLink {
            path: path("pic.png")
        }
    );
}

/// The sandbox's user may not read it, so it is not sent.
pub async fn a_file_without_read_permission_is_refused<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("echo x > closed; chmod 000 closed").await;
    let refusal = bench.capture("closed").await.unwrap_err();
    assert_eq!(
        refusal,
        Refusal::Unreadable {
            path: path("closed")
        }
    );
}

/// The opened file is checked, and not its name: 10,000 renames of an honest file and a link to the secret, and as many captures
/// as there is time for.
pub async fn a_file_swapped_in_a_loop_never_yields_the_secret<W: SandboxWorld>(bench: Bench<W>) {
    let scope = bench.scope("work");
    let renaming = Exec {
        timeout: 5 * PATIENCE,
        ..exec(
            "printf good > swap; ln -s /secrets/key link; rounds=0; while [ $rounds -lt 2500 ]; do rounds=$((rounds + 1)); \
             mv swap file; mv link swap; mv swap link; mv file swap; done",
        )
    };
    let renamed = AtomicBool::new(false);
    let renames = async {
        let output = bench
            .port
            .exec(&scope, &bench.spec, renaming)
            .await
            .unwrap();
        renamed.store(true, Ordering::SeqCst);
        assert_eq!(output.exit, Exit::Code(0), "{output:?}");
    };
    let captures = async {
        bench.until_written("/workspace/swap").await;
        while !renamed.load(Ordering::SeqCst) {
            match bench.capture("swap").await {
                Ok(artifact) => assert_eq!(bench.bytes(&artifact), b"good".as_slice()),
                Err(Refusal::Forbidden { .. } | Refusal::Unstable { .. }) => {}
                // Between two names there is none for a moment.
                Err(Refusal::Missing { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    tokio::join!(renames, captures);
    nothing_secret(&bench);
}

fn nothing_secret<W: SandboxWorld>(bench: &Bench<W>) {
    let scope = bench.scope("work");
    let hash = ContentHash::new(*blake3::hash(SECRET).as_bytes());
    assert!(
        bench.blobs.get(scope.profile(), &hash).is_none(),
        "the secret lies in the artifact store"
    );
}
