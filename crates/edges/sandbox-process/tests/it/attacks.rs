//! What a command tries that was told to get out.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{exec, path};
use sandbox::{Exit, Network, Refusal, SandboxSpec, WriteMode};

use crate::world::{World, has_python};

type Here = Bench<World>;

/// Runs a command and wants it to fail.
async fn fails(bench: &Here, command: &str) -> String {
    let output = bench.run(command).await;
    let text = String::from_utf8_lossy(&output.bytes).into_owned();
    assert_ne!(output.exit, Exit::Code(0), "{command:?} worked: {text}");
    text
}

#[tokio::test]
async fn the_gateways_own_process_and_its_environment_are_not_to_be_found() {
    let bench = Here::build().await;
    let mut marked = tokio::process::Command::new("sleep")
        .arg("1000")
        .env("MARK", "a-process-of-the-machine")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let seen = bench
        .say("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; ls -d /proc/[0-9]* | wc -l")
        .await;
    assert!(
        !seen.contains("a-process-of-the-machine") && !seen.contains("CARGO"),
        "{seen}"
    );
    let count: u32 = seen.lines().last().unwrap().trim().parse().unwrap();
    assert!(count < 10, "{seen}");
    fails(&bench, &format!("kill -0 {}", std::process::id())).await;
    fails(&bench, &format!("kill -9 {}", marked.id().unwrap())).await;
    assert!(marked.try_wait().unwrap().is_none());
}

#[tokio::test]
async fn the_launchers_plan_and_pipes_are_closed_to_the_command() {
    let bench = Here::build().await;
    for command in [
        "cat /proc/1/environ",
        "cat /proc/1/mem",
        "cat /proc/1/fd/0",
        "ls -l /proc/1/fd/ | grep -q -- '->'",
        "echo '{\"Ended\":{\"code\":77,\"left_running\":false}}' > /proc/1/fd/2",
        "kill -STOP 1; kill -9 1; exit 1",
    ] {
        fails(&bench, command).await;
    }
    assert_eq!(
        bench.say("ls /proc/self/fd | wc -l").await.trim(),
        "4",
        "nothing but its own streams is open"
    );
}

#[tokio::test]
async fn no_second_sandbox_mount_or_debugger_can_be_made_inside() {
    let bench = Here::build().await;
    for command in [
        "unshare -U true",
        "unshare -m true",
        "unshare -Ur mount -t tmpfs none /tmp",
        "unshare -n true",
        "mount -o remount,rw /",
        "mount -o remount,rw /usr",
        "mount --bind /tmp /usr",
        "umount /proc/sys",
        "umount /inbox",
        "nsenter -t 1 -m true",
        "chroot /workspace /bin/true",
        "mknod /tmp/disk b 254 0",
        "hostname other",
        "date -s 2001-01-01",
    ] {
        fails(&bench, command).await;
    }
}

#[tokio::test]
async fn dangerous_system_calls_are_refused_under_every_number() {
    let bench = Here::build().await;
    // ptrace, bpf, perf_event_open, keyctl, io_uring_setup, userfaultfd, mount, unshare, clone with a new user namespace.
    let script = r#"
import ctypes, errno, sys
call = ctypes.CDLL(None, use_errno=True).syscall
bad = []
def refused(name, number, *arguments, want=(errno.EPERM,)):
    for bit in (0, 0x40000000):
        ctypes.set_errno(0)
        answer = call(ctypes.c_long(number | bit), *[ctypes.c_long(a) for a in arguments])
        code = ctypes.get_errno()
        if answer != -1 or code not in want:
            bad.append((name, bit, answer, errno.errorcode.get(code)))
refused('ptrace', 101, 0, 0, 0, 0)
refused('bpf', 321, 0, 0, 0)
refused('perf_event_open', 298, 0, 0, -1, -1, 0)
refused('keyctl', 250, 0, 0)
refused('io_uring_setup', 425, 1, 0)
refused('userfaultfd', 323, 0)
refused('mount', 165, 0, 0, 0, 0, 0)
refused('unshare', 272, 0x10000000)
refused('setns', 308, 0, 0)
refused('clone', 56, 0x10000000 | 17, 0, 0, 0, 0)
refused('clone3', 435, 0, 0, want=(errno.ENOSYS,))
refused('socket vsock', 41, 40, 1, 0)
refused('ioctl TIOCSTI', 16, 0, 0x5412, 0)
import os
def set_id(name, act):
    try:
        act()
        bad.append(name)
    except PermissionError:
        pass
open('plain', 'w').close()
set_id('chmod', lambda: os.chmod('plain', 0o4755))
set_id('fchmod', lambda: os.fchmod(os.open('plain', os.O_RDONLY), 0o2755))
set_id('open', lambda: os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755))
set_id('mknod', lambda: os.mknod('made', 0o104755))
os.chmod('plain', 0o1755)
os.open('fine', os.O_CREAT | os.O_WRONLY, 0o755)
refused('fchmodat2', 452, 0, 0, 0o4755, 0)
refused('openat2', 437, 0, 0, 0, 0, want=(errno.ENOSYS,))
print(bad)
"#;
    if !cfg!(target_arch = "x86_64") || !has_python() {
        return;
    }
    bench
        .port
        .write(
            &bench.scope("work"),
            &bench.spec,
            &path("attack.py"),
            script.as_bytes(),
            WriteMode::Replace,
        )
        .await
        .unwrap();
    assert_eq!(bench.say("/usr/bin/python3 attack.py").await.trim(), "[]");
}

