//! What a sandbox may reach, and the other machine that it may be.

use sandbox::Driver;
use tidings_settings::DriverChoice;

use crate::world::{World, check, lines};

const KEY: &str =
    "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n";

const FINGERPRINT: &str = "SHA256:uNiVztksCsDhcc0u9e8BrwFqbBLXwOvbNzGQFpvm5+0";

fn ssh(more: &str) -> String {
    format!(
        "[profiles.work.sandbox]\ndriver = \"ssh\"\n[profiles.work.sandbox.ssh]\nhost = \"box.example.org\"\nuser = \"agent\"\n\
         key = \"file:box\"\nhost_key = \"{FINGERPRINT}\"\n{more}"
    )
}

#[test]
fn what_a_sandbox_may_reach_is_read_and_inherited() {
    let world = World::new();
    let settings = world.settings(
        "[defaults.sandbox]\nallow = [\"Example.org:443\", \"*.example.com:80\", \"[::1]:8080\"]\n[profiles.work]\n\
         [profiles.other.sandbox]\nallow = []\n[profiles.open.sandbox]\nnetwork = \"bridge\"\n",
    );
    let allow = |name: &str| {
        let profile = &settings.profiles[&name.parse().unwrap()];
        let spec = profile.sandbox.spec(Driver::Docker);
        spec.allow
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        allow("work"),
        ["example.org:443", "*.example.com:80", "[::1]:8080"]
    );
    assert_eq!(allow("other"), [""; 0]);
    assert_eq!(allow("open"), [""; 0]);
}

#[test]
fn a_destination_that_is_none_is_named_with_its_place() {
    check(
        "[profiles.work.sandbox]\nallow = [\"example.org:443\", \"https://example.org\", \"*:443\", \"ana:word@example.org:443\"]\n",
        &[
            "tidings.toml:2:29: 'allow' can't hold 'https://example.org': write HOST:PORT such as \"example.org:443\", or \"*.example.org:443\" for whatever is below it",
            "tidings.toml:2:52: 'allow' can't hold '*:443': write HOST:PORT such as \"example.org:443\", or \"*.example.org:443\" for whatever is below it",
            "tidings.toml:2:61: 'allow' must not hold a name or a password; write HOST:PORT",
        ],
    );
}

#[test]
fn a_list_that_would_say_nothing_is_a_problem() {
    let bridge = "'allow' says nothing beside network = \"bridge\", which reaches everything: write network = \"none\", or take 'allow' out";
    check(
        "[profiles.work.sandbox]\nnetwork = \"bridge\"\nallow = [\"example.org:443\"]\n",
        &[&format!("tidings.toml:3:9: {bridge}")],
    );
    check(
        "[defaults.sandbox]\nnetwork = \"bridge\"\n[profiles.work.sandbox]\nallow = [\"example.org:443\"]\n",
        &[&format!("tidings.toml:4:9: {bridge}")],
    );
    check(
        "[defaults.sandbox]\nnetwork = \"bridge\"\nallow = [\"example.org:443\"]\n[profiles.work]\n",
        &[&format!("tidings.toml:3:9: {bridge}")],
    );
    check(
        "[profiles.work.sandbox]\nnetwork = \"bridge\"\nallow = []\n",
        &[],
    );
}

#[test]
fn another_machine_is_found_and_known_again() {
    let world = World::new();
    world.secret("box", KEY.replace('\n', "\r\n").as_bytes(), 0o600);
    let settings = world.settings(&ssh(""));
    let sandbox = &settings.profiles[&"work".parse().unwrap()].sandbox;
    assert_eq!(sandbox.driver, DriverChoice::Ssh);
    let remote = sandbox.spec(Driver::Ssh).remote.unwrap();
    assert_eq!(
        (
            remote.host.as_str(),
            remote.port,
            remote.user.as_str(),
            remote.folder.as_str()
        ),
        ("box.example.org", 22, "agent", "tidings")
    );
    assert_eq!(remote.host_key, FINGERPRINT);
    assert_eq!(remote.key.reveal(), KEY);
    assert!(!format!("{settings:?}").contains("c2VjcmV0"));
    let settings = world.settings(&ssh("port = 2222\nfolder = \"/srv/agents/\"\n"));
    let remote = settings.profiles[&"work".parse().unwrap()]
        .sandbox
        .remote
        .clone()
        .unwrap();
    assert_eq!((remote.port, remote.folder.as_str()), (2222, "/srv/agents"));
}

