//! Servers whose tools a profile may call.

use std::collections::BTreeMap;

use waybill::Secret;

use super::Assembly;
use super::profiles::writer;
use crate::problem::Section;
use crate::reference::Reference;
use crate::settings::{McpServer, McpTransport};
use crate::tree::{Node, Table};

impl Assembly<'_, '_> {
    /// Those that are enabled. One whose secret is missing is left out, and said; the rest of the profile works.
    pub(super) fn servers(
        &mut self,
        section: &Section,
        profile: &str,
        table: &Table,
    ) -> BTreeMap<String, McpServer> {
        let mut servers = BTreeMap::new();
        let all = table.table("mcp").into_iter().flat_map(|all| &all.entries);
        for (name, node) in all {
            let Some(server) = node.table() else { continue };
            if server.flag("enabled") == Some(false) {
                continue;
            }
            let path = format!("profiles.{profile}.mcp.{name}");
            if let Some(server) = self.server(section, &path, node, server) {
                servers.insert(name.clone(), server);
            }
        }
        servers
    }

    fn server(
        &mut self,
        section: &Section,
        path: &str,
        node: &Node,
        server: &Table,
    ) -> Option<McpServer> {
        let command = server.texts("command");
        let transport = match (server.node("command"), server.text("url")) {
            (Some(given), None) => {
                if command.first().is_none_or(|program| program.is_empty()) {
                    let message = "'command' names no program".to_owned();
                    self.refuse(section, given, message);
                    return None;
                }
                self.only_beside("url", section, server, &["headers_secret"]);
                McpTransport::Program {
                    command,
                    env: texts(server, "env"),
                    secret_env: self.variables(section, path, server)?,
                }
            }
            (None, Some(url)) => {
                self.only_beside("command", section, server, &["env", "secret_env"]);
                McpTransport::Http {
                    url: url.to_owned(),
                    headers: self.headers(section, path, server)?,
                }
            }
            (given, _) => {
                let at = given.unwrap_or(node);
                let message = if given.is_some() {
                    format!("{path} has 'command' and 'url': a server is one or the other")
                } else {
                    format!("{path} needs 'command' (a program here) or 'url' (a server elsewhere)")
                };
                self.refuse(section, at, message);
                return None;
            }
        };
        let tools = server.node("tools").map(|_| server.texts("tools"));
        if let (Some(tools), Some(node)) = (&tools, server.node("tools"))
            && tools.is_empty()
        {
            let message =
                "'tools' names none: leave it out for all of them, or write enabled = false";
            self.refuse(section, node, message.to_owned());
            return None;
        }
        Some(McpServer { transport, tools })
    }

    /// Says what is wrong, unless something was said already: what was refused is not here to be judged.
    fn refuse(&mut self, section: &Section, node: &Node, message: String) {
        let writer = writer(section, node);
        if !self.findings.is_disabled(section) && !self.findings.is_disabled(&writer) {
            self.findings.bad_value(&writer, node.at, message);
        }
    }

    /// What says nothing for this kind of server is a mistake.
    fn only_beside(&mut self, other: &str, section: &Section, server: &Table, keys: &[&str]) {
        for key in keys {
            let written = server.node(key).filter(|node| match node.table() {
                Some(table) => !table.entries.is_empty(),
                None => !server.list(key).is_empty(),
            });
            if let Some(node) = written {
                let node = match node.table().and_then(|table| table.entries.values().next()) {
                    Some(inner) if node.at == 0 => inner.clone(),
                    Some(_) | None => node.clone(),
                };
                self.refuse(
                    section,
                    &node,
                    format!("'{key}' says nothing without '{other}'"),
                );
            }
        }
    }

    fn variables(
        &mut self,
        section: &Section,
        path: &str,
        server: &Table,
    ) -> Option<BTreeMap<String, Secret>> {
        let mut found = BTreeMap::new();
        for node in server.list("secret_env") {
            let name = Reference::parse(node.text()?, "NAME").ok()?;
            let name = name.name();
            if !is_variable(name) {
                let message = format!(
                    "the secret '{name}' can't become a variable of that name: rename it to letters, digits and '_'"
                );
                self.refuse(section, node, message);
                return None;
            }
            let twice = found.contains_key(name)
                || server
                    .table("env")
                    .is_some_and(|env| env.node(name).is_some());
            if twice {
                self.refuse(section, node, format!("the variable {name} is given twice"));
                return None;
            }
            let secret = self.server_secret(section, &format!("{path}.secret_env"), node)?;
            found.insert(name.to_owned(), secret);
        }
        Some(found)
    }

    fn headers(
        &mut self,
        section: &Section,
        path: &str,
        server: &Table,
    ) -> Option<BTreeMap<String, Secret>> {
        let mut found = BTreeMap::new();
        let headers = server.table("headers_secret");
        for (name, node) in headers.into_iter().flat_map(|headers| &headers.entries) {
            let path = format!("{path}.headers_secret.{name}");
            let secret = self.server_secret(section, &path, node)?;
            found.insert(name.clone(), secret);
        }
        Some(found)
    }

    fn server_secret(&mut self, section: &Section, path: &str, node: &Node) -> Option<Secret> {
        let without = "this server is left out";
        let found = self.secret_if_there(&writer(section, node), path, node, without)?;
        Some(found.1)
    }
}

fn is_variable(name: &str) -> bool {
    !name.contains(['-', '.']) && !name.starts_with(|sign: char| sign.is_ascii_digit())
}

fn texts(table: &Table, key: &str) -> BTreeMap<String, String> {
    let entries = table
        .table(key)
        .into_iter()
        .flat_map(|inner| &inner.entries);
    entries
        .filter_map(|(name, node)| Some((name.clone(), node.text()?.to_owned())))
        .collect()
}
