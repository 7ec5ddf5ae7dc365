//! `[channels.*]`

use std::collections::BTreeMap;

use waybill::{AccountId, ProfileId};

use super::Assembly;
use crate::nearest::{hint, shown};
use crate::problem::{Section, Weight};
use crate::settings::{Access, Busy, Channel, ChannelKind, Groups, Guest, WhenUnknown};
use crate::tree::{Node, Table};

impl Assembly<'_, '_> {
    pub(super) fn all_channels(&mut self, root: &Table) -> BTreeMap<AccountId, Channel> {
        let mut channels: BTreeMap<AccountId, Channel> = BTreeMap::new();
        let mut in_order: Vec<_> = root.tables("channels").collect();
        in_order.sort_by_key(|(_, table)| table.at);
        for (name, table) in in_order {
            let section = Section::Channel(name.clone());
            if let Some(node) = table.node("profile") {
                self.known_profile(&section, node);
            }
            let Some(channel) = self.channel(&section, name, table) else {
                continue;
            };
            let ChannelKind::Telegram { token, .. } = &channel.kind;
            let twin = channels.iter().find(|(_, other)| {
                let ChannelKind::Telegram { token: other, .. } = &other.kind;
                other == token
            });
            if let Some((twin, _)) = twin {
                let at = table.node("token").map_or(table.at, |node| node.at);
                let message = format!(
                    "the channel '{twin}' has the same token, and an account can listen only once"
                );
                self.lapse(&section, at, message);
            }
            let Access {
                owner,
                allow,
                groups,
                ..
            } = &channel.access;
            if owner.is_empty() && allow.is_empty() && groups.allow.is_empty() {
                let message = format!(
                    "nobody may talk to '{name}': 'owner', 'allow' and 'groups.allow' are all empty"
                );
                self.findings
                    .add(&section, table.at, Weight::Warning, message);
            }
            if let Ok(id) = AccountId::parse(name)
                && !self.findings.is_disabled(&section)
            {
                channels.insert(id, channel);
            }
        }
        channels
    }

    /// A profile that is not in the file stops everything: no other profile may answer in its place.
    pub(super) fn known_profile(&mut self, section: &Section, node: &Node) {
        if let Some(name) = node.text()
            && !self.profiles.contains(name)
        {
            let hint = hint(name, self.profiles.iter().map(String::as_str));
            let message = format!("there is no profile '{}'{hint}", shown(name));
            self.fatal(section, node.at, message);
        }
    }

    fn channel(&mut self, section: &Section, name: &str, table: &Table) -> Option<Channel> {
        let (_, token) = self.secret(
            section,
            &format!("channels.{name}.token"),
            table.node("token")?,
        )?;
        let kind = match table.text("kind")? {
            "telegram" => ChannelKind::Telegram {
                token,
                api_base: table.text("api_base")?.trim_end_matches('/').to_owned(),
            },
            _ => return None,
        };
        let groups = table.table("groups")?;
        let guest = table.table("guest")?;
        Some(Channel {
            kind,
            profile: ProfileId::parse(table.text("profile")?).ok()?,
            access: Access {
                owner: table.texts("owner"),
                allow: table.texts("allow"),
                pairing: table.flag("pairing")?,
                groups: Groups {
                    allow: groups.texts("allow"),
                    require_mention: groups.flag("require_mention")?,
                },
            },
            busy: table.text("busy").and_then(Busy::read)?,
            messages_per_second: u32::try_from(table.integer("messages_per_second")?).ok()?,
            when_unknown: table.text("when_unknown").and_then(WhenUnknown::read)?,
            guest: Guest {
                enabled: guest.flag("enabled")?,
                staging_chat: guest.text("staging_chat").map(str::to_owned),
            },
        })
    }
}
