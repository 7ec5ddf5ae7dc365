//! Folders that are sent as zips.

use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use chat::Op;
use sandbox::{ArtifactRef, Mount, MountMode, SandboxPath};
use serde_json::json;

use crate::world::{House, calls, says, scope};

fn write(house: &House, path: &str, bytes: &[u8]) {
    let at = house.shell.as_ref().unwrap().place(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, bytes).unwrap();
}

/// Sends a folder; what the model is told, and the files that go out.
async fn sent(house: &House, path: &str) -> (String, Vec<ArtifactRef>, String) {
    let mut told = Vec::new();
    house
        .run(async |handle| {
            let replies = [
                calls("send_file", json!({ "path": path })),
                says("Here it is."),
            ];
            told = house.turn(&handle, scope(), replies).await;
        })
        .await;
    let message = house.sent().pop().unwrap();
    let mut files = Vec::new();
    for part in &message.parts {
        if let Op::File { artifact, .. } = &part.op {
            files.push(artifact.clone());
        }
    }
    (told.remove(0), files, format!("{:?}", message.parts))
}

/// What a zip holds: names, contents, modes.
fn unpacked(house: &House, artifact: &ArtifactRef) -> Vec<(String, Vec<u8>, u32)> {
    let bytes = house
        .blobs
        .get(&artifact.profile, &artifact.blob.hash)
        .unwrap();
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut held = Vec::new();
    for position in 0..archive.len() {
        let mut file = archive.by_index(position).unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        held.push((
            file.name().unwrap().into_owned(),
            content,
            file.unix_mode().unwrap_or_default() & 0o777,
        ));
    }
    held.sort();
    held
}

#[tokio::test]
async fn a_folder_arrives_as_a_zip_with_all_its_files() {
    let house = House::with_a_shell();
    let noise: Vec<u8> = (0..3_000_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    write(&house, "/workspace/my site/index.html", b"<p>hi</p>");
    write(&house, "/workspace/my site/img/noise.bin", &noise);
    write(
        &house,
        "/workspace/my site/Gr\u{fc}\u{df}e \u{62a5}.txt",
        b"",
    );
    write(&house, "/workspace/my site/run.sh", b"#!/bin/sh\n");
    let script = house
        .shell
        .as_ref()
        .unwrap()
        .place("/workspace/my site/run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (told, files, _) = sent(&house, "my site").await;
    assert!(
        told.starts_with("my site.zip (") && told.contains("goes out with your answer"),
        "{told}"
    );
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].name, "my site.zip");
    let held = unpacked(&house, &files[0]);
    let names: Vec<&str> = held.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Gr\u{fc}\u{df}e \u{62a5}.txt",
            "img/",
            "img/noise.bin",
            "index.html",
            "run.sh"
        ]
    );
    assert!(held[2].1 == noise, "other bytes came out");
    assert_eq!(held[3].1, b"<p>hi</p>");
    assert_eq!(held[4].2, 0o755);
}

