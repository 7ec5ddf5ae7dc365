//! What calls did to files.

use tidings_powerloss::files::follow;
use tidings_powerloss::log::{Act, Log, Node};
use tidings_powerloss::trace::read;

fn log(trace: &str) -> Log {
    follow(&read(trace).unwrap(), "/r").unwrap()
}

fn told(trace: &str) -> Vec<String> {
    let log = log(trace);
    log.steps.iter().map(|step| log.describe(step)).collect()
}

fn refused(trace: &str) -> String {
    format!("{:#}", follow(&read(trace).unwrap(), "/r").unwrap_err())
}

const MADE: &str = "1 openat(AT_FDCWD, \"/r/a\", O_WRONLY|O_CREAT, 0600) = 5\n";

#[test]
fn a_file_is_made_written_synced_and_moved() {
    let trace = format!(
        r#"1 mkdir("/r/d", 0700) = 0
1 mkdir("/r/d", 0700) = -1 EEXIST (File exists)
1 mkdir("/elsewhere", 0700) = 0
{MADE}1 write(5, "abc", 3) = 2
1 write(5, "c", 1) = 1
1 pwrite64(5, "XY", 2, 1) = 2
1 fdatasync(5) = 0
1 ftruncate(5, 1) = 0
1 fallocate(5, 0, 4, 4) = 0
1 renameat2(AT_FDCWD, "/r/a", AT_FDCWD, "/r/d/b", RENAME_NOREPLACE) = 0
1 openat(AT_FDCWD, "/r/d", O_RDONLY|O_CLOEXEC) = 6
1 fsync(6) = 0
1 close(6) = 0
1 unlinkat(AT_FDCWD, "/r/d/b", 0) = 0
"#
    );
    assert_eq!(
        told(&trace),
        [
            "make /d",
            "make /a",
            "write 2 bytes at 0 of a",
            "write 1 bytes at 2 of a",
            "write 2 bytes at 1 of a",
            "sync a",
            "resize a to 1",
            "resize a to 8",
            "move /a to d/b",
            "sync the folder d/",
            "remove d/b",
        ]
    );
}

#[test]
fn places_are_followed_through_seeks_copies_and_appends() {
    let trace = format!(
        r#"{MADE}1 write(5, "abc", 3) = 3
1 lseek(5, 1, SEEK_SET) = 1
1 write(5, "B", 1) = 1
1 fcntl(5, F_DUPFD_CLOEXEC, 3) = 8
1 pwritev(8, [{{iov_base="x", iov_len=1}}, {{iov_base="y", iov_len=1}}], 2, 7) = 2
1 openat(AT_FDCWD, "/r/a", O_WRONLY|O_APPEND) = 9
1 write(9, "end", 3) = 3
1 openat(AT_FDCWD, "/r/a", O_WRONLY|O_TRUNC) = 10
1 write(10, "n", 1) = 1
"#
    );
    assert_eq!(
        told(&trace),
        [
            "make /a",
            "write 3 bytes at 0 of a",
            "write 1 bytes at 1 of a",
            "write 2 bytes at 7 of a",
            "write 3 bytes at 9 of a",
            "resize a to 0",
            "write 1 bytes at 0 of a",
        ]
    );
}

#[test]
fn a_descriptor_that_is_closed_and_opened_again_is_another_file() {
    let trace = format!(
        r#"{MADE}1 close(5 <unfinished ...>
2 openat(AT_FDCWD, "/r/b", O_WRONLY|O_CREAT, 0600) = 5
1 <... close resumed>) = 0
2 write(5, "b", 1) = 1
2 close(5) = 0
3 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 5
3 fsync(5) = 0
"#
    );
    assert_eq!(
        told(&trace),
        ["make /a", "make /b", "write 1 bytes at 0 of b"]
    );
}

