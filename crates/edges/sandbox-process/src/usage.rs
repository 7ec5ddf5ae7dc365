//! How much of the disk a folder holds. Nothing is followed and nothing is opened but folders: commands write there.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};

/// How many entries are looked at; a sandbox with more has no figure.
const MOST: u32 = 500_000;
/// How deep folders may lie; each level holds one descriptor open.
const DEEPEST: u32 = 64;
/// The unit of `st_blocks`, in bytes.
const BLOCK: u64 = 512;

/// Bytes on the disk; none if it can't be known. Blocks.
pub(crate) fn of(folder: &Path) -> Option<u64> {
    let root = open(CWD, folder.as_os_str().as_encoded_bytes())?;
    let mut left = MOST;
    below(&root, DEEPEST, &mut left)
}

/// Does a folder hold anything? Blocks.
pub(crate) fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn below(folder: &OwnedFd, depth: u32, left: &mut u32) -> Option<u64> {
    let depth = depth.checked_sub(1)?;
    let mut bytes: u64 = 0;
    for entry in Dir::read_from(folder).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        *left = left.checked_sub(1)?;
        // It may have gone meanwhile.
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        bytes = bytes.saturating_add(
            u64::try_from(stat.st_blocks)
                .unwrap_or(0)
                .saturating_mul(BLOCK),
        );
        if FileType::from_raw_mode(stat.st_mode).is_dir()
            && let Some(inner) = open(folder, name)
        {
            bytes = bytes.saturating_add(below(&inner, depth, left)?);
        }
    }
    Some(bytes)
}

fn open(at: impl AsFd, name: &[u8]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{is_empty, of};

    #[test]
    fn a_link_to_a_large_folder_is_counted_as_a_link() {
        let large = tempfile::tempdir().unwrap();
        fs::write(large.path().join("file"), vec![1; 1 << 20]).unwrap();
        let small = tempfile::tempdir().unwrap();
        assert!(is_empty(small.path()));
        symlink(large.path(), small.path().join("link")).unwrap();
        fs::create_dir(small.path().join("deep")).unwrap();
        fs::write(small.path().join("deep/file"), vec![1; 64 << 10]).unwrap();
        let bytes = of(small.path()).unwrap();
        assert!((64 << 10..512 << 10).contains(&bytes), "{bytes}");
        assert!(of(large.path()).unwrap() >= 1 << 20);
        assert_eq!(of(&small.path().join("link")), None);
        assert!(!is_empty(small.path()));
    }
}
