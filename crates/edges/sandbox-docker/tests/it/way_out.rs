//! The allow list's way out of a container without a network.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::exec;
use sandbox::{Destination, Network, SandboxKey};
use tidings_sandbox_docker::{DockerSandbox, Egress, Options};

use crate::world::{World, docker};

/// Answers everybody with a word, and remembers for whom.
#[derive(Default)]
pub(crate) struct Answering {
    served: Mutex<Vec<Vec<Destination>>>,
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

impl Egress for Answering {
    fn serve(
        &self,
        listener: TcpListener,
        _sandbox: &SandboxKey,
        allow: Vec<Destination>,
    ) -> Box<dyn Send + Sync> {
        self.served.lock().unwrap().push(allow);
        self.open.fetch_add(1, Ordering::SeqCst);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                match listener.accept() {
                    Ok((stream, _)) => answer(stream),
                    Err(_) => std::thread::park_timeout(Duration::from_millis(10)),
                }
            }
        });
        Box::new(Open {
            stop,
            open: Arc::clone(&self.open),
        })
    }
}

fn answer(mut stream: TcpStream) {
    stream.set_nonblocking(false).unwrap();
    let mut line = [0; 5];
    if stream.read_exact(&mut line).is_ok() && &line == b"word\n" {
        stream.write_all(b"through\n").unwrap_or_default();
    }
}

/// Asks whatever `HTTP_PROXY` names.
pub(crate) const ASK: &str = r#"bash -c 'at=${HTTP_PROXY#http://}; exec 3<>/dev/tcp/${at%:*}/${at#*:}; echo word >&3; cat <&3'"#;

fn driver(world: &World, egress: Option<Arc<dyn Egress>>) -> DockerSandbox {
    DockerSandbox::new(Options {
        egress,
        ..world.options()
    })
}

async fn bench() -> (Bench<World>, Arc<Answering>) {
    let mut bench = Bench::<World>::build().await;
    let egress = Arc::new(Answering::default());
    bench.port = Arc::new(driver(&bench.world, Some(egress.clone())));
    bench.spec.allow = vec!["example.org:443".parse().unwrap()];
    (bench, egress)
}

/// Where this user may not enter a namespace, nothing may have run.
async fn may_enter(bench: &Bench<World>) -> bool {
    let tried = bench
        .port
        .exec(&bench.scope("work"), &bench.spec, exec("true"))
        .await;
    match tried {
        Ok(_) => true,
        Err(error) => {
            assert!(error.to_string().contains("root"), "{error}");
            println!("skipped: {error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allow_list_is_served_on_the_containers_own_loopback_and_nowhere_else() {
    let (bench, egress) = bench().await;
    if !may_enter(&bench).await {
        return;
    }
    assert_eq!(bench.say(ASK).await, "through\n");
    let told = bench
        .say("echo $http_proxy $HTTPS_PROXY $ALL_PROXY $NO_PROXY")
        .await;
    let port: u16 = told
        .strip_prefix("http://127.0.0.1:")
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("{told}"));
    assert!(told.ends_with(" localhost,127.0.0.1\n"), "{told}");
    TcpStream::connect(("127.0.0.1", port)).expect_err("the machine's own loopback has it too");
    let routes = bench
        .say("tail -n +2 /proc/net/route; grep -c eth /proc/net/dev || true")
        .await;
    assert_eq!(routes, "0\n", "it got a network");
    assert_eq!(
        egress.served.lock().unwrap().as_slice(),
        std::slice::from_ref(&bench.spec.allow)
    );
    let id = bench.world.containers().remove(0);
    assert_eq!(
        docker(&["inspect", "--format", "{{.HostConfig.NetworkMode}}", &id]),
        "none"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_out_is_there_again_after_a_restart_of_the_container_and_of_the_gateway() {
    let (mut bench, egress) = bench().await;
    if !may_enter(&bench).await {
        return;
    }
    docker(&["restart", "--time", "0", &bench.world.containers()[0]]);
    assert_eq!(bench.say(ASK).await, "through\n");
    assert_eq!(
        egress.open.load(Ordering::SeqCst),
        1,
        "the old one is closed"
    );
    bench.port = Arc::new(driver(&bench.world, Some(egress.clone())));
    assert_eq!(bench.say(ASK).await, "through\n");
    docker(&["rm", "--force", &bench.world.containers()[0]]);
    assert_eq!(bench.say(ASK).await, "through\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_allow_list_is_another_container_and_an_empty_one_has_no_way_out() {
    let (mut bench, egress) = bench().await;
    if !may_enter(&bench).await {
        return;
    }
    let first = bench.world.containers();
    bench.spec.allow.push("example.com:443".parse().unwrap());
    assert_eq!(bench.say(ASK).await, "through\n");
    assert_ne!(bench.world.containers(), first);
    assert_eq!(
        egress.served.lock().unwrap().last(),
        Some(&bench.spec.allow)
    );
    bench.spec.allow.clear();
    assert_eq!(
        bench.say("echo \"[$HTTP_PROXY$https_proxy]\"").await,
        "[]\n"
    );
    assert_eq!(egress.open.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_allow_list_that_can_not_be_served_is_refused_and_nothing_runs() {
    let (mut bench, egress) = bench().await;
    let refused = async |bench: &Bench<World>| {
        let run = bench
            .port
            .exec(
                &bench.scope("work"),
                &bench.spec,
                exec("echo ran > /workspace/ran"),
            )
            .await;
        run.unwrap_err().to_string()
    };
    bench.port = Arc::new(driver(&bench.world, None));
    let error = refused(&bench).await;
    assert!(
        error.contains("no proxy") && error.contains("`allow`"),
        "{error}"
    );
    bench.port = Arc::new(driver(&bench.world, Some(egress)));
    bench.spec.network = Network::Bridge;
    let error = refused(&bench).await;
    assert!(error.contains("bridge"), "{error}");
    assert_eq!(bench.world.containers(), Vec::<String>::new());
}
