//! What a person reads who made a mistake.

use tidings_settings::Weight;

use crate::world::{EXAMPLE, World, check, lines};

#[test]
fn every_protocol_is_spoken() {
    for api in [
        "openai-chat",
        "openai-responses",
        "anthropic",
        "ollama",
        "gemini",
    ] {
        let text = format!("[providers.p]\napi = \"{api}\"\nbase_url = \"http://h\"\n");
        let settings = World::new().settings(&text);
        let provider = settings.providers.get("p").unwrap();
        assert_eq!((provider.api.name(), provider.context), (api, None));
        let settings = World::new().settings(&format!("{text}context_tokens = 65536\n"));
        assert_eq!(settings.providers.get("p").unwrap().context, Some(65_536));
    }
}

#[test]
fn no_file_works() {
    let world = World::new();
    let loaded =
        tidings_settings::load(&world.home, &tidings_settings::FixedEnvironment::default());
    assert_eq!(lines(&loaded.problems), [""; 0]);
    let settings = loaded.into_settings().unwrap();
    assert_eq!(settings.gateway.listen.to_string(), "127.0.0.1:7717");
    assert_eq!(settings.gateway.drain_seconds, 30);
    let names: Vec<&str> = settings
        .profiles
        .keys()
        .map(waybill::ProfileId::as_str)
        .collect();
    assert_eq!(names, ["default"]);
    assert!(
        settings.channels.is_empty() && settings.routes.is_empty() && settings.disabled.is_empty()
    );
}

#[test]
fn a_typo_names_the_line_the_column_and_the_nearest_key() {
    check(
        "[gateway]\nlog = \"info\"\n  lisen = \"127.0.0.1:1\"\n",
        &["tidings.toml:3:3: unknown key 'lisen'; did you mean 'listen'?"],
    );
    check(
        "[profiles.work]\nmodle = \"auto\"\n",
        &["tidings.toml:2:1: unknown key 'modle'; did you mean 'model'?"],
    );
    check(
        "[gatway]\n",
        &["tidings.toml:1:2: unknown key 'gatway'; did you mean 'gateway'?"],
    );
    check(
        "[profiles.work.sandbox]\nenv = {}\nmounts = [{ hots = \"/srv\", at = \"/x\", host = \"/srv\" }]\n",
        &["tidings.toml:3:13: unknown key 'hots'; did you mean 'host'?"],
    );
    check(
        "[channels.a.groups]\nzebra = 1\n",
        &[
            "tidings.toml:1:11: channels.a needs the key 'kind'",
            "tidings.toml:1:11: channels.a needs the key 'profile'",
            "tidings.toml:1:11: channels.a needs the key 'token'",
            "tidings.toml:2:1: unknown key 'zebra'; known here: allow, require_mention",
        ],
    );
}

#[test]
fn columns_count_characters_and_quoted_keys_are_keys() {
    check(
        "# Größe\n[profiles.a.sandbox.env]\n\"Ä\" = \"x\" # ü\n[profiles.a]\n\"mödel\" = 'x'\n",
        &[
            "tidings.toml:3:1: 'Ä' is no variable's name: letters, digits and '_', not beginning with a digit",
            "tidings.toml:5:1: unknown key 'mödel'; did you mean 'model'?",
        ],
    );
}

#[test]
fn all_problems_come_at_once_in_the_order_of_the_file() {
    check(
        r#"[gateway]
listen = "0.0.0.0:7717"
drain_seconds = "30"
port = 1
[profiles.work.sandbox]
driver = "dokcer"
memory = "2x"
cpus = 0
pids = 1.5
[[routes]]
channel = "bot"
profile = "wrok"
"#,
        &[
            "tidings.toml:2:10: 'listen' is 0.0.0.0:7717, which others can reach: that needs TLS or a trusted proxy, and authentication, which this version does not have; listen on 127.0.0.1:7717 and reach it through an SSH tunnel",
            "tidings.toml:3:17: 'drain_seconds' must be a whole number, not a text",
            "tidings.toml:4:1: unknown key 'port'; known here: listen, drain_seconds, log",
            "tidings.toml:6:10: 'driver' can't be 'dokcer'; did you mean 'docker'?",
            "tidings.toml:7:10: 'memory' must be bytes, or a text such as \"512m\" or \"2g\", from 16777216 to 1125899906842624 bytes",
            "tidings.toml:8:8: 'cpus' must be more than 0 and at most 1024",
            "tidings.toml:9:8: 'pids' must be a whole number, not a number with a point",
            "tidings.toml:11:11: there is no channel 'bot'",
            "tidings.toml:12:11: there is no profile 'wrok'; did you mean 'work'?",
        ],
    );
}

#[test]
fn the_check_and_the_start_give_the_same_verdict() {
    let world = World::new();
    for text in [
        EXAMPLE,
        "",
        "[gateway]\nlgo = 1\n",
        "[[routes]]\n",
        "[gateway\n",
        "[channels.b]\nkind = \"telegram\"\n",
    ] {
        let checked = world.read(text);
        let started = world.load(text.as_bytes());
        assert_eq!(checked.problems, started.problems, "{text}");
        assert_eq!(
            checked.settings().is_some(),
            started.into_settings().is_ok(),
            "{text}"
        );
    }
}

