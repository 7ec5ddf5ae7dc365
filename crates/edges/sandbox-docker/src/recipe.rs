//! What a container is made of, in the engine's words.

use std::collections::HashMap;
use std::path::Path;

use bollard::models::{
    ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount, MountBindOptions,
    MountType, RestartPolicy, RestartPolicyNameEnum,
};
use sandbox::{MountMode, SandboxError, SandboxPath, SandboxSpec};

use crate::scripts;
use crate::storage::{Files, Volumes};

/// The label with the gateway's own id: what does not carry it is foreign and is never touched.
pub(crate) const INSTALL: &str = "tidings.install";
/// The label with the profile's name.
pub(crate) const PROFILE: &str = "tidings.profile";
/// The label with the whole key.
pub(crate) const SANDBOX: &str = "tidings.sandbox";
/// The label with the fingerprint.
pub(crate) const SPEC: &str = "tidings.spec";
/// The label with the instant, in seconds of the epoch, when the first lease ends. Labels can't be changed once a container
/// is made; later leases are kept beside the sandbox's folders.
pub(crate) const LEASE: &str = "tidings.lease";

/// Most of `/tmp`, which counts against the sandbox's memory.
const MOST_TMP: u64 = 512 << 20;

/// Places that an owner's folder may not cover: the sandbox would not be one any more.
const TAKEN: [&str; 6] = ["/", "/dev", "/inbox", "/proc", "/sys", "/tmp"];

/// The user and group of containers whose files are volumes, and of those of an engine without rights of its own, where they
/// are the engine's own user. Without capabilities.
pub(crate) const ROOT: &str = "0:0";

