//! Version 2 as this machine's own kernel has it: whatever of it can be had here is tried, and what can't is said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conformance::sandbox::bench::{PATIENCE, eventually};
use sandbox::{Limits, SandboxKey};

use super::{Bound, Groups, Hierarchy, Version, fresh, sweep, tried};

/// A tree of version 2 of the test's own: below the one that is mounted, or below one that it mounts.
struct Tree {
    base: PathBuf,
    mounted: Option<tempfile::TempDir>,
}

impl Tree {
    fn plant(name: &str) -> Option<Self> {
        let skipped = |why: &str| {
            println!("skipped: {why}");
            None
        };
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let there = table.lines().find_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = left.split(' ').nth(4)?;
            right.starts_with("cgroup2 ").then(|| PathBuf::from(point))
        });
        let (root, mounted) = match there {
            Some(root) => (root, None),
            None => {
                let folder = tempfile::tempdir().unwrap();
                let mount = Command::new("mount")
                    .args(["-t", "cgroup2", "none"])
                    .arg(folder.path())
                    .status();
                if !mount.is_ok_and(|status| status.success()) {
                    return skipped(
                        "this machine has no control groups of version 2 and lets nobody mount them",
                    );
                }
                (folder.path().to_owned(), Some(folder))
            }
        };
        let base = root.join(format!("tidings-test-{name}-{}", std::process::id()));
        let tree = Self { base, mounted };
        match fs::create_dir(&tree.base) {
            Ok(()) => Some(tree),
            Err(error) => skipped(&format!(
                "no group can be made in {}: {error}",
                root.display()
            )),
        }
    }

    /// What the kernel lets this tree bound, once its parent hands it down.
    fn bounds(&self) -> Vec<Bound> {
        let above = self.base.parent().unwrap();
        let all = [Bound::Memory, Bound::Processes, Bound::Processor];
        all.into_iter()
            .filter(|bound| {
                let word = format!("+{}", bound.name());
                let is_there = fs::write(above.join("cgroup.subtree_control"), word).is_ok()
                    && self
                        .controllers()
                        .split_whitespace()
                        .any(|one| one == bound.name());
                if !is_there {
                    println!(
                        "skipped: version 2 has no '{}' on this machine",
                        bound.name()
                    );
                }
                is_there
            })
            .collect()
    }

    fn controllers(&self) -> String {
        fs::read_to_string(self.base.join("cgroup.controllers")).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir(&self.base).unwrap_or_default();
        if let Some(folder) = &self.mounted {
            Command::new("umount").arg(folder.path()).status().unwrap();
        }
    }
}

fn groups(hierarchy: Hierarchy) -> Arc<Groups> {
    Arc::new(Groups {
        hierarchies: vec![hierarchy],
        sandboxes: Mutex::default(),
        left: Mutex::default(),
    })
}

fn children(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).unwrap().flatten();
    entries
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.path())
        .collect()
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

#[tokio::test]
async fn runs_of_a_sandbox_have_groups_of_their_own_below_its_bounds_and_leave_none() {
    let Some(tree) = Tree::plant("runs") else {
        return;
    };
    let bounds = tree.bounds();
    let hierarchy = Hierarchy {
        version: Version::Two,
        base: tree.base.clone(),
        bounds: bounds.clone(),
    };
    hierarchy.hand_down(&tree.base).unwrap();
    tried(&hierarchy).unwrap();
    let groups = groups(hierarchy);
    let key: SandboxKey = "profile:work".parse().unwrap();
    let limits = Limits {
        memory: 64 << 20,
        cpus: 0.5,
        pids: 20,
        ..Limits::default()
    };
    let first = groups.enter(&key, &limits).unwrap();
    let second = groups.enter(&key, &limits).unwrap();
    let sandbox = children(&tree.base);
    assert_eq!(sandbox.len(), 1, "one group for both runs");
    let sandbox = sandbox.first().unwrap();
    assert_eq!(children(sandbox).len(), 2, "and one for each");
    let read = |file: &str| {
        fs::read_to_string(sandbox.join(file))
            .unwrap()
            .trim()
            .to_owned()
    };
    for bound in &bounds {
        match bound {
            Bound::Memory => assert_eq!(read("memory.max"), (64 << 20).to_string()),
            Bound::Processes => {
                assert_eq!(read("pids.max"), (20 + 2 * super::LAUNCHER).to_string())
            }
            Bound::Processor => assert_eq!(read("cpu.max"), "50000 100000"),
        }
    }
    let mut child = sleeper();
    first.add(child.id()).unwrap();
    let told = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
    let name = sandbox.file_name().unwrap().to_str().unwrap();
    assert!(
        told.lines()
            .any(|line| line.starts_with("0::") && line.contains(name)),
        "{told}"
    );
    assert!(!first.ran_out_of_memory());
    // A group in which something lives can't go yet; it goes later, and holds nobody up.
    drop(first);
    drop(second);
    assert_eq!(children(&tree.base).len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(PATIENCE, "the groups go", async || {
        groups.take_away();
        children(&tree.base).is_empty()
    })
    .await;
}

#[tokio::test]
async fn groups_of_a_gateway_that_is_gone_are_swept_and_those_that_live_stay() {
    let Some(tree) = Tree::plant("swept") else {
        return;
    };
    let mut gone = sleeper();
    let dead = tree.base.join(format!("{}{}-0", super::PREFIX, gone.id()));
    fs::create_dir(&dead).unwrap();
    fs::create_dir(dead.join(format!("{}{}-1", super::PREFIX, gone.id()))).unwrap();
    let mine = fresh(&tree.base).unwrap();
    sweep(&tree.base);
    assert!(dead.exists() && mine.exists(), "its gateway lives");
    gone.kill().unwrap();
    gone.wait().unwrap();
    eventually(PATIENCE, "it is swept", async || {
        sweep(&tree.base);
        tokio::time::sleep(Duration::from_millis(10)).await;
        !dead.exists()
    })
    .await;
    assert!(mine.exists());
    fs::remove_dir(mine).unwrap();
}

#[test]
fn what_the_kernel_does_not_have_is_an_error_and_no_bound_that_nobody_keeps() {
    let Some(tree) = Tree::plant("lacks") else {
        return;
    };
    let there = tree.controllers();
    for bound in [Bound::Memory, Bound::Processes, Bound::Processor] {
        if there.split_whitespace().any(|one| one == bound.name()) {
            continue;
        }
        let hierarchy = Hierarchy {
            version: Version::Two,
            base: tree.base.clone(),
            bounds: vec![bound],
        };
        assert!(tried(&hierarchy).is_err(), "{bound:?}");
        assert!(hierarchy.hand_down(&tree.base).is_err(), "{bound:?}");
        assert_eq!(children(&tree.base), Vec::<PathBuf>::new(), "{bound:?}");
    }
}
