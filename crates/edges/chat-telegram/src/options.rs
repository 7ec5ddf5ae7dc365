//! What an account is made of.

use std::time::Duration;

use chat::WhenUnknown;
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
    /// How many messages a second the platform takes from this bot in all (Bot API FAQ: about 30; up to 1,000 paid).
    pub per_second: u32,
    /// What to do with a part of which nobody can find out whether it arrived.
    pub when_unknown: WhenUnknown,
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
            per_second: 30,
            when_unknown: WhenUnknown::default(),
        }
    }

    /// Refuses a token that can't stand in an address: it is no token, and would be sent to a wrong one.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        let token = self.token.reveal();
        let fine = !token.is_empty()
            && token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'-' | b'_'));
        if fine {
            Ok(())
        } else {
            Err(OptionsError::Token {
                account: self.account.clone(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_would_change_the_address_is_refused() {
        let fine = |token: &str| {
            let account = AccountId::parse("home-bot").unwrap();
            Options::new(account, Secret::new(token.to_owned()))
                .check()
                .is_ok()
        };
        assert!(fine("123456:AAh_x-9"));
        for bad in ["", "123456:a/b", "123456:a b", "123456:abc\n", "..", "a?b"] {
            assert!(!fine(bad), "{bad:?}");
        }
    }

    #[test]
    fn the_token_does_not_show() {
        let account = AccountId::parse("home-bot").unwrap();
        let options = Options::new(account.clone(), Secret::new("123456:SECRET".to_owned()));
        assert!(!format!("{options:?}").contains("SECRET"));
        let broken = Options::new(account, Secret::new("SECRET/".to_owned()));
        let told = broken.check().unwrap_err();
        assert!(!format!("{told} {told:?}").contains("SECRET"));
    }
}
