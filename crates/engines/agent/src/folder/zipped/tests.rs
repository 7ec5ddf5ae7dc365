use std::collections::BTreeSet;

use tar::{Builder, Header};

use super::*;

const BOUNDS: Bounds = Bounds {
    entries: 100,
    unpacked: 64 << 20,
};

/// Zips an archive that goes on with zeros, at most for so many bytes; how many of those were read.
fn zipped(archive: Vec<u8>, zeros: usize) -> (Result<Tally, Trouble>, usize) {
    let rules = Rules {
        top: "/workspace/d".to_owned(),
        linked: BTreeSet::new(),
        secret: Vec::new(),
    };
    let (tar_in, tar_out) = mpsc::channel(1);
    let (zip_in, mut zip_out) = mpsc::channel(1);
    let drain = std::thread::spawn(move || while zip_out.blocking_recv().is_some() {});
    let feed = std::thread::spawn(move || {
        if tar_in.blocking_send(Bytes::from(archive)).is_err() {
            return 0;
        }
        let piece = Bytes::from(vec![0; PIECE]);
        let mut sent = 0;
        while sent < zeros && tar_in.blocking_send(piece.clone()).is_ok() {
            sent += PIECE;
        }
        sent
    });
    let tally = zip(tar_out, zip_in, &rules, BOUNDS);
    drain.join().unwrap();
    (tally, feed.join().unwrap())
}

fn header(kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_path("name").unwrap();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

#[test]
fn an_archive_whose_names_never_end_is_given_up_before_it_fills_the_memory() {
    for kind in [
        EntryType::GNULongName,
        EntryType::GNULongLink,
        EntryType::XHeader,
    ] {
        let hostile = header(kind, 1 << 40).as_bytes().to_vec();
        let (tally, read) = zipped(hostile, 32 << 20);
        assert!(matches!(tally, Err(Trouble::TooLarge)), "{tally:?}");
        assert!(read < 4 << 20, "{kind:?}: {read} bytes were read");
    }
}

#[test]
fn files_larger_than_what_may_stand_around_them_are_packed_and_passed_by() {
    let mut builder = Builder::new(Vec::new());
    let long = format!("{}/x", "n".repeat(200));
    for name in ["a", "b", long.as_str()] {
        let mut header = header(EntryType::Regular, 3 << 20);
        let bytes = vec![7_u8; 3 << 20];
        builder
            .append_data(&mut header, name, bytes.as_slice())
            .unwrap();
    }
    let (tally, _) = zipped(builder.into_inner().unwrap(), 0);
    assert_eq!(tally.unwrap().files, 3);
}

#[test]
fn what_is_left_out_counts_against_the_limit_of_entries() {
    for (count, fits) in [(100, true), (101, false)] {
        let mut archive = Vec::new();
        for _ in 0..count {
            archive.extend_from_slice(header(EntryType::Symlink, 0).as_bytes());
        }
        let (tally, _) = zipped(archive, PIECE);
        assert_eq!(tally.is_ok(), fits, "{tally:?}");
    }
    // Folders that are only named on the way to a file are folders as well.
    let mut builder = Builder::new(Vec::new());
    let deep = format!("{}x", "d/".repeat(100));
    let mut header = header(EntryType::Regular, 0);
    builder
        .append_data(&mut header, deep, [].as_slice())
        .unwrap();
    let (tally, _) = zipped(builder.into_inner().unwrap(), 0);
    assert!(matches!(tally, Err(Trouble::TooMany)), "{tally:?}");
}
