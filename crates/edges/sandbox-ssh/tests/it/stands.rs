//! What stands, and its end.

use std::time::Duration;

use conformance::sandbox::bench::{PATIENCE, exec};
use sandbox::{Driver, Keeper, SandboxPort, State};
use tidings_sandbox_ssh::{Options, SshSandbox};
use waybill::{ProfileId, Timestamp};

use crate::world::{World, say, scope, spec};

#[tokio::test]
async fn the_owner_sees_what_runs_ends_it_and_finds_the_work_still_there() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    world
        .driver
        .exec(&scope("other"), &spec, exec("echo other"))
        .await
        .unwrap();
    let work = scope("work");
    let running = world.driver.exec(
        &work,
        &spec,
        exec("head -c 300000 /dev/zero > big; sleep 54321"),
    );
    let watching = async {
        // Its shell is seen before the program: only then is the file whole.
        let all = loop {
            let all = world.driver.standing().await.unwrap();
            let mut lines = all.iter().flat_map(|one| &one.processes);
            if lines.any(|(_, line)| line == "sleep 54321") {
                break all;
            }
        };
        let names: Vec<_> = all
            .iter()
            .map(|standing| standing.profile.clone().unwrap())
            .collect();
        assert_eq!(
            names,
            ["other", "work"].map(|name| ProfileId::parse(name).unwrap())
        );
        let (other, work) = (&all[0], &all[1]);
        assert_eq!((other.state, other.processes.len()), (State::Stopped, 0));
        assert_eq!(
            (work.state, work.driver, work.key.as_str()),
            (State::Running, Driver::Ssh, "profile:work")
        );
        assert!(
            work.processes.iter().any(|(_, line)| line == "sleep 54321"),
            "{:?}",
            work.processes
        );
        assert!(work.disk.unwrap() >= 300_000 && work.since.is_some() && work.lease.is_none());
        world.driver.stop("nothing").await.unwrap_err();
        world
            .driver
            .stop(&format!("{}x", work.id))
            .await
            .unwrap_err();
        world.driver.stop(&work.id).await.unwrap();
    };
    let (output, ()) =
        tokio::time::timeout(PATIENCE * 2, async { tokio::join!(running, watching) })
            .await
            .unwrap();
    let output = output.unwrap();
    assert_eq!(output.exit, sandbox::Exit::Code(137));
    assert!(output.note.unwrap().contains("from outside"));
    assert_eq!(say(&world.driver, &spec, "ls").await.unwrap(), "big\n");
    assert!(
        world
            .driver
            .reap(Timestamp::from_second(9_999_999_999).unwrap())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn machines_that_are_written_down_are_known_before_anything_ran() {
    let world = World::with("");
    let driver = SshSandbox::new(Options {
        remotes: vec![world.sshd.remote()],
        looking: PATIENCE,
    });
    assert!(driver.standing().await.unwrap().is_empty());
    let sentence = driver.describe().await.unwrap();
    assert!(
        sentence.contains("bubblewrap") && sentence.contains("not kept"),
        "{sentence}"
    );
    assert_eq!(world.sshd.connections(), 1);
    let nobody = SshSandbox::new(Options::default());
    let sentence = tokio::time::timeout(PATIENCE, nobody.describe())
        .await
        .unwrap()
        .unwrap();
    assert!(sentence.contains("no machine"), "{sentence}");
}

#[tokio::test]
async fn a_machine_that_is_off_is_named_and_does_not_hide_what_stands_on_another() {
    let world = World::with("");
    let spec = spec(world.sshd.remote());
    world
        .driver
        .exec(&scope("work"), &spec, exec("true"))
        .await
        .unwrap();
    let mut off = world.sshd.remote();
    off.port = 1;
    let driver = SshSandbox::new(Options {
        remotes: vec![off.clone(), world.sshd.remote()],
        looking: PATIENCE,
    });
    assert_eq!(Keeper::away(&driver), Vec::<String>::new());
    let all = driver.standing().await.unwrap();
    assert_eq!(all.len(), 1);
    let away = Keeper::away(&driver);
    assert_eq!(away.len(), 1);
    assert!(away[0].contains("127.0.0.1:1 can't be reached"), "{away:?}");
    let alone = SshSandbox::new(Options {
        remotes: vec![off],
        looking: PATIENCE,
    });
    let error = alone.standing().await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1 can't be reached"), "{error}");
    assert_eq!(
        Keeper::away(&alone),
        Vec::<String>::new(),
        "it is said once"
    );
}

#[tokio::test]
async fn a_machine_that_takes_the_call_and_says_nothing_is_away_soon() {
    let world = World::with("");
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut hung = world.sshd.remote();
    hung.port = silent.local_addr().unwrap().port();
    let looking = Duration::from_millis(300);
    let driver = SshSandbox::new(Options {
        remotes: vec![hung],
        looking,
    });
    let error = tokio::time::timeout(PATIENCE, driver.standing())
        .await
        .expect("it waits for the whole login")
        .unwrap_err()
        .to_string();
    assert!(error.contains("did not say in time"), "{error}");
}

#[tokio::test]
async fn two_gateways_under_one_account_do_not_see_or_end_each_others_commands() {
    let world = World::with("");
    let mine = spec(world.sshd.remote());
    let mut theirs = mine.clone();
    let remote = theirs.remote.as_mut().unwrap();
    remote.folder = world.sshd.path("other boxes").to_str().unwrap().to_owned();
    let other = SshSandbox::new(Options {
        remotes: vec![remote.clone()],
        looking: PATIENCE,
    });
    let work = scope("work");
    let running = world
        .driver
        .exec(&work, &mine, exec("sleep 54322; echo done"));
    let stopping = async {
        loop {
            let all = world.driver.standing().await.unwrap();
            if all.iter().any(|one| one.state == State::Running) {
                break;
            }
        }
        say(&other, &theirs, "true").await.unwrap();
        let all = other.standing().await.unwrap();
        assert_eq!((all.len(), all[0].state), (1, State::Stopped), "{all:?}");
        other.stop(&all[0].id).await.unwrap();
        // The control: its own gateway sees it, and ends it.
        let all = world.driver.standing().await.unwrap();
        assert_eq!(all[0].state, State::Running, "{all:?}");
        world.driver.stop(&all[0].id).await.unwrap();
    };
    let both = async { tokio::join!(running, stopping) };
    let (output, ()) = tokio::time::timeout(2 * PATIENCE, both).await.unwrap();
    assert_eq!(output.unwrap().exit, sandbox::Exit::Code(137));
}
