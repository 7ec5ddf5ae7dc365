//! `tidings backup`.

use std::path::Path;
use std::process::ExitCode;

use gateway::{Backup, Secrets, SystemIds, back_up};
use serde_json::json;
use settings::Home;

use crate::exit::Failure;

/// Makes a whole copy of the home, and says what it holds.
pub(crate) fn run(
    home: &Home,
    place: &Path,
    secrets: Secrets,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let say = |step: &str| eprintln!("tidings: {step}");
    let made = back_up(home, place, secrets, &SystemIds, &say)?;
    if as_json {
        println!("{}", object(&made, secrets));
    } else {
        println!("{}", sentence(&made, secrets));
    }
    Ok(ExitCode::SUCCESS)
}

fn object(made: &Backup, secrets: Secrets) -> serde_json::Value {
    json!({
        "backup": made.place.display().to_string(),
        "database_bytes": made.store.database_bytes,
        "blobs": made.store.blobs,
        "blob_bytes": made.store.blob_bytes,
        "linked": made.store.linked,
        "files": made.files,
        "links": made.links,
        "secrets": secrets == Secrets::Taken,
    })
}

fn sentence(made: &Backup, secrets: Secrets) -> String {
    let place = made.place.display();
    let database = sandbox::size_text(made.store.database_bytes);
    let blobs = sandbox::size_text(made.store.blob_bytes);
    let links = if made.store.linked > 0 {
        " They share their bytes with the originals: copy the folder to another disk to be safe from a broken one."
    } else {
        ""
    };
    let kept = match secrets {
        Secrets::Taken => "Secrets are in it: keep it as safe as the home.",
        Secrets::Left => "Secrets are not in it: put the folder secrets/ back yourself.",
    };
    let mut text = format!(
        "{place}: the database ({database}, checked), {} artifacts ({blobs}), {} other files.{links} {kept}",
        made.store.blobs, made.files
    );
    if !made.links.is_empty() {
        text += &format!(
            "\n{} links were copied as links; if they lead out of the copy, keep what they lead to yourself:",
            made.links.len()
        );
        for link in &made.links {
            text += &format!("\n  {}", link.display());
        }
    }
    text
}
