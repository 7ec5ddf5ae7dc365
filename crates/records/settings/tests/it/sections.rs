//! One broken section is one broken section.

use tidings_settings::{Section, Settings, Weight};

use crate::world::{World, check, lines};

const REST: &str = r#"
[profiles.default]
[profiles.work]
model = "good/m"
[providers.good]
api = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
[channels.sound]
kind = "telegram"
profile = "default"
token = "env:TELEGRAM_TOKEN"
owner = [1]
"#;

fn left(settings: &Settings) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    (
        settings.providers.keys().map(String::as_str).collect(),
        settings
            .profiles
            .keys()
            .map(waybill::ProfileId::as_str)
            .collect(),
        settings
            .channels
            .keys()
            .map(waybill::AccountId::as_str)
            .collect(),
    )
}

#[test]
fn a_broken_section_is_left_out_and_the_rest_works() {
    let channel = "[channels.broken]\nkind = \"telegram\"\nprofile = \"work\"\nowner = [2]\n";
    for (section, text) in [
        (Section::Channel("broken".to_owned()), format!("{channel}token = \"env:UNSET\"")),
        (Section::Channel("broken".to_owned()), format!("{channel}token = \"file:absent\"")),
        (Section::Channel("broken".to_owned()), format!("{channel}token = \"123:literal\"")),
        (Section::Channel("broken".to_owned()), channel.to_owned()),
        (Section::Channel("broken".to_owned()), format!("{channel}token = \"env:OTHER_TOKEN\"\nallow = [\"ana\"]")),
        (Section::Channel("broken".to_owned()), format!("{channel}token = \"env:TELEGRAM_TOKEN\"")),
        (Section::Profile("broken".to_owned()), "[profiles.broken]\nmodel = \"nowhere/m\"".to_owned()),
        (Section::Profile("broken".to_owned()), "[profiles.broken]\nsandbox.driver = \"dcoker\"".to_owned()),
        (Section::Profile("broken".to_owned()), "[profiles.broken]\nsandbox.secret_env = [\"env:UNSET\"]".to_owned()),
        (Section::Profile("broken".to_owned()), "[profiles.broken]\nsoul = \"../SOUL.md\"".to_owned()),
        (Section::Provider("broken".to_owned()), "[providers.broken]\napi = \"openai-chat\"\nbase_url = \"http://h\"\napi_key = \"env:UNSET\"".to_owned()),
        (Section::Provider("broken".to_owned()), "[providers.broken]\napi = \"openai-chat\"".to_owned()),
    ] {
        let loaded = World::new().read(&format!("{REST}{text}\n"));
        assert!(!loaded.is_sound());
        let [problem] = loaded.problems.as_slice() else { panic!("{text}: {:#?}", lines(&loaded.problems)) };
        assert_eq!((&problem.section, problem.weight), (&section, Weight::Disables), "{problem}");
        let settings = loaded.settings().expect("the rest is sound");
        assert_eq!(left(settings), (vec!["good"], vec!["default", "work"], vec!["sound"]), "{text}");
        assert_eq!(settings.disabled, [(section, problem.message.clone())]);
    }
}

#[test]
fn a_profile_falls_with_its_provider_and_nobody_answers_in_its_place() {
    let world = World::new();
    let loaded = world.read(
        r#"[providers.p]
api = "openai-chat"
base_url = "http://h"
api_key = "env:UNSET"
[profiles.default]
[profiles.work]
model = "p/m"
[channels.bot]
kind = "telegram"
profile = "work"
token = "env:TELEGRAM_TOKEN"
owner = [1]
"#,
    );
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:4:11: providers.p.api_key: the variable UNSET is not set (or is not UTF-8)",
            "tidings.toml:7:9: the profile 'work' needs the provider 'p', which is disabled",
        ]
    );
    let settings = loaded.into_settings().unwrap();
    assert_eq!(left(&settings), (vec![], vec!["default"], vec!["bot"]));
    let chat = "bot:1".parse().unwrap();
    let profile = settings.profile_for(&chat).unwrap();
    assert_eq!(profile.as_str(), "work");
    assert!(!settings.profiles.contains_key(profile));
}

#[test]
fn a_typo_stops_the_start_wherever_it_stands() {
    for text in [
        "[channels.sound.groups]\nalow = []",
        "[profiles.work.sandbox]\nmemroy = \"2g\"",
        "[providers.p]\napi = \"openai-chat\"\nbase_url = \"http://h\"\nkey = 1",
        "[profiles.work.limits]\nturn_steps = \"60\"",
        "[defaults]\nmodel = \"nowhere/m\"",
        "[defaults.sandbox]\nmemory = \"2x\"",
        "[gateway]\nlisten = \"0.0.0.0:1\"",
        "[channels.b]\nkind = \"telegram\"\nprofile = \"absent\"\ntoken = \"env:OTHER_TOKEN\"\nowner = [1]",
        "[[routes]]\nchannel = \"sound\"\nprofile = \"absent\"",
        "[[routes]]\nchannel = \"absent\"\nprofile = \"work\"",
        "[[routes]]\nchannel = \"web\"\nprofile = \"work\"",
        "[[routes]]\nchannel = \"sound\"",
        "[[routes]]\nchannel = \"sound\"\nprofile = \"work\"\nthread = 3",
    ] {
        let loaded = World::new().read(&format!("{REST}{text}\n"));
        let fatal = loaded
            .problems
            .iter()
            .filter(|problem| problem.is_fatal())
            .count();
        assert_eq!(fatal, 1, "{text}: {:#?}", lines(&loaded.problems));
        assert!(loaded.settings().is_none());
        assert!(loaded.into_settings().is_err());
    }
}

