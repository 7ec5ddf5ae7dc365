//! Models, chosen from the settings and from what is found.

use std::sync::Arc;

use model::ModelPort;
use model_demo::DemoModel;
use model_http::{Api, HttpModel, Options};
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
                Some(known) => {
                    let key = known.api_key.clone();
                    let options = Options::new(provider, &known.base_url, model, key);
                    self.http(Options {
                        api: spoken(known.api),
                        context: known.context.unwrap_or(options.context),
                        ..options
                    })
                }
                // Settings check this; a provider that is gone is said by the model call itself.
                None => self.http(Options::new(provider, "", model, None)),
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
                let (at, model) = (known.base_url, known.default_model);
                return self.http(Options {
                    api: known.api,
                    ..Options::new(known.provider, at, model, Some(key))
                });
            }
        }
        match model_http::discover::probe_local(self.client).await {
            Some(found) => self.http(Options {
                api: found.api,
                ..Options::new(&found.provider, &found.base_url, &found.model, None)
            }),
            None => Arc::new(DemoModel::new()),
        }
    }

    fn http(&self, options: Options) -> Arc<dyn ModelPort> {
        Arc::new(HttpModel::new(self.client.clone(), options))
    }
}

fn spoken(api: settings::Api) -> Api {
    match api {
        settings::Api::OpenaiChat => Api::OpenaiChat,
        settings::Api::OpenaiResponses => Api::OpenaiResponses,
        settings::Api::Anthropic => Api::Anthropic,
        settings::Api::Ollama => Api::Ollama,
        settings::Api::Gemini => Api::Gemini,
    }
}
