//! Who is let in, and who is spoken to.

use std::net::TcpListener;

use sandbox::{Mount, MountMode, SandboxError, SandboxPath};
use waybill::Secret;

use crate::sshd::{make_key, run};
use crate::world::{World, say, spec};

async fn refused(world: &World, spec: &sandbox::SandboxSpec) -> String {
    match say(&world.driver, spec, "echo ran").await {
        Err(SandboxError::Unavailable(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn fingerprint(world: &World, name: &str) -> String {
    let said = run(
        "ssh-keygen",
        &["-lf", world.sshd.path(name).to_str().unwrap()],
    );
    said.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn a_host_with_another_key_is_told_nothing_and_both_keys_are_named() {
    let mut world = World::with("");
    let spec = spec(world.sshd.remote());
    assert_eq!(say(&world.driver, &spec, "echo in").await.unwrap(), "in\n");
    let pinned = fingerprint(&world, "host.pub");
    let logins = |world: &World| world.sshd.read("log").matches("Accepted publickey").count();
    assert_eq!(logins(&world), 1);
    world.sshd.change_host_key();
    let seen = fingerprint(&world, "host.pub");
    let text = refused(&world, &spec).await;
    assert!(
        text.contains(&pinned) && text.contains(&seen) && text.contains("host_key"),
        "{text}"
    );
    assert_eq!(logins(&world), 1, "somebody logged in");
}

#[tokio::test]
async fn a_fingerprint_pins_as_well_as_a_key() {
    let world = World::with("");
    let mut spec = spec(world.sshd.remote());
    let remote = spec.remote.as_mut().unwrap();
    remote.host_key = fingerprint(&world, "host.pub");
    assert_eq!(say(&world.driver, &spec, "echo in").await.unwrap(), "in\n");
    let remote = spec.remote.as_mut().unwrap();
    remote.host_key = fingerprint(&world, "user.pub");
    let text = refused(&world, &spec).await;
    assert!(
        text.contains(&fingerprint(&world, "user.pub"))
            && text.contains(&fingerprint(&world, "host.pub")),
        "{text}"
    );
}

#[tokio::test]
async fn a_pinned_key_of_another_kind_is_a_mismatch_and_no_puzzle() {
    let world = World::with("");
    make_key(&world.sshd.path("other"), "ecdsa");
    let mut spec = spec(world.sshd.remote());
    spec.remote.as_mut().unwrap().host_key = world.sshd.read("other.pub");
    let text = refused(&world, &spec).await;
    assert!(
        text.contains("ssh-ed25519") && text.contains("is pinned"),
        "{text}"
    );
}

#[tokio::test]
async fn a_refused_login_says_which_line_to_add_and_where() {
    let world = World::with("");
    make_key(&world.sshd.path("stranger"), "ed25519");
    let mut spec = spec(world.sshd.remote());
    spec.remote.as_mut().unwrap().key = Secret::new(world.sshd.read("stranger"));
    let text = refused(&world, &spec).await;
    let public = world.sshd.read("stranger.pub");
    assert!(
        text.contains(public.trim()) && text.contains("authorized_keys"),
        "{text}"
    );
    assert!(!text.contains("PRIVATE"), "{text}");
}

#[tokio::test]
async fn a_machine_that_is_off_is_named_and_nothing_runs_here_instead() {
    let mut world = World::with("");
    let spec = spec(world.sshd.remote());
    world.sshd.stop();
    let text = refused(&world, &spec).await;
    assert!(
        text.contains(&format!("127.0.0.1:{}", world.sshd.port()))
            && text.contains("can't be reached"),
        "{text}"
    );
}

#[tokio::test]
async fn somebody_who_does_not_speak_ssh_is_no_machine() {
    let world = World::with("");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut spec = spec(world.sshd.remote());
    spec.remote.as_mut().unwrap().port = listener.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let text = refused(&world, &spec).await;
    answering.join().unwrap();
    assert!(text.contains("can't be reached"), "{text}");
}

#[tokio::test]
async fn what_is_written_down_wrongly_is_said_without_the_key() {
    let world = World::with("");
    let good = world.sshd.remote();
    make_key(&world.sshd.path("locked"), "ed25519");
    run(
        "ssh-keygen",
        &[
            "-q",
            "-p",
            "-N",
            "long enough",
            "-P",
            "",
            "-f",
            world.sshd.path("locked").to_str().unwrap(),
        ],
    );
    for (change, expected) in [
        (
            &(|remote: &mut sandbox::Remote| remote.host_key = "yes".to_owned())
                as &dyn Fn(&mut sandbox::Remote),
            "host_key",
        ),
        (
            &|remote| remote.key = Secret::new("s3cr3t-but-no-key".to_owned()),
            "no private key",
        ),
        (
            &|remote| remote.key = Secret::new(world.sshd.read("locked")),
            "passphrase",
        ),
        (&|remote| remote.folder = "/".to_owned(), "folder"),
    ] {
        let mut remote = good.clone();
        change(&mut remote);
        let text = refused(&world, &spec(remote)).await;
        assert!(
            text.contains(expected) && !text.contains("s3cr3t"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn mounts_of_the_gateways_machine_are_refused_and_not_left_out() {
    let world = World::with("");
    let mut spec = spec(world.sshd.remote());
    spec.mounts.push(Mount {
        host: "/srv".to_owned(),
        at: SandboxPath::parse("/data").unwrap(),
        mode: MountMode::Ro,
    });
    let text = refused(&world, &spec).await;
    assert!(text.contains("gateway's machine"), "{text}");
}
