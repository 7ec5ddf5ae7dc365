//! The web, other programs' tools, and what the agent must ask for.

use tidings_settings::{
    Approval, Approvals, McpServer, McpTransport, Profile, SearchKind, Settings, Source,
};
use waybill::Secret;

use crate::world::{World, check, lines};

fn profile<'a>(settings: &'a Settings, name: &str) -> &'a Profile {
    &settings.profiles[&name.parse().unwrap()]
}

#[test]
fn the_web_may_be_read_and_not_searched_if_nobody_says_anything() {
    let settings = World::new().settings("");
    let web = &profile(&settings, "default").web;
    assert!(web.enabled && web.search.is_none());
    let settings = World::new().settings(
        "[profiles.a.web]\nenabled = false\nsearch = \"searxng\"\nsearch_url = \"http://h\"\n",
    );
    let web = &profile(&settings, "a").web;
    assert!(!web.enabled && web.search.is_none());
}

#[test]
fn a_search_engine_has_what_it_needs() {
    let world = World::new();
    let settings = world.settings(
        "[defaults.web]\nsearch = \"brave\"\nsearch_key = \"env:GITHUB_TOKEN\"\n[profiles.a]\n\
         [profiles.b.web]\nsearch = \"searxng\"\nsearch_url = \"http://127.0.0.1:8888/\"\n",
    );
    let search = profile(&settings, "a").web.search.clone().unwrap();
    assert_eq!((search.kind, search.url), (SearchKind::Brave, None));
    assert_eq!(search.key.unwrap().reveal(), "ghp-very-secret");
    let search = profile(&settings, "b").web.search.clone().unwrap();
    assert_eq!(search.kind, SearchKind::Searxng);
    assert_eq!(search.url.as_deref(), Some("http://127.0.0.1:8888"));
    let secrets = settings.secrets();
    assert!(secrets.iter().any(
        |(name, key)| name == "profiles.a.web.search_key" && key.reveal() == "ghp-very-secret"
    ));

    check(
        "[profiles.a.web]\nsearch = \"tavily\"\n",
        &["tidings.toml:2:10: search = \"tavily\" needs 'search_key' beside it: \"env:NAME\""],
    );
    check(
        "[profiles.a.web]\nsearch = \"searxng\"\n",
        &[
            "tidings.toml:2:10: search = \"searxng\" needs 'search_url' beside it: the address of your server",
        ],
    );
    check(
        "[profiles.a.web]\nsearch_url = \"http://h\"\n",
        &[
            "tidings.toml:2:14: 'search_url' says nothing without 'search': write search = \"searxng\", \"brave\", \"tavily\"",
        ],
    );
    check(
        "[profiles.a.web]\nsearch = \"tavly\"\nsearch_key = \"tvly-hidden\"\n",
        &[
            "tidings.toml:2:10: 'search' can't be 'tavly'; did you mean 'tavily'?",
            "tidings.toml:3:14: 'search_key' must not hold the secret itself, which would be copied with the file; write \"env:A_WEB_SEARCH_KEY\" or \"file:NAME\" (a file in the folder 'secrets')",
        ],
    );
}

#[test]
fn a_key_that_is_missing_costs_the_search_and_not_the_profile() {
    let loaded =
        World::new().read("[profiles.a.web]\nsearch = \"brave\"\nsearch_key = \"env:UNSET\"\n");
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:3:14: warning: profiles.a.web.search_key: the variable UNSET is not set (or is not UTF-8); the web can't be searched"
        ]
    );
    let web = &profile(loaded.settings().unwrap(), "a").web;
    assert!(web.enabled && web.search.is_none());
}

const SERVERS: &str = r#"[defaults.mcp.files]
command = ["npx", "-y", "server", ""]
env = { LANG = "C.UTF-8" }
secret_env = ["env:GITHUB_TOKEN"]
[defaults.mcp.far]
url = "https://mcp.example.org/mcp"
headers_secret = { Authorization = "env:BEARER" }
tools = ["read", "list"]
[profiles.a]
[profiles.b.mcp.far]
enabled = false
[profiles.b.mcp.files]
env = { TZ = "UTC" }
[profiles.b.mcp.own]
url = "http://127.0.0.1:3000/mcp?"
"#;

fn servers() -> String {
    SERVERS
        .replace("/mcp?", "/mcp")
        .replace("env:BEARER", "env:OTHER_TOKEN")
}

