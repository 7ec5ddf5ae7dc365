//! `[profiles.*]`, each with what it inherits.

use std::collections::BTreeMap;

use sandbox::{Limits, Mount, MountMode, Network, Placement, SandboxPath};
use waybill::{ProfileId, Secret};

use super::Assembly;
use super::money::cost;
use crate::nearest::{hint, shown};
use crate::problem::{Section, Weight};
use crate::rule;
use crate::settings::{
    Approval, Approvals, DriverChoice, ModelChoice, Profile, SandboxSettings, TurnLimits,
};
use crate::tree::{Node, Source, Table};

impl Assembly<'_, '_> {
    pub(super) fn all_profiles(&mut self, root: &Table) -> BTreeMap<ProfileId, Profile> {
        self.defaults(root);
        let mut profiles = BTreeMap::new();
        for (name, table) in root.tables("profiles") {
            let section = Section::Profile(name.clone());
            let profile = self.profile(&section, name, table);
            if let (Some(profile), Ok(id)) = (profile, ProfileId::parse(name))
                && !self.findings.is_disabled(&section)
            {
                profiles.insert(id, profile);
            }
        }
        profiles
    }

    /// A provider that `[defaults]` misspells is wrong even if every profile chooses another one.
    fn defaults(&mut self, root: &Table) {
        let Some(defaults) = root.table("defaults") else {
            return;
        };
        for node in defaults
            .node("model")
            .into_iter()
            .chain(defaults.list("fallback"))
        {
            if let Some(ModelChoice::Named { provider, .. }) =
                node.text().and_then(ModelChoice::read)
                && !self.providers.contains(&provider)
            {
                let message = self.unknown_provider(&provider);
                self.fatal(&Section::Defaults, node.at, message);
            }
        }
    }

    fn profile(&mut self, section: &Section, name: &str, table: &Table) -> Option<Profile> {
        if let Some(node) = table.node("model") {
            self.model(section, name, node);
        }
        let model = ModelChoice::read(table.text("model")?)?;
        let fallback: Vec<ModelChoice> = table
            .list("fallback")
            .iter()
            .filter_map(|node| self.fallback(section, node))
            .collect();
        let sandbox = table.table("sandbox")?;
        let secret_env = self.secret_env(section, name, sandbox);
        self.mounts_apart(section, sandbox);
        let (allow, remote) = self.outward(section, name, sandbox);
        let limits = table.table("limits")?;
        self.caps_count(section, limits, &model, &fallback);
        Some(Profile {
            model,
            fallback,
            soul: table.text("soul").map(str::to_owned),
            sandbox: SandboxSettings {
                allow,
                remote,
                ..sandbox_settings(sandbox, secret_env)?
            },
            limits: turn_limits(limits)?,
            web: self.web(section, name, table.table("web")?)?,
            mcp: self.servers(section, name, table),
            approvals: approvals(table.table("approvals")?)?,
        })
    }

    /// A model's provider must be in the file, and must work.
    fn model(&mut self, section: &Section, profile: &str, node: &Node) {
        let Some(ModelChoice::Named { provider, .. }) = node.text().and_then(ModelChoice::read)
        else {
            return;
        };
        if !self.providers.contains(&provider) {
            let message = self.unknown_provider(&provider);
            self.findings
                .bad_value(&writer(section, node), node.at, message);
        } else if self
            .findings
            .is_disabled(&Section::Provider(provider.clone()))
        {
            let message = format!(
                "the profile '{profile}' needs the provider '{provider}', which is disabled"
            );
            self.lapse(section, node.at, message);
        }
    }

    /// A model to fall back to, if it can be asked. A provider that is not in the file, or is disabled, costs the profile this model
    /// alone, loudly: what still works must not wait for what was meant to help.
    fn fallback(&mut self, section: &Section, node: &Node) -> Option<ModelChoice> {
        let choice = node.text().and_then(ModelChoice::read)?;
        if let ModelChoice::Named { provider, .. } = &choice {
            let needed = Section::Provider(provider.clone());
            if !self.providers.contains(provider) {
                let message = format!(
                    "{}; the profile goes on without this model",
                    self.unknown_provider(provider)
                );
                self.findings
                    .add(&writer(section, node), node.at, Weight::Warning, message);
                return None;
            }
            if self.findings.is_disabled(&needed) {
                let message = format!(
                    "the provider '{provider}' is disabled; the profile goes on without this model"
                );
                self.findings
                    .add(&writer(section, node), node.at, Weight::Warning, message);
                return None;
            }
        }
        Some(choice)
    }

    fn unknown_provider(&self, provider: &str) -> String {
        let known = self.providers.iter().map(String::as_str);
        let hint = hint(provider, known);
        format!("there is no [providers.{}]{hint}", shown(provider))
    }

