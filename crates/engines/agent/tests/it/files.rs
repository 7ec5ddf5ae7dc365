//! `read_file`, `edit_file`, `list_files`, `search_files`, and files that are sent.

use std::collections::BTreeSet;

use sandbox::{Exit, Output};
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

/// Lines of 1,024 bytes with their break; the last one ends as told.
fn kilobytes(lines: usize, end: &str) -> String {
    let mut text = format!("{}\n", "x".repeat(1023)).repeat(lines - 1);
    text.push_str(end);
    text
}

/// What a command says.
fn output(exit: Exit, text: &str, note: Option<&str>) -> Option<Output> {
    Some(Output {
        exit,
        bytes: text.as_bytes().to_vec(),
        left_out: 0,
        note: note.map(str::to_owned),
    })
}

fn read(name: &str, offset: usize) -> (&'static str, Value) {
    let arguments = json!({ "path": name, "offset": offset, "limit": 2 });
    ("read_file", arguments)
}

#[tokio::test]
async fn a_line_far_inside_a_file_is_counted_in_the_sandbox_and_not_fetched() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/long.txt",
        kilobytes((101 << 10) + 1, "end\n").as_bytes(),
    );
    let done = results(&house, [read("long.txt", (101 << 10) + 1)]).await;
    assert_eq!(
        done[0], "end\n[lines 103425 to 103425 of 103425; 101 MB]",
        "beyond what would be fetched"
    );
    let asked = house.asked.lock().unwrap();
    assert_eq!((asked.reads, asked.execs.len()), (2, 1));
}

#[tokio::test]
async fn where_lines_cannot_be_counted_a_line_far_inside_is_found_in_few_reads() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/long.txt",
        kilobytes((40 << 10) + 1, "end\n").as_bytes(),
    );
    house.asked.lock().unwrap().said.push_back(None);
    let done = results(&house, [read("long.txt", (40 << 10) + 1)]).await;
    assert!(done[0].starts_with("end\n[lines 40961"), "{}", done[0]);
    let reads = house.asked.lock().unwrap().reads;
    assert!(reads <= 4, "{reads} reads for 40 MB");
}

#[tokio::test]
async fn lines_at_every_edge_are_read_as_if_all_of_the_file_had_been_fetched() {
    let house = House::with_a_shell();
    // Kilobyte lines: the first window holds exactly 1,024 of them.
    write(
        &house,
        "/workspace/ended.txt",
        kilobytes(3000, "last\n").as_bytes(),
    );
    write(
        &house,
        "/workspace/open.txt",
        kilobytes(3000, "last").as_bytes(),
    );
    write(&house, "/workspace/one.txt", "y".repeat(3 << 20).as_bytes());
    for name in ["ended.txt", "open.txt", "one.txt"] {
        let offsets = [
            1,
            2,
            1023,
            1024,
            1025,
            1026,
            2999,
            3000,
            3001,
            3002,
            99_999,
            usize::MAX,
        ];
        let all = offsets.map(|offset| read(name, offset));
        let counted = results(&house, all.clone()).await;
        let asked = house.asked.lock().unwrap().execs.len();
        assert!(asked > 0, "nothing was counted");
        house.asked.lock().unwrap().said = vec![None; offsets.len()].into();
        let fetched = results(&house, all).await;
        house.asked.lock().unwrap().said.clear();
        for ((offset, counted), fetched) in offsets.iter().zip(counted).zip(fetched) {
            // Who fetches more knows of more lines, and of the same ones.
            let known = |text: &str| match text.rsplit_once(" of ") {
                Some((lines, _)) => lines.to_owned(),
                None => text.to_owned(),
            };
            assert_eq!(known(&counted), known(&fetched), "{name} from {offset}");
            let all_known = counted.contains("of 3000;") || counted.ends_with("3000 lines");
            assert!(
                *offset < 2000 || all_known || name == "one.txt",
                "{counted}"
            );
        }
    }
    let beyond = results(&house, [read("open.txt", 3001), read("one.txt", 2)]).await;
    assert_eq!(beyond[0], "/workspace/open.txt has 3000 lines");
    assert_eq!(beyond[1], "/workspace/one.txt has 1 lines");
}

