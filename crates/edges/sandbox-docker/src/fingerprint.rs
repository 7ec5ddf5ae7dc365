//! A container's make as one short text: equal texts, equal containers.

use sandbox::{Driver, Limits, Mount, MountMode, Network, Remote, SandboxKey, SandboxSpec};

use crate::storage::{Files, Volumes};

/// Rises when the same spec makes another container than before.
const GENERATION: &str = "3";

/// Of what the owner asked for, before any image or folder is looked at. Secret values are not in it: each command gets
/// them anew.
pub(crate) fn of_spec(spec: &SandboxSpec) -> String {
    let SandboxSpec {
        driver,
        image,
        mounts,
        env,
        secret_env,
        network,
        allow,
        remote,
        limits,
    } = spec;
    let Limits {
        memory,
        cpus,
        pids,
        command_seconds,
        output_bytes,
        idle_seconds,
    } = limits;
    let mut fields = Fields::default();
    fields.add(GENERATION);
    fields.add(match driver {
        Driver::Docker => "docker",
        Driver::Process => "process",
        Driver::Ssh => "ssh",
        Driver::Host => "host",
    });
    fields.add(image);
    fields.count(mounts.len());
    for Mount { host, at, mode } in mounts {
        fields.add(host);
        fields.add(at.as_str());
        fields.add(match mode {
            MountMode::Ro => "ro",
            MountMode::Rw => "rw",
            MountMode::Secret => "secret",
        });
    }
    fields.count(env.len());
    for (name, value) in env {
        fields.add(name);
        fields.add(value);
    }
    fields.count(secret_env.len());
    for name in secret_env.keys() {
        fields.add(name);
    }
    fields.add(match network {
        Network::None => "none",
        Network::Bridge => "bridge",
    });
    fields.count(allow.len());
    for destination in allow {
        fields.add(&destination.to_string());
    }
    fields.count(usize::from(remote.is_some()));
    if let Some(Remote {
        host,
        port,
        user,
        key: _secret,
        host_key,
        folder,
    }) = remote
    {
        for field in [host, &port.to_string(), user, host_key, folder] {
            fields.add(field);
        }
    }
    for number in [
        *memory,
        cpus.to_bits(),
        u64::from(*pids),
        *command_seconds,
        *output_bytes as u64,
        *idle_seconds,
    ] {
        fields.add(&number.to_string());
    }
    fields.done()
}

/// Of the container itself, for its label: the spec, the image that its name means just now, who runs it, whose it is, and
/// on which network and folders, or volumes.
pub(crate) fn of_container(
    of_spec: &str,
    image_id: &str,
    user: &str,
    key: &SandboxKey,
    network: &str,
    files: &Files,
) -> String {
    let mut fields = Fields::default();
    fields.add(of_spec);
    fields.add(image_id);
    fields.add(user);
    fields.add(&key.to_string());
    fields.add(network);
    match files {
        Files::Folders(layout) => {
            for folder in [&layout.workspace, &layout.home, &layout.inbox] {
                fields.add(&folder.as_path().to_string_lossy());
            }
        }
        Files::Volumes(Volumes {
            workspace,
            home,
            inbox,
        }) => {
            fields.add("volumes");
            for volume in [workspace, home, inbox] {
                fields.add(volume);
            }
        }
    }
    fields.done()
}

/// Fields with their lengths, so that two different lists never read alike.
#[derive(Default)]
struct Fields(blake3::Hasher);

impl Fields {
    fn add(&mut self, field: &str) {
        self.count(field.len());
        self.0.update(field.as_bytes());
    }

