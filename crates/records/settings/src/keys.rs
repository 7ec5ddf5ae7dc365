//! Every key of `tidings.toml`, once.

mod profile;
mod provider;

use profile::PROFILE;
use provider::PROVIDER;

use crate::rule;
use crate::rule::IdRule;
use crate::settings::{Busy, WhenUnknown};
use crate::shape::{Key, Kind, Preset};

/// The top level of the file.
pub(crate) const ROOT: &[Key] = &[
    Key::new(
        "gateway",
        Kind::Table(GATEWAY),
        "The running gateway itself.",
    ),
    Key::new(
        "retention",
        Kind::Table(RETENTION),
        "How long things are kept; `docs/retention.md` says what goes when.",
    ),
    Key::new(
        "defaults",
        Kind::Table(PROFILE),
        "What every profile inherits. A profile's own value comes first; tables are merged key by key, lists are replaced.",
    ),
    Key::new(
        "providers",
        Kind::Map {
            of: &Kind::Table(PROVIDER),
            name: rule::provider_name,
            word: "PROVIDER",
        },
        "Where models are found.",
    ),
    Key::new(
        "profiles",
        Kind::Map {
            of: &Kind::Table(PROFILE),
            name: rule::profile_name,
            word: "PROFILE",
        },
        "The tenants. Without any, there is one profile named `default`.",
    ),
    Key::new(
        "channels",
        Kind::Map {
            of: &Kind::Table(CHANNEL),
            name: rule::account_name,
            word: "ACCOUNT",
        },
        "Accounts on chat services, by a name of your choice (not `web`, `api`, `local` or `origin`, which are taken).",
    ),
    Key::new(
        "routes",
        Kind::List(&Kind::Table(ROUTE)),
        "Which profile answers where. The most specific match wins (thread, then chat, then account); two routes for the same place are an error.",
    ),
];

const GATEWAY: &[Key] = &[
    Key::new(
        "listen",
        Kind::Text(rule::listen),
        "Address and port of the web chat and the API. Only loopback addresses for now: others need TLS or a trusted proxy, and authentication, which this version does not have.",
    )
    .or(Preset::Text("127.0.0.1:7717")),
    Key::new(
        "drain_seconds",
        Kind::Integer { least: 0, most: 3600 },
        "How long running turns may take to end after SIGTERM.",
    )
    .or(Preset::Integer(30)),
    Key::new(
        "log",
        Kind::Text(rule::log_filter),
        "How much is logged: error, warn, info, debug, trace, or a filter such as `info,tidings_agent=debug`. The variable TIDINGS_LOG overrules it.",
    )
    .or(Preset::Text("info")),
];

/// A hundred years: longer is for ever.
const MOST_DAYS: i64 = 36_525;
const MOST_HOURS: i64 = MOST_DAYS * 24;

const RETENTION: &[Key] = &[
    Key::new(
        "sent_days",
        Kind::Integer { least: 1, most: MOST_DAYS },
        "Messages that are done, with their receipts, keys and attempts.",
    )
    .or(Preset::Integer(30)),
    Key::new(
        "words_hours",
        Kind::Integer { least: 0, most: MOST_HOURS },
        "The words and the file of a part after it was sent, and what a person wrote after it was handled. Only ids, hashes, sizes and times stay. A transcript and the web chat keep their own.",
    )
    .or(Preset::Integer(72)),
    Key::new(
        "dead_days",
        Kind::Integer { least: 1, most: MOST_DAYS },
        "Messages that could not be delivered, whether somebody cared for them or not.",
    )
    .or(Preset::Integer(30)),
    Key::new(
        "inbox_days",
        Kind::Integer { least: 7, most: MOST_DAYS },
        "The keys of events, by which a repeat is known. Some platforms repeat for a week.",
    )
    .or(Preset::Integer(7)),
    Key::new(
        "ignored_hours",
        Kind::Integer { least: 0, most: MOST_HOURS },
        "The text of events that concerned nobody here.",
    )
    .or(Preset::Integer(24)),
    Key::new(
        "blob_grace_hours",
        Kind::Integer { least: 0, most: MOST_HOURS },
        "Files that nothing names: uploads that were never sent, what a crash left behind.",
    )
    .or(Preset::Integer(24)),
    Key::new(
        "conversations_days",
        Kind::Integer { least: 0, most: MOST_DAYS },
        "Transcripts and web chats in which nothing happened since. 0 is for ever.",
    )
    .or(Preset::Integer(0)),
];

const CHANNEL: &[Key] = &[
    Key::new("kind", Kind::Choice(&["telegram"]), "Which chat service.").required(),
    Key::new(
        "profile",
        Kind::Text(rule::profile_name),
        "The profile that answers, unless a route says otherwise.",
    )
    .required(),
    Key::new("token", Kind::Reference, "Where the bot's token is kept.").required(),
    Key::new(
        "api_base",
        Kind::Text(rule::url),
        "Where the service's API begins.",
    )
    .or(Preset::Text("https://api.telegram.org")),
    Key::new(
        "owner",
        Kind::List(&Kind::Id(IdRule::Person)),
        "Ids of the people who may do everything. Ids only, never names.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "allow",
        Kind::List(&Kind::Id(IdRule::Person)),
        "Ids of the people who may talk.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "pairing",
        Kind::Flag,
        "Strangers get a pairing code instead of silence.",
    )
    .or(Preset::Flag(false))
    .not_yet("strangers get silence"),
    Key::new(
        "busy",
        Kind::Choice(Busy::NAMES),
        "What a message does while a turn runs: wait for its own, join it, or stop it.",
    )
    .or(Preset::Text("queue")),
    Key::new(
        "when_unknown",
        Kind::Choice(WhenUnknown::NAMES),
        "What becomes of a message of which nobody can find out whether it arrived: sent again with a mark, or held for you.",
    )
    .or(Preset::Text("repeat")),
    Key::new(
        "messages_per_second",
        Kind::Integer {
            least: 1,
            most: 1_000,
        },
        "How many messages a second the service takes from this account in all: 30, or up to 1,000 with a paid broadcast.",
    )
    .or(Preset::Integer(30)),
    Key::new("groups", Kind::Table(GROUPS), "Group chats."),
    Key::new(
        "guest",
        Kind::Table(GUEST),
        "Chats that the bot is not a member of.",
    ),
];

const GROUPS: &[Key] = &[
    Key::new(
        "allow",
        Kind::List(&Kind::Id(IdRule::Group)),
        "Ids of the groups in which the agent answers.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "require_mention",
        Kind::Flag,
        "In groups, answer only if spoken to.",
    )
    .or(Preset::Flag(true)),
];

const GUEST: &[Key] = &[
    Key::new("enabled", Kind::Flag, "Answer where the bot is a guest.")
        .or(Preset::Flag(false))
        .not_yet("guest chats are not answered"),
    Key::new(
        "staging_chat",
        Kind::Id(IdRule::Chat),
        "A chat of the owner's through which files for guest chats pass.",
    ),
];

const ROUTE: &[Key] = &[
    Key::new("channel", Kind::Text(rule::account_name), "The account.").required(),
    Key::new("chat", Kind::Id(IdRule::Chat), "Only this chat of it."),
    Key::new(
        "thread",
        Kind::Id(IdRule::Thread),
        "Only this thread of the chat.",
    ),
    Key::new(
        "profile",
        Kind::Text(rule::profile_name),
        "The profile that answers there.",
    )
    .required(),
];
