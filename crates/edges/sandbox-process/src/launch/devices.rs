//! A `/dev` with what ordinary programs need and nothing that leads to hardware.

use std::fs;
use std::path::Path;

use nix::mount::{MsFlags, mount};

use super::Stop;
use super::mounts::{MACHINE, bind, folder, link, memory, read_only};

const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
];

pub(super) fn make() -> Result<(), Stop> {
    folder("/dev")?;
    memory("/dev", "mode=0755,size=64k")?;
    for name in DEVICES {
        let at = format!("/dev/{name}");
        fs::write(&at, "").map_err(Stop::floor("devices"))?;
        bind(&format!("{MACHINE}/dev/{name}"), &at).map_err(Stop::floor("devices"))?;
        keep_as_it_is(&at)?;
    }
    for (target, at) in LINKS {
        link(Path::new(target), at)?;
    }
    folder("/dev/shm")?;
    memory("/dev/shm", "mode=1777,size=64m")?;
    folder("/dev/pts")?;
    // Kernels may refuse it; then there are no terminals, which few commands miss.
    mount(
        Some("devpts"),
        "/dev/pts",
        Some("devpts"),
        MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC,
        Some("newinstance,ptmxmode=0666,mode=0620"),
    )
    .unwrap_or_default();
    read_only("/dev")
}

/// Closes a device's file against changes: it is the machine's own, and where the gateway is root, so is a command outside.
/// The device behind it can still be written; for that it must not be `nodev`.
fn keep_as_it_is(at: &str) -> Result<(), Stop> {
    let flags = MsFlags::MS_BIND
        | MsFlags::MS_REMOUNT
        | MsFlags::MS_RDONLY
        | MsFlags::MS_NOSUID
        | MsFlags::MS_NOEXEC;
    mount(None::<&str>, at, None::<&str>, flags, None::<&str>).map_err(Stop::floor("devices"))
}
