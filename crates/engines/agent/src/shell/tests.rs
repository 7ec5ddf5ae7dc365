use super::*;

fn cut(output: &[u8], mark: &str, piece: usize) -> (Vec<u8>, Whereabouts) {
    let mut cutter = Cutter::new(mark);
    let mut own = Vec::new();
    for piece in output.chunks(piece) {
        own.extend(cutter.feed(piece));
    }
    let (rest, said) = cutter.finish();
    own.extend(rest);
    (own, said)
}

#[test]
fn the_mark_is_cut_out_wherever_the_pieces_are_cut_and_all_else_stays() {
    let at = |path: &str| Whereabouts::At(SandboxPath::parse(path).unwrap());
    for (output, own, said) in [
        (
            "hello\n\u{1e}m1/workspace/a b\u{1e}",
            "hello\n",
            at("/workspace/a b"),
        ),
        (
            "\u{1e}m1/tmp\u{1e}and a child that speaks last",
            "and a child that speaks last",
            at("/tmp"),
        ),
        (
            "x\u{1e}m2/tmp\u{1e}\u{1e}\u{1e}m1/\u{1e}",
            "x\u{1e}m2/tmp\u{1e}\u{1e}",
            at("/"),
        ),
        ("gone\u{1e}m1!\u{1e}", "gone", Whereabouts::Gone),
        ("unset\u{1e}m1\u{1e}", "unset", Whereabouts::Unsaid),
        ("no mark", "no mark", Whereabouts::Unsaid),
        ("cut\u{1e}m1/work", "cut\u{1e}m1/work", Whereabouts::Unsaid),
        ("\u{1e}m1relative\u{1e}", "", Whereabouts::Unsaid),
        ("\u{1e}m1/a\nb\u{1e}", "", Whereabouts::Unsaid),
        ("\u{1e}m", "\u{1e}m", Whereabouts::Unsaid),
    ] {
        for piece in 1..=output.len() {
            let (left, seen) = cut(output.as_bytes(), "m1", piece);
            assert_eq!(String::from_utf8_lossy(&left), own, "{output:?} by {piece}");
            assert_eq!(seen, said, "{output:?} by {piece}");
        }
    }
}

#[test]
fn a_mark_that_never_ends_holds_nothing_back_for_ever() {
    let mut output = b"\x1em1".to_vec();
    output.extend(vec![b'/'; 10_000]);
    let (own, said) = cut(&output, "m1", 100);
    assert_eq!((own.len(), said), (output.len(), Whereabouts::Unsaid));
}

#[test]
fn output_full_of_signs_is_read_once_and_not_once_for_each_of_them() {
    // Four megabytes in one piece: at the square of that nobody would see the end of this test.
    let output = vec![SIGN; 4 << 20];
    let (own, said) = cut(&output, "m1", output.len());
    assert_eq!((own.len(), said), (output.len(), Whereabouts::Unsaid));
}
