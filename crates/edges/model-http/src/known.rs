//! Vendors that are found by the name of the variable that holds their key, for `model = "auto"`.

use crate::codec::Api;

/// A vendor, and how it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The environment variable that usually holds its key.
    pub key_variable: &'static str,
    /// Its name in `model = "PROVIDER/MODEL"`.
    pub provider: &'static str,
    /// The protocol that serves it best.
    pub api: Api,
    /// The address, without the protocol's own path.
    pub base_url: &'static str,
    /// The model that `auto` takes. Vendors retire models; the owner names another with `model = "PROVIDER/MODEL"`.
    pub default_model: &'static str,
}

/// In the order in which `auto` looks.
pub const KNOWN: &[Known] = &[
    Known {
        key_variable: "ANTHROPIC_API_KEY",
        provider: "anthropic",
        api: Api::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        default_model: "claude-sonnet-5",
    },
    Known {
        key_variable: "OPENAI_API_KEY",
        provider: "openai",
        api: Api::OpenaiResponses,
        base_url: "https://api.openai.com/v1",
        default_model: "gpt-5.6-terra",
    },
    Known {
        key_variable: "OPENROUTER_API_KEY",
        provider: "openrouter",
        api: Api::OpenaiChat,
        base_url: "https://openrouter.ai/api/v1",
        // The router's own choice, so that this name does not age.
        default_model: "openrouter/auto",
    },
];

/// The vendor of a provider's name.
#[must_use]
pub fn by_provider(provider: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.provider == provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vendor_is_found_by_its_name() {
        assert_eq!(
            by_provider("openai").map(|known| known.key_variable),
            Some("OPENAI_API_KEY")
        );
        assert_eq!(by_provider("acme"), None);
    }
}