#[test]
fn servers_are_inherited_by_name_and_merged_key_by_key() {
    let world = World::new();
    let settings = world.settings(&servers());
    let names =
        |name: &str| -> Vec<String> { profile(&settings, name).mcp.keys().cloned().collect() };
    assert_eq!(names("a"), ["far", "files"]);
    assert_eq!(names("b"), ["files", "own"]);
    let McpTransport::Program {
        command,
        env,
        secret_env,
    } = &profile(&settings, "b").mcp["files"].transport
    else {
        panic!("a program")
    };
    assert_eq!(command.as_slice(), ["npx", "-y", "server", ""]);
    assert_eq!(env.keys().collect::<Vec<_>>(), ["LANG", "TZ"]);
    assert_eq!(secret_env["GITHUB_TOKEN"].reveal(), "ghp-very-secret");
    let far = &profile(&settings, "a").mcp["far"];
    let authorization = Secret::new("222:token-very-secret".to_owned());
    assert_eq!(
        *far,
        McpServer {
            transport: McpTransport::Http {
                url: "https://mcp.example.org/mcp".to_owned(),
                headers: [("Authorization".to_owned(), authorization)].into(),
            },
            tools: Some(vec!["read".to_owned(), "list".to_owned()]),
        }
    );
    assert_eq!(profile(&settings, "b").mcp["own"].tools, None);
    assert!(!format!("{settings:?}").contains("very-secret"));
}

#[test]
fn each_value_of_a_server_tells_where_it_came_from() {
    let all = World::new().read(&servers()).provenance();
    for (key, value, source) in [
        (
            "profiles.b.mcp.files.command",
            "[\"npx\", \"-y\", \"server\", \"\"]",
            Source::Inherited { line: 2 },
        ),
        (
            "profiles.b.mcp.files.env.TZ",
            "\"UTC\"",
            Source::File { line: 13 },
        ),
        (
            "profiles.b.mcp.far.enabled",
            "false",
            Source::File { line: 11 },
        ),
        ("profiles.b.mcp.own.enabled", "true", Source::Default),
        (
            "profiles.a.mcp.far.headers_secret.Authorization",
            "\"env:OTHER_TOKEN\"",
            Source::Inherited { line: 7 },
        ),
        ("profiles.a.approvals.send", "\"ask\"", Source::Default),
        ("profiles.a.limits.ask_seconds", "600", Source::Default),
    ] {
        let found = all
            .iter()
            .find(|one| one.key == key)
            .unwrap_or_else(|| panic!("{key}: {all:#?}"));
        assert_eq!(
            (found.value.as_str(), found.source),
            (value, source),
            "{key}"
        );
    }
}

#[test]
fn what_a_server_may_repeat_is_kept_out_of_sight() {
    let world = World::new();
    world.secret("bearer", b"Bearer abc-very-secret", 0o600);
    let settings = world.settings(
        "[profiles.a.mcp.s]\nurl = \"https://h\"\nheaders_secret.Authorization = \"file:bearer\"\n",
    );
    let known: Vec<String> = settings
        .secrets()
        .into_iter()
        .map(|(name, value)| format!("{name} {}", value.reveal()))
        .collect();
    assert_eq!(
        known,
        [
            "profiles.a.mcp.s.headers_secret.Authorization Bearer abc-very-secret",
            "profiles.a.mcp.s.headers_secret.Authorization abc-very-secret",
        ]
    );
}

