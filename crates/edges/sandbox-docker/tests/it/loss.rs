//! The container, the connection or the engine goes away under a command. It runs once, or its caller is told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::sandbox::bench::{eventually, exec};
use conformance::sandbox::{Bench, SandboxWorld};
use sandbox::{Exit, SandboxError};
use tidings_sandbox_docker::{DockerSandbox, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::own_engine::{OwnEngine, Sight};
use crate::world::{World, docker, options, socket};

/// Where a connection is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Before the request reaches the engine.
    Before,
    /// After the engine answered, before the answer reaches the gateway.
    After,
}

/// A socket between gateway and engine that goes away, comes back, and cuts connections.
struct Wire {
    socket: PathBuf,
    up: Mutex<CancellationToken>,
    cut: Arc<Mutex<Option<(&'static str, Cut)>>>,
    tasks: TaskTracker,
}

impl Wire {
    fn new(folder: &Path) -> Self {
        let wire = Self {
            socket: folder.join("wire.sock"),
            up: Mutex::new(CancellationToken::new()),
            cut: Arc::default(),
            tasks: TaskTracker::new(),
        };
        wire.up();
        wire
    }

    fn up(&self) {
        let up = CancellationToken::new();
        *self.up.lock().unwrap() = up.clone();
        let listener = UnixListener::bind(&self.socket).unwrap();
        let (cut, tasks) = (Arc::clone(&self.cut), self.tasks.clone());
        self.tasks.spawn(async move {
            loop {
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    () = up.cancelled() => return,
                };
                let passing = pass(accepted.unwrap().0, Arc::clone(&cut));
                let up = up.clone();
                tasks.spawn(async move {
                    tokio::select! {
                        () = passing => {}
                        () = up.cancelled() => {}
                    }
                });
            }
        });
    }

    fn down(&self) {
        self.up.lock().unwrap().cancel();
        std::fs::remove_file(&self.socket).unwrap();
    }

    fn cut(&self, needle: &'static str, cut: Cut) {
        *self.cut.lock().unwrap() = Some((needle, cut));
    }

    fn was_cut(&self) -> bool {
        self.cut.lock().unwrap().is_none()
    }
}

async fn pass(client: UnixStream, cut: Arc<Mutex<Option<(&'static str, Cut)>>>) {
    let engine = UnixStream::connect(socket()).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_engine, mut to_engine) = engine.into_split();
    let silenced = CancellationToken::new();
    let there = async {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let read = from_client.read(&mut bytes).await.unwrap_or(0);
            if read == 0 {
                to_engine.shutdown().await.unwrap_or_default();
                return false;
            }
            let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let mut cut = cut
                .lock()
                .unwrap()
                .take_if(|(needle, _)| text.contains(*needle));
            match cut.take() {
                Some((_, Cut::Before)) => return true,
                Some((_, Cut::After)) => silenced.cancel(),
                None => {}
            }
            if to_engine.write_all(&bytes[..read]).await.is_err() {
                return true;
            }
        }
    };
    let back = async {
        let mut bytes = vec![0; 64 << 10];
        loop {
            let read = from_engine.read(&mut bytes).await.unwrap_or(0);
            if read == 0
                || silenced.is_cancelled()
                || to_client.write_all(&bytes[..read]).await.is_err()
            {
                return;
            }
        }
    };
    let mut there = std::pin::pin!(there);
    let mut back = std::pin::pin!(back);
    let mut open = true;
    loop {
        tokio::select! {
            cut = &mut there, if open => {
                if cut {
                    return;
                }
                open = false;
            }
            () = &mut back => return,
        }
    }
}

async fn wired() -> (Bench<World>, Wire) {
    let mut bench = Bench::<World>::build().await;
    let wire = Wire::new(bench.mounts.path());
    let driver = DockerSandbox::new(Options {
        socket: Some(wire.socket.to_str().unwrap().to_owned()),
        ..bench.world.options()
    });
    bench.port = Arc::new(driver);
    bench.say("true").await;
    (bench, wire)
}

