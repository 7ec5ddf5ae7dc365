//! Profiles, ready to work.

use std::collections::HashMap;
use std::sync::Arc;

use agent::{Tenant, Tenants};
use policy::budget::Limits;
use policy::{Approvals, Rule};
use settings::{Approval, Environment, Home, Profile, Settings};
use tool::Toolbox;
use waybill::ProfileId;

use crate::foundations::Foundations;
use crate::knowledge;
use crate::mcp::Toolboxes;
use crate::models::Chooser;
use crate::sandboxes::Drivers;
use crate::web::Webs;

/// Every profile that can work.
pub(crate) struct Profiles(pub(crate) HashMap<ProfileId, Arc<Tenant>>);

impl Tenants for Profiles {
    fn tenant(&self, profile: &ProfileId) -> Option<Arc<Tenant>> {
        self.0.get(profile).cloned()
    }
}

/// Makes every profile ready.
pub(crate) async fn build(
    base: &Foundations,
    drivers: &Drivers,
    toolboxes: &Toolboxes,
    environment: &dyn Environment,
) -> HashMap<ProfileId, Arc<Tenant>> {
    let mut chooser = Chooser::new(&base.settings, &base.client, environment);
    let webs = Webs::of(&base.settings);
    let mut tenants = HashMap::new();
    for (name, profile) in &base.settings.profiles {
        let (driver, port) = drivers.port(profile.sandbox.driver, &profile.sandbox.image);
        let model = chooser.choose(&profile.model).await;
        let tenant = Tenant {
            fallback: chooser.fallback(model.as_ref(), &profile.fallback).await,
            model,
            web: webs.web(&profile.web),
            toolbox: toolboxes
                .of(name)
                .map(|servers| servers as Arc<dyn Toolbox>),
            knowledge: Some(knowledge::of(&base.home, name)),
            sandbox: port,
            spec: profile.sandbox.spec(driver),
            placement: profile.sandbox.placement,
            persona: persona(&base.home, name, profile),
            steps: profile.limits.turn_steps,
            attachment_bytes: profile.limits.attachment_bytes,
            approvals: approvals(profile),
            ask_seconds: profile.limits.ask_seconds,
        };
        tenants.insert(name.clone(), Arc::new(tenant));
    }
    tenants
}

/// What may leave a profile's sandboxes.
fn approvals(profile: &Profile) -> Approvals {
    let rule = |approval| match approval {
        Approval::Allow => Rule::Allow,
        Approval::Ask => Rule::Ask,
        Approval::Deny => Rule::Deny,
    };
    let settings::Approvals {
        send,
        mcp,
        memory,
        web,
    } = profile.approvals;
    Approvals {
        send: rule(send),
        mcp: rule(mcp),
        memory: rule(memory),
        web: rule(web),
    }
}

/// What every profile may spend.
pub(crate) fn limits(settings: &Settings) -> HashMap<ProfileId, Limits> {
    let profiles = settings.profiles.iter();
    profiles
        .map(|(name, profile)| {
            let limits = Limits {
                turn: profile.limits.usd_per_turn,
                day: profile.limits.usd_per_day,
                month: profile.limits.usd_per_month,
            };
            (name.clone(), limits)
        })
        .collect()
}

/// Largest persona in bytes: it is read by the model in every call.
const PERSONA: u64 = 64 * 1024;

/// A profile's persona; empty for the built-in one. A named file that can't be used is said, and the built-in one is taken.
fn persona(home: &Home, name: &ProfileId, profile: &Profile) -> String {
    let folder = home.profile(name);
    let path = folder.join(profile.soul.as_deref().unwrap_or("SOUL.md"));
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.len() <= PERSONA => {}
        Ok(_) => {
            tracing::error!(path = %path.display(), "the persona is larger than 64 KB and is not used");
            return String::new();
        }
        Err(_absent) if profile.soul.is_none() => return String::new(),
        Err(error) => {
            tracing::error!(path = %path.display(), %error, "the persona can't be read; the built-in one is used");
            return String::new();
        }
    }
    std::fs::read_to_string(&path).unwrap_or_else(|error| {
        tracing::error!(path = %path.display(), %error, "the persona can't be read; the built-in one is used");
        String::new()
    })
}