#[tokio::test]
async fn the_machines_switches_and_programs_cannot_be_written() {
    let bench = Here::build().await;
    for place in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/user/max_user_namespaces",
        "/usr/bin/evil",
        "/bin/sh",
        "/etc/passwd",
        "/etc/ld.so.preload",
        "/new",
        "/dev/new",
        "/run/new",
        "/inbox/new",
    ] {
        fails(&bench, &format!("echo x > {place}")).await;
    }
    for place in ["/proc/kcore", "/proc/kmsg", "/proc/keys"] {
        assert_eq!(
            bench
                .say(&format!("head -c 10 {place} 2>/dev/null; true"))
                .await,
            "",
            "{place}"
        );
    }
    fails(&bench, "test -e /sys/kernel").await;
    fails(&bench, "ls /var/lib").await;
    fails(&bench, "ls /etc/shadow /etc/ssh /home").await;
}

/// This machine's devices as they were before a test, and again after it: other programs need them.
struct Devices([(String, std::fs::Metadata); 6]);

impl Devices {
    fn look() -> Self {
        Self(
            ["null", "zero", "full", "random", "urandom", "tty"].map(|name| {
                let path = format!("/dev/{name}");
                let found = std::fs::metadata(&path).unwrap();
                (path, found)
            }),
        )
    }

