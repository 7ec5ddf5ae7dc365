//! What may be on a disk after the power came back.

use std::collections::BTreeSet;

use tidings_powerloss::dice::Dice;
use tidings_powerloss::disk::{Disk, Entry, Picture};
use tidings_powerloss::files::follow;
use tidings_powerloss::trace::read;

/// Enough for every outcome of a few writes to come up.
const SEEDS: u64 = 2_000;

/// Everything that may be found after a trace: a line for each picture.
fn found(trace: &str) -> BTreeSet<String> {
    let log = follow(&read(trace).unwrap(), "/r").unwrap();
    let mut disk = Disk::empty();
    disk.advance(&log, log.steps.len());
    (0..SEEDS)
        .map(|seed| tell(&disk.lose_power(&mut Dice::new(seed))))
        .collect()
}

/// `a=xyz d(b=…)`; runs of one byte are written `x*512`.
fn tell(picture: &Picture) -> String {
    let entries: Vec<String> = picture
        .0
        .iter()
        .map(|(name, entry)| match entry {
            Entry::File(bytes) => format!("{name}={}", runs(bytes)),
            Entry::Folder(below) => format!("{name}({})", tell(below)),
        })
        .collect();
    entries.join(" ")
}

fn runs(bytes: &[u8]) -> String {
    bytes
        .chunk_by(|one, other| one == other)
        .map(|run| {
            let sign = match run[0] {
                0 => '0',
                byte => char::from(byte),
            };
            match run.len() {
                1 => sign.to_string(),
                length => format!("{sign}*{length}"),
            }
        })
        .collect()
}

fn set<const N: usize>(lines: [&str; N]) -> BTreeSet<String> {
    lines.into_iter().map(str::to_owned).collect()
}

