//! `skills/`: a folder for each skill, directly or in a folder that gathers several.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use skills::{
    Broken, FILE, Fault, MOST_BYTES, Opened, Shelf, ShelfError, Shelved, Skill, SkillFile,
};

use crate::folder::{Folder, Kind, ReadError};

/// Skills of one profile that are looked at: many times what an index shows.
const MOST: usize = 200;
/// Files of a skill that are named.
const MOST_FILES: usize = 100;
/// Folders below each other inside a skill.
const DEPTH: usize = 4;
/// Bytes of a skill that go into a sandbox: scripts and templates, not data sets.
const PACKED: usize = 8 << 20;
/// Largest file of a skill that is read here, in bytes; larger ones are for the sandbox.
const LARGEST: usize = 256 << 10;

/// The skills of one profile.
#[derive(Debug, Clone)]
pub struct SkillFolder {
    folder: PathBuf,
}

impl SkillFolder {
    /// `folder`: the profile's `skills/`; it need not be there.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(Option<&Folder>) -> Result<T, ShelfError> + Send + 'static,
    ) -> Result<T, ShelfError> {
        let path = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || match Folder::at(&path) {
            Ok(root) => work(Some(&root)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => work(None),
            Err(error) => Err(ShelfError::Disk(error.to_string())),
        });
        done.await
            .map_err(|error| ShelfError::Disk(error.to_string()))?
    }
}

#[async_trait]
impl Shelf for SkillFolder {
    async fn all(&self) -> Result<Shelved, ShelfError> {
        self.work(|root| {
            let Scan {
                found,
                broken,
                left_out,
            } = scan(root)?;
            let skills = found.into_values().map(|found| found.skill).collect();
            Ok(Shelved {
                skills,
                broken,
                left_out,
            })
        })
        .await
    }

    async fn open(&self, name: &str) -> Result<Opened, ShelfError> {
        let name = name.to_owned();
        self.work(move |root| {
            let found = find(root, &name)?;
            let (mut files, mut left_out) = (Vec::new(), 0);
            gather(&found.folder, "", DEPTH, &mut files, &mut left_out)
                .map_err(|error| ShelfError::Disk(error.to_string()))?;
            Ok(Opened {
                body: found.body,
                files,
                left_out,
            })
        })
        .await
    }

    async fn file(&self, name: &str, file: &str) -> Result<String, ShelfError> {
        let (name, file) = (name.to_owned(), file.to_owned());
        self.work(move |root| read(&find(root, &name)?, &file))
            .await
    }

    async fn pack(&self, name: &str) -> Result<Vec<SkillFile>, ShelfError> {
        let name = name.to_owned();
        self.work(move |root| packed(&find(root, &name)?)).await
    }
}

/// A skill that was found.
struct Found {
    skill: Skill,
    body: String,
    /// Its folder below the root.
    place: String,
    folder: Folder,
}

#[derive(Default)]
struct Scan {
    found: BTreeMap<String, Found>,
    broken: Vec<Broken>,
    left_out: usize,
}

fn scan(root: Option<&Folder>) -> Result<Scan, ShelfError> {
    let mut scan = Scan::default();
    let Some(root) = root else {
        return Ok(scan);
    };
    let disk = |error: ReadError| ShelfError::Disk(error.to_string());
    let (names, over) = root.list(MOST).map_err(disk)?;
    scan.left_out = over;
    for (name, kind) in names {
        let Some(folder) = entered(&mut scan, root, &name, &name, kind) else {
            continue;
        };
        if folder.kind(FILE).is_ok() {
            scan.look(&name, &name, folder);
            continue;
        }
        let (inside, over) = folder.list(MOST).map_err(disk)?;
        scan.left_out += over;
        let gathers = inside.iter().any(|(_, kind)| *kind == Kind::Folder);
        if !gathers {
            scan.breaks(name, Fault::NoFile);
            continue;
        }
        for (below, kind) in inside {
            let place = format!("{name}/{below}");
            if let Some(folder) = entered(&mut scan, &folder, &below, &place, kind) {
                scan.look(&below, &place, folder);
            }
        }
    }
    Ok(scan)
}

/// A folder that may hold a skill; what is none is passed over, and a link is told of.
fn entered(scan: &mut Scan, above: &Folder, name: &str, place: &str, kind: Kind) -> Option<Folder> {
    match kind {
        Kind::File | Kind::Other => return None,
        Kind::Link => {
            scan.breaks(place.to_owned(), Fault::Link("the folder".to_owned()));
            return None;
        }
        Kind::Folder => {}
    }
    match above.enter(name) {
        Ok(folder) => Some(folder),
        Err(error) => {
            scan.breaks(place.to_owned(), Fault::Unreadable(error.to_string()));
            None
        }
    }
}

impl Scan {
    fn breaks(&mut self, folder: String, fault: Fault) {
        self.broken.push(Broken { folder, fault });
    }

