//! Keys of providers, what models cost, whom to ask instead, and how much may be spent.

use model::{Cost, Price};
use tidings_settings::{ModelChoice, Reasoning};

use crate::world::{World, check, lines};

const PROVIDER: &str = "[providers.p]\napi = \"openai-chat\"\nbase_url = \"http://h\"\n";

fn priced(more: &str) -> String {
    format!("{PROVIDER}[providers.p.models.\"a/b:c\"]\n{more}")
}

#[test]
fn what_is_known_of_a_model_is_read_by_its_own_name() {
    let settings = World::new().settings(&priced(
        "context_tokens = 200000\nimages = true\nusd_per_million_input = 3\nusd_per_million_cached = 0.3\n\
         usd_per_million_output = 15.0\nreasoning = \"low\"\n[providers.p.models.plain]\n",
    ));
    let provider = &settings.providers["p"];
    let model = provider.models["a/b:c"];
    assert_eq!((model.context, model.images), (Some(200_000), Some(true)));
    assert_eq!(model.reasoning, Some(Reasoning::Low));
    let price = Price {
        input: 3_000_000,
        cached: 300_000,
        output: 15_000_000,
    };
    assert_eq!(model.price, Some(price));
    assert_eq!(provider.models["plain"].price, None);
    assert_eq!(provider.window("a/b:c"), Some(200_000));
    assert_eq!(provider.window("plain"), None);
}

#[test]
fn a_window_of_the_provider_is_every_models_that_has_none_of_its_own() {
    let text = format!(
        "{PROVIDER}context_tokens = 32768\n[providers.p.models.big]\ncontext_tokens = 131072\n"
    );
    let settings = World::new().settings(&text);
    let provider = &settings.providers["p"];
    assert_eq!(provider.window("big"), Some(131_072));
    assert_eq!(provider.window("other"), Some(32_768));
}

#[test]
fn cached_tokens_cost_as_much_as_others_if_nobody_says_less_and_nothing_is_a_price() {
    let price = |more: &str| {
        let settings = World::new().settings(&priced(more));
        settings.providers["p"].models["a/b:c"].price.unwrap()
    };
    let found = price("usd_per_million_input = 2.5\nusd_per_million_output = 10\n");
    assert_eq!((found.input, found.cached), (2_500_000, 2_500_000));
    let found = price("usd_per_million_input = 0\nusd_per_million_output = 0.0\n");
    assert_eq!((found.input, found.cached, found.output), (0, 0, 0));
}

#[test]
fn half_a_price_is_a_problem() {
    check(
        &priced("usd_per_million_input = 3\n"),
        &["tidings.toml:5:25: a price needs 'usd_per_million_output' as well"],
    );
    check(
        &priced("usd_per_million_cached = 3\n"),
        &[
            "tidings.toml:5:26: a price needs 'usd_per_million_input' and 'usd_per_million_output' as well",
        ],
    );
    check(
        &priced("usd_per_million_input = -1\nusd_per_million_output = 1\nreasoning = \"much\"\n"),
        &[
            "tidings.toml:5:25: 'usd_per_million_input' must be from 0 to 1000000",
            "tidings.toml:7:13: 'reasoning' can't be 'much'; known here: none, low, medium, high",
        ],
    );
    check(
        &priced("usd_per_milion_input = 1\n"),
        &[
            "tidings.toml:5:1: unknown key 'usd_per_milion_input'; did you mean 'usd_per_million_input'?",
        ],
    );
}

#[test]
fn several_keys_are_kept_in_their_order() {
    let text = format!(
        "{PROVIDER}api_key = \"env:OPENROUTER_API_KEY\"\napi_keys = [\"env:OTHER_TOKEN\", \"env:GITHUB_TOKEN\"]\n"
    );
    let settings = World::new().settings(&text);
    let keys: Vec<&str> = settings.providers["p"]
        .api_keys
        .iter()
        .map(waybill::Secret::reveal)
        .collect();
    assert_eq!(
        keys,
        [
            "sk-or-very-secret",
            "222:token-very-secret",
            "ghp-very-secret"
        ]
    );
    let names: Vec<String> = settings
        .secrets()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["providers.p.api_key"; 3]);
}

#[test]
fn one_of_several_keys_may_be_missing_and_all_of_them_may_not() {
    let world = World::new();
    let text = format!("{PROVIDER}api_keys = [\"env:UNSET\", \"env:GITHUB_TOKEN\"]\n");
    let loaded = world.read(&text);
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:4:13: warning: providers.p.api_keys: the variable UNSET is not set (or is not UTF-8); the other keys are used"
        ]
    );
    assert_eq!(loaded.settings().unwrap().providers["p"].api_keys.len(), 1);
    let loaded = world.read(&text.replace("GITHUB_TOKEN", "UNSET_TOO"));
    assert_eq!(loaded.problems.len(), 2, "{:#?}", loaded.problems);
    let settings = loaded.settings().unwrap();
    assert!(settings.providers.is_empty());
    assert_eq!(settings.disabled.len(), 1);
    let loaded = world.read(&text.replace("UNSET", "GITHUB_TOKEN"));
    assert_eq!(
        lines(&loaded.problems),
        ["tidings.toml:4:33: warning: providers.p.api_keys: this key is named twice"]
    );
}

