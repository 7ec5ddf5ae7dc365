//! Secrets are named, fetched, and never seen.

use std::fs;

use tidings_settings::{Api, ChannelKind, FixedEnvironment, read};

use crate::world::{EXAMPLE, VARIABLES, World, lines};

fn provider(reference: &str) -> String {
    format!(
        "[providers.openrouter]\napi = \"openai-chat\"\nbase_url = \"http://h\"\napi_key = {reference}\n"
    )
}

#[test]
fn a_literal_key_is_refused_with_the_reason_and_is_not_repeated() {
    let world = World::new();
    for literal in [
        "sk-or-v1-hidden",
        "123456:hidden",
        "hidden",
        "",
        "ENV:hidden",
        "env: hidden",
        "env:hid-den",
        "file:../hidden",
        "file:.hidden",
        "file:a/hidden",
    ] {
        let loaded = world.read(&provider(&format!("{literal:?}")));
        let [problem] = loaded.problems.as_slice() else {
            panic!("{literal}: {:#?}", loaded.problems)
        };
        assert!(
            problem
                .to_string()
                .starts_with("tidings.toml:4:11: 'api_key' "),
            "{problem}"
        );
        let everything = format!("{loaded:?} {:?}", loaded.provenance());
        assert!(!everything.contains("hid"), "{everything}");
        assert!(loaded.settings().unwrap().providers.is_empty());
    }
    let found = lines(&world.read(&provider("\"sk-hidden\"")).problems);
    assert_eq!(
        found,
        [
            "tidings.toml:4:11: 'api_key' must not hold the secret itself, which would be copied with the file; write \"env:OPENROUTER_API_KEY\" or \"file:NAME\" (a file in the folder 'secrets')"
        ]
    );
}

#[test]
fn a_variable_in_another_programs_notation_is_not_taken_for_the_value() {
    let world = World::new();
    for (text, message) in [
        (
            "${OPENROUTER_API_KEY}",
            "'api_key' is not expanded here; write \"env:OPENROUTER_API_KEY\"",
        ),
        (
            "$MY_KEY",
            "'api_key' is not expanded here; write \"env:MY_KEY\"",
        ),
        (
            "${A:-60}",
            "'api_key' is not expanded here; write \"env:OPENROUTER_API_KEY\"",
        ),
        (
            "$${A}",
            "'api_key' is not expanded here; write \"env:OPENROUTER_API_KEY\"",
        ),
    ] {
        let loaded = world.read(&provider(&format!("{text:?}")));
        let messages: Vec<&str> = loaded
            .problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        assert_eq!(messages, [message], "{text}");
    }
}

#[test]
fn line_ends_of_another_system_are_no_part_of_a_token() {
    let world = World::new();
    for value in ["abc", "abc\r\n", "  abc\n\n", "\u{feff}abc\r"] {
        let environment = FixedEnvironment::new([("K", value)]);
        let loaded = read(&provider("\"env:K\""), &world.home, &environment);
        let settings = loaded.into_settings().unwrap();
        let provider = settings.providers.get("openrouter").unwrap();
        assert_eq!(provider.api_keys.first().unwrap().reveal(), "abc");
        assert_eq!(provider.api, Api::OpenaiChat);
    }
    for (value, wrong) in [
        ("", "is empty"),
        (" \r\n", "is empty"),
        ("a\nb", "holds a control character or a line break inside"),
        ("a\0b", "holds a control character or a line break inside"),
    ] {
        let environment = FixedEnvironment::new([("K", value)]);
        let loaded = read(&provider("\"env:K\""), &world.home, &environment);
        assert_eq!(
            lines(&loaded.problems),
            [format!(
                "tidings.toml:4:11: providers.openrouter.api_key: the variable K {wrong}"
            )]
        );
        assert!(loaded.settings().unwrap().providers.is_empty());
    }
}