/// The file `a` is safe under its name, with the bytes `old`.
const SAFE: &str = "1 openat(AT_FDCWD, \"/r/a\", O_WRONLY|O_CREAT, 0600) = 5
1 openat(AT_FDCWD, \"/r\", O_RDONLY) = 6
1 fsync(6) = 0
1 pwrite64(5, \"old\", 3, 0) = 3
1 fsync(5) = 0
";

#[test]
fn what_was_synced_is_there() {
    assert_eq!(found(SAFE), set(["a=old"]));
}

#[test]
fn what_was_not_synced_may_be_there_or_not() {
    let trace = format!("{SAFE}1 pwrite64(5, \"NEW\", 3, 0) = 3\n");
    assert_eq!(found(&trace), set(["a=old", "a=NEW"]));
}

#[test]
fn a_sync_covers_only_what_was_done_before_it_began() {
    let trace = format!(
        "{SAFE}1 pwrite64(5, \"N\", 1, 0) = 1
2 pwrite64(5, \"W\", 1, 2 <unfinished ...>
1 fdatasync(5 <unfinished ...>
2 <... pwrite64 resumed>) = 1
3 pwrite64(5, \"E\", 1, 1) = 1
1 <... fdatasync resumed>) = 0\n"
    );
    assert_eq!(found(&trace), set(["a=Nld", "a=NlW", "a=NEd", "a=NEW"]));
}

#[test]
fn a_sync_that_did_not_come_back_covers_nothing() {
    let trace = format!("{SAFE}1 pwrite64(5, \"NEW\", 3, 0) = 3\n1 fsync(5 <unfinished ...>\n");
    assert_eq!(found(&trace), set(["a=old", "a=NEW"]));
}

#[test]
fn a_write_is_torn_at_sectors_and_grows_a_file_with_or_without_its_bytes() {
    let long = "N".repeat(1024);
    let trace = format!("{SAFE}1 pwrite64(5, \"{long}\", 1024, 0) = 1024\n");
    let found = found(&trace);
    for expected in [
        "a=old",
        "a=N*3",
        "a=N*1024",
        "a=N*5120*512",
        "a=old0*509N*512",
        "a=old0*1021",
    ] {
        assert!(
            found.contains(expected),
            "{expected} never came up: {found:#?}"
        );
    }
    let torn: Vec<_> = found
        .iter()
        .filter(|line| !line.starts_with("a=old") && !line.starts_with("a=N"))
        .collect();
    assert!(
        torn.is_empty(),
        "a sector holds what was never written: {torn:?}"
    );
}

#[test]
fn a_name_that_was_not_synced_may_be_missing_though_its_bytes_were() {
    let trace = "1 openat(AT_FDCWD, \"/r/a\", O_WRONLY|O_CREAT, 0600) = 5
1 write(5, \"abc\", 3) = 3
1 fsync(5) = 0\n";
    assert_eq!(found(trace), set(["", "a=abc"]));
}

#[test]
fn a_file_that_was_moved_before_its_sync_may_be_empty_in_its_new_place() {
    let trace = format!(
        "{SAFE}1 openat(AT_FDCWD, \"/r/t\", O_WRONLY|O_CREAT, 0600) = 7
1 write(7, \"new\", 3) = 3
1 rename(\"/r/t\", \"/r/a\") = 0
1 fsync(6) = 0\n"
    );
    assert_eq!(found(&trace), set(["a=", "a=0*3", "a=new"]));
    let synced = trace.replace("1 rename", "1 fsync(7) = 0\n1 rename");
    assert_eq!(found(&synced), set(["a=new"]));
}

#[test]
fn a_move_that_was_not_synced_leaves_one_of_both_names_or_both_and_never_none() {
    let made = format!(
        "{SAFE}1 mkdir(\"/r/d\", 0700) = 0
1 fsync(6) = 0
1 openat(AT_FDCWD, \"/r/d\", O_RDONLY) = 8\n"
    );
    let inside = format!("{made}1 rename(\"/r/a\", \"/r/b\") = 0\n");
    assert_eq!(found(&inside), set(["a=old d()", "b=old d()"]));
    let across = format!("{made}1 rename(\"/r/a\", \"/r/d/a\") = 0\n");
    let (before, both, after) = ("a=old d()", "a=old d(a=old)", "d(a=old)");
    assert_eq!(found(&across), set([before, both, after]));
    // The folder where it went, then the folder where it was.
    assert_eq!(
        found(&format!("{across}1 fsync(8) = 0\n")),
        set([both, after])
    );
    assert_eq!(found(&format!("{across}1 fsync(6) = 0\n")), set([after]));
}

#[test]
fn a_folder_that_was_not_synced_above_takes_all_below_with_it() {
    let trace = "1 mkdir(\"/r/d\", 0700) = 0
1 openat(AT_FDCWD, \"/r/d/a\", O_WRONLY|O_CREAT, 0600) = 5
1 write(5, \"abc\", 3) = 3
1 fsync(5) = 0
1 openat(AT_FDCWD, \"/r/d\", O_RDONLY) = 6
1 fsync(6) = 0\n";
    assert_eq!(found(trace), set(["", "d(a=abc)"]));
}

#[test]
fn a_name_that_was_removed_may_be_back_but_takes_no_other_file_away() {
    let trace = format!(
        "{SAFE}1 unlink(\"/r/a\") = 0
1 openat(AT_FDCWD, \"/r/a\", O_WRONLY|O_CREAT, 0600) = 7\n"
    );
    assert_eq!(found(&trace), set(["", "a=", "a=old"]));
}

#[test]
fn shared_memory_is_never_there() {
    let trace = "1 openat(AT_FDCWD, \"/r/a-shm\", O_RDWR|O_CREAT, 0600) = 5
1 openat(AT_FDCWD, \"/r\", O_RDONLY) = 6
1 fsync(6) = 0\n";
    assert_eq!(found(trace), set([""]));
}

#[test]
fn one_seed_gives_one_picture() {
    let trace = format!(
        "{SAFE}1 pwrite64(5, \"{}\", 4096, 0) = 4096\n",
        "N".repeat(4096)
    );
    let log = follow(&read(&trace).unwrap(), "/r").unwrap();
    let mut disk = Disk::empty();
    disk.advance(&log, log.steps.len());
    for seed in 0..50 {
        assert_eq!(
            disk.lose_power(&mut Dice::new(seed)),
            disk.lose_power(&mut Dice::new(seed))
        );
    }
}
