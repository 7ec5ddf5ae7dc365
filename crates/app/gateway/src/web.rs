//! The web of every profile, from its settings.

use std::sync::Arc;

use ::web::{Clients, Engine, Options, Search, Web};
use settings::{SearchKind, Settings, WebSearch, WebSettings};

/// Makes the web of profiles; what they share of it is made once.
pub(crate) struct Webs {
    clients: Option<Clients>,
}

impl Webs {
    /// For these settings: where no profile may read the web, nothing is made.
    pub(crate) fn of(settings: &Settings) -> Self {
        let wanted = settings
            .profiles
            .values()
            .any(|profile| profile.web.enabled);
        let clients = wanted.then(|| Clients::new(Options::default()));
        let clients = clients.and_then(|made| {
            made.inspect_err(|error| tracing::error!(%error, "no profile can read the web"))
                .ok()
        });
        Self { clients }
    }

    /// The web of a profile, if it may read it.
    pub(crate) fn web(&self, settings: &WebSettings) -> Option<Arc<dyn tool::Web>> {
        if !settings.enabled {
            return None;
        }
        let clients = self.clients.clone()?;
        Some(Arc::new(Web::new(
            clients,
            settings.search.as_ref().map(search),
        )))
    }
}

fn search(settings: &WebSearch) -> Search {
    Search {
        engine: match settings.kind {
            SearchKind::Searxng => Engine::Searxng,
            SearchKind::Brave => Engine::Brave,
            SearchKind::Tavily => Engine::Tavily,
        },
        url: settings.url.clone(),
        key: settings.key.clone(),
    }
}
