//! Every secret that the settings hold, for whoever keeps them out of sight.

use waybill::Secret;

use crate::settings::{ChannelKind, Settings};

impl Settings {
    /// All of them, each with the name by which a person knows it: the variable of a sandbox, else the setting's own path.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, Secret)> {
        let mut all = Vec::new();
        for (name, provider) in &self.providers {
            let key = provider.api_key.iter().cloned();
            all.extend(key.map(|key| (format!("providers.{name}.api_key"), key)));
        }
        for (name, channel) in &self.channels {
            match &channel.kind {
                ChannelKind::Telegram { token, .. } => {
                    all.push((format!("channels.{name}.token"), token.clone()));
                }
            }
        }
        for (name, profile) in &self.profiles {
            let variables = profile.sandbox.secret_env.iter();
            all.extend(variables.map(|(variable, value)| (variable.clone(), value.clone())));
            let key = profile
                .sandbox
                .remote
                .iter()
                .map(|remote| remote.key.clone());
            all.extend(key.map(|key| (format!("profiles.{name}.sandbox.ssh.key"), key)));
        }
        all
    }
}
