//! Profiles, ready to work.

use std::collections::HashMap;
use std::sync::Arc;

use agent::{Tenant, Tenants};
use settings::{Environment, Home, Profile};
use waybill::ProfileId;

use crate::foundations::Foundations;
use crate::models::Chooser;
use crate::sandboxes::Drivers;

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
    environment: &dyn Environment,
) -> HashMap<ProfileId, Arc<Tenant>> {
    let mut chooser = Chooser::new(&base.settings, &base.client, environment);
    let mut tenants = HashMap::new();
    for (name, profile) in &base.settings.profiles {
        let (driver, port) = drivers.port(profile.sandbox.driver, &profile.sandbox.image);
        let tenant = Tenant {
            model: chooser.choose(&profile.model).await,
            sandbox: port,
            spec: profile.sandbox.spec(driver),
            placement: profile.sandbox.placement,
            persona: persona(&base.home, name, profile),
            steps: profile.limits.turn_steps,
            attachment_bytes: profile.limits.attachment_bytes,
        };
        tenants.insert(name.clone(), Arc::new(tenant));
    }
    tenants
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
