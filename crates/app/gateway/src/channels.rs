//! Accounts, built from the settings.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use chat::{ChatAdapter, DownloadError, FileHandle};
use chat_telegram::Telegram;
use courier::Channels;
use sandbox::BlobWriter;
use settings::{ChannelKind, Settings};
use waybill::{AccountId, Clock};

/// Accounts that can work, and those that were left out with the reason.
pub(crate) struct Built {
    pub(crate) adapters: HashMap<AccountId, Arc<dyn ChatAdapter>>,
    pub(crate) left_out: Vec<(AccountId, String)>,
}

/// Builds every account that can be built; the others are left out with the reason.
pub(crate) fn build(settings: &Settings, client: &net::Client, clock: &Arc<dyn Clock>) -> Built {
    let mut built = Built {
        adapters: HashMap::new(),
        left_out: Vec::new(),
    };
    for (name, channel) in &settings.channels {
        match &channel.kind {
            ChannelKind::Telegram { token, api_base } => {
                let mut options = chat_telegram::Options::new(name.clone(), token.clone());
                options.api_base.clone_from(api_base);
                options.per_second = channel.messages_per_second;
                options.when_unknown = match channel.when_unknown {
                    settings::WhenUnknown::Repeat => chat::WhenUnknown::Repeat,
                    settings::WhenUnknown::Hold => chat::WhenUnknown::Hold,
                };
                match Telegram::new(options, client.clone(), Arc::clone(clock)) {
                    Ok(telegram) => {
                        built.adapters.insert(name.clone(), Arc::new(telegram));
                    }
                    Err(error) => built.left_out.push((name.clone(), error.to_string())),
                }
            }
        }
    }
    built
}

/// Fetches people's files through the account that heard of them.
pub(crate) struct Fetcher(pub(crate) Channels);

#[async_trait]
impl agent::Files for Fetcher {
    async fn fetch(
        &self,
        account: &AccountId,
        file: &FileHandle,
        limit: u64,
        into: &mut dyn BlobWriter,
    ) -> Result<(), DownloadError> {
        match self.0.get(account) {
            Some(adapter) => adapter.fetch(file, limit, into).await,
            None => Err(DownloadError::Refused(format!(
                "the account '{account}' is not configured"
            ))),
        }
    }
}
