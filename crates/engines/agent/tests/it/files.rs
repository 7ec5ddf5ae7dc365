//! `read_file`, `edit_file`, `list_files`, `search_files`, and files that are sent.

use serde_json::{Value, json};

use crate::world::{House, calls, says, scope};

async fn results<const N: usize>(house: &House, wanted: [(&str, Value); N]) -> Vec<String> {
    let mut replies: Vec<_> = wanted
        .into_iter()
        .map(|(tool, arguments)| calls(tool, arguments))
        .collect();
    replies.push(says("ok"));
    let mut done = Vec::new();
    house
        .run(async |handle| done = house.turn(&handle, scope(), replies).await)
        .await;
    done
}

fn write(house: &House, path: &str, bytes: &[u8]) {
    let at = house.shell.as_ref().unwrap().place(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, bytes).unwrap();
}

#[tokio::test]
async fn lines_beyond_the_first_megabytes_of_a_file_are_read() {
    let house = House::with_a_shell();
    let text: String = (1..=400_000).map(|line| format!("line {line}\n")).collect();
    write(&house, "/workspace/long.txt", text.as_bytes());
    let done = results(
        &house,
        [
            (
                "read_file",
                json!({ "path": "long.txt", "offset": 399_999 }),
            ),
            (
                "read_file",
                json!({ "path": "long.txt", "offset": 200_000, "limit": 2 }),
            ),
            ("read_file", json!({ "path": "long.txt", "limit": 1 })),
            (
                "read_file",
                json!({ "path": "long.txt", "offset": 400_001 }),
            ),
        ],
    )
    .await;
    assert!(
        done[0].starts_with("line 399999\nline 400000\n[lines 399999 to 400000 of 400000;"),
        "{}",
        done[0]
    );
    assert!(
        done[1].starts_with("line 200000\nline 200001\n[lines 200000 to 200001 of "),
        "{}",
        done[1]
    );
    assert!(
        done[2].starts_with("line 1\n[lines 1 to 1 of "),
        "{}",
        done[2]
    );
    assert!(done[3].ends_with("has 400000 lines"), "{}", done[3]);
}

#[tokio::test]
async fn a_file_of_some_megabytes_is_edited_and_one_of_eleven_is_not() {
    let house = House::with_a_shell();
    let text = format!("{}NEEDLE{}", "x".repeat(3 << 20), "y".repeat(3 << 20));
    write(&house, "/workspace/six.txt", text.as_bytes());
    write(&house, "/workspace/eleven.txt", &vec![b'x'; 11 << 20]);
    let done = results(
        &house,
        [
            (
                "edit_file",
                json!({ "path": "six.txt", "old": "NEEDLE", "new": "THREAD" }),
            ),
            (
                "edit_file",
                json!({ "path": "eleven.txt", "old": "xx", "new": "y" }),
            ),
        ],
    )
    .await;
    assert_eq!(done[0], "edited /workspace/six.txt");
    let at = house.shell.as_ref().unwrap().place("/workspace/six.txt");
    assert!(std::fs::read_to_string(at).unwrap() == text.replace("NEEDLE", "THREAD"));
    assert!(done[1].contains("larger than 10 MB"), "{}", done[1]);
}

#[tokio::test]
async fn a_folder_is_listed_as_deep_as_asked() {
    let house = House::with_a_shell();
    write(&house, "/workspace/a/b/c/deep.txt", b"1");
    write(&house, "/workspace/top.txt", b"12");
    let done = results(
        &house,
        [
            ("list_files", json!({})),
            ("list_files", json!({ "depth": 3 })),
            ("list_files", json!({ "path": "nowhere", "depth": 2 })),
        ],
    )
    .await;
    assert_eq!(done[0], "a/\ntop.txt (2 bytes)");
    assert_eq!(done[1], "a/\ntop.txt (2 bytes)\na/b/\na/b/c/");
    assert!(done[2].contains("/workspace/nowhere"), "{}", done[2]);
}

#[tokio::test]
async fn files_are_searched_by_content_and_by_name() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/src/main.py",
        b"import os\nprint('hello world')\n",
    );
    write(&house, "/workspace/src/notes.md", b"hello there\n");
    write(&house, "/workspace/.git/hello", b"hello world of git\n");
    write(&house, "/workspace/bin", b"hello\0binary");
    write(&house, "/workspace/an odd 'name'.py", b"hello odd\n");
    let done = results(
        &house,
        [
            ("search_files", json!({ "pattern": "hello (w|o)" })),
            (
                "search_files",
                json!({ "pattern": "hello", "glob": "*.md" }),
            ),
            ("search_files", json!({ "pattern": "hello", "path": "src" })),
            (
                "search_files",
                json!({ "pattern": "*.PY", "mode": "names" }),
            ),
            (
                "search_files",
                json!({ "pattern": "notes", "mode": "names" }),
            ),
            ("search_files", json!({ "pattern": "nothing like it" })),
            (
                "search_files",
                json!({ "pattern": "x", "path": "/nowhere" }),
            ),
            ("search_files", json!({ "pattern": "(" })),
        ],
    )
    .await;
    let lines = |at: usize| {
        let mut lines: Vec<String> = done[at]
            .lines()
            .map(|line| {
                line.rsplit_once("/workspace/")
                    .map_or(line, |(_, rest)| rest)
                    .to_owned()
            })
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(
        lines(0),
        [
            "an odd 'name'.py:1:hello odd",
            "src/main.py:2:print('hello world')"
        ]
    );
    assert_eq!(lines(1), ["src/notes.md:1:hello there"]);
    assert_eq!(
        lines(2),
        [
            "src/main.py:2:print('hello world')",
            "src/notes.md:1:hello there"
        ]
    );
    assert_eq!(lines(3), ["an odd 'name'.py", "src/main.py"]);
    assert_eq!(lines(4), ["src/notes.md"]);
    assert_eq!(done[5], "[nothing found]");
    assert_eq!(done[6], "there is no /nowhere");
    assert!(done[7].contains("no regular expression"), "{}", done[7]);
}

