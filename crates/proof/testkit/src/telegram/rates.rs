//! How fast the platform lets a bot speak: sliding windows, and 429 for what is over them.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::request::Call;
use super::script::Scope;

/// So many calls in any stretch of so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Most calls.
    pub calls: usize,
    /// The stretch.
    pub per: Duration,
}

/// Windows for whatever shows or changes a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// One person's chat.
    pub chat: Window,
    /// One group.
    pub group: Window,
    /// One bot, all chats together.
    pub bot: Window,
}

impl Default for RateLimits {
    /// What the platform's own list of questions says: one a second to a chat, twenty a minute to a group, thirty a second in all.
    fn default() -> Self {
        let window = |calls, seconds| Window {
            calls,
            per: Duration::from_secs(seconds),
        };
        Self {
            chat: window(1, 1),
            group: window(20, 60),
            bot: window(30, 1),
        }
    }
}

/// By so much may two calls come nearer to each other on the way than they left.
const ON_THE_WAY: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub(super) struct Rates {
    limits: Option<RateLimits>,
    /// Calls that were let through: of a bot, and of a bot's chat.
    passed: HashMap<(String, Option<i64>), VecDeque<Instant>>,
    pub(super) refused: usize,
}

impl Rates {
    pub(super) fn enforce(&mut self, limits: Option<RateLimits>) {
        self.limits = limits;
        self.passed.clear();
    }

    /// Lets a call through, or says how many seconds it comes too early and for whom the wait is.
    pub(super) fn pass(&mut self, call: &Call) -> Result<(), (u64, Scope)> {
        let Some(limits) = self.limits.filter(|_| call.shows()) else {
            return Ok(());
        };
        let chat = call.chat_id();
        let of_chat = if chat < 0 { limits.group } else { limits.chat };
        for (place, window, scope) in [
            (Some(chat), of_chat, Scope::Chat),
            (None, limits.bot, Scope::Bot),
        ] {
            let key = (call.token.clone(), place);
            if let Some(wait) = self.early(&key, window, call.at) {
                self.refused += 1;
                return Err((wait.as_millis().div_ceil(1_000).max(1) as u64, scope));
            }
        }
        for place in [Some(chat), None] {
            let key = (call.token.clone(), place);
            self.passed.entry(key).or_default().push_back(call.at);
        }
        Ok(())
    }

    fn early(
        &mut self,
        key: &(String, Option<i64>),
        window: Window,
        now: Instant,
    ) -> Option<Duration> {
        let passed = self.passed.get_mut(key)?;
        let stretch = window.per.saturating_sub(ON_THE_WAY);
        while passed
            .front()
            .is_some_and(|first| now.saturating_duration_since(*first) >= stretch)
        {
            passed.pop_front();
        }
        let first = passed.front()?;
        (passed.len() >= window.calls).then(|| {
            window
                .per
                .saturating_sub(now.saturating_duration_since(*first))
        })
    }
}
