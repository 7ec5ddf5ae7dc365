//! Two profiles with mounts and secrets of their own, again and again.

use std::path::Path;

use conformance::sandbox::Bench;
use conformance::sandbox::bench::{PATIENCE, eventually, exec};
use sandbox::{Keeper as _, Mount, MountMode, SandboxPath, SandboxPort as _, SandboxSpec};
use waybill::Secret;

use crate::world::{LAUNCHER, World, driver, spec, start};

const PROFILES: [&str; 2] = ["p", "q"];

fn own(folder: &Path, profile: &str) -> SandboxSpec {
    let host = folder.join(profile);
    std::fs::create_dir(&host).unwrap();
    std::fs::write(host.join("who"), format!("mount of {profile}\n")).unwrap();
    let mut spec = spec();
    // The same place for both, and one that the other has not.
    for (at, mode) in [
        ("/data", MountMode::Ro),
        (&format!("/only-{profile}"), MountMode::Rw),
    ] {
        spec.mounts.push(Mount {
            host: host.to_str().unwrap().to_owned(),
            at: SandboxPath::parse(at).unwrap(),
            mode,
        });
    }
    spec.env.insert("WHO".to_owned(), format!("who-{profile}"));
    let secret = Secret::new(format!("secret-{profile}"));
    spec.secret_env.insert("SECRET".to_owned(), secret);
    spec
}

#[tokio::test]
async fn fifty_turns_of_two_profiles_by_turns_never_mix() {
    let home = tempfile::tempdir().unwrap();
    let shown = tempfile::tempdir().unwrap();
    let port = driver(home.path(), &[LAUNCHER]);
    let bench = Bench::<World>::build().await;
    let specs = PROFILES.map(|profile| own(shown.path(), profile));
    let scopes = PROFILES.map(|profile| bench.scope(profile));
    let look = async |number: usize| {
        let profile = PROFILES[number];
        let command = exec(&format!(
            "echo {profile} > own; echo {profile} > ~/own; echo {profile} > /tmp/own; cat own ~/own /tmp/own /data/who; \
             echo $WHO $SECRET; ls -d /only-*; ls /workspace; cat /proc/self/mountinfo | grep -c ' /data '"
        ));
        let output = port.exec(&scopes[number], &specs[number], command).await;
        String::from_utf8(output.unwrap().bytes).unwrap()
    };
    let expected = |number: usize| {
        let profile = PROFILES[number];
        format!(
            "{profile}\n{profile}\n{profile}\nmount of {profile}\nwho-{profile} secret-{profile}\n/only-{profile}\nown\n1\n"
        )
    };
    for _ in 0..25 {
        for number in [0, 1] {
            assert_eq!(look(number).await, expected(number));
        }
    }
    for _ in 0..25 {
        let (p, q) = tokio::join!(look(0), look(1));
        assert_eq!([p, q], [expected(0), expected(1)]);
    }
    // What runs is shown as its own profile's.
    let mut running = Vec::new();
    for number in [0, 1] {
        let command = start(&format!("exec sleep 7100{number}"));
        let started = port.start(&scopes[number], &specs[number], command).await;
        running.push(started.unwrap());
    }
    eventually(PATIENCE, "both are seen", async || {
        let standing = port.standing().await.unwrap();
        let runs = |number: usize, line: &str| {
            standing.iter().any(|one| {
                one.key == format!("profile:{}", PROFILES[number])
                    && one
                        .profile
                        .as_ref()
                        .is_some_and(|own| own.as_str() == PROFILES[number])
                    && one.processes.iter().any(|(_, found)| found.contains(line))
            })
        };
        assert!(!runs(0, "71001") && !runs(1, "71000"));
        runs(0, "71000") && runs(1, "71001")
    })
    .await;
    for one in running {
        one.kill().await;
    }
}
