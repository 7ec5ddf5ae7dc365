//! Files: written, read, listed, staged.

use std::time::Duration;

use sandbox::{BlobStore as _, Entry, EntryKind, Placement, SandboxError, SandboxPath, WriteMode};

use super::bench::{Bench, SandboxWorld, exec, path};

/// Odd names are names.
pub async fn a_written_file_reads_back_under_any_name<W: SandboxWorld>(bench: Bench<W>) {
    let scope = bench.scope("work");
    for name in [
        "plain.txt",
        "new/folders/on/the/way.txt",
        "-rf",
        "with space.txt",
        "q'uo\"te$(id)`id`;&|*?.txt",
        "Grüße 报告 🎉.txt",
        "back\\slash",
        "/tmp/elsewhere.txt",
        "~/home.txt",
    ] {
        let at = path(name);
        let bytes = format!("bytes of {name}\0\n").into_bytes();
        bench
            .port
            .write(&scope, &bench.spec, &at, &bytes, WriteMode::Replace)
            .await
            .unwrap_or_else(|error| panic!("{name:?} could not be written: {error}"));
        let (read, size) = bench
            .port
            .read(&scope, &bench.spec, &at, 0, 1 << 20)
            .await
            .unwrap();
        assert_eq!(read, bytes, "{name:?}");
        assert_eq!(size, bytes.len() as u64);
        bench
            .port
            .write(&scope, &bench.spec, &at, b"short", WriteMode::Replace)
            .await
            .unwrap();
        let (read, _) = bench
            .port
            .read(&scope, &bench.spec, &at, 0, 1 << 20)
            .await
            .unwrap();
        assert_eq!(read, b"short".as_slice(), "replaced: {name:?}");
    }
    let (entries, _) = bench
        .port
        .list(&scope, &bench.spec, &path("/workspace"), 100)
        .await
        .unwrap();
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.contains(&"-rf") && names.contains(&"Grüße 报告 🎉.txt"));
    assert_eq!(
        names.len(),
        7,
        "nothing but what was written lies there: {names:?}"
    );
    let big: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    bench
        .port
        .write(&scope, &bench.spec, &path("big"), &big, WriteMode::Replace)
        .await
        .unwrap();
    let (read, _) = bench
        .port
        .read(&scope, &bench.spec, &path("big"), 0, 4 << 20)
        .await
        .unwrap();
    assert!(read == big, "three megabytes came back otherwise");
}

/// Such a path is none.
pub async fn a_line_break_in_a_path_is_refused<W: SandboxWorld>(bench: Bench<W>) {
    assert!(SandboxPath::parse("a\nb").is_err());
    bench.capture("a\nb").await.unwrap_err();
}

/// An offset and a bound give a piece; the size is the file's.
pub async fn a_file_is_read_from_the_middle<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("printf 0123456789 > digits").await;
    let scope = bench.scope("work");
    for (offset, most, expected) in [
        (0, 4, "0123"),
        (3, 4, "3456"),
        (8, 100, "89"),
        (10, 5, ""),
        (99, 5, ""),
        (0, 0, ""),
    ] {
        let (read, size) = bench
            .port
            .read(&scope, &bench.spec, &path("digits"), offset, most)
            .await
            .unwrap();
        assert_eq!(
            (read.as_ref(), size),
            (expected.as_bytes(), 10),
            "from {offset}, {most} bytes"
        );
    }
}

/// The error says which file.
pub async fn a_missing_file_is_named_in_the_error<W: SandboxWorld>(bench: Bench<W>) {
    let scope = bench.scope("work");
    let error = bench
        .port
        .read(&scope, &bench.spec, &path("nothing.txt"), 0, 10)
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::File(_)), "{error:?}");
    assert!(
        error.to_string().contains("/workspace/nothing.txt"),
        "{error}"
    );
    let error = bench
        .port
        .list(&scope, &bench.spec, &path("nowhere"), 10)
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::File(_)), "{error:?}");
}

/// Only regular files are read, and nobody waits for a FIFO.
pub async fn a_folder_and_a_fifo_are_not_read<W: SandboxWorld>(bench: Bench<W>) {
    bench.say("mkdir folder; mkfifo pipe").await;
    let scope = bench.scope("work");
    for name in ["folder", "pipe"] {
        let at = path(name);
        let read = bench.port.read(&scope, &bench.spec, &at, 0, 10);
        let error = tokio::time::timeout(Duration::from_secs(20), read)
            .await
            .expect("nobody waits")
            .unwrap_err();
        assert!(matches!(error, SandboxError::File(_)), "{name}: {error:?}");
    }
}

