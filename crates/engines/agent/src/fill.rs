//! What fills a model's window: the part that every request begins with, and how large requests really are.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::{Message, Request, ToolSpec, Usage};
use session::window::{Window, all_tokens, text_tokens};
use waybill::SessionId;

/// Conversations whose last call is remembered. More are estimated.
const REMEMBERED: usize = 1_000;

/// The fixed part of a turn's requests, and what a token of our estimate is worth by the model's own count.
pub(crate) struct Fixed {
    system: String,
    tools: Vec<ToolSpec>,
    tokens: u32,
    window: Window,
    /// In thousandths.
    scale: u64,
}

impl Fixed {
    pub(crate) fn new(system: String, tools: Vec<ToolSpec>, window: Window) -> Self {
        let tokens = text_tokens(&system).saturating_add(tool_tokens(&tools));
        Self {
            system,
            tools,
            tokens,
            window,
            scale: 1_000,
        }
    }

    /// The next request goes to a model with this window.
    pub(crate) fn look_through(&mut self, window: Window) {
        self.window = window;
    }

    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Its own tokens, in the model's count as far as that is known.
    pub(crate) fn tokens(&self) -> u32 {
        self.scaled(self.tokens)
    }

    pub(crate) fn request(&self, messages: Vec<Message>) -> Request {
        Request {
            system: self.system.clone(),
            messages,
            tools: self.tools.clone(),
        }
    }

    /// Our estimate of a whole request, before any scale.
    pub(crate) fn estimate(&self, messages: &[Message]) -> u32 {
        self.tokens.saturating_add(all_tokens(messages))
    }

    /// In the model's count, as far as that is known.
    pub(crate) fn scaled(&self, estimate: u32) -> u32 {
        let scaled = u64::from(estimate) * self.scale / 1_000;
        u32::try_from(scaled).unwrap_or(u32::MAX)
    }

    /// From the model's count back to our estimate.
    pub(crate) fn unscaled(&self, tokens: u32) -> u32 {
        let estimate = u64::from(tokens) * 1_000 / self.scale.max(1);
        u32::try_from(estimate).unwrap_or(u32::MAX)
    }

    /// A request that we estimated so was so large by the model's own count. One that is far off is not believed: some servers count
    /// only what they had not cached.
    pub(crate) fn measure(&mut self, estimate: u32, counted: u64) {
        if estimate > 0 && counted > 0 {
            self.scale = (counted.saturating_mul(1_000) / u64::from(estimate)).clamp(500, 2_000);
        }
    }
}

pub(crate) fn tool_tokens(tools: &[ToolSpec]) -> u32 {
    tools
        .iter()
        .map(|tool| {
            text_tokens(&tool.name)
                + text_tokens(&tool.description)
                + text_tokens(&tool.parameters.to_string())
        })
        .fold(0, u32::saturating_add)
}

/// The last call of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct LastCall {
    pub(crate) route: String,
    pub(crate) usage: Usage,
}

/// The last call of each conversation, by the provider's own count; in memory alone.
#[derive(Debug, Default)]
pub(crate) struct Fills(Mutex<HashMap<SessionId, LastCall>>);

impl Fills {
    fn calls(&self) -> MutexGuard<'_, HashMap<SessionId, LastCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, session: SessionId, route: &str, usage: Usage) {
        let mut calls = self.calls();
        if calls.len() >= REMEMBERED && !calls.contains_key(&session) {
            calls.clear();
        }
        let route = route.to_owned();
        calls.insert(session, LastCall { route, usage });
    }

    pub(crate) fn last(&self, session: SessionId) -> Option<LastCall> {
        self.calls().get(&session).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_own_count_is_believed_within_reason() {
        let mut fixed = Fixed::new(String::new(), Vec::new(), Window::of(None));
        fixed.measure(1_000, 1_500);
        assert_eq!((fixed.scaled(2_000), fixed.unscaled(3_000)), (3_000, 2_000));
        fixed.measure(1_000, 3);
        assert_eq!(fixed.scaled(1_000), 500);
        fixed.measure(1_000, u64::MAX);
        assert_eq!(fixed.scaled(1_000), 2_000);
        fixed.measure(1_000, 1_000);
        fixed.measure(0, 7);
        assert_eq!(fixed.scaled(1_000), 1_000);
    }
}