    /// Looks whether a folder is a skill.
    fn look(&mut self, name: &str, place: &str, folder: Folder) {
        if self.found.len() >= MOST {
            self.left_out += 1;
            return;
        }
        match opened(name, &folder) {
            Ok((skill, body)) => {
                if let Some(known) = self.found.get(name) {
                    let fault = Fault::Known(known.place.clone());
                    return self.breaks(place.to_owned(), fault);
                }
                let found = Found {
                    skill,
                    body,
                    place: place.to_owned(),
                    folder,
                };
                self.found.insert(name.to_owned(), found);
            }
            Err(fault) => self.breaks(place.to_owned(), fault),
        }
    }
}

fn opened(name: &str, folder: &Folder) -> Result<(Skill, String), Fault> {
    let bytes = folder.read(FILE, MOST_BYTES).map_err(|error| match error {
        ReadError::Absent => Fault::NoFile,
        ReadError::Link => Fault::Link(FILE.to_owned()),
        ReadError::Large(_) => Fault::TooLarge,
        ReadError::Odd | ReadError::Disk(_) => Fault::Unreadable(error.to_string()),
    })?;
    let text = String::from_utf8(bytes).map_err(|_binary| Fault::NotText)?;
    let (skill, body) = Skill::read(name, &text)?;
    Ok((skill, body.to_owned()))
}

fn find(root: Option<&Folder>, name: &str) -> Result<Found, ShelfError> {
    let mut scan = scan(root)?;
    if let Some(found) = scan.found.remove(name) {
        return Ok(found);
    }
    let last = |folder: &str| folder.rsplit('/').next() == Some(name);
    match scan.broken.into_iter().find(|broken| last(&broken.folder)) {
        Some(broken) => Err(broken.into()),
        None => Err(ShelfError::NoSkill(name.chars().take(80).collect())),
    }
}

/// Names the files of a skill.
fn gather(
    folder: &Folder,
    before: &str,
    depth: usize,
    files: &mut Vec<String>,
    left_out: &mut usize,
) -> Result<(), ReadError> {
    let (inside, over) = folder.list(MOST)?;
    *left_out += over;
    for (name, kind) in inside {
        let path = format!("{before}{name}");
        match kind {
            Kind::File if path == FILE => {}
            Kind::File if files.len() < MOST_FILES => files.push(path),
            Kind::Folder if depth > 0 && files.len() < MOST_FILES => {
                let below = folder.enter(&name)?;
                gather(&below, &format!("{path}/"), depth - 1, files, left_out)?;
            }
            Kind::File | Kind::Folder => *left_out += 1,
            Kind::Link | Kind::Other => {}
        }
    }
    Ok(())
}

fn read(found: &Found, file: &str) -> Result<String, ShelfError> {
    let skill = &found.skill.name;
    let failed = |error: ReadError| match error {
        ReadError::Absent => ShelfError::NoFile {
            skill: skill.clone(),
            file: shown(file),
        },
        ReadError::Link | ReadError::Odd | ReadError::Large(_) | ReadError::Disk(_) => {
            refused(found, file, &error.to_string())
        }
    };
    let parts: Vec<&str> = file.split('/').filter(|part| *part != ".").collect();
    if parts
        .iter()
        .any(|part| part.is_empty() || *part == ".." || part.contains('\0'))
    {
        return Err(refused(
            found,
            file,
            "it is no path below the skill's folder",
        ));
    }
    let (bytes, _) = whole(found, &parts.join("/"), LARGEST).map_err(failed)?;
    String::from_utf8(bytes).map_err(|_binary| refused(found, file, "it is no text"))
}

fn packed(found: &Found) -> Result<Vec<SkillFile>, ShelfError> {
    let large = || ShelfError::Large {
        skill: found.skill.name.clone(),
        most: PACKED >> 20,
        files: MOST_FILES,
    };
    let (mut paths, mut left_out) = (Vec::new(), 0);
    gather(&found.folder, "", DEPTH, &mut paths, &mut left_out)
        .map_err(|error| ShelfError::Disk(error.to_string()))?;
    if left_out > 0 {
        return Err(large());
    }
    paths.push(FILE.to_owned());
    paths.sort();
    let (mut files, mut left) = (Vec::new(), PACKED);
    for path in paths {
        let (bytes, runs) = match whole(found, &path, left) {
            Ok(read) => read,
            Err(ReadError::Large(_)) => return Err(large()),
            Err(error) => return Err(refused(found, &path, &error.to_string())),
        };
        left -= bytes.len();
        files.push(SkillFile { path, bytes, runs });
    }
    Ok(files)
}

/// A file below a skill's folder, by a path without ways out.
fn whole(found: &Found, path: &str, most: usize) -> Result<(Vec<u8>, bool), ReadError> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folder = None;
    for part in above.split('/').filter(|part| !part.is_empty()) {
        let inside = folder.as_ref().unwrap_or(&found.folder);
        folder = Some(inside.enter(part)?);
    }
    folder.as_ref().unwrap_or(&found.folder).read_as(name, most)
}

fn refused(found: &Found, file: &str, why: &str) -> ShelfError {
    ShelfError::File {
        skill: found.skill.name.clone(),
        file: shown(file),
        why: why.to_owned(),
    }
}

fn shown(file: &str) -> String {
    file.chars().take(200).collect()
}