/// What is there stays.
pub async fn create_new_never_replaces<W: SandboxWorld>(bench: Bench<W>) {
    let scope = bench.scope("work");
    let at = path("once.txt");
    bench
        .port
        .write(&scope, &bench.spec, &at, b"first", WriteMode::CreateNew)
        .await
        .unwrap();
    let error = bench
        .port
        .write(&scope, &bench.spec, &at, b"second", WriteMode::CreateNew)
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::File(_)), "{error:?}");
    assert_eq!(bench.say("cat once.txt").await, "first");
    bench.say("mkdir there; ln -s nowhere dangling").await;
    for name in ["there", "dangling"] {
        bench
            .port
            .write(&scope, &bench.spec, &path(name), b"x", WriteMode::CreateNew)
            .await
            .unwrap_err();
    }
    assert_eq!(
        bench.say("ls -A there").await,
        "",
        "nothing was put into the folder"
    );
}

/// A link whose target is missing leads nowhere outside.
pub async fn a_write_into_a_dangling_link_makes_nothing_elsewhere<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let outside = bench.world.home().join("made-from-inside");
    bench
        .say(&format!("ln -s '{}' note.txt", outside.display()))
        .await;
    let scope = bench.scope("work");
    let written = bench
        .port
        .write(
            &scope,
            &bench.spec,
            &path("note.txt"),
            b"x",
            WriteMode::Replace,
        )
        .await;
    assert!(!outside.exists(), "written on the host: {written:?}");
}

/// Folders first, each kind by name.
pub async fn a_folder_is_listed_folders_first_and_says_what_it_left_out<W: SandboxWorld>(
    bench: Bench<W>,
) {
    bench
        .say("mkdir -p l/zoo l/'a folder'; cd l; printf 12345 > b.txt; : > .hidden; printf x > 'a b'; ln -s b.txt link; mkfifo pipe")
        .await;
    let scope = bench.scope("work");
    let (entries, left_out) = bench
        .port
        .list(&scope, &bench.spec, &path("l"), 100)
        .await
        .unwrap();
    let entry = |name: &str, kind, size| Entry {
        name: name.to_owned(),
        kind,
        size,
    };
    let seen: Vec<Entry> = entries
        .iter()
        .map(|entry| Entry {
            size: if entry.kind == EntryKind::File {
                entry.size
            } else {
                0
            },
            ..entry.clone()
        })
        .collect();
    assert_eq!(
        seen,
        [
            entry("a folder", EntryKind::Folder, 0),
            entry("zoo", EntryKind::Folder, 0),
            entry(".hidden", EntryKind::File, 0),
            entry("a b", EntryKind::File, 1),
            entry("b.txt", EntryKind::File, 5),
            entry("link", EntryKind::Other, 0),
            entry("pipe", EntryKind::Other, 0),
        ]
    );
    assert_eq!(left_out, 0);
    let (entries, left_out) = bench
        .port
        .list(&scope, &bench.spec, &path("l"), 3)
        .await
        .unwrap();
    assert_eq!((entries.len(), left_out), (3, 4));
    assert_eq!(entries[0].name, "a folder");
    let (entries, left_out) = bench
        .port
        .list(&scope, &bench.spec, &path("l/zoo"), 3)
        .await
        .unwrap();
    assert_eq!((entries.len(), left_out), (0, 0));
    let error = bench
        .port
        .list(&scope, &bench.spec, &path("l/b.txt"), 3)
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::File(_)), "{error:?}");
}

/// Read, not written.
pub async fn an_attachment_lies_in_the_inbox_and_cannot_be_changed<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let staged = bench.stage("../../evil/report v2.pdf", b"%PDF-1").await;
    assert_eq!(staged.path.as_str(), "/inbox/report v2.pdf");
    assert_eq!(bench.say("cat '/inbox/report v2.pdf'").await, "%PDF-1");
    bench
        .run("echo worse > '/inbox/report v2.pdf'; rm -f '/inbox/report v2.pdf'; touch /inbox/more; mv /inbox /elsewhere")
        .await;
    assert_eq!(bench.say("cat '/inbox/report v2.pdf'").await, "%PDF-1");
    assert_eq!(bench.say("ls /inbox").await, "report v2.pdf\n");
    let error = bench
        .port
        .write(
            &bench.scope("work"),
            &bench.spec,
            &path("/inbox/mine"),
            b"x",
            WriteMode::Replace,
        )
        .await
        .unwrap_err();
    assert!(matches!(error, SandboxError::File(_)), "{error:?}");
    assert_eq!(
        bench.captured("/inbox/report v2.pdf").await,
        b"%PDF-1".as_slice()
    );
}

