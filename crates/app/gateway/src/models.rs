//! Models, chosen from the settings and from what is found.

use std::sync::Arc;

use model::ModelPort;
use model_demo::DemoModel;
use model_http::HttpModel;
use settings::{Environment, ModelChoice, Settings};
use waybill::Secret;

/// Chooses models.
pub(crate) struct Chooser<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) client: &'a net::Client,
    pub(crate) environment: &'a dyn Environment,
    found: Option<Arc<dyn ModelPort>>,
}

impl<'a> Chooser<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        client: &'a net::Client,
        environment: &'a dyn Environment,
    ) -> Self {
        Self {
            settings,
            client,
            environment,
            found: None,
        }
    }

    /// The model of a choice. `auto` looks around once.
    pub(crate) async fn choose(&mut self, choice: &ModelChoice) -> Arc<dyn ModelPort> {
        match choice {
            ModelChoice::Demo => Arc::new(DemoModel::new()),
            ModelChoice::Named { provider, model } => match self.settings.providers.get(provider) {
                Some(known) => self.http(provider, &known.base_url, known.api_key.clone(), model),
                // Settings check this; a provider that is gone is said by the model call itself.
                None => self.http(provider, "", None, model),
            },
            ModelChoice::Auto => {
                if let Some(found) = &self.found {
                    return Arc::clone(found);
                }
                let found = self.look_around().await;
                self.found = Some(Arc::clone(&found));
                found
            }
        }
    }

    /// A key in the environment, else a local server that answers, else the demo.
    async fn look_around(&self) -> Arc<dyn ModelPort> {
        for known in model_http::known::KNOWN {
            if let Some(key) = self
                .environment
                .get(known.key_variable)
                .filter(|key| !key.trim().is_empty())
            {
                let key = Secret::new(key.trim().to_owned());
                return self.http(
                    known.provider,
                    known.base_url,
                    Some(key),
                    known.default_model,
                );
            }
        }
        match model_http::discover::probe_local(self.client).await {
            Some(found) => self.http(&found.provider, &found.base_url, None, &found.model),
            None => Arc::new(DemoModel::new()),
        }
    }

    fn http(
        &self,
        provider: &str,
        base_url: &str,
        key: Option<Secret>,
        model: &str,
    ) -> Arc<dyn ModelPort> {
        let options = model_http::Options::new(provider, base_url, model, key);
        Arc::new(HttpModel::new(self.client.clone(), options))
    }
}
