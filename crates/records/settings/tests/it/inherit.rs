//! What a profile inherits, and how `config show` tells where a value came from.

use model::Cost;
use sandbox::{Driver, Limits, MountMode, Network, Placement};
use tidings_settings::{FixedEnvironment, ModelChoice, Source, read};

use crate::world::{EXAMPLE, World};

const FAMILY: &str = r#"[defaults]
model = "demo"
soul = "PERSONA.md"
[defaults.sandbox]
memory = "1g"
pids = 100
env = { LANG = "C.UTF-8", TZ = "UTC" }
mounts = [{ host = "/srv/a", at = "/a" }]
[defaults.limits]
turn_steps = 9
[profiles.heir]
[profiles.own]
model = "auto"
[profiles.own.sandbox]
scope = "session"
memory = "64m"
env = { TZ = "CET" }
mounts = []
"#;

#[test]
fn a_profile_inherits_what_it_does_not_say_itself() {
    let settings = World::new().settings(FAMILY);
    let heir = settings.profiles.get(&"heir".parse().unwrap()).unwrap();
    let own = settings.profiles.get(&"own".parse().unwrap()).unwrap();
    assert_eq!(
        (&heir.model, &own.model),
        (&ModelChoice::Demo, &ModelChoice::Auto)
    );
    assert_eq!(
        (heir.soul.as_deref(), own.soul.as_deref()),
        (Some("PERSONA.md"), Some("PERSONA.md"))
    );
    assert_eq!(
        (heir.sandbox.limits.memory, own.sandbox.limits.memory),
        (1 << 30, 64 << 20)
    );
    assert_eq!(
        (heir.sandbox.limits.pids, own.sandbox.limits.pids),
        (100, 100)
    );
    assert_eq!(
        (heir.sandbox.placement, own.sandbox.placement),
        (Placement::PerProfile, Placement::PerSession)
    );
    assert_eq!(
        (heir.sandbox.mounts.len(), own.sandbox.mounts.len()),
        (1, 0)
    );
    assert_eq!(heir.sandbox.mounts.first().unwrap().mode, MountMode::Ro);
    let env = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    };
    assert_eq!(heir.sandbox.env, env(&[("LANG", "C.UTF-8"), ("TZ", "UTC")]));
    assert_eq!(own.sandbox.env, env(&[("LANG", "C.UTF-8"), ("TZ", "CET")]));
    assert_eq!(own.limits.turn_steps, 9);
}

#[test]
fn without_a_word_the_limits_are_those_of_the_sandbox() {
    let settings = World::new().settings("");
    let profile = settings.profiles.values().next().unwrap();
    assert_eq!(profile.sandbox.limits, Limits::default());
    assert_eq!(profile.model, ModelChoice::Auto);
    assert_eq!(
        (profile.limits.turn_steps, profile.limits.attachment_bytes),
        (60, 52_428_800)
    );
    let spec = profile.sandbox.spec(Driver::Process);
    assert_eq!(
        (spec.driver, spec.network, spec.image.as_str()),
        (Driver::Process, Network::None, "debian:bookworm-slim")
    );
}

#[test]
fn a_models_name_may_hold_slashes() {
    let local = "[providers.ollama]\napi = \"ollama\"\nbase_url = \"http://127.0.0.1:11434\"\n";
    let settings = World::new().settings(&format!("{EXAMPLE}\n{local}"));
    let work = settings.profiles.get(&"work".parse().unwrap()).unwrap();
    let named = |provider: &str, model: &str| ModelChoice::Named {
        provider: provider.to_owned(),
        model: model.to_owned(),
    };
    assert_eq!(work.model, named("openrouter", "some/model"));
    assert_eq!(work.fallback, [named("ollama", "qwen3:8b")]);
    assert_eq!(work.limits.usd_per_day, Some(Cost(5_000_000)));
}

#[test]
fn each_value_tells_where_it_came_from() {
    let world = World::new();
    let loaded = read(
        FAMILY,
        &world.home,
        &FixedEnvironment::new([("TIDINGS_LOG", "debug")]),
    );
    let all = loaded.provenance();
    for (key, value, source) in [
        ("gateway.listen", "\"127.0.0.1:7717\"", Source::Default),
        ("gateway.log", "\"debug\"", Source::Environment),
        ("defaults.model", "\"demo\"", Source::File { line: 2 }),
        (
            "profiles.heir.model",
            "\"demo\"",
            Source::Inherited { line: 2 },
        ),
        ("profiles.own.model", "\"auto\"", Source::File { line: 13 }),
        (
            "profiles.heir.sandbox.memory",
            "1073741824",
            Source::Inherited { line: 5 },
        ),
        (
            "profiles.own.sandbox.memory",
            "67108864",
            Source::File { line: 16 },
        ),
        (
            "profiles.own.sandbox.env.LANG",
            "\"C.UTF-8\"",
            Source::Inherited { line: 7 },
        ),
        (
            "profiles.own.sandbox.env.TZ",
            "\"CET\"",
            Source::File { line: 17 },
        ),
        (
            "profiles.heir.sandbox.mounts",
            "[{ at = \"/a\", host = \"/srv/a\", mode = \"ro\" }]",
            Source::Inherited { line: 8 },
        ),
        ("profiles.own.sandbox.cpus", "1.0", Source::Default),
        (
            "profiles.own.limits.turn_steps",
            "9",
            Source::Inherited { line: 10 },
        ),
    ] {
        let found = all
            .iter()
            .find(|one| one.key == key)
            .unwrap_or_else(|| panic!("{key}"));
        assert_eq!(
            (found.value.as_str(), found.source),
            (value, source),
            "{key}"
        );
    }
    assert_eq!(loaded.settings().unwrap().gateway.log, "debug");
}
