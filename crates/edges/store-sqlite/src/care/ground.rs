//! What kind of file system the database lies on.
//!
//! A write-ahead log needs memory that all processes share through the file, and locks that hold. Over a network neither can
//! be relied on, and the database is damaged sooner or later (<https://sqlite.org/wal.html>, "All processes using a database
//! must be on the same host computer").

use std::path::Path;

use crate::error::OpenError;

/// What can be said of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Nothing speaks against it.
    Firm,
    /// It may lie on another machine: it can't be seen from here.
    Doubtful(&'static str),
    /// It lies on another machine.
    Unfit(&'static str),
}

/// Judges by the magic number of statfs(2). Numbers: Linux `include/uapi/linux/magic.h` and statfs(2).
pub(crate) fn judge(magic: u64) -> Ground {
    match magic {
        0x6969 => Ground::Unfit("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Ground::Unfit("SMB/CIFS"),
        0x0102_1997 => Ground::Unfit("9p"),
        0x5346_414F | 0x6B41_4653 => Ground::Unfit("AFS"),
        0x00C3_6400 => Ground::Unfit("Ceph"),
        0x7375_7245 => Ground::Unfit("Coda"),
        0x564C => Ground::Unfit("NCP"),
        0x0BD0_0BD0 => Ground::Unfit("Lustre"),
        0x4750_4653 => Ground::Unfit("GPFS"),
        0x1983_0326 => Ground::Unfit("BeeGFS"),
        0x786F_4256 => Ground::Unfit("a VirtualBox shared folder"),
        0xBACB_ACBC => Ground::Unfit("a VMware shared folder"),
        0x6573_5546 => Ground::Doubtful("FUSE"),
        0x0116_1970 => Ground::Doubtful("GFS2"),
        0x7461_636F => Ground::Doubtful("OCFS2"),
        _ => Ground::Firm,
    }
}

/// Looks at the folder of a database, or at the one above it that exists. Refuses what lies on another machine.
pub(crate) fn look(database: &Path) -> Result<(), OpenError> {
    let folder = database
        .ancestors()
        .skip(1)
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("."));
    let Ok(found) = rustix::fs::statfs(folder) else {
        // Whoever can't even be asked says so more clearly when the file is opened.
        return Ok(());
    };
    #[expect(
        clippy::cast_sign_loss,
        reason = "the number is a bit pattern; its type differs between machines"
    )]
    let magic = found.f_type as u64 & 0xFFFF_FFFF;
    match judge(magic) {
        Ground::Firm => Ok(()),
        Ground::Doubtful(kind) => {
            tracing::warn!(
                folder = %folder.display(), kind,
                "the database may lie on another machine; if it does, move the home to a local disk"
            );
            Ok(())
        }
        Ground::Unfit(kind) => Err(OpenError::Network {
            path: database.to_owned(),
            kind,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_machine_is_known_and_a_local_disk_is_left_in_peace() {
        for (magic, kind) in [
            (0x6969, "NFS"),
            (0xFF53_4D42, "SMB/CIFS"),
            (0xFE53_4D42, "SMB/CIFS"),
            (0x517B, "SMB/CIFS"),
            (0x0102_1997, "9p"),
            (0x00C3_6400, "Ceph"),
        ] {
            assert_eq!(judge(magic), Ground::Unfit(kind));
        }
        assert_eq!(judge(0x6573_5546), Ground::Doubtful("FUSE"));
        // ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs.
        for local in [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0x2FC1_2FC1,
            0xF2F5_2010,
        ] {
            assert_eq!(judge(local), Ground::Firm, "{local:x}");
        }
    }

    #[test]
    fn the_refusal_says_why_and_what_to_do() {
        let error = OpenError::Network {
            path: "/mnt/share/state/tidings.db".into(),
            kind: "NFS",
        };
        let text = error.to_string();
        for said in ["/mnt/share/state/tidings.db", "NFS", "TIDINGS_HOME"] {
            assert!(text.contains(said), "{text}");
        }
    }
}