#[test]
fn a_server_is_a_program_or_an_address_and_says_nothing_that_does_not_count() {
    for (text, expected) in [
        (
            "",
            "tidings.toml:1:1: profiles.a.mcp.s needs 'command' (a program here) or 'url' (a server elsewhere)",
        ),
        (
            "command = [\"x\"]\nurl = \"http://h\"\n",
            "tidings.toml:2:11: profiles.a.mcp.s has 'command' and 'url': a server is one or the other",
        ),
        (
            "command = []\n",
            "tidings.toml:2:11: 'command' names no program",
        ),
        (
            "command = \"npx\"\n",
            "tidings.toml:2:11: 'command' must be a list in [ ], not a text",
        ),
        (
            "command = [\"x\"]\ntools = []\n",
            "tidings.toml:3:9: 'tools' names none: leave it out for all of them, or write enabled = false",
        ),
        (
            "url = \"http://h\"\nsecret_env = [\"env:GITHUB_TOKEN\"]\n",
            "tidings.toml:3:14: 'secret_env' says nothing without 'command'",
        ),
        (
            "url = \"http://h\"\nenv.A = \"b\"\n",
            "tidings.toml:3:1: 'env' says nothing without 'command'",
        ),
        (
            "command = [\"x\"]\nheaders_secret = { A = \"env:GITHUB_TOKEN\" }\n",
            "tidings.toml:3:18: 'headers_secret' says nothing without 'url'",
        ),
        (
            "command = [\"x\"]\nsecret_env = [\"env:GITHUB_TOKEN\"]\nenv.GITHUB_TOKEN = \"b\"\n",
            "tidings.toml:3:15: the variable GITHUB_TOKEN is given twice",
        ),
        (
            "url = \"http://h\"\nheaders_secret = { Authorization = \"Bearer hidden\" }\n",
            "tidings.toml:3:36: 'Authorization' must not hold the secret itself, which would be copied with the file; write \"env:A_MCP_S_HEADERS_SECRET_AUTHORIZATION\" or \"file:NAME\" (a file in the folder 'secrets')",
        ),
        (
            "url = \"http://h\"\nheaders_secret = { Host = \"env:GITHUB_TOKEN\" }\n",
            "tidings.toml:3:20: 'Host' is a header that the gateway writes itself",
        ),
        (
            "url = \"http://ana:word@h\"\n",
            "tidings.toml:2:7: 'url' must not hold a name or a password; keep secrets as \"env:NAME\" or \"file:NAME\"",
        ),
        (
            "comand = [\"x\"]\n",
            "tidings.toml:2:1: unknown key 'comand'; did you mean 'command'?",
        ),
    ] {
        let found = lines(
            &World::new()
                .read(&format!("[profiles.a.mcp.s]\n{text}"))
                .problems,
        );
        assert!(found.contains(&expected.to_owned()), "{text}: {found:#?}");
        assert!(!found.concat().contains("hidden"), "{found:#?}");
    }
    check(
        "[profiles.a.mcp.\"a b\"]\nurl = \"http://h\"\n",
        &["tidings.toml:1:17: 'a b' is no server's name: 1 to 24 letters, digits, '-' and '_'"],
    );
}

#[test]
fn a_secret_that_is_missing_costs_its_server_and_not_the_profile() {
    let loaded = World::new().read(
        "[profiles.a.mcp.s]\nurl = \"http://h\"\nheaders_secret.X = \"env:UNSET\"\n\
         [profiles.a.mcp.t]\ncommand = [\"x\"]\nsecret_env = [\"env:UNSET\"]\n[profiles.a.mcp.u]\ncommand = [\"x\"]\n",
    );
    assert_eq!(
        lines(&loaded.problems),
        [
            "tidings.toml:3:20: warning: profiles.a.mcp.s.headers_secret.X: the variable UNSET is not set (or is not UTF-8); this server is left out",
            "tidings.toml:6:15: warning: profiles.a.mcp.t.secret_env: the variable UNSET is not set (or is not UTF-8); this server is left out",
        ]
    );
    let names: Vec<&String> = profile(loaded.settings().unwrap(), "a")
        .mcp
        .keys()
        .collect();
    assert_eq!(names, ["u"]);
}

#[test]
fn what_leaves_the_walls_is_asked_for_unless_the_owner_says_otherwise() {
    let settings = World::new().settings(
        "[defaults.approvals]\nsend = \"deny\"\n[profiles.a]\n[profiles.b.approvals]\nsend = \"allow\"\nweb = \"ask\"\n",
    );
    let usual = Approvals {
        send: Approval::Deny,
        mcp: Approval::Ask,
        memory: Approval::Allow,
        web: Approval::Allow,
    };
    assert_eq!(profile(&settings, "a").approvals, usual);
    assert_eq!(
        profile(&settings, "b").approvals,
        Approvals {
            send: Approval::Allow,
            web: Approval::Ask,
            ..usual
        }
    );
    check(
        "[profiles.a.approvals]\nsend = \"yes\"\nmpc = \"ask\"\n",
        &[
            "tidings.toml:2:8: 'send' can't be 'yes'; known here: ask, allow, deny",
            "tidings.toml:3:1: unknown key 'mpc'; did you mean 'mcp'?",
        ],
    );
}
