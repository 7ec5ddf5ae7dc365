//! What shows while a turn runs: growing answers, tool activity, "is typing". One task an account, so that a slow channel
//! slows nobody else.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chat::{Activity, ChatAdapter, Preview};
use tokio::sync::mpsc;
use tokio::time::Instant;
use waybill::ChatKey;

/// Frames that wait for a slow channel before further ones are dropped.
pub(crate) const QUEUE: usize = 256;

/// Longest that "is typing" is renewed without a sign from the turn.
const LONGEST_TYPING: Duration = Duration::from_secs(3600);

/// A frame.
#[derive(Debug)]
pub(crate) enum Show {
    /// The answer so far.
    Preview(ChatKey, Preview),
    /// What the agent does.
    Activity(ChatKey, Activity),
}

struct Typing {
    next: Instant,
    until: Instant,
}

/// Shows frames until the courier is gone; of several previews of a chat that wait, the newest alone.
pub(crate) async fn run(adapter: Arc<dyn ChatAdapter>, mut frames: mpsc::Receiver<Show>) {
    let every = adapter.descriptor().typing_seconds.map(Duration::from_secs);
    let mut typing: HashMap<ChatKey, Typing> = HashMap::new();
    loop {
        let next = typing.values().map(|typing| typing.next).min();
        let renew = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        let first = tokio::select! {
            frame = frames.recv() => match frame {
                Some(frame) => frame,
                None => return,
            },
            () = renew => {
                renew_typing(adapter.as_ref(), &mut typing, every).await;
                continue;
            }
        };
        let mut batch = vec![first];
        while let Ok(frame) = frames.try_recv() {
            batch.push(frame);
        }
        for frame in newest(batch) {
            match frame {
                Show::Preview(chat, preview) => adapter.preview(&chat, preview).await,
                Show::Activity(chat, activity) => {
                    note_typing(&mut typing, every, &chat, &activity);
                    adapter.activity(&chat, activity).await;
                }
            }
        }
    }
}

fn note_typing(
    typing: &mut HashMap<ChatKey, Typing>,
    every: Option<Duration>,
    chat: &ChatKey,
    activity: &Activity,
) {
    match (activity, every) {
        (Activity::Typing, Some(every)) => {
            let now = Instant::now();
            typing.insert(
                chat.clone(),
                Typing {
                    next: now + every,
                    until: now + LONGEST_TYPING,
                },
            );
        }
        (Activity::Idle, _) => {
            typing.remove(chat);
        }
        (
            Activity::Typing
            | Activity::ToolBegan { .. }
            | Activity::ToolEnded { .. }
            | Activity::Tapped { .. }
            | Activity::Answered { .. },
            _,
        ) => {}
    }
}

async fn renew_typing(
    adapter: &dyn ChatAdapter,
    typing: &mut HashMap<ChatKey, Typing>,
    every: Option<Duration>,
) {
    let now = Instant::now();
    typing.retain(|_, typing| typing.until > now);
    let due: Vec<ChatKey> = typing
        .iter()
        .filter(|(_, typing)| typing.next <= now)
        .map(|(chat, _)| chat.clone())
        .collect();
    for chat in due {
        if let (Some(typing), Some(every)) = (typing.get_mut(&chat), every) {
            typing.next = now + every;
        }
        adapter.activity(&chat, Activity::Typing).await;
    }
}

/// Leaves out a preview that a later one of the same chat replaces.
fn newest(batch: Vec<Show>) -> Vec<Show> {
    let mut kept: Vec<Show> = Vec::with_capacity(batch.len());
    for frame in batch {
        if let Show::Preview(chat, _) = &frame {
            kept.retain(|earlier| !matches!(earlier, Show::Preview(other, _) if other == chat));
        }
        kept.push(frame);
    }
    kept
}

#[cfg(test)]
mod tests {
    use waybill::Conversation;

    use super::*;

    #[test]
    fn of_several_previews_of_a_chat_the_newest_is_shown() {
        let chat =
            |name: &str| ChatKey::new("web".parse().unwrap(), Conversation::new(name).unwrap());
        let text =
            |name: &str, text: &str| Show::Preview(chat(name), Preview::Text(text.to_owned()));
        let kept = newest(vec![
            text("a", "1"),
            text("b", "1"),
            Show::Activity(chat("a"), Activity::Typing),
            text("a", "2"),
        ]);
        let seen: Vec<String> = kept
            .iter()
            .map(|frame| match frame {
                Show::Preview(chat, Preview::Text(text)) => format!("{}{text}", chat.conversation),
                Show::Preview(_, Preview::Clear) => "clear".to_owned(),
                Show::Activity(..) => "activity".to_owned(),
            })
            .collect();
        assert_eq!(seen, ["b1", "activity", "a2"]);
    }
}