#[test]
fn a_secret_file_that_others_can_read_is_refused_with_the_command_to_run() {
    let world = World::new();
    world.secret("key", b"abc\n", 0o600);
    let text = provider("\"file:key\"");
    let settings = world.settings(&text);
    assert_eq!(
        settings
            .providers
            .values()
            .next()
            .unwrap()
            .api_keys
            .first()
            .unwrap()
            .reveal(),
        "abc"
    );

    let path = world.home.secrets().join("key");
    let shown = path.display();
    for mode in [0o640, 0o604, 0o660, 0o777] {
        world.secret("key", b"abc\n", mode);
        assert_eq!(
            lines(&world.read(&text).problems),
            [format!(
                "tidings.toml:4:11: providers.openrouter.api_key: {shown} can be read by others; run: chmod 600 {shown}"
            )]
        );
    }
    world.secret("key", &vec![b'x'; (64 << 10) + 1], 0o600);
    assert!(
        lines(&world.read(&text).problems)
            .concat()
            .ends_with("is larger than 64 KB")
    );
    world.secret("key", b"\xFF", 0o600);
    assert!(
        lines(&world.read(&text).problems)
            .concat()
            .ends_with("is not UTF-8 text")
    );
    fs::remove_file(&path).unwrap();
    assert!(
        lines(&world.read(&text).problems)
            .concat()
            .contains("there is no file")
    );
    fs::create_dir(&path).unwrap();
    assert!(
        lines(&world.read(&text).problems)
            .concat()
            .ends_with("is not a file")
    );
}

#[test]
fn no_secret_is_in_anything_that_can_be_printed() {
    let world = World::new();
    let loaded = world.read(EXAMPLE);
    let all = format!(
        "{loaded:?} {:?} {}",
        loaded.provenance(),
        lines(&loaded.problems).concat()
    );
    for (_, value) in VARIABLES {
        assert!(!all.contains(value));
    }
    let shown: Vec<String> = loaded
        .provenance()
        .into_iter()
        .map(|one| format!("{} = {}", one.key, one.value))
        .collect();
    assert!(
        shown.contains(&"channels.home-bot.token = \"env:TELEGRAM_TOKEN\"".to_owned()),
        "{shown:#?}"
    );
    let settings = loaded.into_settings().unwrap();
    let ChannelKind::Telegram { token, api_base } =
        &settings.channels.values().next().unwrap().kind;
    assert_eq!(
        (token.reveal(), api_base.as_str()),
        ("111:token-very-secret", "https://api.telegram.org")
    );
}

#[test]
fn secret_variables_belong_to_one_profile() {
    let world = World::new();
    world.secret("DEPLOY_KEY", b"deploy", 0o600);
    let settings = world.settings(
        "[profiles.a]\nsandbox.secret_env = [\"env:GITHUB_TOKEN\", \"file:DEPLOY_KEY\"]\n[profiles.b]\n",
    );
    let names = |profile: &str| -> Vec<(String, String)> {
        let profile = settings.profiles.get(&profile.parse().unwrap()).unwrap();
        let secrets = &profile.sandbox.secret_env;
        secrets
            .iter()
            .map(|(name, secret)| (name.clone(), secret.reveal().to_owned()))
            .collect()
    };
    assert_eq!(
        names("a"),
        [
            ("DEPLOY_KEY".to_owned(), "deploy".to_owned()),
            ("GITHUB_TOKEN".to_owned(), "ghp-very-secret".to_owned())
        ]
    );
    assert_eq!(names("b"), []);

    world.secret("GITHUB_TOKEN", b"other", 0o600);
    world.secret("my.key", b"other", 0o600);
    for (text, wrong) in [
        (
            "secret_env = [\"env:GITHUB_TOKEN\", \"file:GITHUB_TOKEN\"]",
            "given twice",
        ),
        (
            "secret_env = [\"env:GITHUB_TOKEN\"]\nsandbox.env.GITHUB_TOKEN = \"x\"",
            "given twice",
        ),
        ("secret_env = [\"file:my.key\"]", "rename it"),
    ] {
        let found = lines(
            &world
                .read(&format!("[profiles.a]\nsandbox.{text}\n"))
                .problems,
        );
        assert!(
            found.len() == 1 && found.concat().contains(wrong),
            "{text}: {found:#?}"
        );
    }
}
