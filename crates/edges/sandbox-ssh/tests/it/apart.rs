//! Two profiles on one machine, over one connection, again and again.

use std::time::Duration;

use conformance::sandbox::bench::{PATIENCE, exec};
use sandbox::{Keeper, SandboxPort, SandboxSpec};
use waybill::Secret;

use crate::bare;
use crate::world::{World, scope};

const PROFILES: [&str; 2] = ["p", "q"];

/// What profile's command sees: its environment, its folders, and the name by which its owner finds it.
const LOOK: &str = "echo $WHO $SECRET; cat ~/own /workspace/own; ls /workspace | wc -l";

async fn look(world: &World, spec: &SandboxSpec, profile: &str) -> String {
    let mut spec = spec.clone();
    spec.env.insert("WHO".to_owned(), format!("who-{profile}"));
    let secret = Secret::new(format!("secret-{profile}"));
    spec.secret_env.insert("SECRET".to_owned(), secret);
    let command = format!("echo {profile} > ~/own; echo {profile} > /workspace/own; {LOOK}");
    // Without walls there are no such places.
    let command = if spec.network == sandbox::Network::Bridge {
        command.replace("/workspace", ".")
    } else {
        command
    };
    let command = exec(&command);
    let output = world.driver.exec(&scope(profile), &spec, command).await;
    String::from_utf8(output.unwrap().bytes).unwrap()
}

async fn alternate(kind: &str) {
    let (world, spec) = bare::world(kind);
    let expected =
        |profile: &str| format!("who-{profile} secret-{profile}\n{profile}\n{profile}\n1\n");
    for _ in 0..25 {
        for profile in PROFILES {
            assert_eq!(look(&world, &spec, profile).await, expected(profile));
        }
    }
    for _ in 0..10 {
        let (p, q) = tokio::join!(look(&world, &spec, "p"), look(&world, &spec, "q"));
        assert_eq!([p, q], PROFILES.map(expected));
    }
    // What runs is shown as its own profile's.
    let mut stays = tokio::task::JoinSet::new();
    for profile in PROFILES {
        let (driver, spec) = (world.driver.clone(), spec.clone());
        let command = sandbox::Exec {
            timeout: 2 * PATIENCE,
            ..exec(&format!(
                "exec sleep 7{}",
                1_000 + u32::from(profile == "q")
            ))
        };
        stays.spawn(async move { driver.exec(&scope(profile), &spec, command).await });
    }
    let seen = async {
        loop {
            let standing = world.driver.standing().await.unwrap();
            let runs = |profile: &str, line: &str| {
                standing.iter().any(|one| {
                    one.key == format!("profile:{profile}")
                        && one.processes.iter().any(|(_, found)| found == line)
                })
            };
            assert!(!runs("p", "sleep 71001") && !runs("q", "sleep 71000"));
            if runs("p", "sleep 71000") && runs("q", "sleep 71001") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, seen).await.unwrap();
    stays.shutdown().await;
}

#[tokio::test]
async fn fifty_turns_of_two_profiles_by_turns_never_mix() {
    alternate("").await;
}

#[tokio::test]
async fn fifty_turns_of_two_profiles_by_turns_never_mix_where_there_are_no_walls() {
    alternate("bare").await;
}
