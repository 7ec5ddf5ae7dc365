//! A model's window: what fits into it, what is let go when it is full, and what that comes to.
//!
//! Tokens are estimated, since no provider's tokenizer is at hand; the estimate errs on the large side, and whoever has the
//! provider's own count of a request scales it by that.

use model::{Content, Message};

/// The window that is assumed where nobody knows: what hosted models have at least in 2026.
pub const ASSUMED: u32 = 128_000;
/// The smallest window that is worked with; a smaller one is taken for this.
const SMALLEST: u32 = 8_000;
/// Tokens of a picture: between a tile of 85 and the 1,600 that one vendor names for a megapixel.
const IMAGE: u32 = 1_600;
/// Tokens around a message: its role, its ends, the ids of a call.
const AROUND: u32 = 8;
/// Most tokens of a summary.
const LONGEST_SUMMARY: u32 = 2_000;
/// Most characters of one result that a model reads, however large its window.
const LONGEST_RESULT: u32 = 32_000;
/// Fewest.
const SHORTEST_RESULT: u32 = 4_000;

/// A window, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(u32);

impl Window {
    /// Of a model that says how many tokens fit, or does not.
    #[must_use]
    pub fn of(tokens: Option<u32>) -> Self {
        Self(tokens.unwrap_or(ASSUMED).max(SMALLEST))
    }

    /// All of it, in tokens.
    #[must_use]
    pub fn tokens(self) -> u32 {
        self.0
    }

    /// Where it counts as full: the rest is for the answer, and for what the estimate misses.
    #[must_use]
    pub fn full(self) -> u32 {
        self.0 - self.0 / 4
    }

    /// Most tokens of a summary.
    #[must_use]
    pub fn summary(self) -> u32 {
        (self.0 / 12).min(LONGEST_SUMMARY)
    }

    /// Tokens of the latest messages that stay as they are, beside a fixed part of so many; zero if there is no room.
    #[must_use]
    pub fn tail(self, fixed: u32) -> u32 {
        let after = self.full() - self.full() / 5;
        let room = after.saturating_sub(fixed + self.summary());
        room.min(self.0 / 5)
    }

    /// Most tokens that are summarised in one request.
    #[must_use]
    pub fn piece(self) -> u32 {
        self.0 / 2
    }

    /// Most characters of one result: 15 % of the window, at three characters a token.
    #[must_use]
    pub fn result(self) -> usize {
        let share = (u64::from(self.0) * 15 / 100 * 3).min(u64::from(LONGEST_RESULT));
        let characters = u32::try_from(share).unwrap_or(LONGEST_RESULT);
        characters.max(SHORTEST_RESULT) as usize
    }
}

/// Tokens of a text, rather more than fewer: three and a half characters of ASCII each (prose has four, code three), and every
/// other character one.
#[must_use]
pub fn text_tokens(text: &str) -> u32 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|sign| !sign.is_ascii()).count();
    let tokens = ascii * 2 / 7 + others;
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// Tokens of a message.
#[must_use]
pub fn tokens(message: &Message) -> u32 {
    let inside = match message {
        Message::User { content } => content
            .iter()
            .map(|piece| match piece {
                Content::Text { text } => text_tokens(text),
                Content::Image { .. } => IMAGE,
            })
            .fold(0, u32::saturating_add),
        Message::Assistant {
            text,
            calls,
            replay,
        } => {
            let calls = calls.iter().map(|call| {
                let arguments = match &call.arguments {
                    Ok(arguments) => serde_json::to_string(arguments).unwrap_or_default(),
                    Err(raw) => raw.clone(),
                };
                AROUND + text_tokens(&call.name) + text_tokens(&arguments)
            });
            let replayed = replay.iter().flat_map(|replay| &replay.blocks);
            let replayed = replayed.map(|block| text_tokens(&block.data.to_string()));
            calls
                .chain(replayed)
                .fold(text_tokens(text), u32::saturating_add)
        }
        Message::Tool { name, content, .. } => {
            text_tokens(name).saturating_add(text_tokens(content))
        }
    };
    inside.saturating_add(AROUND)
}

/// Tokens of messages.
#[must_use]
pub fn all_tokens(messages: &[Message]) -> u32 {
    messages.iter().map(tokens).fold(0, u32::saturating_add)
}

/// How many of the last messages stay within so many tokens. A call is never parted from its results.
#[must_use]
pub fn latest(messages: &[Message], most: u32) -> usize {
    let (mut kept, mut sum) = (0, 0_u32);
    for (place, message) in messages.iter().rev().enumerate() {
        sum = sum.saturating_add(tokens(message));
        if sum > most {
            break;
        }
        match message {
            Message::User { .. } | Message::Assistant { .. } => kept = place + 1,
            Message::Tool { .. } => {}
        }
    }
    kept
}

/// A stretch of a conversation that a summary stands for from now on. Nothing is deleted: what it stands for can still be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// How many of the last messages stay as they are.
    pub kept: usize,
    /// What the model reads instead of the others.
    pub summary: String,
    /// Tokens of the request before.
    pub before: u32,
    /// Tokens of the same request after.
    pub after: u32,
}

#[cfg(test)]
mod tests;
