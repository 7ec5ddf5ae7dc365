//! Watches the disk while a command runs. No bound of the kernel's holds for all files of a sandbox together, and a full disk
//! stops the gateway's own database.

use std::path::Path;
use std::time::Duration;

use rustix::fs::statvfs;

/// How often the disk is looked at.
const PERIOD: Duration = Duration::from_millis(250);
/// What a command must leave, in bytes, or a twentieth of a small disk.
const RESERVE: u64 = 1 << 30;

/// What is free, and of how much.
#[derive(Debug, Clone, Copy, Default)]
struct Room {
    bytes: u64,
    of_bytes: u64,
    files: u64,
    of_files: u64,
}

/// Ends when whoever runs meanwhile has nearly filled the disk under a folder; never, if the disk can't be asked.
pub(crate) async fn filled(folder: &Path) {
    let Some(before) = room(folder).await else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(PERIOD).await;
        if let Some(now) = room(folder).await
            && has_filled(before, now)
        {
            return;
        }
    }
}

/// Asked elsewhere: a disk of the network may keep one waiting.
async fn room(folder: &Path) -> Option<Room> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || statvfs(&folder))
        .await
        .ok()?
        .ok()
        .map(|disk| Room {
            bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
            of_bytes: disk.f_blocks.saturating_mul(disk.f_frsize),
            files: disk.f_favail,
            of_files: disk.f_files,
        })
}

/// A disk that was full before is no reason: the command may be there to make room.
fn has_filled(before: Room, now: Room) -> bool {
    let low =
        |was: u64, is: u64, reserve: u64| is < reserve && was.saturating_sub(is) > reserve / 4;
    low(before.bytes, now.bytes, RESERVE.min(before.of_bytes / 20))
        || low(before.files, now.files, before.of_files / 50)
}

#[cfg(test)]
mod tests {
    use super::{Room, has_filled};

    #[test]
    fn a_command_is_ended_for_what_it_wrote_and_not_for_what_was_there() {
        let disk = |megabytes: u64, files: u64| Room {
            bytes: megabytes << 20,
            of_bytes: 100 << 30,
            files,
            of_files: 1_000_000,
        };
        for (before, now, ended) in [
            (disk(50_000, 900_000), disk(40_000, 900_000), false),
            (disk(50_000, 900_000), disk(1_000, 900_000), true),
            (disk(1_100, 900_000), disk(1_000, 900_000), false),
            (disk(500, 900_000), disk(450, 900_000), false),
            (disk(500, 900_000), disk(200, 900_000), true),
            (disk(500, 900_000), disk(5_000, 900_000), false),
            (disk(50_000, 900_000), disk(50_000, 100), true),
            (disk(50_000, 900_000), disk(50_000, 30_000), false),
        ] {
            assert_eq!(has_filled(before, now), ended, "{before:?} {now:?}");
        }
        // Some file systems count no files.
        let uncounted = Room {
            of_files: 0,
            files: 0,
            ..disk(50_000, 0)
        };
        assert!(!has_filled(uncounted, uncounted));
    }
}
