//! Where on this machine the gateway may make control groups of its own.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::{Bound, Hierarchy, Version};

/// Where the gateway itself goes in a tree that was given to it: version 2 keeps processes in leaves alone.
const GATEWAY: &str = "tidings-gateway";
/// How a service manager marks a tree that it gave away.
const GIVEN: [&str; 2] = ["trusted.delegate", "user.delegate"];

/// A line of `/proc/self/mountinfo`, as far as it matters here.
struct Mounted {
    root: PathBuf,
    point: PathBuf,
    kind: String,
    options: String,
}

/// The hierarchies in which groups can be made, with what can be bounded in each. Empty: none.
pub(super) fn find() -> Vec<Hierarchy> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let mounts = mounts(&read("/proc/self/mountinfo"));
    let groups = read("/proc/self/cgroup");
    let mut found = Vec::new();
    if let Some(own) = own(&groups, &mounts, None)
        && let Some(hierarchy) = second(&own)
    {
        found.push(hierarchy);
    }
    for bound in [Bound::Memory, Bound::Processes, Bound::Processor] {
        let is_there = |hierarchy: &Hierarchy| hierarchy.bounds.contains(&bound);
        if found.iter().any(is_there) {
            continue;
        }
        if let Some(base) = own(&groups, &mounts, Some(bound.name())) {
            found.push(Hierarchy {
                version: Version::One,
                base,
                bounds: vec![bound],
            });
        }
    }
    found
}

/// The gateway's own group: of version 2, or of a controller of version 1.
fn own(groups: &str, mounts: &[Mounted], controller: Option<&str>) -> Option<PathBuf> {
    let has = |list: &str, wanted: &str| list.split(',').any(|one| one == wanted);
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match controller {
            Some(controller) => has(controllers, controller),
            None => controllers.is_empty(),
        };
        is_it.then(|| Path::new(path))
    })?;
    let mount = mounts.iter().find(|mount| match controller {
        Some(controller) => mount.kind == "cgroup" && has(&mount.options, controller),
        None => mount.kind == "cgroup2",
    })?;
    let below = group.strip_prefix(&mount.root).ok()?;
    // So a namespace tells of a group outside of it.
    if below.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    Some(mount.point.join(below))
}

fn mounts(table: &str) -> Vec<Mounted> {
    table
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let mut left = left.split(' ').skip(3);
            let mut right = right.split(' ');
            Some(Mounted {
                root: left.next()?.into(),
                point: left.next()?.into(),
                kind: right.next()?.to_owned(),
                options: right.nth(1)?.to_owned(),
            })
        })
        .collect()
}

/// Makes the tree of version 2 ready, if it is ours to change.
fn second(own: &Path) -> Option<Hierarchy> {
    let base = match own.file_name() {
        Some(name) if name == GATEWAY => own.parent()?,
        Some(_) | None => own,
    };
    let available = fs::read_to_string(base.join("cgroup.controllers")).ok()?;
    let bounds: Vec<Bound> = [Bound::Memory, Bound::Processes, Bound::Processor]
        .into_iter()
        .filter(|bound| available.split_whitespace().any(|one| one == bound.name()))
        .collect();
    if bounds.is_empty() || !is_given(base) {
        return None;
    }
    let hierarchy = Hierarchy {
        version: Version::Two,
        base: base.to_owned(),
        bounds,
    };
    let is_root = !base.join("cgroup.type").exists();
    if is_root || own != base {
        return hierarchy.hand_down(base).ok().map(|()| hierarchy);
    }
    step_aside(base, hierarchy)
}

/// Root may write everywhere; what the service manager keeps for itself is not ours all the same.
fn is_given(base: &Path) -> bool {
    let marked = GIVEN.iter().any(|mark| {
        let mut value = [0; 8];
        rustix::fs::getxattr(base, *mark, &mut value)
            .is_ok_and(|length| value.get(..length) == Some(b"1"))
    });
    let is_root_of_all_it_sees = fs::read_to_string("/proc/self/cgroup")
        .is_ok_and(|groups| groups.lines().any(|line| line == "0::/"));
    marked || is_root_of_all_it_sees || !rustix::process::geteuid().is_root()
}

/// Puts the gateway into a leaf, so that its tree may have bounds; back again if others are in its way.
fn step_aside(base: &Path, hierarchy: Hierarchy) -> Option<Hierarchy> {
    let leaf = base.join(GATEWAY);
    let me = std::process::id().to_string();
    fs::create_dir(&leaf).ok()?;
    let done = fs::write(leaf.join("cgroup.procs"), &me).and_then(|()| hierarchy.hand_down(base));
    if done.is_err() {
        fs::write(base.join("cgroup.procs"), &me).unwrap_or_default();
        fs::remove_dir(&leaf).unwrap_or_default();
        return None;
    }
    Some(hierarchy)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, PathBuf};

    use proptest::prelude::*;

    use super::{mounts, own};

    proptest! {
        #[test]
        fn no_group_leads_out_of_its_mount(path in "(/(docker|4f|[.]{1,3}|[a-z.]{1,4})){0,5}", junk in "[0-9a-z/., -]{0,60}") {
            let groups = format!("{junk}\n5:memory:{path}\n0::{path}");
            for (controller, point) in [(Some("memory"), "/sys/fs/cgroup/memory"), (None, "/sys/fs/cgroup/unified")] {
                if let Some(found) = own(&groups, &mounts(TABLE), controller) {
                    let below = found.strip_prefix(point).unwrap();
                    prop_assert!(below.components().all(|part| part != Component::ParentDir));
                }
            }
        }
    }

    const TABLE: &str = "\
24 1 0:22 / /sys rw - sysfs sysfs rw
30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 /docker/4f /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate";

    #[test]
    fn the_gateways_own_group_is_found_in_both_versions_and_behind_a_containers_root() {
        let groups = "5:memory:/docker/4f/inner\n4:cpu,cpuacct:/\n3:cpuset:/\n0::/user.slice/a:b";
        let mounts = mounts(TABLE);
        let own = |controller| own(groups, &mounts, controller);
        assert_eq!(
            own(Some("memory")),
            Some(PathBuf::from("/sys/fs/cgroup/memory/inner"))
        );
        assert_eq!(
            own(Some("cpu")),
            Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/"))
        );
        assert_eq!(own(Some("pids")), None, "no such controller");
        assert_eq!(own(Some("cpuset")), None, "not mounted");
        assert_eq!(
            own(None),
            Some(PathBuf::from("/sys/fs/cgroup/unified/user.slice/a:b"))
        );
    }

    #[test]
    fn a_torn_table_finds_nothing_and_breaks_nothing() {
        for table in ["", " - ", "1 2 3 / /x - cgroup2", "a - b c d"] {
            assert!(own("0::/", &mounts(table), None).is_none(), "{table}");
        }
        for groups in ["", ":", "::", "0:", "x"] {
            assert!(own(groups, &mounts(TABLE), None).is_none(), "{groups}");
        }
    }
}
