//! From checked values to typed settings: what needs more than one value to be judged.

mod channels;
mod money;
mod outward;
mod profiles;
mod providers;
mod retention;
mod routes;
mod servers;
mod web;

use std::collections::BTreeSet;

use crate::check::Findings;
use crate::problem::{Section, Weight};
use crate::reference::{Reference, SecretLines};
use crate::settings::{GatewaySettings, Settings};
use crate::tree::{Node, Table};
use crate::{Environment, Home, listen_address};
use waybill::Secret;

/// What every part of the assembly works with.
struct Assembly<'a, 'text> {
    home: &'a Home,
    environment: &'a dyn Environment,
    findings: &'a mut Findings<'text>,
    providers: BTreeSet<String>,
    profiles: BTreeSet<String>,
    channels: BTreeSet<String>,
    /// Models with a price, as `PROVIDER/MODEL`.
    priced: BTreeSet<String>,
}

impl Assembly<'_, '_> {
    /// The world outside the file lacks something: only what needs it is left out.
    fn lapse(&mut self, section: &Section, at: usize, message: String) {
        self.findings.add(section, at, Weight::Disables, message);
    }

    fn fatal(&mut self, section: &Section, at: usize, message: String) {
        self.findings.add(section, at, Weight::Fatal, message);
    }

    /// Fetches a secret of one line without which something goes on in a plainer way; `without` says how.
    fn secret_if_there(
        &mut self,
        section: &Section,
        path: &str,
        node: &Node,
        without: &str,
    ) -> Option<(Reference, Secret)> {
        let reference = Reference::parse(node.text()?, "NAME").ok()?;
        match reference.resolve(SecretLines::One, self.home, self.environment) {
            Ok(secret) => Some((reference, secret)),
            Err(reason) => {
                let message = format!("{path}: {reason}; {without}");
                self.findings
                    .add(section, node.at, Weight::Warning, message);
                None
            }
        }
    }

    /// Fetches the secret of one line that a value refers to.
    fn secret(
        &mut self,
        section: &Section,
        path: &str,
        node: &Node,
    ) -> Option<(Reference, Secret)> {
        self.secret_of(SecretLines::One, section, path, node)
    }

    fn secret_of(
        &mut self,
        lines: SecretLines,
        section: &Section,
        path: &str,
        node: &Node,
    ) -> Option<(Reference, Secret)> {
        let reference = Reference::parse(node.text()?, "NAME").ok()?;
        match reference.resolve(lines, self.home, self.environment) {
            Ok(secret) => Some((reference, secret)),
            Err(reason) => {
                self.lapse(section, node.at, format!("{path}: {reason}"));
                None
            }
        }
    }
}

pub(crate) fn assemble(
    root: &Table,
    home: &Home,
    environment: &dyn Environment,
    findings: &mut Findings<'_>,
) -> Settings {
    let names = |key| root.tables(key).map(|(name, _)| name.clone()).collect();
    let mut assembly = Assembly {
        home,
        environment,
        findings,
        providers: names("providers"),
        profiles: names("profiles"),
        channels: names("channels"),
        priced: BTreeSet::new(),
    };
    let providers = assembly.all_providers(root);
    assembly.priced = money::priced(&providers);
    let profiles = assembly.all_profiles(root);
    let channels = assembly.all_channels(root);
    let routes = assembly.all_routes(root);
    Settings {
        gateway: gateway(root),
        retention: retention::retention(root),
        providers,
        profiles,
        channels,
        routes,
        disabled: disabled(assembly.findings),
    }
}

/// Every left out section once, with all reasons.
fn disabled(findings: &Findings<'_>) -> Vec<(Section, String)> {
    let mut all: Vec<(Section, String)> = Vec::new();
    for problem in findings
        .problems
        .iter()
        .filter(|problem| problem.weight == Weight::Disables)
    {
        match all
            .iter_mut()
            .find(|(section, _)| *section == problem.section)
        {
            Some((_, reasons)) => {
                reasons.push_str("; ");
                reasons.push_str(&problem.message);
            }
            None => all.push((problem.section.clone(), problem.message.clone())),
        }
    }
    all
}

fn gateway(root: &Table) -> GatewaySettings {
    let nothing = Table::default();
    let table = root.table("gateway").unwrap_or(&nothing);
    GatewaySettings {
        listen: table
            .text("listen")
            .and_then(|text| listen_address(text).ok())
            .unwrap_or_else(|| ([127, 0, 0, 1], 7717).into()),
        drain_seconds: table.integer("drain_seconds").map_or(30, i64::unsigned_abs),
        log: table.text("log").unwrap_or("info").to_owned(),
    }
}
