//! `[providers.*]`

use std::collections::BTreeMap;

use super::Assembly;
use crate::problem::Section;
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
        if api != Api::OpenaiChat {
            let at = table.node("api").map_or(table.at, |node| node.at);
            let message = format!(
                "api '{}' is accepted, but this version can't speak it: the provider '{name}' is disabled (most servers also \
                 have an API of the kind 'openai-chat')",
                api.name()
            );
            self.lapse(section, at, message);
        }
        Some(Provider {
            api,
            base_url: table.text("base_url")?.trim_end_matches('/').to_owned(),
            api_key: api_key.map(|(_, secret)| secret),
        })
    }
}
