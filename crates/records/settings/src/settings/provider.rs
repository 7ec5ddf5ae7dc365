//! Where models are found, and which one is meant.

use std::collections::BTreeMap;

use model::Price;
use waybill::Secret;

use super::{Api, Reasoning};

/// `[providers.NAME]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its protocol.
    pub api: Api,
    /// Where its API begins; no slash at the end.
    pub base_url: String,
    /// Its keys, in the order in which they are tried; none if it needs none.
    pub api_keys: Vec<Secret>,
    /// Tokens that fit into the window of its models, if somebody said; a local server is told to keep so many.
    pub context: Option<u32>,
    /// What is known of single models, by the provider's own names.
    pub models: BTreeMap<String, ModelSettings>,
}

impl Provider {
    /// The window of a model in tokens, if somebody said: its own, else the provider's.
    #[must_use]
    pub fn window(&self, model: &str) -> Option<u32> {
        let own = self.models.get(model).and_then(|model| model.context);
        own.or(self.context)
    }
}

/// `[providers.NAME.models."MODEL"]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelSettings {
    /// Tokens that fit into its window.
    pub context: Option<u32>,
    /// Whether it looks at pictures.
    pub images: Option<bool>,
    /// What it costs; `None` where nobody said, which is not nothing.
    pub price: Option<Price>,
    /// How hard it thinks; `None`: as the provider likes.
    pub reasoning: Option<Reasoning>,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// Whatever is found.
    Auto,
    /// The scripted one.
    Demo,
    /// A provider's.
    Named {
        /// A key of [`Settings::providers`].
        provider: String,
        /// The provider's own name for it; may hold slashes.
        model: String,
    },
}

impl ModelChoice {
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "demo" => Some(Self::Demo),
            _ => text.split_once('/').map(|(provider, model)| Self::Named {
                provider: provider.to_owned(),
                model: model.to_owned(),
            }),
        }
    }
}
