//! `[providers.*]`

use std::collections::BTreeMap;

use super::Assembly;
use crate::problem::{Section, Weight};
use crate::settings::{Api, Provider};
use crate::tree::Table;

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
        let api_key = table
            .node("api_key")
            .and_then(|node| self.secret(section, &format!("providers.{name}.api_key"), node));
        let api = table.text("api").and_then(Api::read)?;
        let context = table.node("context_tokens");
        if let Some(node) = context
            && api != Api::Ollama
        {
            let message = format!(
                "'context_tokens' says nothing to an api '{}': its window is the model's own",
                api.name()
            );
            self.findings
                .add(section, node.at, Weight::Warning, message);
        }
        Some(Provider {
            api,
            base_url: table.text("base_url")?.trim_end_matches('/').to_owned(),
            api_key: api_key.map(|(_, secret)| secret),
            context: table
                .integer("context_tokens")
                .and_then(|tokens| u32::try_from(tokens).ok()),
        })
    }
}