#[test]
fn a_machine_that_can_not_be_found_is_a_problem_that_names_what_is_missing() {
    check(
        "[profiles.work.sandbox]\ndriver = \"ssh\"\n",
        &[
            "tidings.toml:2:10: driver = \"ssh\" needs the keys host, user, key, host_key in [profiles.work.sandbox.ssh]",
        ],
    );
    check(
        "[profiles.work.sandbox]\ndriver = \"ssh\"\nssh = { host = \"box\", user = \"agent\", key = \"env:GITHUB_TOKEN\" }\n",
        &[
            "tidings.toml:2:10: driver = \"ssh\" needs the keys host_key in [profiles.work.sandbox.ssh]",
        ],
    );
    let world = World::new();
    let found = lines(&world.read(&ssh("")).problems);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found
            .concat()
            .starts_with("tidings.toml:6:7: profiles.work.sandbox.ssh.key: there is no file "),
        "{found:#?}"
    );
}

#[test]
fn a_machine_that_nobody_asks_for_is_a_problem_unless_it_is_inherited() {
    let silent = "'ssh' says nothing unless driver = \"ssh\": write that, or take 'ssh' out";
    check(
        "[profiles.work.sandbox]\ndriver = \"docker\"\nssh = { port = 22, host = \"box\" }\n",
        &[&format!("tidings.toml:3:16: {silent}")],
    );
    check(
        "[defaults.sandbox.ssh]\nhost = \"box\"\n[profiles.work]\n",
        &[&format!("tidings.toml:2:8: {silent}")],
    );
    let world = World::new();
    world.secret("box", KEY.as_bytes(), 0o600);
    let text = ssh("").replace("profiles.work", "defaults");
    let settings = world.settings(&format!(
        "{text}[profiles.work]\n[profiles.own.sandbox]\ndriver = \"docker\"\n"
    ));
    let remote = |name: &str| {
        settings.profiles[&name.parse().unwrap()]
            .sandbox
            .remote
            .is_some()
    };
    assert!(remote("work") && !remote("own"));
}

#[test]
fn a_list_that_another_machine_does_not_keep_is_a_problem() {
    let world = World::new();
    world.secret("box", KEY.as_bytes(), 0o600);
    let text = ssh("").replace(
        "driver = \"ssh\"\n",
        "driver = \"ssh\"\nallow = [\"example.org:443\"]\n",
    );
    assert_eq!(
        lines(&world.read(&text).problems),
        [
            "tidings.toml:3:9: 'allow' says nothing for driver = \"ssh\": what that machine reaches is up to its owner; take 'allow' out"
        ]
    );
}

#[test]
fn what_would_be_an_option_or_a_second_reading_is_no_machine() {
    for (key, value, good) in [
        ("host", "box-1.example.org", true),
        ("host", "192.0.2.1", true),
        ("host", "2001:db8::1", true),
        ("host", "-oProxyCommand=x", false),
        ("host", "agent@box", false),
        ("host", "box/..", false),
        ("host", "", false),
        ("user", "agent.1_x-y", true),
        ("user", "-l", false),
        ("user", "a b", false),
        ("user", "", false),
        ("host_key", FINGERPRINT, true),
        ("host_key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA==", true),
        ("host_key", "ecdsa-sha2-nistp256 AAAA", true),
        ("host_key", "box ssh-ed25519 AAAA", false),
        ("host_key", "SHA256:short", false),
        ("host_key", "MD5:aa:bb", false),
        ("host_key", "any", false),
        ("folder", "agents/tidings", true),
        ("folder", "/srv/agents", true),
        ("folder", "~/agents", false),
        ("folder", "../agents", false),
        ("folder", "/", false),
        ("folder", "a//b", false),
    ] {
        let world = World::new();
        world.secret("box", KEY.as_bytes(), 0o600);
        let text = ssh("");
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with(&format!("{key} =")))
            .collect();
        let loaded = world.read(&format!("{}\n{key} = \"{value}\"\n", kept.join("\n")));
        assert_eq!(
            loaded.is_sound(),
            good,
            "{key} = {value}: {:#?}",
            lines(&loaded.problems)
        );
    }
}
