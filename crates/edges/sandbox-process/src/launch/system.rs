//! What of the machine's own files a sandbox sees: programs and libraries, and the part of `/etc` that they need. All of it
//! read-only, none of it secret, and none of it ever captured.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::OFlags;

use super::Stop;
use super::mounts::{MACHINE, bind, folder, link, of_machine};

/// Programs and libraries; a link on merged systems.
const PROGRAMS: [&str; 8] = [
    "usr",
    "bin",
    "sbin",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "nix/store",
];

/// What programs read there and everybody may see.
const SETTINGS: [&str; 29] = [
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "ImageMagick-6",
    "ImageMagick-7",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "magic",
    "mime.types",
    "os-release",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "python3",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
];

/// Longest `resolv.conf` that is copied.
const RESOLVER: u64 = 64 << 10;

/// Shows them; says which places must be closed.
pub(super) fn show(host_network: bool) -> Result<Vec<String>, Stop> {
    let mut closed = Vec::new();
    for name in PROGRAMS {
        show_one(&format!("/{name}"), &mut closed)?;
    }
    folder("/etc")?;
    for name in SETTINGS {
        show_one(&format!("/etc/{name}"), &mut closed)?;
    }
    for (name, text) in OWN {
        write(&format!("/etc/{name}"), text)?;
    }
    if host_network {
        write("/etc/resolv.conf", &resolver())?;
    }
    folder("/run")?;
    folder("/var")?;
    link(Path::new("../tmp"), "/var/tmp")?;
    link(Path::new("../run"), "/var/run")?;
    Ok(closed)
}

/// Its own, instead of the machine's, which say who uses it.
const OWN: [(&str, &str); 5] = [
    (
        "passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    ),
    ("group", "root:x:0:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("hostname", "sandbox\n"),
    (
        "nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
    ),
];

fn show_one(at: &str, closed: &mut Vec<String>) -> Result<(), Stop> {
    let source = format!("{MACHINE}{at}");
    let Ok(kind) = fs::symlink_metadata(&source) else {
        return Ok(());
    };
    if let Some((parent, _)) = at.rsplit_once('/').filter(|(parent, _)| !parent.is_empty()) {
        folder(parent)?;
    }
    if kind.is_symlink() {
        let target = fs::read_link(&source).map_err(Stop::floor("programs"))?;
        return link(&target, at);
    }
    if kind.is_dir() {
        folder(at)?;
    } else if kind.is_file() {
        write(at, "")?;
    } else {
        return Ok(());
    }
    bind(&source, at).map_err(Stop::floor("programs"))?;
    closed.push(at.to_owned());
    Ok(())
}

fn write(at: &str, text: &str) -> Result<(), Stop> {
    fs::write(at, text)
        .map_err(|source| Stop::Failed(format!("{at} can't be made in the sandbox: {source}")))
}

/// Where names are asked for; a machine without one gives a sandbox without one.
fn resolver() -> String {
    let mut text = String::new();
    if let Ok(file) = of_machine("/etc/resolv.conf", OFlags::RDONLY)
        && fs::File::from(file)
            .take(RESOLVER)
            .read_to_string(&mut text)
            .is_err()
    {
        text.clear();
    }
    text
}