/// How often the command of a test ran.
fn runs(bench: &Bench<World>) -> usize {
    let key = bench.scope("work").sandbox().clone();
    let workspace = bench.world.options().folders.layout(&key).workspace;
    std::fs::read_to_string(workspace.as_path().join("ran")).map_or(0, |text| text.lines().count())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_restarts_between_two_commands_costs_nobody_anything() {
    let (bench, wire) = wired().await;
    wire.down();
    let later = async {
        // How long the engine is away.
        tokio::time::sleep(Duration::from_millis(700)).await;
        wire.up();
    };
    let (said, ()) = tokio::join!(bench.say("echo ran >> ran; echo here"), later);
    assert_eq!((said.as_str(), runs(&bench)), ("here\n", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_the_command_is_started_is_made_anew() {
    let (bench, wire) = wired().await;
    for cut in [Cut::Before, Cut::After] {
        let before = runs(&bench);
        wire.cut("/exec HTTP/1.1", cut);
        assert_eq!(bench.say("echo ran >> ran; echo here").await, "here\n");
        assert!(wire.was_cut());
        assert_eq!(runs(&bench) - before, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_may_have_begun_is_never_begun_a_second_time() {
    let (bench, wire) = wired().await;
    for cut in [Cut::Before, Cut::After] {
        let before = runs(&bench);
        wire.cut("/start HTTP/1.1", cut);
        let error = bench
            .port
            .exec(
                &bench.scope("work"),
                &bench.spec,
                exec("echo ran >> ran; sleep 4321"),
            )
            .await
            .unwrap_err();
        assert!(wire.was_cut());
        assert!(matches!(error, SandboxError::Unavailable(_)), "{error:?}");
        eventually(
            Duration::from_secs(20),
            "what had begun is dead",
            async || {
                let seen = bench
                    .say("cat /proc/[0-9]*/cmdline | tr '\\000' ' ' | grep -c '^sleep 4321'; true")
                    .await;
                seen == "0\n"
            },
        )
        .await;
        assert!(runs(&bench) - before <= 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_connection_breaks_is_told_so_and_is_killed() {
    let (bench, wire) = wired().await;
    let scope = bench.scope("work");
    let running = bench.port.exec(
        &scope,
        &bench.spec,
        exec("echo ran >> ran; while :; do echo beat >> beat; sleep 0.1; done"),
    );
    let cutting = async {
        eventually(Duration::from_secs(20), "it runs", async || {
            runs(&bench) == 1
        })
        .await;
        wire.down();
        wire.up();
    };
    let (output, ()) = tokio::join!(running, cutting);
    if let Ok(output) = output {
        panic!("nobody heard its end: {output:?}");
    }
    bench.until_still("/workspace/beat").await;
    assert_eq!(runs(&bench), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_stopped_under_a_command_is_told_and_not_taken_for_its_end() {
    let bench = Bench::<World>::build().await;
    bench.say("true").await;
    let scope = bench.scope("work");
    let running = bench
        .port
        .exec(&scope, &bench.spec, exec("echo ran >> ran; sleep 1000"));
    let stopping = async {
        eventually(Duration::from_secs(20), "it runs", async || {
            runs(&bench) == 1
        })
        .await;
        docker(&["kill", &bench.world.containers()[0]]);
    };
    let (output, ()) = tokio::join!(running, stopping);
    let error = output.unwrap_err();
    assert!(matches!(error, SandboxError::Failed(_)), "{error:?}");
    assert!(
        error.to_string().contains("stopped while the command ran"),
        "{error}"
    );
    let next = bench.run("cat ran").await;
    assert_eq!(
        (next.exit, next.bytes.as_slice()),
        (Exit::Code(0), b"ran\n".as_slice())
    );
    assert!(next.note.unwrap().contains("started again"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_is_killed_and_started_again_loses_no_command_and_repeats_none() {
    let mut bench = Bench::<World>::build().await;
    let Some(mut engine) = OwnEngine::start(Sight::Whole).await else {
        return;
    };
    let home = bench.world.home().to_owned();
    bench.port = Arc::new(DockerSandbox::new(options(
        "own-engine",
        &home,
        Some(engine.host().to_owned()),
    )));
    bench.say("echo kept > /opt/kept; echo ran >> ran").await;
    engine.kill();
    engine.again();
    assert!(engine.answers().await, "{}", engine.log());
    let output = bench.run("echo ran >> ran; cat /opt/kept").await;
    assert_eq!(
        (output.exit, output.bytes.as_slice()),
        (Exit::Code(0), b"kept\n".as_slice())
    );
    assert!(output.note.unwrap().contains("started again"));
    assert_eq!(runs(&bench), 2);
    let scope = bench.scope("work");
    let running = bench
        .port
        .exec(&scope, &bench.spec, exec("echo ran >> ran; sleep 1000"));
    let killing = async {
        eventually(Duration::from_secs(20), "it runs", async || {
            runs(&bench) == 3
        })
        .await;
        engine.kill();
        engine.again();
    };
    let (output, ()) = tokio::join!(running, killing);
    let error = output.unwrap_err();
    assert!(
        matches!(
            error,
            SandboxError::Unavailable(_) | SandboxError::Failed(_)
        ),
        "{error:?}"
    );
    assert!(engine.answers().await, "{}", engine.log());
    assert_eq!(runs(&bench), 3, "it was repeated");
}
