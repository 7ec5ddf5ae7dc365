//! The way out of a sandbox without a network.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::sandbox::bench::{PATIENCE, eventually, exec};
use conformance::sandbox::{Bench, SandboxWorld as _};
use sandbox::{Destination, Exit, SandboxError, SandboxPort as _};
use tidings_sandbox_process::Egress;

use crate::world::{LAUNCHER, World, driver, driver_with, spec};

type Here = Bench<World>;

/// Answers every connection with one line, and remembers what it was told.
#[derive(Default)]
struct Door {
    allowed: Mutex<Vec<Vec<Destination>>>,
    open: Arc<AtomicUsize>,
}

struct Open {
    stop: Arc<AtomicBool>,
    open: Arc<AtomicUsize>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Egress for Door {
    fn serve(
        &self,
        listener: TcpListener,
        _sandbox: &sandbox::SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync> {
        self.allowed.lock().unwrap().push(allow);
        self.open.fetch_add(1, Ordering::SeqCst);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if let Ok((mut stream, _)) = listener.accept() {
                    stream.set_nonblocking(false).unwrap();
                    let mut asked = [0; 4];
                    stream.read_exact(&mut asked).unwrap();
                    stream.write_all(b"through the door\n").unwrap();
                } else {
                    std::thread::park_timeout(Duration::from_millis(5));
                }
            }
        });
        Box::new(Open {
            stop,
            open: Arc::clone(&self.open),
        })
    }
}

/// Asks the proxy as a program would.
const ASK: &str = r#"bash -c 'p=${HTTP_PROXY#http://127.0.0.1:}; exec 3<>/dev/tcp/127.0.0.1/$p; printf ask! >&3; cat <&3'"#;

#[tokio::test]
async fn a_sandbox_without_a_network_reaches_the_proxy_and_nothing_else() {
    let bench = Here::build().await;
    let door = Arc::new(Door::default());
    let driver = driver_with(bench.world.home(), &[LAUNCHER], Some(door.clone()));
    let mut spec = spec();
    let allow: Vec<Destination> = vec!["example.org:443".parse().unwrap()];
    spec.allow = allow.clone();
    let scope = bench.scope("work");
    let run = async |command: &str| {
        let output = driver.exec(&scope, &spec, exec(command)).await.unwrap();
        (output.exit, String::from_utf8(output.bytes).unwrap())
    };
    assert_eq!(
        run(ASK).await,
        (Exit::Code(0), "through the door\n".to_owned())
    );
    assert_eq!(*door.allowed.lock().unwrap(), vec![allow]);
    let (_, said) = run("env | grep -i proxy | sort | sed 's/:[0-9][0-9]*$/:PORT/'").await;
    assert_eq!(
        said,
        "ALL_PROXY=http://127.0.0.1:PORT\nHTTPS_PROXY=http://127.0.0.1:PORT\nHTTP_PROXY=http://127.0.0.1:PORT\n\
         NO_PROXY=localhost,127.0.0.1\nall_proxy=http://127.0.0.1:PORT\nhttp_proxy=http://127.0.0.1:PORT\n\
         https_proxy=http://127.0.0.1:PORT\nno_proxy=localhost,127.0.0.1\n"
    );
    // What listens on the machine is as far as ever.
    let machine = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = machine.local_addr().unwrap().port();
    let around = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    assert_ne!(run(&around).await.0, Exit::Code(0));
    assert_eq!(
        run("ls /proc/self/fd | wc -l").await.1.trim(),
        "4",
        "the command holds no listener"
    );
    assert_eq!(door.open.load(Ordering::SeqCst), 0, "a door was left open");
}

#[tokio::test]
async fn a_door_is_closed_when_its_command_is_killed() {
    let bench = Here::build().await;
    let door = Arc::new(Door::default());
    let driver = driver_with(bench.world.home(), &[LAUNCHER], Some(door.clone()));
    let mut spec = spec();
    spec.allow = vec!["example.org:443".parse().unwrap()];
    let scope = bench.scope("work");
    let mut running = driver
        .start(
            &scope,
            &spec,
            crate::world::start(&format!("{ASK}; sleep 1000")),
        )
        .await
        .unwrap();
    crate::world::heard(running.as_mut(), Some("door")).await;
    assert_eq!(door.open.load(Ordering::SeqCst), 1);
    running.kill().await;
    eventually(PATIENCE, "the door is closed", async || {
        door.open.load(Ordering::SeqCst) == 0
    })
    .await;
}

#[tokio::test]
async fn a_list_of_destinations_that_nobody_keeps_is_refused_and_nothing_runs() {
    let bench = Here::build().await;
    let driver = driver(bench.world.home(), &[LAUNCHER]);
    let mut spec = spec();
    spec.allow = vec!["example.org:443".parse().unwrap()];
    let scope = bench.scope("work");
    let error = driver
        .exec(&scope, &spec, exec("touch ran"))
        .await
        .unwrap_err();
    assert!(
        matches!(&error, SandboxError::Unavailable(text) if text.contains("egress proxy")),
        "{error:?}"
    );
    spec.allow.clear();
    let output = driver.exec(&scope, &spec, exec("ls; env")).await.unwrap();
    let said = String::from_utf8(output.bytes).unwrap();
    assert!(!said.contains("ran\n") && !said.contains("PROXY"), "{said}");
}
