//! Notebooks and skills in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use memory::{Change, Former, NoteError, NoteStore, Notebook, Whose};
use skills::{Broken, Opened, Shelf, ShelfError, Shelved, Skill, SkillFile};
use waybill::Timestamp;

/// Notebooks; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryNotes(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    books: BTreeMap<Whose, (String, String)>,
    /// Whether the disk fails.
    broken: bool,
}

impl MemoryNotes {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the disk fails, or works again.
    pub fn break_down(&self, broken: bool) {
        self.inner().broken = broken;
    }

    fn read_both(&self, whose: &Whose) -> Result<(Notebook, String), NoteError> {
        let inner = self.inner();
        if inner.broken {
            return Err(NoteError::Disk("the test does without a disk".to_owned()));
        }
        let (book, archive) = inner.books.get(whose).cloned().unwrap_or_default();
        Ok((Notebook::read(&book, &archive), archive))
    }
}

#[async_trait]
impl NoteStore for MemoryNotes {
    async fn read(&self, whose: &Whose) -> Result<Notebook, NoteError> {
        self.read_both(whose).map(|(book, _)| book)
    }

    async fn change(
        &self,
        whose: &Whose,
        changes: Vec<Change>,
        at: Timestamp,
    ) -> Result<Notebook, NoteError> {
        let (notebook, archive) = self.read_both(whose)?;
        let changed = match memory::apply(&notebook, &changes, whose.most(), at) {
            Ok(changed) => changed,
            Err(refused) => return Err(NoteError::Refused { refused, notebook }),
        };
        let kept = (
            changed.notebook.write(),
            memory::archive(&archive, &changed.former),
        );
        self.inner().books.insert(whose.clone(), kept);
        Ok(changed.notebook)
    }

    async fn former(
        &self,
        whose: &Whose,
        query: &str,
        most: usize,
    ) -> Result<Vec<Former>, NoteError> {
        let (_, archive) = self.read_both(whose)?;
        Ok(memory::search(&archive, query, most))
    }
}

/// Skills: of each its `SKILL.md` and its other files. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryShelf(Arc<Mutex<BTreeMap<String, Vec<SkillFile>>>>);

impl MemoryShelf {
    /// Lays a file of a skill.
    pub fn lay(&self, name: &str, path: &str, text: &str) {
        let mut skills = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = skills.entry(name.to_owned()).or_default();
        files.retain(|file| file.path != path);
        files.push(SkillFile {
            path: path.to_owned(),
            bytes: text.as_bytes().to_vec(),
            runs: path.ends_with(".sh"),
        });
        files.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Lays a skill with a description and a body.
    pub fn skill(&self, name: &str, description: &str, body: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
        self.lay(name, skills::FILE, &text);
    }

    fn files(&self, name: &str) -> Result<Vec<SkillFile>, ShelfError> {
        let skills = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = skills.get(name).cloned();
        found.ok_or_else(|| ShelfError::NoSkill(name.to_owned()))
    }
}

fn text(files: &[SkillFile], path: &str) -> Option<String> {
    let file = files.iter().find(|file| file.path == path)?;
    String::from_utf8(file.bytes.clone()).ok()
}

#[async_trait]
impl Shelf for MemoryShelf {
    async fn all(&self) -> Result<Shelved, ShelfError> {
        let skills = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shelved = Shelved::default();
        for (name, files) in skills.iter() {
            let read = text(files, skills::FILE).unwrap_or_default();
            match Skill::read(name, &read) {
                Ok((skill, _)) => shelved.skills.push(skill),
                Err(fault) => shelved.broken.push(Broken {
                    folder: name.clone(),
                    fault,
                }),
            }
        }
        Ok(shelved)
    }

    async fn open(&self, name: &str) -> Result<Opened, ShelfError> {
        let files = self.files(name)?;
        let read = text(&files, skills::FILE).unwrap_or_default();
        let (_, body) = Skill::read(name, &read).map_err(|fault| Broken {
            folder: name.to_owned(),
            fault,
        })?;
        let others = files.iter().map(|file| file.path.clone());
        Ok(Opened {
            body: body.to_owned(),
            files: others.filter(|path| path != skills::FILE).collect(),
            left_out: 0,
        })
    }

    async fn file(&self, name: &str, file: &str) -> Result<String, ShelfError> {
        let files = self.files(name)?;
        text(&files, file).ok_or_else(|| ShelfError::NoSkill(file.to_owned()))
    }

    async fn pack(&self, name: &str) -> Result<Vec<SkillFile>, ShelfError> {
        self.files(name)
    }
}
