//! What an account is made of.

use std::time::Duration;

use waybill::{AccountId, Secret};

use crate::Pace;

/// The public service.
const PUBLIC: &str = "https://api.telegram.org";

/// One bot.
#[derive(Debug, Clone)]
pub struct Options {
    /// The account's name.
    pub account: AccountId,
    /// The token that BotFather gave.
    pub token: Secret,
    /// The Bot API server, without the bot's part of the path.
    pub api_base: String,
    /// Largest file that can be sent, in bytes (Bot API 10.3: 50 MB; more with an own server).
    pub file_out: u64,
    /// Largest file that can be fetched, in bytes (Bot API 10.3: 20 MB; more with an own server).
    pub file_in: u64,
    /// How long a poll waits for news (Bot API 10.3: at most 50 seconds).
    pub poll: Duration,
    /// How much longer than that an answer may take before the poll is given up.
    pub poll_grace: Duration,
    /// How long troubles are waited out.
    pub pace: Pace,
}

/// Why an account can't be set up. The text is for the owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// The token has not the form that BotFather gives.
    #[error(
        "the token of '{account}' is not a bot token: it looks like 123456789:AA…, as BotFather shows it"
    )]
    Token {
        /// Whose.
        account: AccountId,
    },
}

impl Options {
    /// A bot of the public service.
    #[must_use]
    pub fn new(account: AccountId, token: Secret) -> Self {
        Self {
            account,
            token,
            api_base: PUBLIC.to_owned(),
            file_out: 50_000_000,
            file_in: 20_000_000,
            poll: Duration::from_secs(50),
            poll_grace: Duration::from_secs(10),
            pace: Pace::default(),
        }
    }

    /// The bot's id: the number before the colon.
    pub(crate) fn bot_id(&self) -> Result<i64, OptionsError> {
        let wrong = || OptionsError::Token {
            account: self.account.clone(),
        };
        let (id, rest) = self.token.reveal().split_once(':').ok_or_else(wrong)?;
        let fine = !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        id.parse().ok().filter(|_| fine).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_would_change_the_address_is_refused() {
        let id = |token: &str| {
            let account = AccountId::parse("home-bot").unwrap();
            Options::new(account, Secret::new(token.to_owned()))
                .bot_id()
                .ok()
        };
        assert_eq!(id("123456:AAh_x-9"), Some(123_456));
        for bad in [
            "",
            "123456",
            "123456:",
            ":abc",
            "123456:a/b",
            "123456:a b",
            "bot123456:abc",
            "123456:abc\n",
        ] {
            assert_eq!(id(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_token_does_not_show() {
        let account = AccountId::parse("home-bot").unwrap();
        let options = Options::new(account.clone(), Secret::new("123456:SECRET".to_owned()));
        assert!(!format!("{options:?}").contains("SECRET"));
        let broken = Options::new(account, Secret::new("SECRET".to_owned()));
        let told = broken.bot_id().unwrap_err();
        assert!(!format!("{told} {told:?}").contains("SECRET"));
    }
}
