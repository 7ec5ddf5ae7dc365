//! `[[routes]]`

use waybill::{AccountId, ProfileId};

use super::Assembly;
use crate::nearest::{hint, shown};
use crate::problem::Section;
use crate::settings::Route;
use crate::tree::{Source, Table};

impl Assembly<'_, '_> {
    pub(super) fn all_routes(&mut self, root: &Table) -> Vec<Route> {
        let mut routes: Vec<(usize, Route)> = Vec::new();
        for (n, node) in root.list("routes").iter().enumerate() {
            let section = Section::Route(n + 1);
            let Some(table) = node.table() else { continue };
            self.route_names(&section, table);
            let Some(route) = route(table) else { continue };
            let line = match node.source {
                Source::File { line } => line,
                Source::Default | Source::Inherited { .. } | Source::Environment => 0,
            };
            let tied = routes.iter().find(|(_, other)| {
                (&other.channel, &other.chat, &other.thread)
                    == (&route.channel, &route.chat, &route.thread)
            });
            if let Some((first, other)) = tied {
                let message = if other.profile == route.profile {
                    format!("this route says the same as the one on line {first}; remove one")
                } else {
                    format!(
                        "this route ties with the one on line {first}: the same place can't be answered by both '{}' and '{}'",
                        other.profile, route.profile
                    )
                };
                self.fatal(&section, node.at, message);
            }
            routes.push((line, route));
        }
        routes.into_iter().map(|(_, route)| route).collect()
    }

    fn route_names(&mut self, section: &Section, table: &Table) {
        if let Some(node) = table.node("channel")
            && let Some(name) = node.text()
            && !self.channels.contains(name)
        {
            let hint = hint(name, self.channels.iter().map(String::as_str));
            self.fatal(
                section,
                node.at,
                format!("there is no channel '{}'{hint}", shown(name)),
            );
        }
        if let Some(node) = table.node("profile") {
            self.known_profile(section, node);
        }
        if let Some(node) = table.node("thread")
            && table.node("chat").is_none()
        {
            let message =
                "'thread' needs 'chat': threads are numbered inside their chat".to_owned();
            self.fatal(section, node.at, message);
        }
    }
}

fn route(table: &Table) -> Option<Route> {
    Some(Route {
        channel: AccountId::parse(table.text("channel")?).ok()?,
        chat: table.text("chat").map(str::to_owned),
        thread: table.text("thread").map(str::to_owned),
        profile: ProfileId::parse(table.text("profile")?).ok()?,
    })
}