#[test]
fn broken_syntax_has_a_place_too() {
    let world = World::new();
    let loaded = world.read("[gateway]\nlisten = \n\n[profiles.work\nmodel = \"auto\"\n");
    let found = lines(&loaded.problems);
    assert!(found.len() >= 2, "both are named at once: {found:#?}");
    assert!(
        found.first().unwrap().starts_with("tidings.toml:2:"),
        "{found:#?}"
    );
    assert!(
        found.get(1).unwrap().starts_with("tidings.toml:4:"),
        "{found:#?}"
    );
    assert!(loaded.settings().is_none());
    let twice = lines(&world.read("[gateway]\nlog = \"a\"\nlog = \"b\"\n").problems);
    assert!(
        twice
            .first()
            .unwrap()
            .starts_with("tidings.toml:3:1: duplicate key"),
        "{twice:#?}"
    );
}

#[test]
fn a_file_from_another_editor_is_read() {
    let world = World::new();
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    bytes.extend_from_slice(EXAMPLE.replace('\n', "\r\n").as_bytes());
    assert!(world.load(&bytes).settings().is_some());

    let loaded = world.load(b"\xEF\xBB\xBF[gateway]\r\nlgo = 1\r\n");
    assert_eq!(
        lines(&loaded.problems),
        ["tidings.toml:2:1: unknown key 'lgo'; did you mean 'log'?"]
    );
    let loaded = world.load(b"[gateway]\nlog = \"\xFF\"\n");
    assert_eq!(
        lines(&loaded.problems),
        ["tidings.toml:2:8: is not UTF-8 text from here on; save it as UTF-8"]
    );
    assert!(loaded.settings().is_none());
    let loaded = world.load(&vec![b'#'; (1 << 20) + 1]);
    assert_eq!(
        lines(&loaded.problems),
        ["tidings.toml:1:1: is larger than 1 MB"]
    );
}

#[test]
fn the_example_of_the_interface_is_read_and_says_what_is_not_in_force() {
    let world = World::new();
    let loaded = world.read(EXAMPLE);
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:19:13: warning: there is no [providers.ollama]; known here: openrouter; the profile goes on without this model",
            "tidings.toml:36:15: warning: 'usd_per_day' can't count openrouter/some/model: its price is unknown; write usd_per_million_input and usd_per_million_output into [providers.openrouter.models.\"some/model\"]",
            "tidings.toml:46:11: warning: 'pairing' is accepted, but not in force in this version: strangers get silence",
        ]
    );
    assert!(loaded.is_sound());
    let settings = loaded.into_settings().unwrap();
    assert_eq!(
        (
            settings.profiles.len(),
            settings.channels.len(),
            settings.routes.len()
        ),
        (2, 1, 1)
    );
    assert!(settings.disabled.is_empty());
}

#[test]
fn later_keys_never_deceive() {
    let base = "[channels.b]\nkind = \"telegram\"\nprofile = \"default\"\ntoken = \"env:TELEGRAM_TOKEN\"\nowner = [1]\n";
    for (more, key) in [
        ("guest.enabled = true", "enabled"),
        ("pairing = true", "pairing"),
    ] {
        let loaded = World::new().read(&format!("{base}{more}\n"));
        let [problem] = loaded.problems.as_slice() else {
            panic!("{:#?}", loaded.problems)
        };
        assert_eq!(problem.weight, Weight::Warning, "{problem}");
        assert!(
            problem.message.contains(key) && problem.message.contains("not in force"),
            "{problem}"
        );
        assert!(loaded.settings().is_some());
    }
    for same in [
        "busy = \"queue\"",
        "busy = \"steer\"",
        "busy = \"interrupt\"",
        "guest.enabled = false",
        "pairing = false",
    ] {
        check(&format!("{base}{same}\n"), &[]);
    }
}

#[test]
fn listening_where_others_can_reach_is_refused() {
    for (text, good) in [
        ("127.0.0.1:0", true),
        ("[::1]:7717", true),
        ("127.8.8.8:80", true),
        ("0.0.0.0:7717", false),
        ("[::]:7717", false),
        ("192.168.1.2:7717", false),
        ("[::ffff:127.0.0.1]:80", false),
        ("localhost:7717", false),
        ("7717", false),
        ("127.0.0.1", false),
    ] {
        assert_eq!(
            tidings_settings::listen_address(text).is_ok(),
            good,
            "{text}"
        );
    }
}

