//! What a sandbox reaches: its allow list, and the other machine that it may be.

use sandbox::{Destination, Remote};

use super::Assembly;
use super::profiles::writer;
use crate::problem::Section;
use crate::reference::SecretLines;
use crate::tree::{Node, Source, Table};

/// Keys without which nobody finds the machine or knows it again.
const NEEDED: [&str; 4] = ["host", "user", "key", "host_key"];

impl Assembly<'_, '_> {
    /// The allow list and the machine of a profile. What says nothing where it stands is a problem: its owner believes that it
    /// does.
    pub(super) fn outward(
        &mut self,
        section: &Section,
        profile: &str,
        sandbox: &Table,
    ) -> (Vec<Destination>, Option<Remote>) {
        let allow = self.allow(section, sandbox);
        let remote = self.remote(section, profile, sandbox);
        (allow, remote)
    }

    fn allow(&mut self, section: &Section, sandbox: &Table) -> Vec<Destination> {
        let Some(node) = sandbox.node("allow") else {
            return Vec::new();
        };
        let silent = [
            (
                "network",
                "bridge",
                "'allow' says nothing beside network = \"bridge\", which reaches everything: write network = \"none\", or take \
                 'allow' out",
            ),
            (
                "driver",
                "ssh",
                "'allow' says nothing for driver = \"ssh\": what that machine reaches is up to its owner; take 'allow' out",
            ),
        ];
        for (key, value, message) in silent {
            let Some(beside) = sandbox.node(key).filter(|node| node.text() == Some(value)) else {
                continue;
            };
            if !sandbox.list("allow").is_empty() && meet(node, beside) {
                self.findings
                    .bad_value(&writer(section, node), node.at, message.to_owned());
            }
            return Vec::new();
        }
        sandbox
            .list("allow")
            .iter()
            .filter_map(|node| node.text()?.parse().ok())
            .collect()
    }

    fn remote(&mut self, section: &Section, profile: &str, sandbox: &Table) -> Option<Remote> {
        let driver = sandbox.node("driver")?;
        let ssh = sandbox.table("ssh")?;
        if driver.text() != Some("ssh") {
            let written = ssh
                .entries
                .values()
                .filter(|node| node.source != Source::Default && meet(node, driver))
                .min_by_key(|node| node.at);
            if let Some(node) = written {
                let message =
                    "'ssh' says nothing unless driver = \"ssh\": write that, or take 'ssh' out";
                self.findings
                    .bad_value(&writer(section, node), node.at, message.to_owned());
            }
            return None;
        }
        let missing: Vec<&str> = NEEDED
            .into_iter()
            .filter(|key| ssh.node(key).is_none())
            .collect();
        if !missing.is_empty() {
            let message = format!(
                "driver = \"ssh\" needs the keys {} in [profiles.{profile}.sandbox.ssh]",
                missing.join(", ")
            );
            self.findings.bad_value(section, driver.at, message);
            return None;
        }
        let path = format!("profiles.{profile}.sandbox.ssh.key");
        let (_, key) = self.secret_of(SecretLines::Many, section, &path, ssh.node("key")?)?;
        Some(Remote {
            host: ssh.text("host")?.to_owned(),
            port: u16::try_from(ssh.integer("port")?).ok()?,
            user: ssh.text("user")?.to_owned(),
            key,
            host_key: ssh.text("host_key")?.to_owned(),
            folder: ssh.text("folder")?.trim_end_matches('/').to_owned(),
        })
    }
}

/// Do two values contradict each other, or did a profile write one over what it inherits with the other?
fn meet(node: &Node, beside: &Node) -> bool {
    let inherited = |node: &Node| matches!(node.source, Source::Inherited { .. });
    let own = |node: &Node| matches!(node.source, Source::File { .. });
    !(inherited(node) && own(beside))
}
