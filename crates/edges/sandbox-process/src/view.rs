//! What a sandbox sees, from its folders and its spec.

use std::path::{Path, PathBuf};

use sandbox::{Limits, MountMode, Network, SandboxError, SandboxPath, SandboxSpec};
use sandbox_folders::Layout;

use crate::plan::{Access, Bind, Inner, Work};

const TEMPORARY: &str = "/tmp";

/// Seen as `/tmp`: it must outlive a command, for a file that is captured after it.
pub(crate) fn temporary(layout: &Layout) -> PathBuf {
    layout.workspace.as_path().with_file_name("tmp")
}

/// What emptying a sandbox's `/tmp` needs, and nothing else.
pub(crate) fn emptying(layout: &Layout) -> Result<Inner, SandboxError> {
    let limits = Limits::default();
    Ok(Inner {
        host_network: false,
        binds: vec![bind(folder(&temporary(layout))?, TEMPORARY, Access::Write)],
        memory: Some(limits.memory),
        pids: limits.pids,
        work: Work::ClearTemporary,
    })
}

fn folder(path: &Path) -> Result<String, SandboxError> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        SandboxError::Failed(format!(
            "{} is not UTF-8; move the gateway's folder",
            path.display()
        ))
    })
}

/// What a call needs: the sandbox's own folders, then the owner's mounts in their order.
pub(crate) fn plan(layout: &Layout, spec: &SandboxSpec, work: Work) -> Result<Inner, SandboxError> {
    let mut binds = vec![
        bind(
            folder(layout.workspace.as_path())?,
            SandboxPath::WORKSPACE,
            Access::Write,
        ),
        bind(
            folder(layout.home.as_path())?,
            SandboxPath::HOME,
            Access::Write,
        ),
        bind(
            folder(layout.inbox.as_path())?,
            SandboxPath::INBOX,
            Access::Read,
        ),
        bind(folder(&temporary(layout))?, TEMPORARY, Access::Write),
    ];
    for mount in &spec.mounts {
        let access = match mount.mode {
            MountMode::Ro => Access::Read,
            MountMode::Rw => Access::Write,
            MountMode::Secret => Access::Secret,
        };
        binds.push(bind(mount.host.clone(), &place(&mount.at)?, access));
    }
    Ok(Inner {
        host_network: match spec.network {
            Network::None => false,
            Network::Bridge => true,
        },
        binds,
        memory: Some(spec.limits.memory),
        pids: spec.limits.pids,
        work,
    })
}

fn bind(source: String, at: &str, access: Access) -> Bind {
    Bind {
        source,
        at: at.to_owned(),
        access,
    }
}

/// The spec's secret places, from its mounts as they are spelled when they are made.
pub(crate) fn secret_places(spec: &SandboxSpec) -> Result<Vec<SandboxPath>, SandboxError> {
    let mut spec = spec.clone();
    for mount in &mut spec.mounts {
        mount.at = SandboxPath::parse(&place(&mount.at)?)?;
    }
    Ok(spec.secret_places())
}

/// The place of a file or a folder that is neither the sandbox's own nor shown by the owner: a program of the machine.
pub(crate) fn of_the_machine(place: &Path, binds: &[Bind]) -> Option<String> {
    let shown = binds
        .iter()
        .filter(|bind| place.starts_with(&bind.at))
        .max_by_key(|bind| bind.at.len());
    match shown.map(|bind| (bind.access, &bind.at)) {
        Some((Access::Read | Access::Write, _)) => None,
        Some((Access::Secret, at)) => Some(at.clone()),
        None => {
            let first = place.components().nth(1);
            Some(first.map_or_else(
                || "/".to_owned(),
                |part| format!("/{}", part.as_os_str().to_string_lossy()),
            ))
        }
    }
}

/// A mount's place in its one spelling: what is compared later is what the kernel will say.
fn place(at: &SandboxPath) -> Result<String, SandboxError> {
    let parts: Vec<&str> = at
        .as_str()
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let taken =
        matches!(parts.first(), None | Some(&("proc" | "sys" | "dev"))) || parts.contains(&"..");
    if taken {
        return Err(SandboxError::Failed(format!(
            "nothing can be mounted at {at}: choose a place like /data"
        )));
    }
    Ok(format!("/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use sandbox::SandboxPath;

    use super::place;

    #[test]
    fn a_place_has_one_spelling_and_some_are_taken() {
        for (given, spelled) in [
            ("/data", Some("/data")),
            ("//data/./x/", Some("/data/x")),
            ("/workspace/data", Some("/workspace/data")),
            ("/", None),
            ("/proc/x", None),
            ("/dev", None),
            ("//sys", None),
            ("/a/../etc", None),
        ] {
            let at = SandboxPath::parse(given).unwrap();
            assert_eq!(place(&at).ok().as_deref(), spelled, "{given}");
        }
    }
}
