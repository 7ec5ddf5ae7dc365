//! The last walls, from the inside: capabilities go, then Landlock, then seccomp. After this nothing comes back.

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{Stop, seccomp};
use crate::Protections;
use crate::plan::{Access, Inner};

/// The newest interface whose rights are asked for; older kernels give what they have.
const NEWEST: ABI = ABI::V7;

pub(super) fn raise(plan: &Inner, standing: &mut Protections) -> Result<(), Stop> {
    let failed = |error: rustix::io::Errno| {
        Stop::Failed(format!("the sandbox's rights can't be given up: {error}"))
    };
    for capability in CapabilitySet::all().iter() {
        // Kernels older than this list don't know its end.
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    standing.no_new_privileges = true;
    standing.landlock_abi = landlock(plan).unwrap_or(0);
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(failed)?;
    standing.no_capabilities = true;
    standing.seccomp = seccomp::raise()?;
    Ok(())
}

/// Writing is for the sandbox's own folders alone, whatever the mounts say. Says which interface is in force.
fn landlock(plan: &Inner) -> Result<u8, RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let look: BitFlags<AccessFs> = AccessFs::from_read(NEWEST);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .add_rule_if("/", look)?
        // Devices and /proc/self are written to, never made.
        .add_rule_if(
            "/dev",
            look | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev,
        )?
        .add_rule_if("/proc", look | AccessFs::WriteFile | AccessFs::Truncate)?
        .add_rule_if("/dev/shm", all)?;
    for bind in plan
        .binds
        .iter()
        .filter(|bind| bind.access == Access::Write)
    {
        rules = rules.add_rule_if(&bind.at, all)?;
    }
    let status = rules.restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => (effective_abi as u8).min(NEWEST as u8),
        (
            RulesetStatus::NotEnforced
            | RulesetStatus::FullyEnforced
            | RulesetStatus::PartiallyEnforced,
            LandlockStatus::NotEnabled
            | LandlockStatus::NotImplemented
            | LandlockStatus::Available { .. },
        ) => 0,
    })
}

trait AddRule: Sized {
    /// Allows rights below a place, if it is there.
    fn add_rule_if(self, at: &str, rights: BitFlags<AccessFs>) -> Result<Self, RulesetError>;
}

impl AddRule for landlock::RulesetCreated {
    fn add_rule_if(self, at: &str, rights: BitFlags<AccessFs>) -> Result<Self, RulesetError> {
        let Ok(place) = PathFd::new(at) else {
            return Ok(self);
        };
        let is_folder = std::fs::metadata(at).is_ok_and(|kind| kind.is_dir());
        let rights = if is_folder {
            rights
        } else {
            rights & AccessFs::from_file(NEWEST)
        };
        self.add_rule(PathBeneath::new(place, rights))
    }
}
