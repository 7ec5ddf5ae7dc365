//! What fills a conversation's window, for people.

use model::Usage;

/// What fills a conversation's window: tokens, estimated, and scaled by the provider's own count where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fill {
    /// The model that is asked next.
    pub route: String,
    /// Its window.
    pub window: u32,
    /// Whether somebody said so; else it is assumed.
    pub known: bool,
    /// The fixed prompt: persona, environment, memory, skills.
    pub prompt: u32,
    /// What the model reads of its tools.
    pub tools: u32,
    /// Notes that stand for what was said before.
    pub notes: u32,
    /// What people wrote, with pictures.
    pub people: u32,
    /// What the model answered.
    pub answers: u32,
    /// What it called.
    pub calls: u32,
    /// What its calls came to.
    pub results: u32,
    /// The last call, by the provider's own count: which model, and its tokens. `None` where none was made since the start.
    pub last: Option<(String, Usage)>,
}

impl Fill {
    /// All of it.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        [
            self.prompt,
            self.tools,
            self.notes,
            self.people,
            self.answers,
            self.calls,
            self.results,
        ]
        .into_iter()
        .fold(0, u32::saturating_add)
    }
}