#[test]
fn a_literal_among_several_keys_is_refused_and_not_repeated() {
    let world = World::new();
    let loaded = world.read(&format!(
        "{PROVIDER}api_keys = [\"env:GITHUB_TOKEN\", \"sk-hidden\"]\n"
    ));
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:4:33: 'api_keys' must not hold the secret itself, which would be copied with the file; write \"env:P_API_KEY_2\" or \"file:NAME\" (a file in the folder 'secrets')"
        ]
    );
    assert!(!format!("{loaded:?} {:?}", loaded.provenance()).contains("hidden"));
    assert!(loaded.settings().unwrap().providers.is_empty());
}

#[test]
fn whom_to_ask_instead_must_be_somebody() {
    let rest = format!("{PROVIDER}[profiles.work]\nmodel = \"p/m\"\n");
    let settings = World::new().settings(&format!("{rest}fallback = [\"p/other\", \"demo\"]\n"));
    let named = ModelChoice::Named {
        provider: "p".to_owned(),
        model: "other".to_owned(),
    };
    let work = &settings.profiles[&"work".parse().unwrap()];
    assert_eq!(work.fallback, [named, ModelChoice::Demo]);

    let loaded = World::new().read(&format!("{rest}fallback = [\"q/m\", \"p/other\"]\n"));
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:6:13: warning: there is no [providers.q]; did you mean 'p'?; the profile goes on without this model"
        ]
    );
    let settings = loaded.settings().unwrap();
    assert_eq!(
        settings.profiles[&"work".parse().unwrap()].fallback.len(),
        1
    );
    assert!(settings.disabled.is_empty());
}

#[test]
fn a_provider_that_is_disabled_costs_its_model_and_not_the_profile() {
    let text = format!(
        "{PROVIDER}[providers.away]\napi = \"openai-chat\"\nbase_url = \"http://h\"\napi_key = \"env:UNSET\"\n\
         [profiles.work]\nmodel = \"p/m\"\nfallback = [\"away/m\", \"p/other\"]\n"
    );
    let loaded = World::new().read(&text);
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:7:11: providers.away.api_key: the variable UNSET is not set (or is not UTF-8)",
            "tidings.toml:10:13: warning: the provider 'away' is disabled; the profile goes on without this model",
        ]
    );
    let settings = loaded.settings().unwrap();
    assert_eq!(
        settings.profiles[&"work".parse().unwrap()].fallback.len(),
        1
    );
}

#[test]
fn caps_are_read_inherited_and_in_force() {
    let settings = World::new().settings(
        "[defaults]\nmodel = \"demo\"\n[defaults.limits]\nusd_per_day = 2\nusd_per_month = 20.5\n\
         [profiles.work.limits]\nusd_per_day = 0.5\nusd_per_turn = 0.000001\nask_seconds = 60\n[profiles.other]\n",
    );
    let limits = |name: &str| settings.profiles[&name.parse().unwrap()].limits;
    let (work, other) = (limits("work"), limits("other"));
    assert_eq!(work.usd_per_turn, Some(Cost(1)));
    assert_eq!(work.usd_per_day, Some(Cost(500_000)));
    assert_eq!(work.usd_per_month, Some(Cost(20_500_000)));
    assert_eq!((work.ask_seconds, other.ask_seconds), (60, 600));
    assert_eq!(
        (other.usd_per_turn, other.usd_per_day),
        (None, Some(Cost(2_000_000)))
    );
    check(
        "[profiles.work.limits]\nusd_per_day = 0\nusd_per_moth = 1\nask_seconds = 1\n",
        &[
            "tidings.toml:2:15: 'usd_per_day' must be more than 0 and at most 1000000",
            "tidings.toml:3:1: unknown key 'usd_per_moth'; did you mean 'usd_per_month'?",
            "tidings.toml:4:15: 'ask_seconds' must be from 10 to 604800",
        ],
    );
}

#[test]
fn a_cap_that_can_not_count_is_said() {
    let priced = priced("usd_per_million_input = 1\nusd_per_million_output = 2\n");
    let profile = |model: &str| {
        format!("{priced}[profiles.work]\nmodel = \"{model}\"\nlimits.usd_per_month = 9\n")
    };
    check(&profile("p/a/b:c"), &[]);
    check(&profile("demo"), &[]);
    check(
        &profile("p/m"),
        &[
            "tidings.toml:9:24: warning: 'usd_per_month' can't count p/m: its price is unknown; write usd_per_million_input and usd_per_million_output into [providers.p.models.m]",
        ],
    );
    check(
        &profile("auto"),
        &[
            "tidings.toml:9:24: warning: 'usd_per_month' can't count what 'auto' finds: its price is unknown; name a model, with its price",
        ],
    );
    check(
        &format!("{}fallback = [\"p/m\"]\n", profile("p/a/b:c")),
        &[
            "tidings.toml:9:24: warning: 'usd_per_month' can't count p/m: its price is unknown; write usd_per_million_input and usd_per_million_output into [providers.p.models.m]",
        ],
    );
    // Said once, however many profiles inherit it.
    let loaded =
        World::new().read("[defaults.limits]\nusd_per_day = 1\n[profiles.a]\n[profiles.b]\n");
    assert_eq!(loaded.problems.len(), 1, "{:#?}", loaded.problems);
    assert!(loaded.is_sound());
}