#[test]
fn ids_are_numbers_or_texts_and_end_up_the_same() {
    let world = World::new();
    let text = |ids: &str| {
        format!(
            "[channels.b]\nkind = \"telegram\"\nprofile = \"default\"\ntoken = \"env:TELEGRAM_TOKEN\"\n{ids}\n"
        )
    };
    let settings = world.settings(&text(
        "owner = [111, \"222\", \" 333 \", 1_000, 0x10]\nallow = [\"0042\"]\ngroups.allow = [-1001, \"-1002\"]\nguest.staging_chat = \"-7\"",
    ));
    let channel = settings.channels.values().next().unwrap();
    assert_eq!(channel.access.owner, ["111", "222", "333", "1000", "16"]);
    assert_eq!(channel.access.allow, ["42"]);
    assert_eq!(channel.access.groups.allow, ["-1001", "-1002"]);
    assert_eq!(channel.guest.staging_chat.as_deref(), Some("-7"));
    assert!(channel.access.groups.require_mention);

    for (ids, message) in [
        (
            "owner = [\"@ana\"]",
            "'owner' takes ids only, never names (a name can change hands): write the number",
        ),
        (
            "owner = [\"ana\"]",
            "'owner' takes ids only, never names (a name can change hands): write the number",
        ),
        (
            "owner = [-5]",
            "'owner' must be the id of a person, which is more than 0",
        ),
        (
            "allow = [\"12 34\"]",
            "'allow' must be an id, a whole number",
        ),
        (
            "groups.allow = [1001]",
            "'allow' must be the id of a group, which is less than 0 (such as -1001234567890)",
        ),
    ] {
        let loaded = world.read(&text(ids));
        let messages: Vec<&str> = loaded
            .problems
            .iter()
            .filter(|problem| !problem.is_warning())
            .map(|problem| problem.message.as_str())
            .collect();
        assert_eq!(messages, [message], "{ids}");
        assert!(
            loaded.settings().unwrap().channels.is_empty(),
            "it fails closed: {ids}"
        );
    }
    let loaded = world.read(&text("owner = [1.5]"));
    assert!(loaded.settings().is_none(), "a wrong type stops");
}

#[test]
fn an_account_that_nobody_may_talk_to_is_pointed_out() {
    check(
        "[channels.b]\nkind = \"telegram\"\nprofile = \"default\"\ntoken = \"env:TELEGRAM_TOKEN\"\n",
        &[
            "tidings.toml:1:1: warning: nobody may talk to 'b': 'owner', 'allow' and 'groups.allow' are all empty",
        ],
    );
}

#[test]
fn names_that_mean_something_else_are_taken() {
    for name in ["web", "api", "local", "origin"] {
        let found = lines(&World::new().read(&format!("[channels.{name}]\n")).problems);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(
            found
                .concat()
                .starts_with(&format!("tidings.toml:1:11: '{name}' is taken")),
            "{found:#?}"
        );
    }
    for text in [
        "[profiles.Work]",
        "[profiles.\"../x\"]",
        "[profiles.\"\"]",
        "[channels.\"a:b\"]",
        "[providers.\"a/b\"]",
    ] {
        let loaded = World::new().read(text);
        assert!(loaded.settings().is_none(), "{text}");
    }
}

#[test]
fn sizes_are_written_as_people_write_them() {
    let memory = |text: &str| {
        let world = World::new();
        let loaded = world.read(&format!("[defaults.sandbox]\nmemory = {text}\n"));
        loaded.settings().map(|settings| {
            settings
                .profiles
                .values()
                .next()
                .unwrap()
                .sandbox
                .limits
                .memory
        })
    };
    for (text, bytes) in [
        ("\"2g\"", 2 << 30),
        ("\"512m\"", 512 << 20),
        ("\"512 MB\"", 512 << 20),
        ("\"1GiB\"", 1 << 30),
        ("\"65536k\"", 64 << 20),
        ("268435456", 256 << 20),
        ("\"268435456\"", 256 << 20),
        ("\"1t\"", 1 << 40),
    ] {
        assert_eq!(memory(text), Some(bytes), "{text}");
    }
    for text in [
        "\"\"",
        "\"g\"",
        "\"-2g\"",
        "\"2.5g\"",
        "\"2x\"",
        "0",
        "-1",
        "\"9223372036854775807g\"",
        "\"٢g\"",
        "true",
    ] {
        assert_eq!(memory(text), None, "{text}");
    }
}

#[test]
fn addresses_of_providers_hold_no_password_and_no_query() {
    for (url, good) in [
        ("https://openrouter.ai/api/v1", true),
        ("http://127.0.0.1:8080/v1/", true),
        ("http://[::1]:8080", true),
        ("openrouter.ai/api", false),
        ("ftp://x/", false),
        ("https://", false),
        ("https://:80/", false),
        ("https://user:hidden@host/", false),
        ("https://host/?key=hidden", false),
        ("https://host/#x", false),
        ("https://ho st/", false),
    ] {
        let loaded = World::new().read(&format!(
            "[providers.p]\napi = \"openai-chat\"\nbase_url = \"{url}\"\n"
        ));
        assert_eq!(loaded.is_sound(), good, "{url}: {:?}", loaded.problems);
        assert!(!lines(&loaded.problems).concat().contains("hidden"));
    }
    let settings = World::new()
        .settings("[providers.p]\napi = \"openai-chat\"\nbase_url = \"http://h/v1//\"\n");
    assert_eq!(settings.providers.get("p").unwrap().base_url, "http://h/v1");
}