#[tokio::test]
async fn what_is_searched_for_is_never_read_as_shell() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/f.txt",
        b"-e $(touch pwned) `touch pwned`\n",
    );
    let evil = "$(touch pwned)'; touch pwned; '";
    let done = results(
        &house,
        [
            (
                "search_files",
                json!({ "pattern": evil.replace(['(', ')', '$'], "."), "glob": evil }),
            ),
            ("search_files", json!({ "pattern": evil, "mode": "names" })),
            (
                "search_files",
                json!({ "pattern": "x", "path": format!("/workspace/{evil}") }),
            ),
            ("search_files", json!({ "pattern": "-e" })),
            ("search_files", json!({ "pattern": "--version" })),
            ("search_files", json!({ "pattern": "a\nb" })),
        ],
    )
    .await;
    assert!(done[3].contains("f.txt:1:"), "{}", done[3]);
    assert_eq!(done[4], "[nothing found]");
    assert_eq!(done[5], "a pattern is one line");
    let root = house.shell.as_ref().unwrap().place("/");
    let found = std::process::Command::new("find")
        .arg(&root)
        .args(["-name", "pwned"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert!(!std::path::Path::new("/pwned").exists() && !std::path::Path::new("pwned").exists());
}

#[tokio::test]
async fn the_same_file_twice_in_a_turn_is_one_attachment_and_in_the_next_turn_it_is_sent_again() {
    let house = House::with_a_shell();
    write(&house, "/workspace/chart.png", b"png");
    write(&house, "/workspace/other.png", b"png");
    let files = |house: &House, at: usize| {
        let sent = house.sent();
        let parts = format!("{:?}", sent[at].parts);
        (
            parts.matches("Op::File").count() + parts.matches("File {").count(),
            parts,
        )
    };
    house
        .run(async |handle| {
            let replies = [
                calls("send_file", json!({ "path": "chart.png" })),
                calls("send_file", json!({ "path": "/workspace/./chart.png" })),
                says("Here.\nMEDIA:/workspace/chart.png\n"),
            ];
            house.turn(&handle, scope(), replies).await;
            let (count, parts) = files(&house, 0);
            assert_eq!(count, 1, "{parts}");
            house
                .turn(&handle, scope(), [says("Again.\nMEDIA:chart.png\n")])
                .await;
            let (count, parts) = files(&house, 1);
            assert_eq!(count, 1, "{parts}");
            // The same bytes under another name are another file.
            house
                .turn(
                    &handle,
                    scope(),
                    [says("MEDIA:chart.png\nMEDIA:other.png\n")],
                )
                .await;
            let (count, parts) = files(&house, 2);
            assert_eq!(count, 2, "{parts}");
        })
        .await;
}

#[tokio::test]
async fn a_search_begins_where_the_sandbox_is_and_answers_with_its_paths() {
    let house = House::with_a_shell();
    write(&house, "/workspace/src/a.txt", b"needle\n");
    write(&house, "/inbox/b.txt", b"needle\n");
    let done = results(
        &house,
        [
            ("search_files", json!({ "pattern": "needle" })),
            (
                "search_files",
                json!({ "pattern": "needle", "path": "src/" }),
            ),
            (
                "search_files",
                json!({ "pattern": "needle", "path": "src/a.txt" }),
            ),
            (
                "search_files",
                json!({ "pattern": "needle", "path": "/inbox" }),
            ),
            (
                "search_files",
                json!({ "pattern": "b.txt", "path": "/", "mode": "names" }),
            ),
        ],
    )
    .await;
    assert_eq!(done[0], "/workspace/src/a.txt:1:needle\n");
    assert_eq!(done[1], "/workspace/src/a.txt:1:needle\n");
    assert_eq!(done[2], "/workspace/src/a.txt:1:needle\n");
    assert_eq!(done[3], "/inbox/b.txt:1:needle\n");
    assert_eq!(done[4], "/inbox/b.txt\n");
    for exec in &house.asked.lock().unwrap().execs {
        let path = &exec.env["TIDINGS_PATH"];
        assert!(
            path.starts_with('.'),
            "{path} is another's on a far machine"
        );
    }
}

#[tokio::test]
async fn a_line_far_inside_a_file_is_found_in_few_reads() {
    let house = House::with_a_shell();
    let text = format!(
        "{}end\n",
        format!("{}\n", "x".repeat(1023)).repeat(40 << 10)
    );
    write(&house, "/workspace/long.txt", text.as_bytes());
    let offset = json!({ "path": "long.txt", "offset": (40 << 10) + 1 });
    let done = results(&house, [("read_file", offset)]).await;
    assert!(done[0].starts_with("end"), "{}", done[0]);
    let reads = house.asked.lock().unwrap().reads;
    assert!(reads <= 4, "{reads} reads for 40 MB");
}