#[tokio::test]
async fn a_name_is_never_read_as_shell_nor_as_an_option() {
    let house = House::with_a_shell();
    let names = [
        "it's \"quoted\" $(touch pwned) `touch pwned`; touch pwned",
        "-n",
        "-c 1",
        " leading and trailing ",
        "back\\slash\\n",
        "*",
        "ü 語 🎉",
        "sub/folder's/f.txt",
    ];
    let mut commands = BTreeSet::new();
    for name in names {
        write(
            &house,
            &format!("/workspace/{name}"),
            kilobytes(2000, "end").as_bytes(),
        );
        // With its path whole, since a model's own path loses nothing on the way.
        let done = results(&house, [read(&format!("/workspace/{name}"), 2000)]).await;
        assert!(
            done[0].starts_with("end\n[lines 2000 "),
            "{name}: {}",
            done[0]
        );
        let mut asked = house.asked.lock().unwrap();
        assert_eq!((asked.reads, asked.execs.len()), (2, 1), "{name}");
        commands.insert(asked.execs[0].command.clone());
        (asked.reads, asked.execs) = (0, Vec::new());
    }
    assert_eq!(commands.len(), 1, "the same text for each name");
    let done = results(&house, [read("two\nlines", 2000)]).await;
    assert!(done[0].contains("control character"), "{}", done[0]);
    let root = house.shell.as_ref().unwrap().place("/");
    let found = std::process::Command::new("find")
        .arg(&root)
        .args(["-name", "pwned"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[tokio::test]
async fn a_count_that_does_not_fit_the_file_is_not_believed() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/long.txt",
        kilobytes(3000, "last").as_bytes(),
    );
    let right = "2998 3069952\n";
    // It could be, and is not so: seen only by how the command ended.
    let lie = "2990 3069952\n";
    for said in [
        output(Exit::Code(0), "", None),
        output(Exit::Code(0), "sh: head: not found\n", None),
        output(Exit::Code(0), "0 0\n", None),
        output(Exit::Code(0), "1023 1048576\n", None),
        output(Exit::Code(0), "2000 1024\n", None),
        output(Exit::Code(0), "2998 3069951\n", None),
        output(Exit::Code(0), "2998 99999999\n", None),
        output(Exit::Code(0), "2999 3070976\n", None),
        output(Exit::Code(0), &format!("{right}\nwarning\n"), None),
        output(Exit::Code(1), lie, None),
        output(Exit::Code(3), "", None),
        output(Exit::TimedOut, lie, None),
        output(Exit::OutOfMemory, lie, None),
        None,
    ] {
        house.asked.lock().unwrap().said.push_back(said.clone());
        let done = results(&house, [read("long.txt", 2999)]).await;
        assert_eq!(
            done[0],
            format!(
                "{}\nlast\n[lines 2999 to 3000 of 3000; 2 MB]",
                "x".repeat(1023)
            ),
            "{said:?}"
        );
    }
    // The counted one is used when it fits.
    house.asked.lock().unwrap().reads = 0;
    let fits = output(Exit::Code(0), right, None);
    house.asked.lock().unwrap().said.push_back(fits);
    results(&house, [read("long.txt", 2999)]).await;
    assert_eq!(house.asked.lock().unwrap().reads, 2);
}

#[tokio::test]
async fn a_file_that_changes_while_its_lines_are_counted_is_read_as_it_is_then() {
    let house = House::with_a_shell();
    let place = house.shell.as_ref().unwrap().place("/workspace/log.txt");
    let whole = kilobytes(3000, "last");
    for (then, says) in [
        (String::new(), "/workspace/log.txt has 1024 lines"),
        (kilobytes(2001, ""), "/workspace/log.txt has 2000 lines"),
        (kilobytes(2999, ""), "/workspace/log.txt has 2998 lines"),
        (
            kilobytes(2999, "12345"),
            "12345\n[lines 2999 to 2999 of 2999; 2 MB]",
        ),
        // Another one, in which a line ends at the very byte: what was counted is not believed.
        (
            "a\n".repeat(1_534_980),
            "a\na\n[lines 2999 to 3000 of 1011716; 2 MB]",
        ),
        // A log that goes on.
        (
            format!("{}\nmore\n", whole.replace('x', "y")),
            "y\nlast\n[lines 2999 to 3000 of 3001; 2 MB]",
        ),
    ] {
        write(&house, "/workspace/log.txt", whole.as_bytes());
        house.asked.lock().unwrap().changed = Some((place.clone(), then.clone()));
        let done = results(&house, [read("log.txt", 2999)]).await;
        let told = done[0].trim_start_matches('y');
        assert_eq!(told, says.trim_start_matches('y'), "{} bytes", then.len());
    }
}

#[tokio::test]
async fn what_the_sandbox_says_of_itself_is_told_with_a_read_and_a_search() {
    let house = House::with_a_shell();
    write(
        &house,
        "/workspace/long.txt",
        kilobytes(3000, "last").as_bytes(),
    );
    let note = Some("the sandbox was made anew");
    house.asked.lock().unwrap().said = vec![
        output(Exit::Code(0), "2999 3070976\n", note),
        output(Exit::Code(0), "no count\n", note),
        output(Exit::Code(0), "2999 3070980\n", note),
        output(Exit::Code(0), "./long.txt:3000:last\n", note),
    ]
    .into();
    let done = results(
        &house,
        [
            read("long.txt", 3000),
            (
                "read_file",
                json!({ "path": "long.txt", "offset": 3000, "limit": 1 }),
            ),
            read("long.txt", 4000),
            ("search_files", json!({ "pattern": "last" })),
        ],
    )
    .await;
    let shown = "last\n[lines 3000 to 3000 of 3000; 2 MB]\n[the sandbox was made anew]";
    assert_eq!(done[0], shown);
    assert_eq!(done[1], shown);
    assert_eq!(
        done[2],
        "/workspace/long.txt has 3000 lines\n[the sandbox was made anew]"
    );
    assert_eq!(
        done[3],
        "/workspace/long.txt:3000:last\n[the sandbox was made anew]"
    );
}
