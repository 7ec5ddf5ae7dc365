//! Models, chosen from the settings and from what is found.

use std::sync::Arc;

use model::{Facts, ModelPort};
use model_demo::DemoModel;
use model_http::{Api, HttpModel, Options, Thinking};
use settings::{Environment, ModelChoice, Provider, Reasoning, Settings};
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
                Some(known) => self.http(options(provider, known, model)),
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

    /// The models to ask when the first one fails: each once, and never the first one again.
    pub(crate) async fn fallback(
        &mut self,
        first: &dyn ModelPort,
        choices: &[ModelChoice],
    ) -> Vec<Arc<dyn ModelPort>> {
        let mut models: Vec<Arc<dyn ModelPort>> = Vec::new();
        for choice in choices {
            let model = self.choose(choice).await;
            let mut others = models.iter().map(|other| other.name());
            if first.name() != model.name() && others.all(|other| other != model.name()) {
                models.push(model);
            }
        }
        models
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

/// What the file says of a provider's model.
fn options(provider: &str, known: &Provider, model: &str) -> Options {
    let window = known.window(model);
    let said = known.models.get(model).copied().unwrap_or_default();
    let usual = Options::new(provider, &known.base_url, model, None);
    Options {
        api: spoken(known.api),
        api_keys: known.api_keys.clone(),
        context: window.unwrap_or(usual.context),
        facts: Facts {
            window,
            images: said.images,
            price: said.price,
        },
        thinking: said.reasoning.map(thinking),
        ..usual
    }
}

fn thinking(wish: Reasoning) -> Thinking {
    match wish {
        Reasoning::None => Thinking::None,
        Reasoning::Low => Thinking::Low,
        Reasoning::Medium => Thinking::Medium,
        Reasoning::High => Thinking::High,
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

#[cfg(test)]
mod tests {
    use model::Price;
    use settings::{FixedEnvironment, Home, read};

    use super::*;

    const FILE: &str = r#"
        [providers.far]
        api = "anthropic"
        base_url = "https://models.example/v1"
        api_key = "env:ONE"
        api_keys = ["env:TWO"]
        context_tokens = 200000
        [providers.far.models.big]
        context_tokens = 1000000
        images = true
        reasoning = "low"
        usd_per_million_input = 3
        usd_per_million_cached = 0.3
        usd_per_million_output = 15
        [providers.home]
        api = "ollama"
        base_url = "http://127.0.0.1:11434"
        [profiles.default]
        model = "far/big"
        fallback = ["far/small", "far/big", "home/q", "far/small", "demo"]
    "#;

    fn settings() -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let environment = FixedEnvironment::new([("ONE", "key-one"), ("TWO", "key-two")]);
        let loaded = read(FILE, &Home::at(folder.path()).unwrap(), &environment);
        let problems = format!("{:?}", loaded.problems);
        loaded.into_settings().expect(&problems)
    }

    #[test]
    fn what_the_file_says_of_a_model_is_known_of_it() {
        let settings = settings();
        let of = |provider: &str, model| {
            let known = &settings.providers[provider];
            options(provider, known, model)
        };
        let big = of("far", "big");
        let keys: Vec<&str> = big.api_keys.iter().map(Secret::reveal).collect();
        assert_eq!(keys, ["key-one", "key-two"]);
        let price = Price {
            input: 3_000_000,
            cached: 300_000,
            output: 15_000_000,
        };
        let expected = Facts {
            window: Some(1_000_000),
            images: Some(true),
            price: Some(price),
        };
        assert_eq!(big.facts, expected);
        assert_eq!(big.thinking, Some(Thinking::Low));
        let small = of("far", "small");
        assert_eq!(small.facts.window, Some(200_000));
        assert_eq!((small.facts.images, small.facts.price), (None, None));
        let home = of("home", "q");
        assert_eq!((home.context, home.facts.window), (32_768, None));
    }

    #[tokio::test]
    async fn who_is_asked_instead_is_asked_once_and_is_somebody_else() {
        let settings = settings();
        let client = net::Client::new(net::Options::default()).unwrap();
        let environment = FixedEnvironment::default();
        let mut chooser = Chooser::new(&settings, &client, &environment);
        let profile = settings.profiles.values().next().unwrap();
        let first = chooser.choose(&profile.model).await;
        let others = chooser.fallback(first.as_ref(), &profile.fallback).await;
        let names: Vec<&str> = others.iter().map(|model| model.name()).collect();
        assert_eq!(names, ["far/small", "home/q", "demo"]);
        // A server that keeps a window keeps this one, whether somebody said so or not.
        let home = others.get(1).unwrap();
        assert_eq!(home.facts().window, Some(32_768));
    }
}
