//! getUpdates, with the exact offset rules.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::act::Refusal;
use super::request::Call;
use super::script::Trouble;
use super::state::State;

/// Longest wait that the platform grants, in seconds.
const LONGEST: u64 = 50;

/// Confirmed updates that may come again.
const REMEMBERED: usize = 20;

/// Hands updates out in a confused way.
pub(super) fn confuse(state: &State, call: &Call, trouble: &Trouble, updates: Value) -> Value {
    let Value::Array(mut updates) = updates else {
        return updates;
    };
    if matches!(trouble, Trouble::Twice) {
        updates = updates
            .into_iter()
            .flat_map(|update| [update.clone(), update])
            .collect();
    }
    if matches!(trouble, Trouble::Reversed) {
        updates.reverse();
    }
    if matches!(trouble, Trouble::Again) {
        let inner = state.lock();
        let past = inner.bots.get(&call.token).map(|bot| bot.past.clone());
        updates = past.into_iter().flatten().chain(updates).collect();
    }
    Value::Array(updates)
}

fn conflict(description: &str) -> Refusal {
    Refusal {
        code: 409,
        description: format!("Conflict: {description}"),
    }
}

/// Confirms everything before the offset, then waits for something to hand out.
pub(super) async fn get_updates(state: &State, call: &Call) -> Result<Value, Refusal> {
    let offset = call.param("offset").as_i64();
    let limit = call.param("limit").as_u64().unwrap_or(100).clamp(1, 100);
    let seconds = call.param("timeout").as_u64().unwrap_or(0).min(LONGEST);
    let until = Instant::now() + Duration::from_secs(seconds);
    let mine = state.with(|inner| {
        if offset.is_some_and(|offset| offset < 0) {
            inner.violations.push("a negative offset forgets updates".to_owned());
        }
        let bot = inner
            .bots
            .get_mut(&call.token)
            .ok_or_else(|| conflict("no such bot"))?;
        if bot.webhook.is_some() {
            return Err(conflict(
                "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
            ));
        }
        if let Value::Array(kinds) = call.param("allowed_updates") {
            bot.allowed = (!kinds.is_empty()).then(|| {
                kinds
                    .iter()
                    .filter_map(|kind| kind.as_str().map(str::to_owned))
                    .collect()
            });
        }
        bot.poll += 1;
        if let Some(offset) = offset.filter(|offset| *offset > 0) {
            while bot.queue.front().is_some_and(|(id, _)| *id < offset) {
                bot.past.extend(bot.queue.pop_front().map(|(_, update)| update));
            }
            while bot.past.len() > REMEMBERED {
                bot.past.pop_front();
            }
        }
        Ok(bot.poll)
    })?;
    let mut changes = state.changed.subscribe();
    loop {
        changes.borrow_and_update();
        {
            let inner = state.lock();
            let bot = inner
                .bots
                .get(&call.token)
                .ok_or_else(|| conflict("no such bot"))?;
            if bot.poll != mine {
                return Err(conflict(
                    "terminated by other getUpdates request; make sure that only one bot instance is running",
                ));
            }
            if !bot.queue.is_empty() || Instant::now() >= until {
                return Ok(bot
                    .queue
                    .iter()
                    .take(limit as usize)
                    .map(|(_, update)| update.clone())
                    .collect());
            }
        }
        // Either something changed or the time is over; the loop looks again.
        if let Ok(Err(_closed)) = tokio::time::timeout_at(until, changes.changed()).await {
            return Ok(Value::Array(Vec::new()));
        }
    }
}
