//! What fills a conversation's window, as `/context` shows it.

use model::{Content, Message};
use outbox::StoreError;
use session::Fill;
use session::window::{Window, all_tokens, text_tokens, tokens};
use waybill::SessionScope;

use crate::compact::is_notes;
use crate::fill::{Fills, tool_tokens};
use crate::route::{Route, Routes};
use crate::{Ports, prompt, tools};

/// Looks into a conversation; `None` if its profile is not configured.
pub(crate) async fn fill(
    ports: &Ports,
    routes: &Routes,
    fills: &Fills,
    scope: &SessionScope,
) -> Result<Option<Fill>, StoreError> {
    let Some(tenant) = ports.tenants.tenant(scope.profile()) else {
        return Ok(None);
    };
    let entries = ports.sessions.transcript(scope.id()).await?;
    let next = Route::new(routes, &tenant).next(ports.clock.now());
    let (route, window) = next.map_or((String::new(), None), |model| {
        (model.name().to_owned(), model.facts().window)
    });
    let mut fill = Fill {
        route,
        window: Window::of(window).tokens(),
        known: window.is_some(),
        prompt: text_tokens(&prompt::system_prompt(&tenant)),
        tools: tool_tokens(&tools::specs(&tenant)),
        ..Fill::default()
    };
    for (place, entry) in entries.iter().enumerate() {
        count(&mut fill, place, &entry.message);
    }
    if let Some(last) = fills.last(scope.id()) {
        fill.last = Some((last.route, last.usage));
    }
    Ok(Some(fill))
}

fn count(fill: &mut Fill, place: usize, message: &Message) {
    let all = tokens(message);
    match message {
        Message::User { content } => match content.first() {
            Some(Content::Text { text }) if place == 0 && is_notes(text) => fill.notes += all,
            Some(_) | None => fill.people += all,
        },
        Message::Assistant { text, calls, .. } => {
            let words = text_tokens(text);
            fill.answers += words;
            if !calls.is_empty() {
                fill.calls += all_tokens(std::slice::from_ref(message)).saturating_sub(words);
            }
        }
        Message::Tool { .. } => fill.results += all,
    }
}