#[test]
fn a_secret_that_defaults_lack_leaves_the_commands_that_do_not_need_it() {
    let world = World::new();
    let loaded = world.read(
        "[defaults.sandbox]\nsecret_env = [\"env:UNSET\"]\n[profiles.a]\n[profiles.b]\nsandbox.secret_env = []\n",
    );
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:2:15: profiles.a.sandbox.secret_env: the variable UNSET is not set (or is not UTF-8)"
        ]
    );
    assert_eq!(left(loaded.settings().unwrap()).1, ["b"]);
}

#[test]
fn mounts_never_show_the_secrets_of_tidings() {
    let world = World::new();
    let home = world.home.path().to_str().unwrap().to_owned();
    let around = world.folder.path().to_str().unwrap().to_owned();
    let link = world.folder.path().join("innocent");
    std::os::unix::fs::symlink(world.home.path(), &link).unwrap();
    let link = link.to_str().unwrap().to_owned();
    let sound = |host: &str, at: &str| {
        let text =
            format!("[profiles.p]\nsandbox.mounts = [{{ host = \"{host}\", at = \"{at}\" }}]\n");
        world.read(&text).is_sound()
    };
    assert!(sound("/srv/reports", "/output"));
    assert!(sound("/srv/reports/", "/workspace/reports"));
    assert!(sound(&format!("{around}/beside"), "/output"));
    for host in [
        home.clone(),
        around.clone(),
        "/".to_owned(),
        format!("{home}/secrets"),
        format!("{home}/not/there/yet"),
        link.clone(),
        format!("{link}/secrets"),
        format!("{around}/x/../home"),
        "srv".to_owned(),
        "~/x".to_owned(),
        String::new(),
    ] {
        assert!(!sound(&host, "/output"), "{host}");
    }
    for at in [
        "/",
        "/workspace",
        "/workspace/",
        "/root",
        "/inbox",
        "/inbox/x",
        "/proc",
        "/proc/self",
        "/sys/fs",
        "/dev/shm",
        "out",
        "/a/../root",
        "//root",
        "/./root",
        "",
    ] {
        assert!(!sound("/srv", at), "{at}");
    }
    assert!(
        sound("/srv", "/devices"),
        "a name that only begins like /dev"
    );
    let twice = "[profiles.p]\nsandbox.mounts = [{ host = \"/a\", at = \"/x\" }, { host = \"/b\", at = \"/x/\" }]\n";
    check(twice, &["tidings.toml:2:47: two mounts are at /x"]);
}

#[test]
fn a_socket_a_device_or_a_pipe_is_no_folder_to_show() {
    let world = World::new();
    let place = |name: &str| {
        let path = world.folder.path().join(name);
        (path.clone(), path.to_str().unwrap().to_owned())
    };
    let (path, socket) = place("engine.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let (link, linked) = place("innocent");
    std::os::unix::fs::symlink(&path, link).unwrap();
    let (path, file) = place("notes.txt");
    std::fs::write(path, "notes").unwrap();
    let (path, pipe) = place("pipe");
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
    for (host, good) in [
        (file.as_str(), true),
        ("/not/there/yet", true),
        (&socket, false),
        (&linked, false),
        (&pipe, false),
        ("/dev/null", false),
    ] {
        for mode in ["ro", "rw", "secret"] {
            let text = format!(
                "[profiles.p]\nsandbox.mounts = [{{ host = \"{host}\", at = \"/x\", mode = \"{mode}\" }}]\n"
            );
            assert_eq!(world.read(&text).is_sound(), good, "{text}");
        }
    }
    let text = format!("[profiles.p]\nsandbox.mounts = [{{ host = \"{socket}\", at = \"/x\" }}]\n");
    let problem = lines(&world.read(&text).problems).concat();
    assert!(problem.contains("is no sandbox"), "{problem}");
}

#[test]
fn a_secret_is_not_put_where_the_agent_could_rename_a_folder_above_it() {
    let world = World::new();
    let sound = |at: &str, mode: &str, more: &str| {
        let text = format!(
            "[profiles.p]\nsandbox.mounts = [{{ host = \"/srv\", at = \"{at}\", mode = \"{mode}\" }}{more}]\n"
        );
        world.read(&text).is_sound()
    };
    for at in [
        "/workspace/keys",
        "/root/.ssh",
        "/root/a/b/",
        "/tmp",
        "/tmp/keys",
        "/inbox/keys",
    ] {
        assert!(!sound(at, "secret", ""), "{at}");
        assert_eq!(sound(at, "ro", ""), !at.starts_with("/inbox"), "{at}");
    }
    for at in ["/secrets", "/secrets/of/mine", "/workspaces/x", "/rooted"] {
        assert!(sound(at, "secret", ""), "{at}");
    }
    let shared = ", { host = \"/a\", at = \"/data\", mode = \"rw\" }";
    assert!(!sound("/data/deep/keys", "secret", shared));
    assert!(sound(
        "/data/deep/keys",
        "secret",
        &shared.replace("rw", "ro")
    ));
    assert!(sound("/database", "secret", shared));
    check(
        "[defaults.sandbox]\nmounts = [{ host = \"/a\", at = \"/root/k\", mode = \"secret\" }]\n[profiles.p]\n",
        &[
            "tidings.toml:2:11: a secret mount can't be at /root/k: the agent may write in /root and could rename the folder \
             above it; choose a place such as /secrets",
        ],
    );
}
