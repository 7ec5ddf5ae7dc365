//! Skills on disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use skills::{Shelf as _, ShelfError};
use tempfile::TempDir;
use tidings_profile_files::SkillFolder;

fn lay(root: &Path, place: &str, name: &str) {
    let folder = root.join(place);
    fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n");
    fs::write(folder.join("SKILL.md"), text).unwrap();
}

fn shelf() -> (TempDir, SkillFolder) {
    let root = TempDir::new().unwrap();
    let shelf = SkillFolder::at(root.path().to_owned());
    (root, shelf)
}

#[tokio::test]
async fn a_broken_skill_is_named_and_the_others_work() {
    let (root, shelf) = shelf();
    let at = root.path();
    lay(at, "a", "a");
    lay(at, "office/b", "b");
    lay(at, "office/a", "a");
    lay(at, "wrong", "other");
    fs::create_dir(at.join("empty")).unwrap();
    fs::write(at.join("README.md"), "no skill").unwrap();
    fs::create_dir(at.join(".git")).unwrap();
    symlink(at.join("a"), at.join("linked")).unwrap();
    fs::create_dir(at.join("hollow")).unwrap();
    symlink("/etc/hostname", at.join("hollow/SKILL.md")).unwrap();
    let all = shelf.all().await.unwrap();
    let names: Vec<&str> = all.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let told: Vec<String> = all.broken.iter().map(ToString::to_string).collect();
    let says = |folder: &str, what: &str| {
        told.iter()
            .any(|line| line.contains(&format!("in {folder} ")) && line.contains(what))
    };
    assert!(says("office/a", "another folder"), "{told:?}");
    assert!(says("wrong", "called 'other'"), "{told:?}");
    assert!(says("empty", "no SKILL.md"), "{told:?}");
    assert!(says("linked", "is a link"), "{told:?}");
    assert!(says("hollow", "is a link"), "{told:?}");
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(matches!(
        shelf.open("wrong").await,
        Err(ShelfError::Broken(_))
    ));
    assert!(matches!(
        shelf.open("none").await,
        Err(ShelfError::NoSkill(_))
    ));
    assert_eq!(shelf.open("b").await.unwrap().body, "Do b.");
}

#[tokio::test]
async fn a_shelf_that_is_not_there_is_empty() {
    let shelf = SkillFolder::at("/nowhere/at/all".into());
    assert!(shelf.all().await.unwrap().skills.is_empty());
}

#[tokio::test]
async fn the_files_of_a_skill_are_read_and_nothing_outside_is() {
    let (root, shelf) = shelf();
    let at = root.path();
    lay(at, "a", "a");
    fs::create_dir_all(at.join("a/references/deep")).unwrap();
    fs::write(at.join("a/references/deep/x.md"), "deep words").unwrap();
    fs::write(at.join("a/run.sh"), "echo").unwrap();
    fs::write(at.join("a/picture.png"), b"\x89PNG\xff\xfe").unwrap();
    fs::write(at.join("a/large.txt"), "x".repeat(300 << 10)).unwrap();
    fs::write(at.join("outside"), "a secret").unwrap();
    symlink("../outside", at.join("a/leak.md")).unwrap();
    symlink("..", at.join("a/up")).unwrap();
    let made = Command::new("mkfifo")
        .arg(at.join("a/pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let opened = shelf.open("a").await.unwrap();
    assert_eq!(opened.body, "Do a.");
    assert_eq!(
        opened.files,
        ["large.txt", "picture.png", "references/deep/x.md", "run.sh"]
    );
    assert_eq!(
        shelf.file("a", "references/deep/x.md").await.unwrap(),
        "deep words"
    );
    assert_eq!(shelf.file("a", "./run.sh").await.unwrap(), "echo");
    for (file, says) in [
        ("../outside", "no path below"),
        ("references/../../outside", "no path below"),
        ("/etc/hostname", "no path below"),
        ("", "no path below"),
        ("leak.md", "link"),
        ("up/outside", "link"),
        ("pipe", "no regular file"),
        ("references", "no regular file"),
        ("picture.png", "no text"),
        ("large.txt", "larger than 256 KB"),
        ("none.md", "no file none.md"),
        ("run.sh/x", "no file run.sh/x"),
    ] {
        let told = shelf.file("a", file).await.unwrap_err().to_string();
        assert!(told.contains(says), "{file:?}: {told}");
    }
}

#[tokio::test]
async fn a_skill_is_packed_whole_with_what_may_be_run_or_not_at_all() {
    let (root, shelf) = shelf();
    let at = root.path();
    lay(at, "office/a", "a");
    fs::create_dir(at.join("office/a/bin")).unwrap();
    fs::write(at.join("office/a/bin/run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(
        at.join("office/a/bin/run"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    fs::write(at.join("office/a/data"), [0xff, 0x00]).unwrap();
    symlink("/etc/hostname", at.join("office/a/link")).unwrap();
    let packed: Vec<(String, usize, bool)> = shelf
        .pack("a")
        .await
        .unwrap()
        .into_iter()
        .map(|file| (file.path, file.bytes.len(), file.runs))
        .collect();
    let name = |text: &str| text.to_owned();
    assert_eq!(packed[0].0, "SKILL.md");
    assert_eq!(
        packed[1..],
        [(name("bin/run"), 10, true), (name("data"), 2, false)]
    );
    fs::write(at.join("office/a/huge"), vec![0; 9 << 20]).unwrap();
    assert!(matches!(
        shelf.pack("a").await,
        Err(ShelfError::Large { .. })
    ));
}

#[tokio::test]
async fn a_heap_of_skills_is_bounded_and_said() {
    let (root, shelf) = shelf();
    for n in 0..210 {
        lay(root.path(), &format!("s{n:03}"), &format!("s{n:03}"));
    }
    let all = shelf.all().await.unwrap();
    assert_eq!((all.skills.len(), all.left_out), (200, 10));
}