/// Both stay.
pub async fn a_second_attachment_of_one_name_gets_a_number<W: SandboxWorld>(bench: Bench<W>) {
    let first = bench.stage("chart.png", b"one").await;
    let second = bench.stage("chart.png", b"two").await;
    assert_eq!(first.path.as_str(), "/inbox/chart.png");
    assert_eq!(second.path.as_str(), "/inbox/chart (2).png");
    assert_eq!(
        bench
            .say("cat /inbox/chart.png '/inbox/chart (2).png'")
            .await,
        "onetwo"
    );
}

/// Whatever a person's file is called, it lies below the inbox under a name of its own that a command can be given.
pub async fn odd_names_of_attachments_become_safe_and_stay_readable<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let long = format!("{}.pdf", "ü".repeat(300));
    let names = [
        "Grüße 报告.pdf",
        "-rf",
        "..",
        ".",
        "",
        "/",
        "a/../../b.txt",
        "tab\tand\nline.txt",
        "nul\0.txt",
        "back\\slash.txt",
        "$(id)`id`;&|.txt",
        "\u{202e}fdp.exe",
        ".bashrc",
        "con.txt",
        &long,
        &long,
    ];
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        let staged = bench.stage(name, b"bytes of it").await;
        let text = staged.path.as_str();
        let rest = text
            .strip_prefix("/inbox/")
            .unwrap_or_else(|| panic!("{name:?} lies at {text}"));
        assert!(
            !rest.is_empty() && !rest.contains('/') && rest != "." && rest != "..",
            "{name:?} lies at {text}"
        );
        assert!(
            rest.len() <= 255 && !rest.chars().any(char::is_control),
            "{name:?} lies at {text:?}"
        );
        assert!(seen.insert(text.to_owned()), "{text} is taken twice");
        let (bytes, _) = bench
            .port
            .read(&bench.scope("work"), &bench.spec, &staged.path, 0, 100)
            .await
            .unwrap();
        assert_eq!(bytes, b"bytes of it".as_slice(), "{name:?}");
    }
    assert!(
        seen.contains("/inbox/Grüße 报告.pdf"),
        "a good name is kept: {seen:?}"
    );
    let listed = bench.say("ls -A /inbox | wc -l").await;
    assert_eq!(listed.trim(), names.len().to_string());
}

/// In the profile's sandbox for all of its conversations; in a conversation's own for that one alone.
pub async fn an_attachment_lies_in_the_sandbox_of_its_own_conversation<W: SandboxWorld>(
    bench: Bench<W>,
) {
    let blob = bench.blobs.put(
        bench.scope("work").profile(),
        "photo.png",
        b"photo".as_slice(),
    );
    for (placement, others) in [
        (Placement::PerSession, ""),
        (Placement::PerProfile, "photo.png\n"),
    ] {
        let one = bench.placed("work", "one", placement);
        let two = bench.placed("work", "two", placement);
        let (_, reader) = bench.blobs.open(one.profile(), &blob.hash).await.unwrap();
        let staged = bench
            .port
            .stage(&one, &bench.spec, "photo.png", reader)
            .await
            .unwrap();
        assert_eq!(staged.path.as_str(), "/inbox/photo.png");
        let read = exec("cat /inbox/photo.png");
        let output = bench.port.exec(&one, &bench.spec, read).await.unwrap();
        assert_eq!(output.bytes, b"photo", "{placement:?}");
        let output = bench
            .port
            .exec(&two, &bench.spec, exec("ls /inbox"))
            .await
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.bytes),
            others,
            "{placement:?}"
        );
        let worse =
            exec("echo worse > /inbox/photo.png; rm -f /inbox/photo.png; cat /inbox/photo.png");
        let output = bench.port.exec(&one, &bench.spec, worse).await.unwrap();
        assert!(
            output.bytes.ends_with(b"photo"),
            "{placement:?}: {output:?}"
        );
    }
    let foreign = bench.scope("other");
    let output = bench
        .port
        .exec(&foreign, &bench.spec, exec("ls /inbox"))
        .await
        .unwrap();
    assert_eq!(output.bytes, b"", "another profile has none of it");
}
