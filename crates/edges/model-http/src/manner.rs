//! What every protocol may be asked for in its own words: how hard to think, and whether pictures are shown.

/// How hard a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all, where the model allows that.
    None,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// As much as it can.
    High,
}

impl Thinking {
    /// `none`, `low`, `medium` or `high`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Whether a model looks at pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eyes {
    /// It does, as far as anybody knows.
    #[default]
    Open,
    /// It does not: words stand for them.
    Shut,
}

/// How the wish is written. Generations of models of one vendor differ, and each refuses the form of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// As the newest models want it.
    #[default]
    Newer,
    /// As the ones before want it, where that is different.
    Older,
    /// Not at all: the model has no such thing.
    Unsaid,
}

impl Form {
    /// What is tried after a refusal.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Newer => Self::Older,
            Self::Older | Self::Unsaid => Self::Unsaid,
        }
    }
}

/// How a request is put. The default says nothing and shows pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// How hard to think; `None` as the provider likes.
    pub thinking: Option<Thinking>,
    /// How that is written.
    pub form: Form,
    /// Whether pictures are shown.
    pub eyes: Eyes,
}

impl Manner {
    /// The wish, if it is written at all.
    pub(crate) fn wish(self) -> Option<Thinking> {
        self.thinking.filter(|_| self.form != Form::Unsaid)
    }
}
