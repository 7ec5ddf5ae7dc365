//! What a profile reads of the web.

use super::Assembly;
use super::profiles::writer;
use crate::problem::Section;
use crate::settings::{SearchKind, WebSearch, WebSettings};
use crate::tree::{Source, Table};

impl Assembly<'_, '_> {
    /// A search engine whose key is missing is left out, and said; the rest of the profile works.
    pub(super) fn web(
        &mut self,
        section: &Section,
        profile: &str,
        web: &Table,
    ) -> Option<WebSettings> {
        let enabled = web.flag("enabled")?;
        let search = self.search(section, profile, web);
        Some(WebSettings {
            enabled,
            search: search.filter(|_| enabled),
        })
    }

    fn search(&mut self, section: &Section, profile: &str, web: &Table) -> Option<WebSearch> {
        let Some(chosen) = web.node("search") else {
            // What is inherited waits for whoever chooses an engine; what is written here says nothing.
            let silent = ["search_url", "search_key"]
                .into_iter()
                .filter_map(|key| Some((key, web.node(key)?)))
                .find(|(_, node)| matches!(node.source, Source::File { .. }));
            if let Some((key, node)) = silent
                && !self.findings.is_disabled(section)
            {
                let engines = SearchKind::NAMES.join("\", \"");
                let message =
                    format!("'{key}' says nothing without 'search': write search = \"{engines}\"");
                self.findings.bad_value(section, node.at, message);
            }
            return None;
        };
        let kind = SearchKind::read(chosen.text()?)?;
        let (needed, example) = match kind {
            SearchKind::Searxng => ("search_url", "the address of your server"),
            SearchKind::Brave | SearchKind::Tavily => ("search_key", "\"env:NAME\""),
        };
        if web.node(needed).is_none() {
            if !self.findings.is_disabled(section) {
                let message = format!(
                    "search = \"{}\" needs '{needed}' beside it: {example}",
                    kind.name()
                );
                self.findings
                    .bad_value(&writer(section, chosen), chosen.at, message);
            }
            return None;
        }
        let url = web.text("search_url");
        let key = match web.node("search_key") {
            None => None,
            Some(node) => {
                let path = format!("profiles.{profile}.web.search_key");
                let without = "the web can't be searched";
                let writer = writer(section, node);
                let found = self.secret_if_there(&writer, &path, node, without)?;
                Some(found.1)
            }
        };
        Some(WebSearch {
            kind,
            url: url.map(|url| url.trim_end_matches('/').to_owned()),
            key,
        })
    }
}
