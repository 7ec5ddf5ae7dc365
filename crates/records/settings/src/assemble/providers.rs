//! `[providers.*]`

use std::collections::BTreeMap;

use waybill::Secret;

use super::Assembly;
use crate::problem::{Section, Weight};
use crate::reference::{Reference, SecretLines};
use crate::settings::{Api, ModelSettings, Provider, Reasoning};
use crate::tree::{Node, Table};

impl Assembly<'_, '_> {
    pub(super) fn all_providers(&mut self, root: &Table) -> BTreeMap<String, Provider> {
        let mut providers = BTreeMap::new();
        for (name, table) in root.tables("providers") {
            let section = Section::Provider(name.clone());
            let provider = self.provider(&section, name, table);
            if let Some(provider) = provider
                && !self.findings.is_disabled(&section)
            {
                providers.insert(name.clone(), provider);
            }
        }
        providers
    }

    fn provider(&mut self, section: &Section, name: &str, table: &Table) -> Option<Provider> {
        let api_keys = self.keys(section, name, table);
        let models = table.tables("models").map(|(model, table)| {
            let settings = ModelSettings {
                context: window(table),
                images: table.flag("images"),
                price: self.price(section, table),
                reasoning: table.text("reasoning").and_then(Reasoning::read),
            };
            (model.clone(), settings)
        });
        let models = models.collect();
        Some(Provider {
            api: table.text("api").and_then(Api::read)?,
            base_url: table.text("base_url")?.trim_end_matches('/').to_owned(),
            api_keys,
            context: window(table),
            models,
        })
    }

    /// All keys that are there, each once. One of several that is missing is said, and the others are used.
    fn keys(&mut self, section: &Section, name: &str, table: &Table) -> Vec<Secret> {
        let single = table.node("api_key").map(|node| ("api_key", node));
        let more = table.list("api_keys").iter().map(|node| ("api_keys", node));
        let nodes: Vec<(&str, &Node)> = single.into_iter().chain(more).collect();
        let mut keys = Vec::new();
        let mut missing = Vec::new();
        for (key, node) in nodes {
            let path = format!("providers.{name}.{key}");
            let found = Reference::parse(node.text().unwrap_or_default(), "NAME")
                .and_then(|one| one.resolve(SecretLines::One, self.home, self.environment));
            match found {
                Ok(secret) if keys.contains(&secret) => {
                    let message = format!("{path}: this key is named twice");
                    self.findings
                        .add(section, node.at, Weight::Warning, message);
                }
                Ok(secret) => keys.push(secret),
                Err(reason) => missing.push((node.at, format!("{path}: {reason}"))),
            }
        }
        for (at, message) in missing {
            if keys.is_empty() {
                self.lapse(section, at, message);
            } else {
                let message = format!("{message}; the other keys are used");
                self.findings.add(section, at, Weight::Warning, message);
            }
        }
        keys
    }
}

fn window(table: &Table) -> Option<u32> {
    table
        .integer("context_tokens")
        .and_then(|tokens| u32::try_from(tokens).ok())
}
