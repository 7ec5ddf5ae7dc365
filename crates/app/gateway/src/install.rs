//! This installation's id: made once, kept in `state/install`. It tells our containers and our keys from others'.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use settings::Home;
use waybill::Ids;

use crate::StartError;

/// Reads the id, or makes it.
pub(crate) fn install_id(home: &Home, ids: &dyn Ids) -> Result<String, StartError> {
    let path = home.state().join("install");
    let failed = |source| StartError::File {
        path: path.display().to_string(),
        source,
    };
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(source) if source.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(failed(source)),
    }
    let id = ids.uuid().simple().to_string();
    write_whole(&path, &id).map_err(failed)?;
    Ok(id)
}

/// Whole or not at all: a new file, synced, then renamed into its place.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = fs::File::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    match path.parent() {
        Some(folder) => fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
