//! Where a profile's skills lie.

use async_trait::async_trait;

use crate::{Fault, Skill, SkillName};

/// A folder that is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the skill in {folder} can't be used: {fault}")]
pub struct Broken {
    /// The folder, as its owner sees it below `skills/`.
    pub folder: String,
    /// Why.
    pub fault: Fault,
}

/// What lies on a shelf.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shelved {
    /// What can be used, sorted by name.
    pub skills: Vec<Skill>,
    /// What can't.
    pub broken: Vec<Broken>,
    /// Folders that were not looked at: there are too many.
    pub left_out: usize,
}

/// A skill that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// What stands below its header.
    pub body: String,
    /// Its other files, sorted, as paths below its folder; links are left out.
    pub files: Vec<String>,
    /// How many more there are.
    pub left_out: usize,
}

/// A file of a skill, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Its path below the skill's folder.
    pub path: String,
    /// All of it.
    pub bytes: Vec<u8>,
    /// Whether its owner may run it.
    pub runs: bool,
}

/// Why a shelf did not give what was asked for. The text is for the model, and through it for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// There is no skill of that name.
    #[error("there is no skill '{0}'")]
    NoSkill(String),
    /// There is one, and it can't be used.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It has no such file.
    #[error("{skill} has no file {file}")]
    NoFile {
        /// The skill.
        skill: SkillName,
        /// What was asked for.
        file: String,
    },
    /// A file can't be handed out.
    #[error("{file} of {skill} can't be read here: {why}")]
    File {
        /// The skill.
        skill: SkillName,
        /// The file.
        file: String,
        /// Why.
        why: String,
    },
    /// It is too large to be copied into a sandbox.
    #[error(
        "the files of {skill} are not in the sandbox: they are more than {most} MB or {files} files together"
    )]
    Large {
        /// The skill.
        skill: SkillName,
        /// The bound, in megabytes.
        most: usize,
        /// The bound of files.
        files: usize,
    },
    /// The disk.
    #[error("the skills can't be read: {0}")]
    Disk(String),
}

/// The skills of one profile. What is asked for is read when it is asked for: what an owner changes is there at once.
#[async_trait]
pub trait Shelf: Send + Sync {
    /// All of them.
    ///
    /// # Errors
    /// [`ShelfError::Disk`].
    async fn all(&self) -> Result<Shelved, ShelfError>;

    /// One of them.
    ///
    /// # Errors
    /// [`ShelfError`].
    async fn open(&self, name: &str) -> Result<Opened, ShelfError>;

    /// A text file below a skill's folder, by its path there.
    ///
    /// # Errors
    /// [`ShelfError`]: a path that leads out of the folder, a link, and what is no text are refused.
    async fn file(&self, name: &str, file: &str) -> Result<String, ShelfError>;

    /// Every file of a skill with its `SKILL.md`, for a sandbox; links are left out. Bounded as a whole.
    ///
    /// # Errors
    /// [`ShelfError`].
    async fn pack(&self, name: &str) -> Result<Vec<SkillFile>, ShelfError>;
}
