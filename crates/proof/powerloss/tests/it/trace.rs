//! What `strace` writes, line by line.

use tidings_powerloss::trace::{Call, Outcome, bytes, read};

fn calls(trace: &str) -> Vec<Call> {
    read(trace).unwrap()
}

#[test]
fn texts_are_read_with_every_escape() {
    let cases: [(&str, &[u8]); 12] = [
        (r#""""#, b""),
        (r#""abc""#, b"abc"),
        (r#""\x61\x62\xff\x00""#, b"ab\xff\0"),
        (r#""\xAb""#, b"\xab"),
        (r#""\n\t\r\v\f""#, b"\n\t\r\x0b\x0c"),
        (r#""\"\\""#, b"\"\\"),
        (r#""\0""#, b"\0"),
        (r#""\08""#, b"\x008"),
        (r#""\177""#, b"\x7f"),
        (r#""\1778""#, b"\x7f8"),
        (r#""\7x""#, b"\x07x"),
        (r#""a,b) = 1""#, b"a,b) = 1"),
    ];
    for (text, expected) in cases {
        assert_eq!(bytes(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_text_that_is_not_whole_is_refused() {
    let cases = [
        ("AT_FDCWD", "is no text"),
        (r#""abc"..."#, "larger -s"),
        (r#""abc"#, "cut short"),
        (r#""\x6""#, "wrong digit"),
        (r#""\xg0""#, "wrong digit"),
        (r#""\400""#, "too large"),
        (r#""\q""#, "no escape"),
    ];
    for (text, expected) in cases {
        let error = bytes(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_call_on_one_line_is_read() {
    let cases: [(&str, &str, &[&str], Outcome); 13] = [
        (
            r#"7 openat(AT_FDCWD, "\x2f", O_RDWR|O_CREAT, 0600) = 3"#,
            "openat",
            &["AT_FDCWD", r#""\x2f""#, "O_RDWR|O_CREAT", "0600"],
            Outcome::Gave(3),
        ),
        (
            r#"7 openat(AT_FDCWD, "\x2f", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
            "openat",
            &["AT_FDCWD", r#""\x2f""#, "O_RDONLY"],
            Outcome::Failed,
        ),
        (
            "12345 fsync(4)                          = 0",
            "fsync",
            &["4"],
            Outcome::Gave(0),
        ),
        ("7     fsync(4) = 0", "fsync", &["4"], Outcome::Gave(0)),
        (
            "7 fcntl(9, F_GETFL) = 0x38000 (flags O_RDONLY|O_LARGEFILE|O_DIRECTORY)",
            "fcntl",
            &["9", "F_GETFL"],
            Outcome::Gave(0x38000),
        ),
        (
            "7 fcntl(14, F_SETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=0}) = 0",
            "fcntl",
            &[
                "14",
                "F_SETLK",
                "{l_type=F_UNLCK, l_whence=SEEK_SET, l_start=0, l_len=0}",
            ],
            Outcome::Gave(0),
        ),
        (
            r#"7 pwritev(3, [{iov_base="a", iov_len=1}, {iov_base=")", iov_len=1}], 2, 8) = 2"#,
            "pwritev",
            &[
                "3",
                r#"[{iov_base="a", iov_len=1}, {iov_base=")", iov_len=1}]"#,
                "2",
                "8",
            ],
            Outcome::Gave(2),
        ),
        (
            r#"7 write(3, "a\"b, c", 6) = 6"#,
            "write",
            &["3", r#""a\"b, c""#, "6"],
            Outcome::Gave(6),
        ),
        (
            r#"7 write(3, "abc", 3) = 2"#,
            "write",
            &["3", r#""abc""#, "3"],
            Outcome::Gave(2),
        ),
        (
            r#"7 write(3, "abc", 3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)"#,
            "write",
            &["3", r#""abc""#, "3"],
            Outcome::Failed,
        ),
        (
            r#"7 write(3, "abc", 3) = ?"#,
            "write",
            &["3", r#""abc""#, "3"],
            Outcome::Lost,
        ),
        (
            "7 write(3, \"a\", 1 <unfinished ...>) = ?",
            "write",
            &["3", r#""a""#, "1"],
            Outcome::Lost,
        ),
        ("7 sync() = 0", "sync", &[], Outcome::Gave(0)),
    ];
    for (line, name, arguments, outcome) in cases {
        let read = calls(line);
        assert_eq!(read.len(), 1, "{line}");
        assert_eq!(read[0].name, name);
        assert_eq!(read[0].arguments, arguments, "{line}");
        assert_eq!(read[0].outcome, outcome, "{line}");
        assert_eq!(read[0].begun, 0);
        assert_eq!(read[0].done, (outcome != Outcome::Lost).then_some(0));
    }
}

#[test]
fn a_call_that_other_threads_interrupt_keeps_its_beginning_and_its_end() {
    let trace = r#"1 fdatasync(9 <unfinished ...>
2 write(5, "a", 1 <unfinished ...>
3 fsync(4) = 0
1 <... fdatasync resumed>)              = 0
2 <... write resumed>) = 1
1 fdatasync(9 <unfinished ...>
2 openat(AT_FDCWD, "x", O_RDONLY <unfinished ...>
1 <... fdatasync resumed>) = -1 EIO (Input/output error)
2 <... openat resumed>) = 6
"#;
    let seen: Vec<_> = calls(trace)
        .into_iter()
        .map(|call| {
            (
                call.name,
                call.arguments.len(),
                call.begun,
                call.done,
                call.outcome,
            )
        })
        .collect();
    let call = |name: &str, words, begun, done, outcome| {
        (name.to_owned(), words, begun, Some(done), outcome)
    };
    assert_eq!(
        seen,
        [
            call("fdatasync", 1, 0, 3, Outcome::Gave(0)),
            call("write", 3, 1, 4, Outcome::Gave(1)),
            call("fsync", 1, 2, 2, Outcome::Gave(0)),
            call("fdatasync", 1, 5, 7, Outcome::Failed),
            call("openat", 3, 6, 8, Outcome::Gave(6)),
        ]
    );
}

#[test]
fn what_was_under_way_when_the_process_ended_may_have_happened() {
    for end in [
        "2 <... write resumed> <unfinished ...>) = ?\n2 +++ exited with 0 +++\n",
        "2 +++ killed by SIGKILL +++\n",
        "",
    ] {
        let read = calls(&format!("2 write(5, \"ab\", 2 <unfinished ...>\n{end}"));
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].arguments, ["5", "\"ab\"", "2"]);
        assert_eq!((read[0].outcome, read[0].done), (Outcome::Lost, None));
    }
}

#[test]
fn signals_are_passed_over_and_nothing_else() {
    let trace = "1 --- SIGCHLD {si_signo=SIGCHLD} ---\n1 fsync(3) = 0\n1 +++ exited with 0 +++\n";
    assert_eq!(calls(trace).len(), 1);
    let wrong = [
        ("fsync(3) = 0", "thread"),
        ("1 fsync 3 = 0", "no call"),
        ("1 fsync(3", "not closed"),
        ("1 write(3, \"a) = 1", "not closed"),
        ("1 fsync(3)", "no result"),
        ("1 fsync(3) = soon", "no result"),
        ("1 <... fsync resumed>) = 0", "did not begin"),
        (
            "1 fsync(3 <unfinished ...>\n1 fsync(4 <unfinished ...>",
            "inside another",
        ),
    ];
    for (trace, expected) in wrong {
        let error = format!("{:#}", read(trace).unwrap_err());
        assert!(error.contains(expected), "{trace}: {error}");
        assert!(error.contains("line "), "{error}");
    }
}
