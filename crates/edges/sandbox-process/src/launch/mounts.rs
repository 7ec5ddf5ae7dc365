//! A root of its own: a small memory file system with the machine's programs read-only, fresh `/proc` and `/dev`, and the
//! folders that the sandbox may see. The machine's own root is gone when this is done.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::pivot_root;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat2};

use super::{Stop, devices, proc, system};
use crate::plan::{Access, Bind, Inner};

/// Where the machine's root lies while this root is built.
pub(super) const MACHINE: &str = "/.machine";
/// Exists everywhere; covered for the blink between mounting and turning.
const BASE: &str = "/tmp";
const NOTHING: Option<&str> = None;

/// Builds the root. `tune` runs while the fresh `/proc` can still be written, and closes it by calling its argument.
pub(super) fn build(
    plan: &Inner,
    tune: impl FnOnce(fn() -> Result<(), Stop>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let floor = Stop::floor::<nix::Error>;
    mount(
        NOTHING,
        "/",
        NOTHING,
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        NOTHING,
    )
    .map_err(floor("mount namespace"))?;
    memory(BASE, "mode=0755,size=4m")?;
    let place = format!("{BASE}{MACHINE}");
    fs::create_dir(&place).map_err(Stop::floor("mount namespace"))?;
    pivot_root(BASE, place.as_str()).map_err(floor("mount namespace"))?;
    nix::unistd::chdir("/").map_err(floor("mount namespace"))?;

    folder("/proc")?;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), quiet, NOTHING).map_err(floor("fresh /proc"))?;

    close(&system::show(plan.host_network)?, Access::Read)?;
    devices::make()?;
    for bind in &plan.binds {
        // Closed before the next one's place is made: nothing may be made in a folder that is only shown.
        close(&[show(bind)?], bind.access)?;
    }
    tune(proc::close)?;

    umount2(MACHINE, MntFlags::MNT_DETACH).map_err(floor("mount namespace"))?;
    fs::remove_dir(MACHINE).map_err(Stop::floor("mount namespace"))?;
    read_only("/")
}

