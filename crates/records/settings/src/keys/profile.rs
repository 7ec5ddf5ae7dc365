//! `[profiles.*]` and `[defaults]`

use crate::rule;
use crate::settings::{Approval, DriverChoice, SearchKind};
use crate::shape::{Floor, Key, Kind, Preset};

const CAP: Kind = Kind::Number {
    floor: Floor::AboveZero,
    most: 1_000_000.0,
};

pub(super) const PROFILE: &[Key] = &[
    Key::new(
        "model",
        Kind::Text(rule::model),
        "`PROVIDER/MODEL` with a provider of this file, `demo` (works without a key), or `auto`.",
    )
    .or(Preset::Text("auto")),
    Key::new(
        "fallback",
        Kind::List(&Kind::Text(rule::model)),
        "Models to ask, in order, when `model` does not answer; written as `model` is.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "soul",
        Kind::Text(rule::file_name),
        "The persona's file in the profile's folder. Without it, `SOUL.md` is used if it is there.",
    ),
    Key::new(
        "sandbox",
        Kind::Table(SANDBOX),
        "Where the agent's commands run.",
    ),
    Key::new(
        "limits",
        Kind::Table(LIMITS),
        "Bounds of a turn, and of what the profile spends.",
    ),
    Key::new(
        "web",
        Kind::Table(WEB),
        "What the agent reads of the web, through the gateway.",
    ),
    Key::new(
        "mcp",
        Kind::Map {
            of: &Kind::Table(MCP),
            name: rule::server_name,
            word: "SERVER",
        },
        "Servers whose tools the agent may call (Model Context Protocol), by a name of your choice.",
    ),
    Key::new(
        "approvals",
        Kind::Table(APPROVALS),
        "What the agent may do by itself, what it must ask for, and what it may never do.",
    ),
];

const SANDBOX: &[Key] = &[
    Key::new(
        "driver",
        Kind::Choice(DriverChoice::NAMES),
        "`auto` takes docker if its daemon answers, else process. `ssh` is another machine, named in `sandbox.ssh`. `host` has no walls at all.",
    )
    .or(Preset::Text("auto")),
    Key::new("image", Kind::Text(rule::image), "The container's image.")
        .or(Preset::Text("debian:bookworm-slim")),
    Key::new(
        "scope",
        Kind::Choice(&["profile", "session"]),
        "One sandbox for the whole profile, or one for each conversation.",
    )
    .or(Preset::Text("profile")),
    Key::new(
        "network",
        Kind::Choice(&["none", "bridge"]),
        "Whether commands reach the network.",
    )
    .or(Preset::Text("none")),
    Key::new(
        "allow",
        Kind::List(&Kind::Text(rule::destination)),
        "What commands may reach all the same where the network is `none`: `HOST:PORT`, or `*.HOST:PORT` for whatever is below a name. They reach it through the gateway's proxy.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "ssh",
        Kind::Table(SSH),
        "The machine of the driver `ssh`.",
    ),
    Key::new(
        "mounts",
        Kind::List(&Kind::Table(MOUNT)),
        "Folders of this machine that the sandbox sees. Never the home of Tidings, a part of it, or a folder around it.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "memory",
        Kind::Size { least: 16 << 20, most: 1 << 50 },
        "Memory: bytes, or a text such as `512m` or `2g`.",
    )
    .or(Preset::Integer(2 << 30)),
    Key::new("cpus", Kind::Number { floor: Floor::AboveZero, most: 1024.0 }, "Processor cores.").or(Preset::Number(1.0)),
    Key::new(
        "pids",
        Kind::Integer { least: 8, most: 1 << 22 },
        "Processes and threads.",
    )
    .or(Preset::Integer(256)),
    Key::new(
        "command_seconds",
        Kind::Integer { least: 1, most: 86_400 },
        "Longest run of one command.",
    )
    .or(Preset::Integer(180)),
    Key::new(
        "idle_seconds",
        Kind::Integer { least: 1, most: 31_536_000 },
        "Unused for this long, a sandbox may be stopped.",
    )
    .or(Preset::Integer(3600)),
    Key::new(
        "env",
        Kind::Map { of: &Kind::Text(rule::env_value), name: rule::env_name, word: "VARIABLE" },
        "Environment of every command.",
    ),
    Key::new(
        "secret_env",
        Kind::List(&Kind::Reference),
        "Secrets that every command sees as variables of the same name.",
    )
    .or(Preset::EmptyList),
];