#[test]
fn a_sync_counts_when_it_came_back_and_an_acknowledgement_when_it_began() {
    let trace = format!(
        r#"{MADE}1 write(5, "a", 1) = 1
2 fdatasync(5 <unfinished ...>
3 pwrite64(5, "b", 1, 1) = 1
4 write(1, "one\ntw", 6) = 6
2 <... fdatasync resumed>) = 0
4 write(1, "o\n", 2 <unfinished ...>
5 fsync(5) = -1 EIO (Input/output error)
4 <... write resumed>) = 2
"#
    );
    let log = log(&trace);
    let said: Vec<_> = log
        .steps
        .iter()
        .filter_map(|step| {
            let Act::Say(line) = &step.act else {
                return None;
            };
            Some((line.as_str(), step.at()))
        })
        .collect();
    assert_eq!(said, [("one", 4), ("two", 6)]);
    let syncs: Vec<_> = log
        .steps
        .iter()
        .filter(|step| matches!(step.act, Act::Sync { .. }))
        .map(|step| (step.begun, step.done, step.at()))
        .collect();
    assert_eq!(syncs, [(2, 5, 5)]);
}

#[test]
fn names_relative_to_an_open_folder_are_followed() {
    let trace = r#"1 mkdir("/r/d", 0700) = 0
1 openat(AT_FDCWD, "/r/d", O_RDONLY|O_DIRECTORY) = 4
1 openat(4, "f", O_WRONLY|O_CREAT, 0600) = 5
1 openat(AT_FDCWD, "f", O_WRONLY|O_CREAT, 0600) = 6
1 write(6, "other", 5) = 5
1 unlinkat(4, "f", 0) = 0
1 rmdir("/r/d") = 0
"#;
    assert_eq!(
        told(trace),
        ["make /d", "make d/f", "remove d/f", "remove /d"]
    );
    let log = log(trace);
    assert!(matches!(
        log.steps[0].act,
        Act::Put {
            folder: Node::ROOT,
            ..
        }
    ));
}

#[test]
fn what_can_not_be_followed_is_refused() {
    let cases = [
        (
            "1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 5, 0) = 0x7f00",
            "through a mapping",
        ),
        (
            "1 copy_file_range(3, NULL, 5, NULL, 9, 0) = 9",
            "can't be followed",
        ),
        ("1 sendfile(5, 3, NULL, 9) = 9", "can't be followed"),
        (
            "1 linkat(AT_FDCWD, \"/r/a\", AT_FDCWD, \"/r/b\", 0) = 0",
            "can't be followed",
        ),
        ("1 io_uring_setup(8, {}) = 7", "can't be followed"),
        ("1 rename(\"/r/a\", \"/elsewhere\") = 0", "over the border"),
        (
            "1 renameat2(AT_FDCWD, \"/r/a\", AT_FDCWD, \"/r/a\", RENAME_EXCHANGE) = 0",
            "change places",
        ),
        ("1 openat(AT_FDCWD, \"/r/b\", O_RDONLY) = 6", "never made"),
        ("1 openat(AT_FDCWD, \"/r/x/b\", O_RDONLY) = 6", "never made"),
        ("1 openat(AT_FDCWD, \"/r/../b\", O_RDONLY) = 6", "upwards"),
        (
            "1 fallocate(5, FALLOC_FL_PUNCH_HOLE, 0, 4) = 0",
            "not understood",
        ),
        (
            "1 openat(AT_FDCWD, \"/r/a\", O_RDWR) = 6\n1 lseek(6, 3, SEEK_SET) = 3\n1 write(6, \"a\", 1) = 1\n1 write(6, \"b\", 1) = 1",
            "was not followed",
        ),
    ];
    for (line, expected) in cases {
        let error = refused(&format!("{MADE}{line}\n"));
        assert!(error.contains(expected), "{line}: {error}");
        assert!(error.contains("line "), "{line}: {error}");
    }
    let harmless = "1 mmap(NULL, 4096, PROT_READ, MAP_SHARED, 5, 0) = 0x7f00
1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE, 5, 0) = 0x7f00
1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0) = 0x7f00
1 sendfile(9, 3, NULL, 9) = 9
1 linkat(AT_FDCWD, \"/a\", AT_FDCWD, \"/b\", 0) = 0\n";
    assert_eq!(told(&format!("{MADE}{harmless}")), ["make /a"]);
}