#[tokio::test]
async fn links_pipes_and_files_with_other_names_are_left_out_and_counted() {
    let house = House::with_a_shell();
    write(&house, "/workspace/d/plain.txt", b"plain");
    write(&house, "/workspace/outside.txt", b"outside");
    let place = |path: &str| house.shell.as_ref().unwrap().place(path);
    symlink("/etc/passwd", place("/workspace/d/passwd")).unwrap();
    symlink("/", place("/workspace/d/root")).unwrap();
    std::fs::hard_link(
        place("/workspace/outside.txt"),
        place("/workspace/d/linked.txt"),
    )
    .unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(place("/workspace/d/pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let (told, files, parts) = sent(&house, "/workspace/d/").await;
    let held = unpacked(&house, &files[0]);
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!(
        (held[0].0.as_str(), held[0].1.as_slice()),
        ("plain.txt", b"plain".as_slice())
    );
    let note = "d.zip is without 2 links, 1 files with other hard links, 1 special files";
    assert!(told.contains(note), "{told}");
    assert!(parts.contains(note), "the person reads it, too: {parts}");
}

#[tokio::test]
async fn a_folder_with_a_secret_place_in_it_or_around_it_is_refused_by_every_name() {
    let mut house = House::with_a_shell();
    let place = |path: &str| house.shell.as_ref().unwrap().place(path);
    write(&house, "/workspace/keys/key", b"THE OWNER'S KEY");
    write(&house, "/workspace/keys/deep/key", b"THE OWNER'S KEY");
    write(&house, "/workspace/fine.txt", b"fine");
    symlink(place("/workspace/keys"), place("/workspace/innocent")).unwrap();
    let at = SandboxPath::parse(place("/workspace/keys").to_str().unwrap()).unwrap();
    house.mounts = vec![Mount {
        host: "/srv/keys".to_owned(),
        at,
        mode: MountMode::Secret,
    }];
    for name in [
        "keys",
        "keys/deep",
        "innocent",
        "innocent/deep",
        "innocent/../keys",
        "/workspace",
        ".",
    ] {
        let (told, files, _) = sent(&house, name).await;
        assert!(told.contains("are never sent"), "{name}: {told}");
        assert_eq!(files.len(), 0, "{name}");
    }
}

#[tokio::test]
async fn a_folder_without_files_and_one_that_is_too_large_are_refused_with_a_reason() {
    let house = House::with_a_shell();
    std::fs::create_dir_all(house.shell.as_ref().unwrap().place("/workspace/empty/er")).unwrap();
    let (told, files, _) = sent(&house, "empty").await;
    assert!(told.contains("holds no file that can be sent"), "{told}");
    assert_eq!(files.len(), 0);
    // The house's limit is 1 MB; noise does not shrink.
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(5 << 20)
    .collect();
    write(&house, "/workspace/large/noise", &noise);
    let (told, files, _) = sent(&house, "large").await;
    assert!(told.contains("as a zip is larger than 4 MB"), "{told}");
    assert_eq!(files.len(), 0);
    // What shrinks to nothing is not unpacked without end.
    write(&house, "/workspace/sparse/a", b"");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(house.shell.as_ref().unwrap().place("/workspace/sparse/a"))
        .unwrap();
    file.set_len(1 << 40).unwrap();
    let (told, _, _) = sent(&house, "sparse").await;
    assert!(told.contains("as a zip is larger than 4 MB"), "{told}");
    for number in 0..10_001 {
        write(&house, &format!("/workspace/many/{number}"), b"");
    }
    let (told, files, _) = sent(&house, "many").await;
    assert!(told.contains("more than 10000 files"), "{told}");
    assert_eq!(files.len(), 0);
}

#[tokio::test]
async fn a_folder_named_in_the_answer_is_sent_as_well() {
    let house = House::with_a_shell();
    write(&house, "/workspace/out/a.txt", b"a");
    house
        .run(async |handle| {
            house
                .turn(
                    &handle,
                    scope(),
                    [says("All files:\nMEDIA:/workspace/out\n")],
                )
                .await;
        })
        .await;
    let parts = format!("{:?}", house.sent()[0].parts);
    assert!(parts.contains("out.zip"), "{parts}");
}

#[tokio::test]
async fn a_folder_that_only_its_driver_knows_to_be_secret_is_refused_as_well() {
    let mut house = House::with_a_shell();
    write(&house, "/workspace/home/tidings.toml", b"token");
    let place = |path: &str| house.shell.as_ref().unwrap().place(path);
    symlink(place("/workspace/home"), place("/workspace/innocent")).unwrap();
    house.forbidden = Some("/workspace/home".to_owned());
    for name in ["home", "innocent"] {
        let (told, files, _) = sent(&house, name).await;
        assert!(told.contains("are never sent"), "{name}: {told}");
        assert!(told.contains("the gateway's home"), "{name}: {told}");
        assert_eq!(files.len(), 0, "{name}");
    }
}

#[tokio::test]
async fn names_that_lead_elsewhere_on_other_systems_are_harmless_in_the_zip() {
    let house = House::with_a_shell();
    for name in ["..\\..\\evil.exe", "a:b/x", "a_b/x", "gpj\u{202e}.exe"] {
        write(&house, &format!("/workspace/d/{name}"), b"1");
    }
    let (_, files, _) = sent(&house, "d").await;
    let held = unpacked(&house, &files[0]);
    let names: Vec<&str> = held.iter().map(|(name, ..)| name.as_str()).collect();
    let expected = [
        ".._.._evil.exe",
        "a_b (2)/",
        "a_b (2)/x",
        "a_b/",
        "a_b/x",
        "gpj_.exe",
    ];
    assert_eq!(names, expected);
}