/// A memory file system.
pub(super) fn memory(at: &str, options: &str) -> Result<(), Stop> {
    mount(
        Some("tmpfs"),
        at,
        Some("tmpfs"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        Some(options),
    )
    .map_err(Stop::floor("memory file system"))
}

pub(super) fn folder(at: &str) -> Result<(), Stop> {
    fs::create_dir_all(at)
        .map_err(|source| Stop::Failed(format!("{at} can't be made in the sandbox: {source}")))
}

pub(super) fn link(target: &Path, at: &str) -> Result<(), Stop> {
    symlink(target, at)
        .map_err(|source| Stop::Failed(format!("{at} can't be made in the sandbox: {source}")))
}

/// Shows a folder or file at another place too.
pub(super) fn bind(source: &str, at: &str) -> nix::Result<()> {
    mount(
        Some(source),
        at,
        NOTHING,
        MsFlags::MS_BIND | MsFlags::MS_REC,
        NOTHING,
    )
}

/// Closes one mount, whose flags are known to be these, against writing.
pub(super) fn read_only(at: &str) -> Result<(), Stop> {
    let flags = MsFlags::MS_BIND
        | MsFlags::MS_REMOUNT
        | MsFlags::MS_RDONLY
        | MsFlags::MS_NOSUID
        | MsFlags::MS_NODEV;
    mount(NOTHING, at, NOTHING, flags, NOTHING).map_err(Stop::floor("read-only mounts"))
}

/// Opens something of the machine as the machine itself would resolve it, its absolute links included.
pub(super) fn of_machine(path: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let root = openat2(
        CWD,
        MACHINE,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::empty(),
    )?;
    Ok(openat2(
        root,
        path,
        flags | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT,
    )?)
}

/// Shows a folder or a file of the owner; says where it stands.
fn show(shown: &Bind) -> Result<String, Stop> {
    let failed = |what: &str, source: &dyn std::fmt::Display| {
        Stop::Failed(format!(
            "{} can't be shown as {}: {what} ({source})",
            shown.source, shown.at
        ))
    };
    let source = of_machine(&shown.source, OFlags::PATH)
        .map_err(|error| failed("the gateway's user can't open it on this machine", &error))?;
    let kind =
        rustix::fs::fstat(&source).map_err(|error| failed("it can't be looked at", &error))?;
    let is_folder = rustix::fs::FileType::from_raw_mode(kind.st_mode).is_dir();
    let target = mount_point(&shown.at, is_folder).map_err(|error| {
        failed(
            "the place in the sandbox can't be made there, or leads through a link",
            &error,
        )
    })?;
    let name = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
    bind(&name(&source), &name(&target)).map_err(|error| failed("the kernel refuses", &error))?;
    Ok(shown.at.clone())
}

/// Makes the way to a place, never through a link: a command may have left one.
fn mount_point(at: &str, is_folder: bool) -> io::Result<OwnedFd> {
    let parts: Vec<&str> = at.split('/').filter(|part| !part.is_empty()).collect();
    let mut here = open_beneath(CWD, "/", OFlags::DIRECTORY)?;
    let last = parts.len().saturating_sub(1);
    for (number, part) in parts.into_iter().enumerate() {
        here = if number < last || is_folder {
            match mkdirat(&here, part, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            open_beneath(&here, part, OFlags::DIRECTORY)?
        } else {
            let flags = OFlags::CREATE | OFlags::CLOEXEC | OFlags::RDONLY | OFlags::NOFOLLOW;
            let made = rustix::fs::openat(&here, part, flags, Mode::from_raw_mode(0o644))?;
            drop(made);
            open_beneath(&here, part, OFlags::empty())?
        };
    }
    Ok(here)
}

fn open_beneath(folder: impl AsFd, part: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat2(
        folder,
        part,
        flags | OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )
}

/// Closes shown places with everything mounted below them. Flags that the machine set must be kept, or the kernel refuses.
fn close(places: &[String], access: Access) -> Result<(), Stop> {
    let table = fs::read_to_string("/proc/self/mountinfo").map_err(Stop::floor("fresh /proc"))?;
    for (point, options) in table.lines().filter_map(mounted) {
        if point.starts_with(MACHINE)
            || !places
                .iter()
                .any(|place| Path::new(&point).starts_with(place))
        {
            continue;
        }
        let mut flags = MsFlags::MS_BIND
            | MsFlags::MS_REMOUNT
            | MsFlags::MS_NOSUID
            | MsFlags::MS_NODEV
            | kept(&options);
        if access != Access::Write {
            flags |= MsFlags::MS_RDONLY;
        }
        mount(NOTHING, point.as_str(), NOTHING, flags, NOTHING).map_err(|error| {
            Stop::Failed(format!("{point} can't be closed in the sandbox: {error}"))
        })?;
    }
    Ok(())
}

/// The place and the options of a line of `mountinfo`.
fn mounted(line: &str) -> Option<(String, String)> {
    let mut fields = line.split(' ').skip(4);
    Some((unescape(fields.next()?), fields.next()?.to_owned()))
}

/// `\040` is a blank.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let sign = part
            .split_at_checked(3)
            .and_then(|(digits, rest)| Some((u8::from_str_radix(digits, 8).ok()?, rest)));
        if let Some((sign, rest)) = sign {
            plain.push(char::from(sign));
            plain.push_str(rest);
        } else {
            plain.push('\\');
            plain.push_str(part);
        }
    }
    plain
}

fn kept(options: &str) -> MsFlags {
    options
        .split(',')
        .map(|option| match option {
            "ro" => MsFlags::MS_RDONLY,
            "nosuid" => MsFlags::MS_NOSUID,
            "nodev" => MsFlags::MS_NODEV,
            "noexec" => MsFlags::MS_NOEXEC,
            "noatime" => MsFlags::MS_NOATIME,
            "nodiratime" => MsFlags::MS_NODIRATIME,
            "relatime" => MsFlags::MS_RELATIME,
            _ => MsFlags::empty(),
        })
        .fold(MsFlags::empty(), |all, flag| all | flag)
}

#[cfg(test)]
mod tests {
    use nix::mount::MsFlags;

    use super::{kept, mounted, unescape};

    #[test]
    fn a_mount_with_a_blank_in_its_name_is_closed_too() {
        let line =
            r"36 35 98:0 /mnt1 /data/my\040files rw,nosuid,noatime master:1 - ext3 /dev/root rw";
        let (point, options) = mounted(line).unwrap();
        assert_eq!(point, "/data/my files");
        assert_eq!(kept(&options), MsFlags::MS_NOSUID | MsFlags::MS_NOATIME);
        assert_eq!(unescape(r"a\134b\x"), r"a\b\x");
    }
}
