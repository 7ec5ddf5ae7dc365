//! A container's make as one short text: equal texts, equal containers.

use sandbox::{Driver, Limits, Mount, MountMode, Network, SandboxSpec};
use sandbox_folders::Layout;

/// Rises when the same spec makes another container than before.
const GENERATION: &str = "2";

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

/// Of the container itself, for its label.
pub(crate) fn of_container(of_spec: &str, image_id: &str, user: &str, layout: &Layout) -> String {
    let mut fields = Fields::default();
    fields.add(of_spec);
    fields.add(image_id);
    fields.add(user);
    for folder in [&layout.workspace, &layout.home, &layout.inbox] {
        fields.add(&folder.as_path().to_string_lossy());
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
    use std::collections::{BTreeMap, BTreeSet};

    use sandbox::{Driver, Limits, Mount, MountMode, Network, SandboxPath, SandboxSpec};
    use waybill::Secret;

    use super::of_spec;

    #[test]
    fn each_field_of_a_spec_makes_another_container() {
        let base = || SandboxSpec {
            driver: Driver::Docker,
            image: "debian:12".to_owned(),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            secret_env: BTreeMap::new(),
            network: Network::None,
            limits: Limits::default(),
        };
        let mount = |at: &str, mode| Mount {
            host: "/srv".to_owned(),
            at: SandboxPath::parse(at).unwrap(),
            mode,
        };
        let with = |change: &dyn Fn(&mut SandboxSpec)| {
            let mut spec = base();
            change(&mut spec);
            of_spec(&spec)
        };
        let all = [
            of_spec(&base()),
            with(&|spec| spec.driver = Driver::Host),
            with(&|spec| spec.image = "debian:13".to_owned()),
            with(&|spec| spec.network = Network::Bridge),
            with(&|spec| spec.mounts = vec![mount("/a", MountMode::Ro)]),
            with(&|spec| spec.mounts = vec![mount("/a", MountMode::Rw)]),
            with(&|spec| spec.mounts = vec![mount("/a", MountMode::Secret)]),
            with(&|spec| spec.mounts = vec![mount("/b", MountMode::Ro)]),
            with(&|spec| {
                spec.env.insert("A".to_owned(), "1".to_owned());
            }),
            with(&|spec| {
                spec.env.insert("A".to_owned(), "2".to_owned());
            }),
            with(&|spec| {
                spec.env.insert("A1".to_owned(), String::new());
            }),
            with(&|spec| {
                spec.secret_env
                    .insert("A".to_owned(), Secret::new("1".to_owned()));
            }),
            with(&|spec| spec.limits.memory += 1),
            with(&|spec| spec.limits.cpus += 1.0),
            with(&|spec| spec.limits.pids += 1),
            with(&|spec| spec.limits.command_seconds += 1),
            with(&|spec| spec.limits.output_bytes += 1),
            with(&|spec| spec.limits.idle_seconds += 1),
        ];
        let different: BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let secret = |value: &str| {
            with(&|spec| {
                spec.secret_env
                    .insert("A".to_owned(), Secret::new(value.to_owned()));
            })
        };
        assert_eq!(
            secret("1"),
            secret("2"),
            "a changed secret needs no new container"
        );
    }
}