/// May what is mounted be written?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// The body of the request that makes the container.
pub(crate) fn body(
    spec: &SandboxSpec,
    files: &Files,
    user: &str,
    labels: HashMap<String, String>,
    network: &str,
    engine_cpus: u32,
) -> Result<ContainerCreateBody, SandboxError> {
    let shell = ["/bin/sh", "-c", scripts::IDLE].map(str::to_owned).to_vec();
    Ok(ContainerCreateBody {
        image: Some(spec.image.clone()),
        entrypoint: Some(shell),
        cmd: Some(Vec::new()),
        hostname: Some("sandbox".to_owned()),
        user: Some(user.to_owned()),
        working_dir: Some(SandboxPath::WORKSPACE.to_owned()),
        labels: Some(labels),
        healthcheck: Some(no_healthcheck()),
        host_config: Some(HostConfig {
            mounts: Some(mounts(spec, files)?),
            binds: binds(spec, files),
            tmpfs: Some(HashMap::from([("/tmp".to_owned(), tmp_options(spec))])),
            network_mode: Some(network.to_owned()),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            privileged: Some(false),
            init: Some(true),
            ipc_mode: Some("private".to_owned()),
            pids_limit: Some(i64::from(spec.limits.pids)),
            memory: Some(signed(spec.limits.memory)),
            // No swap on top: memory is memory.
            memory_swap: Some(signed(spec.limits.memory)),
            nano_cpus: Some(nano_cpus(spec.limits.cpus, engine_cpus)),
            restart_policy: Some(RestartPolicy {
                name: Some(RestartPolicyNameEnum::NO),
                maximum_retry_count: None,
            }),
            log_config: Some(no_log()),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    })
}

/// What an image wants to be asked, it is not asked.
pub(crate) fn no_healthcheck() -> HealthConfig {
    HealthConfig {
        test: Some(vec!["NONE".to_owned()]),
        ..HealthConfig::default()
    }
}

/// The output of commands comes over their own streams; a log would only fill the engine's disk.
pub(crate) fn no_log() -> HostConfigLogConfig {
    HostConfigLogConfig {
        typ: Some("none".to_owned()),
        config: None,
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// More than the engine has, and it would refuse.
fn nano_cpus(wanted: f64, engine_cpus: u32) -> i64 {
    let cpus = wanted.clamp(0.01, f64::from(engine_cpus.max(1)));
    (cpus * 1e9) as i64
}

fn tmp_options(spec: &SandboxSpec) -> String {
    let bytes = MOST_TMP.min(spec.limits.memory / 2);
    format!("rw,exec,nosuid,nodev,mode=1777,size={bytes}")
}

fn mounts(spec: &SandboxSpec, files: &Files) -> Result<Vec<Mount>, SandboxError> {
    let mut mounts = Vec::new();
    for mount in &spec.mounts {
        let at = place(mount.at.as_str());
        if TAKEN.contains(&at) {
            return Err(SandboxError::Failed(format!(
                "the mount of {} at {at} is not possible: the sandbox needs that place; choose another `at`",
                mount.host
            )));
        }
        if !mount.host.starts_with('/') {
            return Err(SandboxError::Failed(format!(
                "the mount of {} needs an absolute path of this machine",
                mount.host
            )));
        }
        let read_only = match mount.mode {
            MountMode::Rw => false,
            MountMode::Ro | MountMode::Secret => true,
        };
        mounts.push(bind(mount.host.clone(), at, read_only));
    }
    let Files::Folders(layout) = files else {
        return Ok(mounts);
    };
    for (at, folder, read_only) in [
        (SandboxPath::WORKSPACE, &layout.workspace, false),
        (SandboxPath::HOME, &layout.home, false),
        (SandboxPath::INBOX, &layout.inbox, true),
    ] {
        // The owner may put a folder of his own in the place of the workspace or the home.
        if !mounts
            .iter()
            .any(|mount| mount.target.as_deref() == Some(at))
        {
            mounts.push(bind(text(folder.as_path())?, at, read_only));
        }
    }
    Ok(mounts)
}

/// A place as engines write it: without an end.
fn place(at: &str) -> &str {
    match at.trim_end_matches('/') {
        "" => "/",
        at => at,
    }
}

/// The places where the owner put a folder of his own.
pub(crate) fn owned(spec: &SandboxSpec) -> Vec<&str> {
    let mounts = spec.mounts.iter();
    mounts.map(|mount| place(mount.at.as_str())).collect()
}

fn binds(spec: &SandboxSpec, files: &Files) -> Option<Vec<String>> {
    let Files::Volumes(Volumes {
        workspace,
        home,
        inbox,
    }) = files
    else {
        return None;
    };
    let owned = owned(spec);
    let all = [
        (workspace, SandboxPath::WORKSPACE, Access::Write),
        (home, SandboxPath::HOME, Access::Write),
        (inbox, SandboxPath::INBOX, Access::Read),
    ];
    let own = all.iter().filter(|(_, at, _)| !owned.contains(at));
    Some(
        own.map(|(name, at, access)| volume(name, at, *access))
            .collect(),
    )
}

/// A volume as a `-v` text: only so does every engine hear that it begins empty, and not with what the image has there. The
/// names of volumes have no colon.
pub(crate) fn volume(name: &str, at: &str, access: Access) -> String {
    let access = match access {
        Access::Read => "ro",
        Access::Write => "rw",
    };
    format!("{name}:{at}:{access},nocopy")
}

/// As a mount and not as a `-v` text: no character has a meaning, and a missing folder is an error and not made.
///
/// Engines before 25 close only the folder itself: what the owner has mounted somewhere below would stay open for writing.
/// So a read-only mount shows nothing that is mounted below it.
pub(crate) fn bind(source: String, target: &str, read_only: bool) -> Mount {
    Mount {
        source: Some(source),
        target: Some(target.to_owned()),
        typ: Some(MountType::BIND),
        read_only: Some(read_only),
        bind_options: read_only.then(|| MountBindOptions {
            non_recursive: Some(true),
            ..MountBindOptions::default()
        }),
        ..Mount::default()
    }
}

pub(crate) fn text(folder: &Path) -> Result<String, SandboxError> {
    let path = std::path::absolute(folder).map_err(|source| {
        SandboxError::Failed(format!(
            "{} has no absolute path: {source}",
            folder.display()
        ))
    })?;
    path.into_os_string().into_string().map_err(|odd| {
        SandboxError::Failed(format!(
            "{} is not UTF-8, which Docker needs",
            odd.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::path::PathBuf;

    use sandbox::{Driver, Limits, Mount, MountMode, Network, SandboxPath, SandboxSpec};
    use sandbox_folders::{HostPath, Layout};

    use super::{body, nano_cpus};
    use crate::storage::{Files, Volumes};

    fn spec(mounts: &[(&str, &str, MountMode)]) -> SandboxSpec {
        SandboxSpec {
            driver: Driver::Docker,
            image: "debian:12".to_owned(),
            mounts: mounts
                .iter()
                .map(|(host, at, mode)| Mount {
                    host: (*host).to_owned(),
                    at: SandboxPath::parse(at).unwrap(),
                    mode: *mode,
                })
                .collect(),
            env: BTreeMap::from([("A".to_owned(), "1".to_owned())]),
            secret_env: BTreeMap::new(),
            network: Network::None,
            allow: Vec::new(),
            remote: None,
            limits: Limits::default(),
        }
    }

    fn folders() -> Files {
        let folder = |name: &str| HostPath::new(PathBuf::from("/home/t/profiles/p").join(name));
        Files::Folders(Layout {
            workspace: folder("workspace"),
            home: folder("home"),
            inbox: folder("inbox"),
        })
    }

    fn binds(mounts: &[(&str, &str, MountMode)]) -> Vec<String> {
        let body = body(&spec(mounts), &folders(), "1:1", HashMap::new(), "none", 2).unwrap();
        body.host_config
            .unwrap()
            .mounts
            .unwrap()
            .into_iter()
            .map(|mount| {
                let alone = mount
                    .bind_options
                    .is_some_and(|options| options.non_recursive == Some(true));
                let mode = match (mount.read_only == Some(true), alone) {
                    (true, true) => "ro",
                    (true, false) => "ro, open below",
                    (false, false) => "rw",
                    (false, true) => "rw, cut off below",
                };
                format!("{}→{} {mode}", mount.source.unwrap(), mount.target.unwrap())
            })
            .collect()
    }

    #[test]
    fn the_owners_folders_and_the_sandboxs_own_are_bound() {
        assert_eq!(
            binds(&[
                ("/srv/data,x:y", "/data/", MountMode::Rw),
                ("/srv/keys", "/keys", MountMode::Secret),
                ("/srv/ref", "/ref", MountMode::Ro),
            ]),
            [
                "/srv/data,x:y→/data rw",
                "/srv/keys→/keys ro",
                "/srv/ref→/ref ro",
                "/home/t/profiles/p/workspace→/workspace rw",
                "/home/t/profiles/p/home→/root rw",
                "/home/t/profiles/p/inbox→/inbox ro",
            ]
        );
        assert_eq!(
            binds(&[("/srv/project", "/workspace", MountMode::Rw)]),
            [
                "/srv/project→/workspace rw",
                "/home/t/profiles/p/home→/root rw",
                "/home/t/profiles/p/inbox→/inbox ro",
            ]
        );
    }

    #[test]
    fn a_mount_that_would_break_the_sandbox_is_refused() {
        for (host, at) in [
            ("/srv", "/"),
            ("/srv", "/inbox/"),
            ("/srv", "/proc"),
            ("srv", "/data"),
            ("~/x", "/data"),
        ] {
            let refused = body(
                &spec(&[(host, at, MountMode::Ro)]),
                &folders(),
                "1:1",
                HashMap::new(),
                "none",
                2,
            );
            assert!(refused.is_err(), "{host} at {at}");
        }
    }

    #[test]
    fn volumes_take_the_place_of_the_folders_and_the_owners_stay() {
        let files = Files::Volumes(Volumes {
            workspace: "w".to_owned(),
            home: "h".to_owned(),
            inbox: "i".to_owned(),
        });
        let host = |mounts: &[(&str, &str, MountMode)]| {
            let body = body(&spec(mounts), &files, "0:0", HashMap::new(), "none", 2).unwrap();
            let host = body.host_config.unwrap();
            (host.binds.unwrap(), host.mounts.unwrap().len())
        };
        let (binds, mounts) = host(&[("/srv/keys", "/keys", MountMode::Secret)]);
        assert_eq!(
            binds,
            [
                "w:/workspace:rw,nocopy",
                "h:/root:rw,nocopy",
                "i:/inbox:ro,nocopy"
            ]
        );
        assert_eq!(mounts, 1);
        let (binds, _) = host(&[("/srv/project", "/workspace/", MountMode::Rw)]);
        assert_eq!(binds, ["h:/root:rw,nocopy", "i:/inbox:ro,nocopy"]);
    }

    #[test]
    fn no_more_processors_are_asked_for_than_there_are() {
        assert_eq!(nano_cpus(1.5, 2), 1_500_000_000);
        assert_eq!(nano_cpus(8.0, 2), 2_000_000_000);
        assert_eq!(nano_cpus(0.0, 2), 10_000_000);
    }
}
