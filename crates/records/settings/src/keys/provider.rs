//! `[providers.*]`

use crate::rule;
use crate::settings::{Api, Reasoning};
use crate::shape::{Floor, Key, Kind, Preset};

const WINDOW: Kind = Kind::Integer {
    least: 4_096,
    most: 2_000_000,
};

/// US dollars for a million tokens: nobody asks for more than a dollar a token.
const PRICE: Kind = Kind::Number {
    floor: Floor::Zero,
    most: 1_000_000.0,
};

pub(super) const PROVIDER: &[Key] = &[
    Key::new(
        "api",
        Kind::Choice(Api::NAMES),
        "Which protocol the provider speaks; docs/models.md says which to choose.",
    )
    .required(),
    Key::new(
        "base_url",
        Kind::Text(rule::url),
        "Where its API begins, without a password or a query.",
    )
    .required(),
    Key::new(
        "api_key",
        Kind::Reference,
        "Where the key is kept. Leave it out if the provider needs none.",
    ),
    Key::new(
        "api_keys",
        Kind::List(&Kind::Reference),
        "More keys of the same provider. When one is refused, has no credit left or has used up its quota, the next one is asked with.",
    )
    .or(Preset::EmptyList),
    Key::new(
        "context_tokens",
        WINDOW,
        "How many tokens fit into the window of its models, question and answer together. With `api = \"ollama\"` the server is told to keep so many, 32768 if this is left out; more needs more memory.",
    ),
    Key::new(
        "models",
        Kind::Map {
            of: &Kind::Table(MODEL),
            name: rule::model_name,
            word: "MODEL",
        },
        "What is known of single models, by the provider's own names for them.",
    ),
];

const MODEL: &[Key] = &[
    Key::new(
        "context_tokens",
        WINDOW,
        "Tokens that fit into its window; it comes before the provider's own `context_tokens`.",
    ),
    Key::new(
        "images",
        Kind::Flag,
        "Whether it looks at pictures. Left out, nobody knows, and it is tried.",
    ),
    Key::new(
        "usd_per_million_input",
        PRICE,
        "What a million tokens cost that it reads. 0 is for nothing. Without prices, what it costs is unknown and counted nowhere in dollars (docs/money.md).",
    ),
    Key::new(
        "usd_per_million_cached",
        PRICE,
        "What a million tokens cost that it reads from its cache; left out, as much as others.",
    ),
    Key::new(
        "usd_per_million_output",
        PRICE,
        "What a million tokens cost that it writes.",
    ),
    Key::new(
        "reasoning",
        Kind::Choice(Reasoning::NAMES),
        "How hard it thinks before it answers. Left out, as the provider likes.",
    ),
];
