//! Every secret that the settings hold, for whoever keeps them out of sight.

use waybill::Secret;

use crate::settings::{ChannelKind, McpTransport, Settings};

impl Settings {
    /// All of them, each with the name by which a person knows it: the variable of a sandbox, else the setting's own path.
    #[must_use]
    pub fn secrets(&self) -> Vec<(String, Secret)> {
        let mut all = Vec::new();
        for (name, provider) in &self.providers {
            let keys = provider.api_keys.iter().cloned();
            all.extend(keys.map(|key| (format!("providers.{name}.api_key"), key)));
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
            let search = profile.web.search.iter();
            let key = search.filter_map(|search| search.key.clone());
            all.extend(key.map(|key| (format!("profiles.{name}.web.search_key"), key)));
            for (server, settings) in &profile.mcp {
                let path = format!("profiles.{name}.mcp.{server}");
                all.extend(of_server(&path, &settings.transport));
            }
        }
        all
    }
}

fn of_server(path: &str, transport: &McpTransport) -> Vec<(String, Secret)> {
    match transport {
        McpTransport::Program { secret_env, .. } => secret_env
            .iter()
            .map(|(variable, value)| (variable.clone(), value.clone()))
            .collect(),
        McpTransport::Http { headers, .. } => headers
            .iter()
            .flat_map(|(header, value)| {
                let name = format!("{path}.headers_secret.{header}");
                // Of `Bearer abc`, a server may repeat `abc` alone.
                let bare = value.reveal().split_once(' ').map(|(_scheme, bare)| bare);
                let bare = bare.map(|bare| (name.clone(), Secret::new(bare.trim().to_owned())));
                std::iter::once((name, value.clone())).chain(bare)
            })
            .collect(),
    }
}