    fn count(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn done(self) -> String {
        self.0.finalize().to_hex().chars().take(32).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sandbox::{
        Driver, Limits, Mount, MountMode, Network, Remote, SandboxKey, SandboxPath, SandboxSpec,
    };
    use sandbox_folders::{HostPath, Layout};
    use waybill::{ProfileId, Secret, SessionKey};

    use super::{of_container, of_spec};
    use crate::storage::{Files, Volumes};

    struct Made {
        spec: SandboxSpec,
        image_id: &'static str,
        user: &'static str,
        key: SandboxKey,
        network: &'static str,
        home: &'static str,
        volumes: Option<&'static str>,
    }

    impl Made {
        fn base() -> Self {
            let mount = |host: &str, at: &str| Mount {
                host: host.to_owned(),
                at: SandboxPath::parse(at).unwrap(),
                mode: MountMode::Ro,
            };
            let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
            Self {
                spec: SandboxSpec {
                    driver: Driver::Docker,
                    image: "debian:12".to_owned(),
                    mounts: vec![mount("/srv", "/a"), mount("/opt", "/b")],
                    env: BTreeMap::from([pair("A", "1"), pair("B", "2")]),
                    secret_env: BTreeMap::from([("S".to_owned(), Secret::new("1".to_owned()))]),
                    network: Network::None,
                    allow: vec!["example.org:443".parse().unwrap()],
                    remote: Some(Remote {
                        host: "h".to_owned(),
                        port: 22,
                        user: "u".to_owned(),
                        key: Secret::new("k".to_owned()),
                        host_key: "SHA256:x".to_owned(),
                        folder: "f".to_owned(),
                    }),
                    limits: Limits::default(),
                },
                image_id: "sha256:1",
                user: "0:0",
                key: SandboxKey::Profile(profile("work")),
                network: "none",
                home: "/home/t",
                volumes: None,
            }
        }

        fn label(&self) -> String {
            let folder = |name: &str| HostPath::new(format!("{}/{name}", self.home).into());
            let layout = Layout {
                workspace: folder("workspace"),
                home: folder("home"),
                inbox: folder("inbox"),
            };
            let files = match self.volumes {
                None => Files::Folders(layout),
                Some(install) => Files::Volumes(Volumes::of(install, &self.key)),
            };
            of_container(
                &of_spec(&self.spec),
                self.image_id,
                self.user,
                &self.key,
                self.network,
                &files,
            )
        }
    }

    fn profile(name: &str) -> ProfileId {
        ProfileId::parse(name).unwrap()
    }

    type Change = fn(&mut Made);

    const CHANGES: [(&str, Change); 41] = [
        ("driver", |made| made.spec.driver = Driver::Process),
        ("image's name", |made| {
            made.spec.image = "debian:13".to_owned()
        }),
        ("image's digest", |made| made.image_id = "sha256:2"),
        ("a mount's folder", |made| {
            made.spec.mounts[0].host = "/srv2".to_owned()
        }),
        ("a mount's place", |made| {
            made.spec.mounts[0].at = SandboxPath::parse("/c").unwrap();
        }),
        ("a mount that may be written", |made| {
            made.spec.mounts[0].mode = MountMode::Rw
        }),
        ("a mount that is secret", |made| {
            made.spec.mounts[0].mode = MountMode::Secret
        }),
        ("a mount less", |made| drop(made.spec.mounts.pop())),
        ("a mount twice", |made| {
            made.spec.mounts.push(made.spec.mounts[0].clone())
        }),
        ("mounts in another order", |made| made.spec.mounts.reverse()),
        ("a variable's value", |made| {
            made.spec.env.insert("A".to_owned(), "2".to_owned());
        }),
        ("a variable's name", |made| {
            made.spec.env.remove("A");
            made.spec.env.insert("A1".to_owned(), String::new());
        }),
        ("a variable less", |made| {
            made.spec.env.remove("A");
        }),
        ("a variable that is secret now", |made| {
            made.spec.env.remove("A");
            made.spec
                .secret_env
                .insert("A".to_owned(), Secret::new("1".to_owned()));
        }),
        ("a secret more", |made| {
            made.spec
                .secret_env
                .insert("T".to_owned(), Secret::new("1".to_owned()));
        }),
        ("a secret less", |made| made.spec.secret_env.clear()),
        ("user", |made| made.user = "1000:0"),
        ("group", |made| made.user = "0:1000"),
        ("network", |made| made.spec.network = Network::Bridge),
        ("network's name", |made| made.network = "another"),
        ("an allowed host", |made| {
            made.spec.allow[0] = "example.com:443".parse().unwrap();
        }),
        ("an allowed port", |made| {
            made.spec.allow[0] = "example.org:80".parse().unwrap();
        }),
        ("an allowed host more", |made| {
            made.spec.allow.push("example.com:443".parse().unwrap());
        }),
        ("nothing allowed", |made| made.spec.allow.clear()),
        ("no remote", |made| made.spec.remote = None),
        ("remote's host", |made| {
            made.spec.remote.as_mut().unwrap().host.push('2')
        }),
        ("remote's port", |made| {
            made.spec.remote.as_mut().unwrap().port = 23
        }),
        ("remote's user", |made| {
            made.spec.remote.as_mut().unwrap().user.push('2')
        }),
        ("remote's host key", |made| {
            made.spec.remote.as_mut().unwrap().host_key.push('2')
        }),
        ("remote's folder", |made| {
            made.spec.remote.as_mut().unwrap().folder.push('2')
        }),
        ("memory", |made| made.spec.limits.memory += 1),
        ("processors", |made| made.spec.limits.cpus += 0.01),
        ("processes", |made| made.spec.limits.pids += 1),
        ("time", |made| made.spec.limits.command_seconds += 1),
        ("output", |made| made.spec.limits.output_bytes += 1),
        ("lease", |made| made.spec.limits.idle_seconds += 1),
        ("profile", |made| {
            made.key = SandboxKey::Profile(profile("work2"))
        }),
        ("scope", |made| {
            made.key = SandboxKey::Session(profile("work"), SessionKey::Local("a".to_owned()));
        }),
        ("the gateway's home", |made| made.home = "/home/t2"),
        ("volumes in place of folders", |made| {
            made.volumes = Some("a")
        }),
        ("another's volumes", |made| made.volumes = Some("b")),
    ];

    #[test]
    fn drift_in_any_single_field_makes_another_container() {
        let base = Made::base().label();
        assert_eq!(
            Made::base().label(),
            base,
            "the same make is the same container"
        );
        let mut seen = BTreeMap::from([(base, "nothing")]);
        for (what, change) in CHANGES {
            let mut made = Made::base();
            change(&mut made);
            if let Some(other) = seen.insert(made.label(), what) {
                panic!("a change of {what} reads like a change of {other}");
            }
        }
    }

    #[test]
    fn a_changed_secret_needs_no_new_container() {
        let mut made = Made::base();
        let value = Secret::new("2".to_owned());
        made.spec.secret_env.insert("S".to_owned(), value.clone());
        made.spec.remote.as_mut().unwrap().key = value;
        assert_eq!(made.label(), Made::base().label());
    }
}