    fn told(&self) -> Vec<(u32, u32, u32, i64)> {
        self.0
            .iter()
            .map(|(path, found)| {
                // Whoever writes on a terminal gives this file a new time.
                let time = if path.ends_with("tty") {
                    0
                } else {
                    found.mtime()
                };
                (found.mode(), found.uid(), found.gid(), time)
            })
            .collect()
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        for (path, before) in &self.0 {
            let now = std::fs::metadata(path).unwrap();
            if now.mode() != before.mode() {
                std::fs::set_permissions(path, before.permissions()).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_device_of_the_machine_works_and_its_file_stays_as_it_is() {
    let bench = Here::build().await;
    let before = Devices::look();
    for command in ["chmod 1666 /dev/full", "touch -d 2001-01-01 /dev/full"] {
        let said = fails(&bench, command).await;
        assert!(
            said.contains("Read-only") || said.contains("not permitted"),
            "{said}"
        );
    }
    let said = bench
        .say(
            "for name in dev/null dev/zero dev/full dev/random dev/urandom dev/tty proc/kcore proc/keys; do
                 test -c /$name && chmod 1666 /$name 2>/dev/null && echo $name; done;
             for name in null zero random urandom; do echo x > /dev/$name || echo $name; done;
             echo x > /dev/full 2>/dev/null && echo full;
             head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; wc -c < /dev/null",
        )
        .await;
    assert_eq!(said, "4\n4\n0\n");
    assert_eq!(Devices::look().told(), before.told());
}

#[tokio::test]
async fn an_abstract_socket_of_the_machine_is_not_to_be_found() {
    if !has_python() {
        return;
    }
    let bench = Here::build().await;
    let name = format!("tidings-test-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(name.as_bytes()).unwrap()).unwrap();
    let command = format!(
        "/usr/bin/python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + '{name}')\""
    );
    fails(&bench, &command).await;
    // Also where the network is shared: then Landlock stands alone.
    let shared = SandboxSpec {
        network: Network::Bridge,
        allow: Vec::new(),
        remote: None,
        ..bench.spec.clone()
    };
    let output = bench
        .port
        .exec(&bench.scope("work"), &shared, exec(&command))
        .await
        .unwrap();
    assert_ne!(output.exit, Exit::Code(0), "{output:?}");
}

#[tokio::test]
async fn a_program_may_talk_to_itself_over_the_loop() {
    if !has_python() {
        return;
    }
    let bench = Here::build().await;
    let said = bench
        .say(
            "/usr/bin/python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); \
             c = socket.create_connection(s.getsockname()); print('talked')\"",
        )
        .await;
    assert_eq!(said, "talked\n");
}

#[tokio::test]
async fn a_bridge_reaches_what_the_machine_reaches() {
    let bench = Here::build().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let shared = SandboxSpec {
        network: Network::Bridge,
        allow: Vec::new(),
        remote: None,
        ..bench.spec.clone()
    };
    let command = exec(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"));
    let output = bench
        .port
        .exec(&bench.scope("work"), &shared, command)
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::Code(0), "{output:?}");
}

#[tokio::test]
async fn a_program_of_the_machine_is_never_sent() {
    let bench = Here::build().await;
    bench.say("ln -s /usr/bin/env pic.png").await;
    for name in ["/usr/bin/env", "/bin/sh", "pic.png", "/lib/../bin/env"] {
        let refusal = bench.capture(name).await.unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Forbidden {
                path: path(name),
                place: "/usr".to_owned()
            },
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_mount_place_that_a_command_made_a_link_is_refused() {
    let bench = Here::build().await;
    bench
        .say("ln -s /tmp /workspace/data; ln -s /usr /root/data")
        .await;
    for at in [
        "/workspace/data",
        "/workspace/data/x",
        "/root/data",
        "/usr/new",
        "/proc/x",
        "/dev",
        "/",
        "/a/../b",
    ] {
        let mut spec = bench.spec.clone();
        let mount = spec.mounts.last_mut().unwrap();
        mount.at = path(at);
        let error = bench
            .port
            .exec(&bench.scope("work"), &spec, exec("true"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(at), "{at}: {error}");
    }
    let mut spec = bench.spec.clone();
    spec.mounts.last_mut().unwrap().at = path("/workspace/real/deep/");
    let output = bench
        .port
        .exec(
            &bench.scope("work"),
            &spec,
            exec("echo there > real/deep/file"),
        )
        .await
        .unwrap();
    assert_eq!(output.exit, Exit::Code(0), "{output:?}");
    assert_eq!(
        std::fs::read(bench.mounts.path().join("shared/file")).unwrap(),
        b"there\n"
    );
}

#[tokio::test]
async fn a_missing_folder_of_the_owner_is_named() {
    let bench = Here::build().await;
    let mut spec = bench.spec.clone();
    spec.mounts.last_mut().unwrap().host = "/no/such/folder".to_owned();
    let error = bench
        .port
        .exec(&bench.scope("work"), &spec, exec("true"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn the_gateways_own_environment_and_secrets_never_reach_a_command_line() {
    let bench = Here::build().await;
    let mut spec = bench.spec.clone();
    spec.secret_env.insert(
        "TOKEN".to_owned(),
        waybill::Secret::new("s3cr3t-value".to_owned()),
    );
    let scope = bench.scope("work");
    let running = bench
        .port
        .exec(&scope, &spec, exec("env > seen; touch up; sleep 1000"));
    let looking = async {
        bench.until_written("/workspace/seen").await;
        let mut told = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            told.extend(std::fs::read(entry.path().join("cmdline")).unwrap_or_default());
        }
        assert!(!String::from_utf8_lossy(&told).contains("s3cr3t-value"));
        bench.say("cat seen").await
    };
    let seen = tokio::select! {
        output = running => panic!("ended: {output:?}"),
        seen = looking => seen,
    };
    assert!(seen.contains("TOKEN=s3cr3t-value"), "{seen}");
    assert!(
        !seen.contains("CARGO"),
        "the gateway's own environment stays outside: {seen}"
    );
}

#[tokio::test]
async fn the_mounts_alone_would_keep_what_is_shown_from_being_written() {
    let bench = Here::build().await;
    let table = bench.say("cut -d' ' -f5,6 /proc/self/mountinfo").await;
    let writable = [
        "/workspace",
        "/root",
        "/tmp",
        "/shared",
        "/dev/shm",
        "/dev/pts",
        "/proc",
    ];
    // Devices can be written, their files can't be changed; closed files of /proc are all the device null.
    let device = |place: &str| place.starts_with("/dev/") || place.starts_with("/proc/");
    for place in ["/", "/usr", "/inbox", "/shown", "/secrets", "/proc/sys"] {
        assert!(
            table
                .lines()
                .any(|line| line.split(' ').next() == Some(place)),
            "{place} in {table}"
        );
    }
    for line in table.lines() {
        let (place, options) = line.split_once(' ').unwrap();
        let has = |option: &str| options.split(',').any(|one| one == option);
        if writable.contains(&place) {
            assert!(has("rw") && has("nosuid"), "{line}");
        } else {
            assert!(has("ro") && has("nosuid"), "{line}");
            assert!(has("nodev") || device(place), "{line}");
        }
    }
}