const SSH: &[Key] = &[
    Key::new(
        "host",
        Kind::Text(rule::ssh_host),
        "Name or address of the machine. Needed where `driver` is `ssh`.",
    ),
    Key::new(
        "port",
        Kind::Integer {
            least: 1,
            most: 65_535,
        },
        "Its port.",
    )
    .or(Preset::Integer(22)),
    Key::new(
        "user",
        Kind::Text(rule::ssh_user),
        "The account there: what it may do, commands may do. Needed where `driver` is `ssh`.",
    ),
    Key::new(
        "key",
        Kind::Reference,
        "Where the private key is kept, in OpenSSH's format and without a passphrase. Needed where `driver` is `ssh`.",
    ),
    Key::new(
        "host_key",
        Kind::Text(rule::ssh_host_key),
        "The machine's public key, `ssh-ed25519 AAAA…` or `SHA256:…`; `ssh-keyscan HOST` shows it. Another one is refused. Needed where `driver` is `ssh`.",
    ),
    Key::new(
        "folder",
        Kind::Text(rule::ssh_folder),
        "The folder of the sandboxes there, below the account's home unless absolute.",
    )
    .or(Preset::Text("tidings")),
];

const MOUNT: &[Key] = &[
    Key::new(
        "host",
        Kind::Text(rule::mount_host),
        "The folder or file on this machine, absolute.",
    )
    .required(),
    Key::new(
        "at",
        Kind::Text(rule::mount_at),
        "Where the sandbox sees it, absolute.",
    )
    .required(),
    Key::new(
        "mode",
        Kind::Choice(&["ro", "rw", "secret"]),
        "Read only, read and write, or read only and never sent by name.",
    )
    .or(Preset::Text("ro")),
];

const LIMITS: &[Key] = &[
    Key::new(
        "turn_steps",
        Kind::Integer {
            least: 1,
            most: 10_000,
        },
        "How often a turn may ask the model.",
    )
    .or(Preset::Integer(60)),
    Key::new(
        "usd_per_turn",
        CAP,
        "US dollars that one turn may cost. The call that goes over it is the last one (docs/money.md).",
    ),
    Key::new(
        "usd_per_day",
        CAP,
        "US dollars that the profile may spend in a day, which begins at midnight UTC.",
    ),
    Key::new(
        "usd_per_month",
        CAP,
        "US dollars that the profile may spend in a calendar month (UTC).",
    ),
    Key::new(
        "ask_seconds",
        Kind::Integer {
            least: 10,
            most: 604_800,
        },
        "How long a question of the agent waits for its answer.",
    )
    .or(Preset::Integer(600)),
    Key::new(
        "attachment_bytes",
        Kind::Size {
            least: 1,
            most: 4 << 30,
        },
        "Largest file that is taken in or sent: bytes, or a text such as `50m`.",
    )
    .or(Preset::Integer(52_428_800)),
];

const WEB: &[Key] = &[
    Key::new(
        "enabled",
        Kind::Flag,
        "Whether the agent may read pages. It reaches no address of this machine or of a private network.",
    )
    .or(Preset::Flag(true)),
    Key::new(
        "search",
        Kind::Choice(SearchKind::NAMES),
        "With what it searches. Left out, it can't.",
    ),
    Key::new(
        "search_url",
        Kind::Text(rule::url),
        "Where the search engine is. Needed for `searxng`; the others have their own.",
    ),
    Key::new(
        "search_key",
        Kind::Reference,
        "Where the search engine's key is kept. Needed for `brave` and `tavily`.",
    ),
];

const MCP: &[Key] = &[
    Key::new(
        "command",
        Kind::List(&Kind::Text(rule::argument)),
        "The program to start, and its arguments. It runs on this machine, outside every sandbox: name only what you trust. Either this or `url`.",
    ),
    Key::new(
        "env",
        Kind::Map {
            of: &Kind::Text(rule::env_value),
            name: rule::env_name,
            word: "VARIABLE",
        },
        "The program's environment, beside `PATH`, `HOME` and the language.",
    ),
    Key::new(
        "secret_env",
        Kind::List(&Kind::Reference),
        "Secrets that the program sees as variables of the same name.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "url",
        Kind::Text(rule::url),
        "Where a server answers over HTTP. Either this or `command`.",
    ),
    Key::new(
        "headers_secret",
        Kind::Map {
            of: &Kind::Reference,
            name: rule::header_name,
            word: "HEADER",
        },
        "Headers for a server over HTTP; the secret is the whole value, such as `Bearer …`.",
    ),
    Key::new(
        "tools",
        Kind::List(&Kind::Text(rule::tool_name)),
        "The only tools of it that may be called, by its own names. Left out, all.",
    ),
    Key::new("enabled", Kind::Flag, "Whether it is used.").or(Preset::Flag(true)),
];

const APPROVALS: &[Key] = &[
    Key::new(
        "send",
        Kind::Choice(Approval::NAMES),
        "Messages to other chats of the profile.",
    )
    .or(Preset::Text("ask")),
    Key::new(
        "mcp",
        Kind::Choice(Approval::NAMES),
        "Tools of other servers that may change something.",
    )
    .or(Preset::Text("ask")),
    Key::new(
        "memory",
        Kind::Choice(Approval::NAMES),
        "What the agent writes into its memory.",
    )
    .or(Preset::Text("allow")),
    Key::new("web", Kind::Choice(Approval::NAMES), "Reading pages.").or(Preset::Text("allow")),
];