    fn secret_env(
        &mut self,
        section: &Section,
        profile: &str,
        sandbox: &Table,
    ) -> BTreeMap<String, Secret> {
        let path = format!("profiles.{profile}.sandbox.secret_env");
        let mut found = BTreeMap::new();
        for node in sandbox.list("secret_env") {
            let Some((reference, secret)) = self.secret(section, &path, node) else {
                continue;
            };
            let name = reference.name();
            let variable = name.replace(['-', '.'], "_");
            if name != variable || name.starts_with(|sign: char| sign.is_ascii_digit()) {
                let message = format!(
                    "the secret '{name}' can't become a variable of that name: rename it to letters, digits and '_'"
                );
                self.findings
                    .bad_value(&writer(section, node), node.at, message);
            } else if found.contains_key(name)
                || sandbox
                    .table("env")
                    .is_some_and(|env| env.node(name).is_some())
            {
                let message = format!("the variable {name} is given twice");
                self.findings
                    .bad_value(&writer(section, node), node.at, message);
            } else {
                found.insert(name.to_owned(), secret);
            }
        }
        found
    }

    fn mounts_apart(&mut self, section: &Section, sandbox: &Table) {
        let mut seen = Vec::new();
        for node in sandbox.list("mounts") {
            let Some(at) = node.table().and_then(|mount| mount.text("at")) else {
                continue;
            };
            let at = at.trim_end_matches('/');
            if seen.contains(&at) {
                let message = format!("two mounts are at {at}");
                self.findings
                    .bad_value(&writer(section, node), node.at, message);
            }
            seen.push(at);
        }
        self.secrets_apart(section, sandbox);
    }

    fn secrets_apart(&mut self, section: &Section, sandbox: &Table) {
        let mounts: Vec<_> = sandbox
            .list("mounts")
            .iter()
            .filter_map(|node| {
                let mount = node.table()?;
                let at = mount.text("at")?.trim_end_matches('/');
                Some((node, at, mount.text("mode")?))
            })
            .collect();
        let shared: Vec<&str> = mounts
            .iter()
            .filter(|(_, _, mode)| *mode == "rw")
            .map(|(_, at, _)| *at)
            .collect();
        for (node, at, mode) in mounts {
            if mode == "secret"
                && let Err(message) = rule::secret_at(at, &shared)
            {
                self.findings
                    .bad_value(&writer(section, node), node.at, message);
            }
        }
    }
}

/// The section in which a value was written.
pub(super) fn writer(section: &Section, node: &Node) -> Section {
    match node.source {
        Source::Inherited { .. } => Section::Defaults,
        Source::Default | Source::File { .. } | Source::Environment => section.clone(),
    }
}

fn sandbox_settings(
    table: &Table,
    secret_env: BTreeMap<String, Secret>,
) -> Option<SandboxSettings> {
    let env = table.table("env").map(|env| {
        env.entries
            .iter()
            .filter_map(|(name, node)| Some((name.clone(), node.text()?.to_owned())))
            .collect()
    });
    Some(SandboxSettings {
        driver: table.text("driver").and_then(DriverChoice::read)?,
        image: table.text("image")?.to_owned(),
        mounts: table.list("mounts").iter().filter_map(mount).collect(),
        env: env.unwrap_or_default(),
        secret_env,
        network: match table.text("network")? {
            "none" => Network::None,
            "bridge" => Network::Bridge,
            _ => return None,
        },
        allow: Vec::new(),
        remote: None,
        limits: Limits {
            memory: table.integer("memory")?.unsigned_abs(),
            cpus: table.number("cpus")?,
            pids: u32::try_from(table.integer("pids")?).ok()?,
            command_seconds: table.integer("command_seconds")?.unsigned_abs(),
            idle_seconds: table.integer("idle_seconds")?.unsigned_abs(),
            ..Limits::default()
        },
        placement: match table.text("scope")? {
            "profile" => Placement::PerProfile,
            "session" => Placement::PerSession,
            _ => return None,
        },
    })
}

fn mount(node: &Node) -> Option<Mount> {
    let table = node.table()?;
    let trimmed = |key| table.text(key).map(|path| path.trim_end_matches('/'));
    Some(Mount {
        host: trimmed("host")?.to_owned(),
        at: SandboxPath::parse(trimmed("at")?).ok()?,
        mode: match table.text("mode")? {
            "ro" => MountMode::Ro,
            "rw" => MountMode::Rw,
            "secret" => MountMode::Secret,
            _ => return None,
        },
    })
}

fn turn_limits(table: &Table) -> Option<TurnLimits> {
    Some(TurnLimits {
        turn_steps: u32::try_from(table.integer("turn_steps")?).ok()?,
        usd_per_turn: table.number("usd_per_turn").map(cost),
        usd_per_day: table.number("usd_per_day").map(cost),
        usd_per_month: table.number("usd_per_month").map(cost),
        ask_seconds: table.integer("ask_seconds")?.unsigned_abs(),
        attachment_bytes: table.integer("attachment_bytes")?.unsigned_abs(),
    })
}

fn approvals(table: &Table) -> Option<Approvals> {
    let of = |key| table.text(key).and_then(Approval::read);
    Some(Approvals {
        send: of("send")?,
        mcp: of("mcp")?,
        memory: of("memory")?,
        web: of("web")?,
    })
}
