//! A skill's files, laid into the sandbox so that its scripts can run there.
//!
//! It is a copy in the sandbox's home, made through the sandbox's own door: so it works wherever the sandbox is, and nothing of
//! the profile's own folder is ever shown to commands. What is there already stays untouched; a skill that changed replaces it.

use std::collections::BTreeMap;
use std::time::Duration;

use sandbox::{Exec, Exit, SandboxPath};
use skills::SkillFile;
use tar::{Builder, Header};
use waybill::TurnScope;

use crate::Tenant;

/// Longest time that it may take.
const LONGEST: Duration = Duration::from_secs(60);
/// What is kept of what the commands say.
const OUTPUT: usize = 4 << 10;

/// Unpacks what comes in beside the place and moves it there. Exit code 4: there is no `tar`.
const LAY: &str = r#"
place="${HOME:?}/.skills/$TIDINGS_SKILL" mark=".of-$TIDINGS_HASH"
[ -e "$place/$mark" ] && exec cat >/dev/null
command -v tar >/dev/null || exit 4
mkdir -p "$HOME/.skills" || exit 1
fresh=$(mktemp -d "$HOME/.skills/.new.XXXXXX") || exit 1
tar -xf - -C "$fresh" && : > "$fresh/$mark" || { rm -rf "$fresh"; exit 1; }
[ -e "$place" ] && { chmod -R u+w "$place"; rm -rf "$place" || exit 1; }
mv "$fresh" "$place" || { rm -rf "$fresh"; exit 1; }
chmod -R a-w,a+rX "$place"
"#;

/// Lays the files of a skill; returns where they are.
pub(super) async fn lay(
    tenant: &Tenant,
    scope: &TurnScope,
    name: &str,
    files: Vec<SkillFile>,
) -> Result<String, String> {
    let tar = packed(&files).map_err(|error| error.to_string())?;
    let variables = [
        ("TIDINGS_SKILL", name.to_owned()),
        ("TIDINGS_HASH", digest(&tar)),
    ];
    let exec = Exec {
        command: LAY.to_owned(),
        directory: SandboxPath::parse(SandboxPath::HOME).map_err(|error| error.to_string())?,
        env: variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
        stdin: tar,
        timeout: LONGEST,
        output_bytes: OUTPUT,
    };
    let output = tenant.sandbox.exec(scope, &tenant.spec, exec).await;
    match output.map_err(|error| error.to_string())?.exit {
        Exit::Code(0) => Ok(format!("~/.skills/{name}")),
        Exit::Code(4) => Err("the sandbox has no `tar`".to_owned()),
        Exit::Code(_) | Exit::OutOfMemory | Exit::TimedOut => {
            Err("they could not be unpacked there".to_owned())
        }
    }
}

/// The same files give the same bytes: no time and no owner is in them.
fn packed(files: &[SkillFile]) -> std::io::Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_gnu();
        header.set_size(file.bytes.len() as u64);
        header.set_mode(if file.runs { 0o755 } else { 0o644 });
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        tar.append_data(&mut header, &file.path, file.bytes.as_slice())?;
    }
    tar.into_inner()
}

/// Tells one state of a skill from another; nothing trusts it.
fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().chars().take(16).collect()
}
